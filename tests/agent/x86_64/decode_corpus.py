#!/usr/bin/env python3
"""Compares the decoder with GNU objdump, instruction by instruction.

usage: decode_corpus.py --dump DECODE_DUMP [--every] [--write FILE [--limit N]] [binary...]

  --dump      the program built from decode_dump.c
  --every     also encodings made up here: each opcode of each map with several prefixes and operands
  --write     keep distinct encodings, with what objdump says of them, as test data
  binary...   x86-64 executables and libraries

Prints how many instructions agree, how many the decoder refuses, and each that it sees otherwise. Exit status 1 if any.
"""
import argparse
import collections
import os
import random
import re
import subprocess
import sys
import tempfile

from decode_oracle import PREFIXES, expected

OBJDUMP = os.environ.get("OBJDUMP", "x86_64-linux-gnu-objdump")
SLOT = 32  # bytes for a made-up encoding; the rest of the slot is nops, so that objdump finds its way back


def disassemble(arguments):
    """Yields (address, bytes, text)."""
    process = subprocess.Popen([OBJDUMP, "-M", "intel", "--insn-width=15", "-w", *arguments], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line in process.stdout:
        found = re.match(r"\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*\t(.*)$", line)
        if found:
            yield int(found[1], 16), bytes.fromhex(found[2]), found[3]
    process.wait()


def of_binary(path):
    return ((code, text) for _, code, text in disassemble(["-d", path]))


def operands():
    """ModRM bytes with what follows them: registers, [rax], disp8, disp32, index, rip, absolute."""
    yield from (b"\x00", b"\x41\x11", b"\x82\x44\x33\x22\x11", b"\x44\x8b\xf0", b"\x05\x44\x33\x22\x11",
                b"\x04\x25\x44\x33\x22\x11", b"\xc1", b"\x44\x24\x08")


def made_up():
    """Every opcode of every map. A group needs each value of ModRM's reg, so that runs as well."""
    codes = []
    tail = b"\x01\x02\x03\x04"
    prefixes = [b"", b"\x66", b"\xf2", b"\xf3", b"\x48", b"\x67", b"\xf0", b"\x64", b"\x66\x48", b"\x41", b"\x42", b"\xf3\x48"]
    for opcode in range(256):
        for prefix in prefixes:
            for map_bytes in (b"", b"\x0f", b"\x0f\x38", b"\x0f\x3a"):
                for modrm in operands():
                    for reg in range(8) if len(modrm) < 3 else (0,):
                        codes.append(prefix + map_bytes + bytes([opcode, modrm[0] | reg << 3]) + modrm[1:] + tail)
    for opcode in range(256):
        for map_number in (1, 2, 3):
            for pp in range(4):
                for w in (0, 0x80):
                    for length in (0, 4):
                        for modrm in operands():
                            vex = bytes([0xC4, 0xE0 | map_number, 0x68 | w | length | pp, opcode])
                            codes.append(vex + modrm + tail)
                    for bits in (0x08, 0x28, 0x48, 0x18, 0x38, 0x58, 0x0A, 0x4A, 0x2A):
                        for modrm in operands():
                            evex = bytes([0x62, 0xF0 | map_number, 0x6C | w | pp, bits, opcode])
                            codes.append(evex + modrm + tail)
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        for code in codes:
            file.write(code[:15].ljust(SLOT, b"\x90"))
        file.flush()
        for address, code, text in disassemble(["-D", "-b", "binary", "-m", "i386:x86-64", file.name]):
            if address % SLOT == 0:
                yield code, text


def is_joined(code):
    """objdump shows fwait and the x87 instruction behind it as one."""
    return re.match(rb"[\x40-\x4f\x64-\x67\xf0\xf2\xf3]*\x9b.", code, re.S) is not None


def mnemonic(text):
    return next((word for word in text.split() if word not in PREFIXES and not word.startswith("rex")), text)


def choose(codes, seen, limit):
    """A sample in which every mnemonic has its share, and no two differ in registers and numbers only."""
    random.seed(1)
    random.shuffle(codes)
    shapes = collections.defaultdict(dict)
    for code in codes:
        text = seen[code]
        shape = re.sub(r"\b(r\d+[dwb]?|[re]?[abcd][xlh]|[re]?[sd]il?|[re]?[sb]pl?|[xyz]?mm\d+|0x[0-9a-f]+)\b", "_", text)
        shapes[mnemonic(text)].setdefault((shape, len(code)), code)
    chosen = []
    while shapes and len(chosen) < limit:
        for name in sorted(shapes):
            chosen.append(shapes[name].popitem()[1])
            if not shapes[name]:
                del shapes[name]
    return sorted(chosen[:limit])


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:])
    parser.add_argument("--dump", required=True)
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--write")
    parser.add_argument("--limit", type=int, default=4000)
    parser.add_argument("--show", type=int, default=40)
    parser.add_argument("binaries", nargs="*")
    args = parser.parse_args()

    seen = {}
    counts = collections.Counter()
    for path in args.binaries:
        for code, text in of_binary(path):
            seen.setdefault(code, text)
            counts[code] += 1
    if args.every:
        for code, text in made_up():
            seen.setdefault(code, text)
            counts[code] += 1

    codes = list(seen)
    said = subprocess.run([args.dump], input="".join(code.hex() + "\n" for code in codes), text=True,
                          stdout=subprocess.PIPE, check=True).stdout.splitlines()
    tally = collections.Counter()
    differing, unknown, agreed = [], [], []
    refused, untold = collections.Counter(), collections.Counter()
    for code, got in zip(codes, said):
        wanted = expected(seen[code], len(code))
        if wanted is None or is_joined(code):
            kind = "untold"
            untold[seen[code].split()[0]] += counts[code]
        elif got == wanted:
            kind = "agree"
            agreed.append(code)
        elif got == "end":
            kind = "refused"
            refused[seen[code].split()[0]] += counts[code]
        elif wanted == "end" and "(bad)" in seen[code]:
            kind = "unknown to objdump"
            unknown.append(f"{code.hex()} {got}")
        else:
            kind = "differ"
            differing.append((code.hex(), seen[code], wanted, got))
        tally[kind] += counts[code]
    total = sum(tally.values())
    print(f"{total} instructions, {len(codes)} distinct encodings")
    for kind, count in tally.most_common():
        print(f"  {kind:20} {count:9}  {count / total:.5%}")
    for name, tallied in (("most refused", refused), ("most untold", untold)):
        print(f"{name}:", ", ".join(f"{word} {count}" for word, count in tallied.most_common(25)))
    print("unknown to objdump:", *unknown[:args.show], sep="\n    ")
    kinds = collections.OrderedDict()
    for row in differing:
        kinds.setdefault((row[1].split()[0], row[2].split(" ", 1)[-1][:3], row[3].split(" ", 1)[-1][:3]), row)
    for row in list(kinds.values())[:args.show]:
        print(" ", *row, sep=" | ")

    if args.write:
        codes = choose(agreed, seen, args.limit)
        with open(args.write, "w") as file:
            file.write("# Written by decode_corpus.py from what GNU objdump says; the form is reported in decode_text.h.\n")
            for code in codes:
                file.write(f"{code.hex()} {expected(seen[code], len(code))}\n")
        print(f"wrote {len(codes)} to {args.write}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
