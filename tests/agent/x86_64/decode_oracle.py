"""What a line of GNU objdump (-M intel) says about an instruction, in the words of decode_text.h.

Written from the mnemonics alone, so that it shares no table with the decoder. None: the line does not say."""
import re

SIZES = {"BYTE": 1, "WORD": 2, "DWORD": 4, "FWORD": 6, "QWORD": 8, "TBYTE": 10, "XMMWORD": 16, "OWORD": 16,
         "YMMWORD": 32, "ZMMWORD": 64}
REGISTERS = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15 rip".split()
PREFIXES = {"lock", "rep", "repz", "repnz", "bnd", "notrack", "data16", "cs", "ds", "es", "ss", "fs", "gs", "xacquire",
            "xrelease", "addr32"}
FORBIDDEN = re.compile(
    r"syscall|sysenter|sysexit|sysret|int|int1|int3|into|icebp|iretd?q?w?|iret|pushfq?w?|popfq?w?|xbegin|xabort|xend|hlt|"
    r"in|out|insb?w?d?|outsb?w?d?|cli|sti|retf|retfq|lret|rdmsr|wrmsr|rdpmc|rsm|clts|invd|wbinvd|ud[012]|\(bad\)|swapgs|"
    r"lss|lfs|lgs|getsec|rex.*|invlpg|vm(call|launch|resume|xoff|xon|ptrld|ptrst|read|write|clear|mcall|run|load|save|func)|sldt|str|lldt|ltr|verr|verw|sgdt|sidt|lgdt|lidt|smsw|lmsw|monitor|mwait")
NO_ACCESS = re.compile(r"lea|nopw?l?|fnop|prefetch\w*|clflush\w*|clwb|cldemote|endbr64")
READ_FIRST = re.compile(
    r"cmp|test|push|call|jmp|mul|imul|div|idiv|bt|fld\w*|fild|fbld|fi?(add|mul|com|comp|sub|subr|div|divr)|fldcw|fldenv|"
    r"frstor|v?ldmxcsr|fxrstor(64)?|xrstor(64)?|lods|scas|xlat")
BOTH_FIRST = re.compile(
    r"add|adc|sub|sbb|and|or|xor|inc|dec|not|neg|rol|ror|rcl|rcr|shl|sal|shr|sar|shld|shrd|xadd|xchg|"
    r"cmpxchg|cmpxchg8b|cmpxchg16b|bts|btr|btc")
WRITE_FIRST = re.compile(
    r"v?mov\w+|mov|set\w+|v?pextr\w+|v?extractps|vextract\w+|vpmov\w+|vcvtps2ph|v?stmxcsr|fxsave(64)?|xsave(c|opt)?(64)?|"
    r"v?p?compress\w+|v?p?scatter\w+|vpcompress\w+|vcompress\w+|vmaskmov\w+|vpmaskmov\w+|kmov\w|pop|fst\w*|fist\w*|"
    r"fbstp|fnst\w+|fnsave|stos|vmovap\w")
SPECIAL_SIZES = {"fxsave": 512, "fxsave64": 512, "fxrstor": 512, "fxrstor64": 512, "fldenv": 28, "fnstenv": 28,
                 "frstor": 108, "fnsave": 108, "xsave": 576, "xsave64": 576, "xsavec": 576, "xsavec64": 576,
                 "xsaveopt": 576, "xsaveopt64": 576, "xrstor": 576, "xrstor64": 576}
MEMORY = re.compile(r"(?:(\w+) (?:PTR|BCST) )?(?:([defgcs]s):)?(?:\[([^\]]*)\]|(?<=:)(0x[0-9a-f]+))")


def signed(value):
    value = int(value, 16)
    return value - (1 << 64) if value >= 1 << 63 else value


def address(segment, inside, absolute):
    """The text inside [...] in our words, and what a gather's index register is."""
    base = index = None
    scale, disp, narrow = 1, 0, False
    if absolute is not None:
        disp = signed(absolute)
    else:
        for sign, term in re.findall(r"([+-]?)([^+-]+)", inside):
            if re.fullmatch(r"0x[0-9a-f]+", term):
                disp += -signed(term) if sign == "-" else signed(term)
                continue
            name, _, factor = term.partition("*")
            if name in ("riz", "eiz"):
                narrow |= name == "eiz"
                continue
            found = re.fullmatch(r"[xyz]mm(\d+)", name)
            if found:
                index, scale = "v" + found[1], int(factor or 1)
                continue
            wide = re.sub(r"^(r\d+)d$", r"\1", name)
            wide = "r" + wide[1:] if wide.startswith("e") else wide
            narrow |= wide != name
            if wide not in REGISTERS:
                return None
            if factor:
                index, scale = wide, int(factor)
            elif base is None:
                base = wide
            else:
                return None
    if disp >= 1 << 63:
        disp -= 1 << 64
    parts = base or ""
    if index:
        parts += ("+" if parts else "") + f"{index}*{scale}" + ("@" if index.startswith("v") else "")
    if not parts:
        parts = str(disp)
    elif disp:
        parts += f"{disp:+d}"
    return ("fs:" if segment == "fs" else "gs:" if segment == "gs" else "") + parts + (":32" if narrow else "")


def gather(mnemonic, operands):
    """(elements, element bytes, index bytes) of a gather or scatter."""
    kind = re.search(r"(?:gather|scatter)([dq])(ps|pd|d|q)$", mnemonic)
    index_bytes = 4 if kind[1] == "d" else 8
    element = 4 if kind[2] in ("ps", "d") else 8
    widths = [{"x": 16, "y": 32, "z": 64}[name] for name in re.findall(r"\b([xyz])mm\d+", operands)]
    vector = max(widths) if index_bytes != element else widths[0]
    return vector // max(index_bytes, element), element, index_bytes


def expected(line, length):
    line = re.sub(r"\s*(#.*|<.*>)$", "", line).strip()
    words = line.split()
    prefixes = set()
    while len(words) > 1 and (words[0] in PREFIXES or words[0].startswith("rex")):
        prefixes.add(words.pop(0))
    mnemonic = words[0].split(",")[0] if words else "(bad)"
    mnemonic = {"movabs": "mov"}.get(mnemonic, mnemonic)
    operands = re.sub(r"\{[^}]*\}", "", " ".join(words[1:]))
    if FORBIDDEN.fullmatch(mnemonic) or "(bad)" in line:
        return "end"
    if re.match(r"(mov|pop)\s+[cdefgs]s(,|$)", f"{mnemonic} {operands}") or re.search(r"\b[cd]r\d", operands):
        return "end"
    if NO_ACCESS.fullmatch(mnemonic):
        return str(length)
    if mnemonic in PREFIXES:
        return None

    found = []
    for memory in MEMORY.finditer(operands):
        size = SIZES.get(memory[1] or "")
        where = address(memory[2], memory[3], memory[4])
        if where is None:
            return None
        if memory[4] and "addr32" in prefixes:
            where += ":32"
        found.append((memory.start(), size, where))
    texts = []
    lock = "l" if "lock" in prefixes else ""
    if mnemonic in ("movs", "cmps"):
        found.sort(key=lambda item: "rsi" not in item[2])
        texts = [f"r{found[0][1]}[{found[0][2]}]", f"{'w' if mnemonic == 'movs' else 'r'}{found[1][1]}[{found[1][2]}]"]
    elif mnemonic == "xlat":
        texts = [f"r1[{found[0][2]}+al]".replace(":32+al", "+al:32")]
    elif found:
        start, size, where = found[0]
        first = start == 0
        if "gather" in mnemonic or "scatter" in mnemonic:
            count, element, index_bytes = gather(mnemonic, operands)
            where = where.replace("@", f":{index_bytes}")
            texts = [f"{'w' if 'scatter' in mnemonic else 'r'}{element}*{count}[{where}]"]
        else:
            size = SPECIAL_SIZES.get(mnemonic, size)
            if mnemonic == "xchg":
                lock, flags = "l", "rw"
            elif not first:
                flags = "rw" if mnemonic in ("xadd", "cmpxchg") else "r"
            elif READ_FIRST.fullmatch(mnemonic):
                flags = "r"
            elif BOTH_FIRST.fullmatch(mnemonic):
                flags = "rw"
            elif WRITE_FIRST.fullmatch(mnemonic):
                flags = "w"
            else:
                return None
            if size is None:  # mov between the accumulator and an address: the register decides
                size = {"al": 1, "ax": 2, "eax": 4, "rax": 8}.get(re.sub(r",?[defgcs]s:0x\w+,?", "", operands))
            if size is None:
                return None
            texts = [f"{lock}{flags}{size}[{where}]"]
    if mnemonic in ("call", "jmp") and "FWORD" in operands or re.match(r"(call|jmp)\s+\w*\s*PTR.*TBYTE", line):
        return "end"
    stack = 2 if mnemonic in ("pushw", "popw") or re.search(r"\bWORD PTR|^[a-ds][xipl][xipl]?$|^r\d+w$", operands) else 8
    if mnemonic in ("push", "pushw", "pushq"):
        texts.append(f"w{stack}[rsp-{stack}]")
    elif mnemonic == "call":
        texts.append("w8[rsp-8]")
    elif mnemonic in ("pop", "popw"):
        texts.insert(0, f"r{stack}[rsp]")
        if len(texts) > 1 and re.search(r"[\[:]rsp", texts[1]):  # the address is computed after the pop
            disp = re.search(r"([+-]\d+)(:32)?\]$", texts[1])
            number = int(disp[1]) if disp else 0
            new = f"{number + stack:+d}" if number + stack else ""
            texts[1] = re.sub(r"([+-]\d+)?(:32)?\]$", lambda m: f"{new}{m[2] or ''}]", texts[1])
    elif mnemonic == "ret":
        texts = ["r8[rsp]"]
    elif mnemonic == "leave":
        texts = ["r8[rbp]"]
    elif mnemonic == "enter":
        texts = ["w8[rsp-8]"]
    result = " ".join([str(length), *texts])
    if mnemonic in ("movs", "cmps", "stos", "lods", "scas") and prefixes & {"rep", "repz", "repnz"}:
        result += " rep"
    return result
