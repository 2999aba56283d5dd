#!/usr/bin/env python3
"""A program may have functions named like libc's: neither libc nor itself may be reached by the agent through such a name.

  tests/integration/test_own_names.py --each     one program for each name, instead of one with all of them"""
import os
import re
import subprocess
import sys
import tempfile

import nlens
from nlens import NUMALENS, check, note, run

AGENT = os.path.join(nlens.BUILD, "src", "agent", "libnumalens-agent.so")
LIBC = os.path.join(nlens.BUILD, "src", "agent", "libagent_libc.a")
# Data that only libc has, and what the compiler's start code asks for in every library.
DATA = {"environ", "__environ", "_r_debug", "__rseq_offset", "__rseq_size"}
START = {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__gmon_start__"}
# A program's own malloc is an allocator that libc uses too: test_custom.py and tests/agent have those.
ALLOCATORS = re.compile(r"_Z(n|d)[aw]|_Z(dl|da)Pv|malloc|calloc|realloc|free$|memalign|aligned_alloc|valloc")
BURSTS = 20
MAIN = """
#include <sys/syscall.h>
static long sys(long n, long a, long b, long c)
{
    %s
}
static void called(const char *name, long length) { sys(SYS_write, 1, (long)name, length); }
%s
static volatile long table[1 << 14];
int main(void)
{
    for (;;) { /* some CPU time, whatever this machine does in it */
        long used[2]; /* seconds, nanoseconds */
        for (int i = 0; i < 1 << 14; i++)
            table[i] += i;
        sys(SYS_clock_gettime, 2 /* of this process */, (long)used, 0);
        if (used[0] || used[1] > 100000000)
            break;
    }
    called("done\\n", 5);
    return 42;
}
"""
SYSTEM_CALL = {
    "x86_64": 'long r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory"); return r;',
    "aarch64": 'register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;'
               ' __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory"); return x0;',
}


def names(*command):
    return set(re.findall(r"^\S* *[TtWw] (\w+)$", subprocess.run(["nm", *command], text=True, stdout=subprocess.PIPE,
                                                                 check=True).stdout, re.MULTILINE))


def used():
    own = {name for name in names("--defined-only", LIBC) if not name.startswith(("libc_", "find_all"))}
    assert {"memcpy", "dlsym", "__errno_location"} <= own, own
    return own


def exported():
    found = {name for name in names("-D", "--defined-only", AGENT) if not ALLOCATORS.match(name)}
    assert {"sigaction", "__sigaction", "wait4", "fork", "syscall"} <= found, found
    return found


def attempt(group):
    """The same output and status plain and recorded, and samples."""
    functions = "\n".join('long %s(void) { called("%s\\n", %d); return 0; }' % (name, name, len(name) + 1) for name in group)
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "names.c"), os.path.join(folder, "names")
        with open(source, "w") as stream:
            stream.write(MAIN % (SYSTEM_CALL[os.uname().machine], functions))
        built = run(["cc", "-O1", "-w", "-fno-builtin", "-rdynamic", "-o", program, source])
        assert built.status == 0, built
        plain = run([program])
        assert plain.status == 42, plain
        recorded = nlens.record(folder, [program], ["-F", "3000", "--budget", "20"])  # several times what is needed, where a step is dear too
        assert (recorded.status, recorded.out) == (plain.status, plain.out), "%s: %s\n%s" % (group, plain, recorded)
        bursts = nlens.bursts_of(recorded.trace)
        assert bursts >= BURSTS, "%s: %d bursts" % (group, bursts)
        return bursts


@check("the agent leaves no function undefined, and reaches none of its own by name")
def _():
    undefined = {line.split()[-1].split("@")[0] for line in subprocess.run(
        ["nm", "-D", "--undefined-only", AGENT], text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()}
    assert undefined <= DATA | START, undefined - DATA - START
    slots = subprocess.run(["readelf", "-rW", AGENT], text=True, stdout=subprocess.PIPE, check=True).stdout
    assert "JUMP_SLO" not in slots and "JUMP26" not in slots, slots


if "--each" in sys.argv:
    sys.argv.remove("--each")
    GROUPS = [[name] for name in sorted(used() | exported())]
else:
    GROUPS = [sorted(used()), sorted(exported())]

for group in GROUPS:
    @check("a program with functions of its own: " + ", ".join(group[:3]) + (" and %d more" % (len(group) - 3) if group[3:] else ""))
    def _(group=group):
        note("%d bursts" % attempt(group))


@check("a program that asks for the next __sigaction behind its own sigaction, as Erlang's does")
def _():
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "next.c"), os.path.join(folder, "next")
        with open(source, "w") as stream:
            stream.write(r"""
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
static int handled;
static void handler(int number) { handled += number == SIGUSR1; }
int sigaction(int number, const struct sigaction *wanted, struct sigaction *old)
{
    int (*next)(int, const struct sigaction *, struct sigaction *) = dlsym(RTLD_NEXT, "__sigaction");
    if (!next)
        next = dlsym(RTLD_NEXT, "sigaction");
    return next(number, wanted, old);
}
int main(void)
{
    struct sigaction action = {.sa_handler = handler};
    int result = sigaction(SIGUSR1, &action, 0) | sigaction(SIGSEGV, &action, 0);
    raise(SIGUSR1);
    printf("%d %d\n", result, handled);
    return 3;
}
""")
        built = run(["cc", "-O1", "-D_GNU_SOURCE", "-o", program, source])
        assert built.status == 0, built
        for options in ([], ["--source", "none"]):
            recorded = nlens.record(folder, [program], options)
            assert recorded.status == 3 and recorded.out == b"0 1\n", recorded


nlens.main()
