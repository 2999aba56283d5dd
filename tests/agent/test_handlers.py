#!/usr/bin/env python3
"""What the agent's signal handlers may call: nothing that allocates, locks, or is not known here.

usage: test_handlers.py ARCHIVE

The archive holds the files that run in handlers. What none of them defines must be listed below.
Functions that only run at start are in the same files, so what they call is listed too, apart."""
import re
import subprocess
import sys

# Safe at any instruction: system calls and arithmetic. memcpy and its kin are plain code in every libc;
# _dl_find_object is made for unwinders and takes no lock.
SAFE = {"syscall", "__errno_location", "memcpy", "memmove", "memset", "memcmp", "strlen", "sigaddset", "sigdelset",
        "sigfillset", "sigemptyset", "sigismember", "sysconf", "getauxval", "clock_gettime", "sched_getcpu", "uname",
        "__libc_current_sigrtmin", "__libc_current_sigrtmax", "_GLOBAL_OFFSET_TABLE_", "__rseq_size", "__rseq_offset",
        "getpid", "sched_yield", "__clear_cache", "_dl_find_object"}
SAFE_PATTERN = re.compile(r"__aarch64_(cas|swp|ldadd|ldclr|ldset|ldeor)\d+_\w+$")  # the compiler's atomics
# Called by start-up code of these files, never by handlers.
START_ONLY = {"dl_iterate_phdr"}
# The agent's own, in other files: state, and functions whose comment says that handlers may call them.
OWN = {"agent_self", "agent_region", "agent_switch", "agent_text_start", "agent_text_end", "agent_thunks", "agent_thunk_count", "real", "real_resolve",
       "attach_give_up", "attach_is_shy", "thread_ready"}

undefined, defined = set(), set()
for line in subprocess.run(["nm", sys.argv[1]], capture_output=True, text=True, check=True).stdout.splitlines():
    fields = line.split()
    if len(fields) < 2 or line.endswith(":"):
        continue
    (undefined if fields[-2] in "Uuw" else defined).add(fields[-1])
left = sorted(name for name in undefined - defined - SAFE - START_ONLY - OWN if not SAFE_PATTERN.match(name))
print("TAP version 13\n1..2")
there = {"burst_access", "step_begin", "stack_number", "agent_reserve", "signals_held"} <= defined
print("ok" if there else "not ok", "1 - the handlers' files are there")
print("not ok" if left else "ok", "2 - handlers call nothing unknown")
for name in left:
    print("#", name)
sys.exit(0 if there and not left else 1)
