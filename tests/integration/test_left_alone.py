#!/usr/bin/env python3
"""Programs that stand no agent run as without numalens, and the recording gives the reason: those built with a sanitizer, those
under a debugger, a tracer or valgrind."""
import os
import re

import nlens
from nlens import Folder, Skip, check, report, run, tool

WORK = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *argument)
{
    long sum = 0;
    for (int i = 0; i < 30000; i++) {
        int *volatile block = calloc((size_t)(i % 50 + 1), sizeof *block);
        *block = i;
        sum += *block % 7;
        free(block);
    }
    *(long *)argument = sum;
    return NULL;
}
int main(void)
{
    pthread_t threads[2];
    long sums[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &sums[i]);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        printf("%ld\\n", sums[i]);
    }
    return 3;
}
"""
# Runtimes that are libraries of their own, and runtimes inside the program.
SANITIZED = ("gcc -fsanitize=address", "gcc -fsanitize=address -static-libasan", "gcc -fsanitize=thread",
             "gcc -fsanitize=thread -static-libtsan", "gcc -fsanitize=leak", "clang -fsanitize=address", "clang -fsanitize=thread",
             "clang -fsanitize=memory", "clang -fsanitize=leak")
NUMBERS = re.compile(rb"0x[0-9a-f]+|(process |==)[0-9]+") # of processes, and addresses
REASON = b"not recorded: built with -fsanitize"


def build(folder, command):
    source, program = os.path.join(folder, "work.c"), os.path.join(folder, "work")
    with open(source, "w") as stream:
        stream.write(WORK)
    words = command.split()
    built = run([tool(words[0]), *words[1:], "-O1", "-g", "-pthread", "-o", program, source])
    assert built.status == 0, built
    return program


def same(folder, command, options=(), numalens="record", environment=None):
    """Runs it plain and recorded; what numalens said."""
    plain = run(command, folder=folder, environment=environment)
    output = ["-o", os.path.join(folder, "x.data")] if numalens == "record" else []
    ended = run([nlens.NUMALENS, numalens, *options, *output, "--", *command], folder=folder, environment=environment)
    own = b"".join(re.findall(rb"^numalens .*\n", ended.err, re.MULTILINE))
    found, wanted = ((it.status, NUMBERS.sub(b"N", it.out), NUMBERS.sub(b"N", re.sub(rb"(?m)^numalens .*\n", b"", it.err)))
                     for it in (ended, plain))
    assert found == wanted, "%s\nwithout numalens: %s" % (ended, plain)
    return own


def losses(folder):
    """Of programs, and how many."""
    dropped = report(os.path.join(folder, "x.data"))["dropped"]
    return {name: dropped[name] for name in ("sanitized", "traced", "child_untracked", "child_preload") if dropped.get(name)}


def try_sanitized(folder, command, options=("-F", "1000")):
    own = same(folder, command, options)
    assert REASON in own and b"without the agent" not in own, own
    assert losses(folder) == {"sanitized": 1}, losses(folder)


def try_compiler(command):
    with Folder() as folder:
        program = build(folder, command)
        try_sanitized(folder, [program])
        try_sanitized(folder, ["sh", "-c", "%s; exit $?" % program])


for each in SANITIZED:
    check("%s: not recorded, unharmed, and the reason is given" % each)(lambda each=each: try_compiler(each))


@check("a sanitized program is recognised in every way to start it")
def ways():
    with Folder() as folder:
        program, script = build(folder, SANITIZED[0]), os.path.join(folder, "script")
        with open(script, "w") as stream:
            stream.write("#!%s\nanything\n" % program)
        os.chmod(script, 0o755)
        try_sanitized(folder, [program], ["--source", "none"])
        try_sanitized(folder, [program], ["--source", "faults"])
        try_sanitized(folder, [script])
        try_sanitized(folder, ["env", "PATH=%s" % folder, "work"])
        python = "import os; os.%s"
        for call in ("execv('work', ['work'])", "execve(os.open('work', os.O_RDONLY), ['work'], os.environ)",
                     "_exit(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn('work', ['work'], os.environ), 0)[1]))"):
            try_sanitized(folder, [tool("python3"), "-c", python % call])
        assert REASON in same(folder, [program], numalens="migrate")


@check("a sanitizer's runtime that is preloaded is left the first")
def preloaded():
    with Folder() as folder:
        program = build(folder, "gcc")
        runtime = run([tool("gcc"), "-print-file-name=libasan.so"]).out.decode().strip()
        own = same(folder, ["sh", "-c", "LD_PRELOAD=%s %s; exit $?" % (os.path.realpath(runtime), program)])
        assert REASON in own, own
        # Here numalens has the runtime too, and its sandbox refuses the ptrace that a search for leaks at its end needs.
        environment = {"LD_PRELOAD": os.path.realpath(runtime), "ASAN_OPTIONS": "detect_leaks=0"}
        assert REASON in same(folder, [program], environment=environment)


@check("-fsanitize=undefined alone is recorded")
def undefined():
    for compiler in ("gcc", "clang"):
        with Folder() as folder:
            own = same(folder, [build(folder, compiler + " -fsanitize=undefined")], ["-F", "1000"])
            assert REASON not in own and "sanitized" not in losses(folder), own
            assert int(re.search(rb"([0-9]+) objects", own)[1]) >= 60000, own


def try_traced(*command):
    with Folder() as folder:
        program = build(folder, "gcc")
        if run([tool("strace"), "-o", "/dev/null", "true"]).status != 0:
            raise Skip("processes cannot be traced here")
        own = same(folder, [*command, program], ["-F", "1000"])
        assert b"not recorded: under a debugger" in own, own
        assert losses(folder).get("traced") == 1, losses(folder)
        # What runs beside it is recorded.
        own = same(folder, ["sh", "-c", "%s %s; %s; exit $?" % (" ".join(map(repr, command)), program, program)], ["-F", "1000"])
        assert losses(folder).get("traced") == 1, losses(folder)


@check("valgrind runs its program as without numalens")
def valgrind():
    try_traced("valgrind")


@check("gdb runs its program as without numalens, and is stopped by no tick")
def gdb():
    # Threads come and go in any order, and gdb says so.
    try_traced("gdb", "-batch", "-nx", "-ex", "set print thread-events off", "-ex", "run")


@check("gdb does so where there is no /proc to look into")
def gdb_without_proc():
    inner = ["unshare", "--mount", "--map-root-user", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"]
    with Folder() as folder:
        if run([*inner, "true"]).status != 0:
            raise Skip("nothing can be mounted over /proc here")
        gdb = ["gdb", "-batch", "-nx", "-ex", "set print thread-events off", "-ex", "run", build(folder, "gcc")]
        ended = run([nlens.NUMALENS, "record", "-F", "1000", "-o", "x.data", "--", *inner, *gdb], folder=folder)
        assert ended.status == 0 and b"89995\n89995\n" in ended.out and b"SIGTRAP" not in ended.out, ended


@check("strace shows the program's own system calls and no signal")
def strace():
    try_traced("strace", "-e", "trace=openat,execve")


nlens.main()
