#!/usr/bin/env python3
"""What runs while a burst goes on must leave vector registers alone: they are the program's.

usage: test_burst_code.py ENGINE_ARCHIVE PATH_ARCHIVE"""
import re
import subprocess
import sys

ENGINE, PATH = sys.argv[1:3]
# System calls, an address, and what runs before or after a burst (start-up; on_tick; memcpy where a walk has given the
# registers away).
OUTSIDE = {"syscall", "__errno_location", "_GLOBAL_OFFSET_TABLE_", "__rseq_size", "__rseq_offset", "getauxval"}
PATH_OUTSIDE = OUTSIDE | {"clock_gettime", "sched_getcpu", "sigismember", "sigaddset", "sigdelset", "memcpy", "memset",
                          "memmove", "sched_yield", "sysconf", "dl_iterate_phdr",
                          "_dl_find_object"}  # the last two: the table of modules is made outside of bursts


def symbols(archive):
    undefined, defined = set(), set()
    for line in subprocess.run(["nm", archive], capture_output=True, text=True, check=True).stdout.splitlines():
        fields = line.split()
        if len(fields) >= 2 and not line.endswith(":"):
            (undefined if fields[-2] in "Uuw" else defined).add(fields[-1])
    return undefined, defined


def vector_lines(archive):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", archive], capture_output=True, text=True, check=True).stdout
    return [line for line in text.splitlines() if re.search(r"%[xyz]mm\d|%mm\d|%st\b|%k[0-7]\b", line)]


def libc_calls(archive, allowed):
    """Undefined names that look like libc's: the agent's own have a prefix."""
    undefined, defined = symbols(archive)
    own = re.compile(r"(agent|armed|attach|block|branch|burst|decode|emit|engine|form|frame|guard|identity|mask|opcode|outline|reuse|ring|"
                     r"sampler|self|signals|stack|step|thread|tick|trap|unwind|vector|vectors|wire)_")
    return sorted(name for name in undefined - defined - allowed if not own.match(name + "_"))


failed = 0
print("TAP version 13\n1..4")
for number, (name, found) in enumerate((
        ("the engine uses general registers only", vector_lines(ENGINE)),
        ("nor does what it calls for each access", vector_lines(PATH)),
        ("the engine calls nothing of libc's that might use others", libc_calls(ENGINE, OUTSIDE)),
        ("nor does what it calls, but where the registers were saved before", libc_calls(PATH, PATH_OUTSIDE))), 1):
    print("not ok" if found else "ok", number, "-", name)
    for line in found[:10]:
        print("#", line)
    failed += bool(found)
sys.exit(1 if failed else 0)
