#!/usr/bin/env python3
"""What the agent's signal handlers may call: nothing that allocates, locks, or is not known here.

usage: test_handlers.py ARCHIVE

The archive holds every file of the agent. From the handler on, all calls are followed, and every function whose address is
taken on the way counts as called; what is reached outside the agent must be listed below. Calls through pointers in memory
(`real`, the table of the decoder) are not seen: what those hold is known."""
import re
import subprocess
import sys

ROOT = "on_signal"
# Safe at any instruction: system calls and arithmetic. memcpy and its kin are plain code in every libc;
# _dl_find_object is made for unwinders and takes no lock.
SAFE = {"syscall", "__errno_location", "memcpy", "memmove", "memset", "memcmp", "memchr", "strrchr", "strlen", "strcmp", "strncmp", "strnlen",
        "sigaddset", "sigdelset", "sigfillset", "sigemptyset", "sigismember", "sysconf", "getauxval", "clock_gettime",
        "sched_getcpu", "uname", "__libc_current_sigrtmin", "__libc_current_sigrtmax", "getpid", "sched_yield",
        "__clear_cache", "_dl_find_object", "pthread_self"}
SAFE_PATTERN = re.compile(r"__aarch64_(cas|swp|ldadd|ldclr|ldset|ldeor)\d+_\w+$")  # the compiler's atomics
# Safe from this one caller only. A key's value is stored in the thread's descriptor when the key is below 32, and
# self_setup() takes no other; otherwise libc would call calloc.
SAFE_FROM = {("pthread_setspecific", "make"), ("pthread_setspecific", "self_make")}


def strip(name):
    """Without what the compiler appends to the name of a function that it has split or adapted."""
    return re.sub(r"\.(cold|part|constprop|isra|lto_priv)(\.\d+)*", "", name)


def read(archive):
    """Of each (file, function): the names that its code refers to, and by which it may be called."""
    uses, at, file, function = {}, {}, None, None
    for line in subprocess.run(["objdump", "-dr", "--no-show-raw-insn", archive], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        if match := re.match(r"(\S+):\s+file format", line):
            file = match[1]
        elif match := re.match(r"([0-9a-f]+) <(.+)>:$", line):
            function = strip(match[2])
            at.setdefault((file, section), []).append((int(match[1], 16), function))
            uses.setdefault((file, function), set())
        elif match := re.match(r"Disassembly of section (\S+):", line):
            section = match[1]
        elif match := re.search(r"\bR_\w+\s+(\S+?)(?:([+-])0x([0-9a-f]+))?$", line):
            addend = int((match[2] or "+") + (match[3] or "0"), 16)
            uses[file, function].add((match[1], addend + (4 if "X86_64_P" in line else 0)))
        elif match := re.search(r"<([^>+]+)(?:\+0x[0-9a-f]+)?>$", line):
            uses[file, function].add((match[1], None))
    return uses, at


def callees(file, uses, at):
    for name, addend in uses:
        if name.startswith("."):  # a function of this file by its place
            places = [function for start, function in at.get((file, name), []) if start == addend]
            yield from places
        else:
            yield strip(name)


def main():
    uses, at = read(sys.argv[1])
    owners = {}
    for file, function in uses:
        owners.setdefault(function, []).append(file)
    known = set(subprocess.run(["nm", "--defined-only", sys.argv[1]], capture_output=True, text=True,
                               check=True).stdout.split())
    seen, waiting, left = set(), [(owners[ROOT][0], ROOT)], set()
    while waiting:
        file, function = waiting.pop()
        if (file, function) in seen:
            continue
        seen.add((file, function))
        for callee in callees(file, uses[file, function], at):
            if (file, callee) in uses:
                waiting.append((file, callee))
            elif callee in owners:
                waiting.append((owners[callee][0], callee))
            elif callee not in known and callee not in SAFE and not SAFE_PATTERN.match(callee) and \
                    not callee.startswith((".", "_GLOBAL_OFFSET", "__rseq_")) and (callee, function) not in SAFE_FROM:
                left.add("%s calls %s" % (function, callee))
    names = {function for _, function in seen}
    print("TAP version 13\n1..2")
    there = {"burst_access", "step_burst", "stack_number", "agent_reserve", "signals_held", "thread_ready"} <= names
    print("ok" if there else "not ok", "1 - %d functions run in handlers" % len(seen))
    print("not ok" if left else "ok", "2 - handlers call nothing unknown")
    for name in sorted(left):
        print("#", name)
    sys.exit(0 if there and not left else 1)


main()
