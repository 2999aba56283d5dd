#!/usr/bin/env python3
"""advise, apply and optimize on a machine with one node: plans are written, followed and refused; programs are unharmed; a plan is kept
when it helps and only then. Real nodes: tests/guest/test_plan.py."""
import collections
import glob
import json
import os
import signal
import struct
import subprocess
import time

import nlens
from nlens import check, note

PLACED = os.path.join(nlens.BUILD, "tests", "guest", "placed")
# All that it allocates, on the only node there is.
ALL = "numalens plan 1\n" + "".join("site %s @ %s\n" % pair for pair in (
    ("bound_block", "bind 0"), ("spread_block", "interleave all"), ("split_block", "split all"), ("weighted_block", "weighted all"),
    ("grown_block", "preferred 0"), ("small_block", "bind 0"), ("local_block", "local"), ("helper > left_caller", "bind 0 small"))) + (
        "static in_bss @ bind 0\nfile */data.bin @ interleave all\nshm buffers @ bind 0\nthread worker @ distribute\nstack worker @ bind 0\nstack main @ interleave all\n")


def written(folder, text, name="plan"):
    path = os.path.join(folder, name)
    with open(path, "w") as stream:
        stream.write(text)
    return path


Ended = collections.namedtuple("Ended", "status out err")


def names(text):
    """What placed shows, without where it is."""
    return [line.split()[0] for line in text.splitlines()]


def numalens(*words, **rest):
    ended = nlens.run([nlens.NUMALENS, *words], **rest)
    return Ended(ended.status, ended.out.decode(), ended.err.decode())


def built(folder, text, name="program", options=()):
    path = os.path.join(folder, name)
    ended = nlens.run([nlens.tool("cc"), "-O2", "-g", "-pthread", *options, "-x", "c", "-o", path, "-"], text.encode())
    assert ended.status == 0, ended
    return path


def applied(folder, plan, *words, **rest):
    """How a program ended under these entries, and what became of them, by what they are about."""
    answer = os.path.join(folder, "answer.json")
    ended = numalens("apply", "--json", answer, written(folder, "numalens plan 1\n" + plan), "--", *words, **rest)
    with open(answer) as stream:
        return ended, {entry["site"]: entry for entry in json.load(stream)["entries"]}


def memory_bytes():
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


# As in a container.
NO_POLICIES = ("mbind", "set_mempolicy", "get_mempolicy", "move_pages")


def data_file(folder):
    path = os.path.join(folder, "data.bin")
    with open(path, "wb") as stream:
        stream.truncate(4 << 20)
    return path


@check("apply: each kind of entry is applied and counted; the program prints the same")
def _():
    with nlens.Folder() as folder:
        answer = os.path.join(folder, "answer.json")
        data = data_file(folder)
        plain = nlens.run([PLACED, data])
        ended = numalens("apply", "--json", answer, written(folder, ALL), "--", PLACED, data)
        assert ended.status == 0 and names(ended.out) == names(plain.out.decode()), ended
        with open(answer) as stream:
            entries = json.load(stream)["entries"]
        wrong = [entry for entry in entries if not entry["applied"] or entry["reason"] or not entry["count"]]
        assert len(entries) == 14 and not wrong, wrong
        by_site = {entry["site"]: entry for entry in entries}
        assert by_site["bound_block"]["bytes"] == 4 << 20 and by_site["small_block"]["count"] == 8000, by_site
        assert "14 of 14 entries applied" in ended.err, ended.err


@check("apply: what is not in the program, or never happens, is listed with the reason; without anything to do the agent stays out")
def _():
    with nlens.Folder() as folder:
        plan = written(folder, "numalens plan 1\nsite no_such @ bind 0\nsite placed.c:1 @ bind 0\nstatic nothing @ bind 0\n")
        ended = numalens("apply", plan, "--", "sh", "-c", "echo [$LD_PRELOAD]")
        assert ended.status == 0 and ended.out == "[]\n", ended
        for line, reason in ((2, "no function no_such"), (3, "no code at line placed.c:1"), (4, "no static object nothing")):
            assert "line %d: " % line in ended.err and reason in ended.err, ended.err
        plan = written(folder, "numalens plan 1\nprogram %s %s\nsite placed!0x1234 @ bind 0\nsite bound_block @ bind 0\n" % (PLACED, "0123456789" * 4))
        ended = numalens("apply", plan, "--", PLACED, data_file(folder))
        assert ended.status == 0 and "line 3: site placed!0x1234 @ bind 0: not applied" in ended.err and "is another build than" in ended.err, ended
        assert "1 of 2 entries applied" in ended.err, ended
        plan = written(folder, "numalens plan 1\nfile /never/mapped @ bind 0\n")
        ended = numalens("apply", plan, "--", "true")
        assert "the program never mapped it" in ended.err, ended.err


# Its constructor allocates before whoever loads it can look at it.
PLUGIN = """#include <stdlib.h>
__attribute__((noinline)) char *plugged(void) { char *block = malloc(1 << 20); __asm__ volatile("" : "+r"(block)); return block; }
__attribute__((constructor)) static void begin(void) { plugged(); }
"""
HOST = """#include <dlfcn.h>
int main(int count, char **words) {
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(words[1], RTLD_NOW);
        if (!library) return 1;
        ((char *(*)(void))dlsym(library, "plugged"))();
        dlclose(library);
    }
    return count - 2;
}
"""


# More than half of the address space that it may have, beside a block that is placed.
GREEDY = """#include <stdlib.h>
#include <sys/mman.h>
__attribute__((noinline)) char *placed(void) { char *block = malloc(100); __asm__ volatile("" : "+r"(block)); return block; }
int main(void) { return !placed() || mmap(NULL, (size_t)3 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED; }
"""


@check("apply: a file that is larger than the available memory is not read in, and that is the reason")
def _():
    with nlens.Folder() as folder:
        path = os.path.join(folder, "large.bin")
        with open(path, "wb") as stream:
            stream.truncate(2 * memory_bytes())
        mapped = "import mmap; large = open(%r, 'rb'); mmap.mmap(large.fileno(), 0, access=mmap.ACCESS_READ)" % path
        ended = numalens("apply", written(folder, "numalens plan 1\nfile %s @ bind 0\n" % path), "--", nlens.tool("python3"), "-c", mapped)
        assert ended.status == 0 and "not applied: it is larger than the available memory: the page cache would not keep it (1 of 1)" in ended.err, ended


@check("apply: in a limited address space the program has what it has without a plan, but for a sixteenth at most")
def _():
    with nlens.Folder() as folder:
        program = built(folder, GREEDY, options=["-O1"])
        limited = ["sh", "-c", "ulimit -v 4194304; exec \"$@\"", "sh"]
        assert nlens.run([*limited, program]).status == 0
        ended = nlens.run([*limited, nlens.NUMALENS, "apply", written(folder, "numalens plan 1\nsite placed @ bind 0\n"), "--", program])
        assert ended.status == 0 and b"1 of 1 entries applied" in ended.err, ended


@check("apply: entries that were not applied for one reason are reported in one line")
def _():
    with nlens.Folder() as folder:
        plan = written(folder, "numalens plan 1\n" + "".join("file /never/%d @ bind 0\n" % i for i in range(5)) + "site no_such @ bind 0\n")
        ended = numalens("apply", plan, "--", "true")
        lines = ended.err.splitlines()
        assert len(lines) == 3 and "lines 2 to 6: none of 5 entries applied: the program never mapped it" in lines[0], ended
        assert "line 7: site no_such @ bind 0: not applied: true has no function no_such" in lines[1], ended


@check("apply: sites of a library that is loaded, unloaded and loaded again are found each time, in its constructor too")
def _():
    with nlens.Folder() as folder:
        library, host = built(folder, PLUGIN, "libplug.so", ("-shared", "-fPIC")), built(folder, HOST)
        ended, entries = applied(folder, "program %s\nsite plugged @ bind 0\n" % library, host, library)
        assert ended.status == 0 and entries["plugged"]["count"] == 6 and not entries["plugged"]["failed"], (ended, entries)


# As PLUGIN, with data of its own.
TABLED = "char in_plugin[1 << 16] = {1};\n" + PLUGIN


@check("apply: static objects of a library are placed each time that it is loaded, also by a name that is searched for")
def _():
    with nlens.Folder() as folder:
        library, host = built(folder, TABLED, "libplug.so", ("-shared", "-fPIC")), built(folder, HOST)
        for name in (library, "libplug.so"):
            ended, entries = applied(folder, "program %s\nstatic in_plugin @ bind 0\n" % library, host, name, environment={"LD_LIBRARY_PATH": folder})
            assert ended.status == 0 and entries["in_plugin"]["count"] == 3 and not entries["in_plugin"]["failed"], (name, ended, entries)


OWN_STACK = """#include <pthread.h>
#include <stdlib.h>
void *worker(void *unused) { return unused; }
int main(void) {
    static char memory[1 << 22];
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory + (1 << 20), 1 << 20);
    return pthread_create(&thread, &attributes, worker, NULL) || pthread_join(thread, NULL);
}
"""


@check("apply: a stack that the program made itself, among other data, is not placed, and that is said")
def _():
    with nlens.Folder() as folder:
        ended, _ = applied(folder, "stack worker @ bind 0\n", built(folder, OWN_STACK))
        assert ended.status == 0 and "not applied: the stack is memory of the program's own" in ended.err, ended


# Prints the CPUs of its first thread, of a worker with attributes, of a worker without, and of a thread that no entry is about.
AFFINITY = """#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void show(const char *name) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    int cpu = 0;
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &set)) cpu++;
    printf("%s %d\\n", name, CPU_COUNT(&set) > 1 ? -1 : cpu);
    fflush(stdout);
}
static void *worker(void *name) { show(name); return NULL; }
static void *helper(void *name) { show(name); return NULL; }
static void *starter(void *program) {
    if (fork() == 0) { execl(program, program, "child", NULL); _exit(1); }
    execl("/no/such/program", "", NULL);
    show("starter");
    return NULL;
}
static void run(void *(*routine)(void *), const char *name, const pthread_attr_t *attributes) {
    pthread_t thread;
    if (pthread_create(&thread, attributes, routine, (void *)name) || pthread_join(thread, NULL)) exit(2);
}
int main(int count, char **words) {
    pthread_attr_t attributes;
    cpu_set_t first;
    if (count > 1) { show(words[1]); return 0; }
    show("main");
    CPU_ZERO(&first);
    CPU_SET(atoi(getenv("FIRST")), &first);
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, sizeof first, &first);
    run(worker, "own", &attributes);
    run(worker, "worker", NULL);
    run(helper, "helper", NULL);
    char *statics = getenv("STATIC");
    run(starter, words[0], NULL);
    if (statics) run(starter, statics, NULL);
    return 0;
}
"""


@check("apply: CPUs that the program gives a thread stay its own; who inherits those of a pinned thread gets the program's first ones back")
def _():
    if len(os.sched_getaffinity(0)) < 2:
        raise nlens.Skip("one CPU only: a plan cannot change where a thread runs")
    first, second = sorted(os.sched_getaffinity(0))[:2]
    with nlens.Folder() as folder:
        program, static = built(folder, AFFINITY), built(folder, AFFINITY, "static", ["-static"])
        plan = "thread worker @ cpus %d\nthread starter @ cpus %d\n" % (second, second)
        environment = {"STATIC": static, "FIRST": str(first)}
        ended, entries = applied(folder, plan, program, environment=environment)
        lines = ended.out.splitlines()
        assert ended.status == 0 and lines[:4] == ["main -1", "own %d" % first, "worker %d" % second, "helper -1"], (ended, entries)
        assert sorted(lines[4:]) == sorted(["child -1", "starter %d" % second] * 2), ended
        worker = entries["worker"]
        assert worker["count"] == 1 and worker["failed"] == 1 and "the program pins its own threads (1 of 2)" in worker["reason"], worker
        ended, entries = applied(folder, "thread main @ cpus %d\n" % second, program, environment=environment)
        lines = ended.out.splitlines()
        assert ended.status == 0 and lines[:4] == ["main %d" % second, "own %d" % first, "worker -1", "helper -1"], ended


# As many blocks of so many bytes as asked for, each freed; then one that is placed.
REFUSED = """#include <stdlib.h>
#define SITE(name) __attribute__((noinline)) char *name(size_t size) { char *block = malloc(size); __asm__ volatile("" : "+r"(block)); return block; }
SITE(refused)
SITE(placed)
int main(int count, char **words) {
    for (long left = atol(words[1]); left > 0; left--) free(refused(strtoul(words[2], NULL, 10)));
    return count != 3 || !placed(100);
}
"""


@check("apply: blocks that are not placed use up no address space, of their entry or of others")
def _():
    with nlens.Folder() as folder:
        program = built(folder, REFUSED)
        plan = "program %s\nsite refused @ bind 0\nsite placed @ bind 0\n" % program
        size, blocks = memory_bytes() * 3 // 4, (1 << 38) // (memory_bytes() * 3 // 4) + 2
        ended, entries = applied(folder, plan, program, str(blocks), str(size), prepare=nlens.refuse(*NO_POLICIES))
        assert ended.status == 0 and entries["placed"]["applied"] and not entries["refused"]["applied"], (ended, entries)
        assert entries["refused"]["failed"] == blocks and "half of the available memory" in entries["refused"]["reason"] or size > 1 << 38, entries
        # In a range of 256 MiB at most.
        ended, entries = applied(folder, plan, "sh", "-c", "ulimit -v 4194304; exec %s 1000 100" % program, prepare=nlens.refuse("mbind", error=22))
        assert ended.status == 0 and entries["refused"]["failed"] == 1000 and "Invalid argument" in entries["refused"]["reason"], (ended, entries)


# 2,000 blocks live at once, and one that was freed and grows within its size class: where it ends a policy is there too.
RUNS = """#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) char *placed(size_t size) { char *block = malloc(size); __asm__ volatile("" : "+r"(block)); return block; }
static int mappings(void) {
    int lines = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    for (int letter; (letter = getc(maps)) != EOF;) lines += letter == '\\n';
    fclose(maps);
    return lines;
}
int main(void) {
    int mode = 2 /* MPOL_BIND */, before = mappings();
    char *block = placed(40 << 10);
    free(block);
    char *grown = placed(60 << 10);
    if (grown != block) return 2;
    syscall(SYS_get_mempolicy, &mode, NULL, 0, grown + (59 << 10), 2 /* MPOL_F_ADDR */);
    if (mode != 2) return 3;
    for (int i = 0; i < 2000; i++) placed(40 << 10)[0] = 1;
    return mappings() < before + 100 ? 0 : 4;
}
"""


@check("apply: a large block is placed up to the end of its size class, and is one mapping with its neighbours")
def _():
    with nlens.Folder() as folder:
        ended, entries = applied(folder, "site placed @ bind 0\n", built(folder, RUNS))
        assert ended.status == 0 and entries["placed"]["count"] == 2002, (ended, entries)


# A block of 16 MiB that may have huge pages, and what of it has; it is freed, or the program asks for none.
HUGE = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
__attribute__((noinline)) char *placed(size_t size) { char *block = malloc(size); __asm__ volatile("" : "+r"(block)); return block; }
int main(int count, char **words) {
    char line[4096], *block;
    unsigned long start, end, huge = 0, kilobytes;
    int inside = 0;
    if (strcmp(words[1], "none") == 0 && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)) return 2;
    memset(block = placed(16 << 20), 1, 16 << 20);
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2) inside = start <= (unsigned long)block && (unsigned long)block < end;
        if (inside && sscanf(line, "AnonHugePages: %lu", &kilobytes) == 1) huge = kilobytes << 10;
    }
    printf("%lu", huge);
    if (strcmp(words[1], "freed") == 0) free(block);
    return count - 2;
}
"""


@check("apply: huge pages are reported as the kernel gave them; an entry that got none is not applied")
def _():
    with nlens.Folder() as folder:
        program = built(folder, HUGE)
        for way in ("kept", "freed", "none"):
            ended, entries = applied(folder, "site placed @ bind 0 huge\n", program, way)
            entry, own = entries["placed"], int(ended.out)
            note("%s: %d bytes" % (way, own))
            assert ended.status == 0 and entry["count"] == 1 and own <= entry["huge_bytes"] <= 16 << 20, (way, ended, entry)
            assert entry["applied"] == (entry["huge_bytes"] > 0) and (own == 0 or way != "none"), (way, entry)
            assert ("nothing of it was seen in huge pages" in entry["reason"]) == (entry["huge_bytes"] == 0), (way, entry)


# What cannot be written, and memory whose file is shorter than its mapping.
FRAGILE = """#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
enum { SIZE = 1 << 18 };
const char in_rodata[SIZE] = {1};
void *const in_relro[SIZE / sizeof(void *)] = {(void *)in_rodata};
char in_data[SIZE] = {1}, in_bss[SIZE];
static char *shared(const char *name, long before, long after) {
    int fd = memfd_create(name, 0);
    if (fd < 0 || ftruncate(fd, before)) return NULL;
    char *mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return mapped == MAP_FAILED || ftruncate(fd, after) ? NULL : mapped;
}
int main(void) {
    char *empty = shared("empty", 0, SIZE), *half = shared("half", SIZE / 2, SIZE / 2), *whole = shared("whole", SIZE, SIZE);
    if (!empty || !half || !whole) return 2;
    empty[SIZE - 1] = half[SIZE / 2 - 1] = whole[SIZE - 1] = in_data[SIZE - 1] = in_bss[SIZE - 1] = 1;
    return ((volatile const char *)in_rodata)[SIZE - 1] || ((void *const volatile *)in_relro)[1];
}
"""


@check("apply: where policies are refused nothing is written that the program could not write; what cannot be touched is reported")
def _():
    wanted = {"in_rodata": "cannot be written", "in_relro": "cannot be written", "in_data": "", "in_bss": "", "whole": "",
              "empty": "its file is too short", "half": "its file is too short"}
    plan = "".join("%s %s @ bind 0\n" % ("static" if name.startswith("in_") else "shm", name) for name in wanted)
    with nlens.Folder() as folder:
        ended, entries = applied(folder, plan, built(folder, FRAGILE), prepare=nlens.refuse(*NO_POLICIES))
        assert ended.status == 0, ended
        for name, reason in wanted.items():
            entry = entries[name]
            assert entry["applied"] == (reason == "") and reason in entry["reason"] and (entry["reason"] == "") == (reason == ""), entry
            assert entry["by"] == ("first touch" if entry["applied"] else ""), entry


# Its first blocks of the site come when it has restricted itself, or once it has become another program.
RESTRICTED = """#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) char *placed(void) { char *block = malloc(100); __asm__ volatile("" : "+r"(block)); return block; }
int main(int count, char **words) {
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    char *heap = malloc(1 << 16), *again[] = {words[0], "again", NULL};
    __asm__ volatile("" : "+r"(heap));
    free(heap);
    if (strcmp(words[1], "again") == 0) return !placed();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || count != 2) return 2;
    if (strcmp(words[1], "exec") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) || execv("/proc/self/exe", again);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 3;
    syscall(SYS_exit, !placed());
}
"""


@check("apply: a program that restricts its system calls is not killed by ours, nor is one that it becomes; that is reported")
def _():
    with nlens.Folder() as folder:
        program = built(folder, RESTRICTED)
        for way in ("strict", "exec"):
            ended, entries = applied(folder, "site placed @ bind 0\n", program, way)
            assert ended.status == 0 and not entries["placed"]["applied"], (way, ended, entries)
            assert "restricted its system calls" in entries["placed"]["reason"], (way, entries)


# In wire/place.h: of the table, where the entries are; of an entry, how many frames it has, the first one's ranges, its weights.
ENTRIES_AT, FRAME_COUNT, FRAMES, WEIGHTS = 32, 3, 8, 264
NO_RANGE = ((FRAME_COUNT, bytes(1)), (FRAMES, struct.pack("<II", 1 << 30, 1)))
TABLES = (("site bound_block @ bind 0", (), True), ("site bound_block @ bind 0", NO_RANGE, False), ("static in_bss @ bind 0", NO_RANGE, False),
          ("site weighted_block @ weighted 0:1", ((WEIGHTS, bytes(2)),), False))


@check("apply: a table for the agent that lacks something is not followed, and harms nobody")
def _():
    with nlens.Folder() as folder:
        data, path = data_file(folder), os.path.join(folder, "table")
        agent = os.path.join(nlens.BUILD, "src/agent/libnumalens-agent.so")
        for line, fields, followed in TABLES:
            plan = written(folder, "numalens plan 1\nprogram %s\n%s\n" % (PLACED, line))
            table = bytearray(nlens.run([nlens.NUMALENS, "apply", "-q", plan, "--", "sh", "-c", "cat $NUMALENS_PLAN"]).out)
            (at,) = struct.unpack_from("<I", table, ENTRIES_AT)
            for field, value in fields:
                table[at + field:at + field + len(value)] = value
            with open(path, "wb") as stream:
                stream.write(table)
            ended = nlens.run([PLACED, data], environment={"LD_PRELOAD": agent, "NUMALENS_PLAN": path})
            with open(path, "rb") as stream:
                assert ended.status == 0 and (stream.read() != table) == followed, (line, fields, ended)


@check("apply: bad plans end with the line, and the program is not started")
def _():
    with nlens.Folder() as folder:
        for text, says in (("site f @ bind 0\n", "line 1: this is no plan"), ("numalens plan 1\nsite f @ bind 77\n", "line 2: there is no node 77 here"),
                           ("numalens plan 1\nthread * @ cpus %d,1000\n" % nlens.CPU, "line 2: CPU 1000 is not there"), ("numalens plan 1\nplace f\n", "line 2: 'place' is unknown")):
            ended = numalens("apply", written(folder, text), "--", "echo", "started")
            assert ended.status == 1 and ended.out == "" and says in ended.err, ended
        ended = numalens("apply", written(folder, "numalens plan 1\nnodes 0-3,76-77\nsite f @ bind 77\n"), "--", "echo", "started")
        assert ended.status == 1 and ended.out == "" and "line 3: " in ended.err and "the plan is for nodes 0-3,76-77" in ended.err, ended
        assert numalens("apply", "--map", written(folder, "numalens plan 1\nsite f @ bind 77\n"), "--", "true").status == 0
        assert numalens("apply", os.path.join(folder, "none"), "--", "true").status == 1
        assert numalens("apply", written(folder, ALL)).status == 2


@check("apply: a child that is forked while another thread opens a library does not wait for ever")
def _():
    with nlens.Folder() as folder:
        program = nlens.example("fork_loading")
        ended = numalens("apply", "-q", written(folder, "numalens plan 1\nsite main @ bind 0\n"), "--", program)
        assert (ended.status, ended.out) == (0, "good children 300\n"), ended


@check("apply: exit status, signals and standard input are the program's")
def _():
    with nlens.Folder() as folder:
        plan = written(folder, "numalens plan 1\nthread * @ node 0\n")
        assert numalens("apply", plan, "--", "sh", "-c", "exit 7").status == 7
        assert numalens("apply", plan, "--", "./no-such").status == 127
        assert numalens("apply", "-q", plan, "--", "cat", input=b"abc").out == "abc"
        done = subprocess.run([nlens.NUMALENS, "apply", "-q", plan, "--", "sh", "-c", "kill -SEGV $$"], env=nlens.ENVIRONMENT,
                              stderr=subprocess.PIPE)
        assert done.returncode == -signal.SIGSEGV, done


def recorded_streamcluster(folder):
    """Without latencies: how much of the run a change wins depends on the machine's caches, and what wins little is not advised."""
    return nlens.record(folder, [nlens.example("case_streamcluster")], ["-q", "--no-latency", "--topology", "numa:4 core:2"], name="trace", bursts=500)


@check("advise: what the recording says becomes a plan that apply follows")
def _():
    with nlens.Folder() as folder:
        plan = os.path.join(folder, "plan")
        trace = os.path.join(folder, "trace")
        program = nlens.example("case_streamcluster")
        assert recorded_streamcluster(folder).status == 0
        assert numalens("advise", "-o", plan, trace).status == 0
        with open(plan) as stream:
            text = stream.read()
        note(text)
        assert "site streamcluster.c:%d @ interleave all" % nlens.site_line("cases/streamcluster.c", "block") in text, text
        ended = numalens("apply", plan, "--", program)
        assert ended.status == 0 and "not applied" not in ended.err, ended


@check("advise and apply mean the same shared memory and the same mapped file")
def _():
    line = nlens.site_line("patterns/far_initialised.c", "segment")
    for how, what in (("shm", "shm far_initialised"), ("sysv", "site far_initialised.c:%d" % line), ("file", "file /")):
        with nlens.Folder() as folder:
            plan = os.path.join(folder, "plan")
            program = [nlens.example("patterns/far_initialised"), "bad", "--%s" % how, "--threads=4", "--rounds=3000000"]
            ended = nlens.record(folder, program, ["-q", "--no-latency", "-F", "1000", "--budget", "100", "--topology", "numa:4 core:2"], bursts=300)
            assert ended.status == 0, ended
            advised = numalens("advise", "-o", plan, ended.trace)
            with open(plan) as stream:
                text = stream.read()
            assert advised.status == 0 and "\n%s" % what in text, text
            # One node is here: what is on several there is on this one.
            applied = numalens("apply", "--map", plan, "--", *program, folder=folder)
            assert applied.status == 0 and "2 of 2 entries applied" in applied.err, (applied, text)


@check("FlexMalloc's location files: advise writes one, apply follows it; unknown allocators end it with the line")
def _():
    with nlens.Folder() as folder:
        answer, locations, trace = (os.path.join(folder, name) for name in ("answer.json", "locations", "trace"))
        program = nlens.example("case_streamcluster")
        assert recorded_streamcluster(folder).status == 0
        ended = numalens("advise", "--format", "flexmalloc", "--allocator", "spread=interleave all", "-o", locations, trace)
        with open(locations) as stream:
            text = stream.read()
        note(text)
        line = "streamcluster.c:%d" % nlens.site_line("cases/streamcluster.c", "block")
        wanted = [row for row in text.splitlines() if row.split(" > ")[0].split(" @ ")[0] == line]
        assert ended.status == 0 and len(wanted) == 1 and wanted[0].endswith(" @ spread") and "libc" not in wanted[0], (ended, text)
        ended = numalens("apply", "--json", answer, "--allocator", "spread=interleave all", locations, "--", program)
        with open(answer) as stream:
            entries = json.load(stream)["entries"]
        entry = next(entry for entry in entries if entry["site"] == line)
        assert ended.status == 0 and entry["applied"] and entry["wanted"] == "interleave all" and not entry["reason"], (ended, entries)
        ended = numalens("apply", locations, "--", "echo", "started")
        assert ended.status == 1 and ended.out == "" and "what the allocator spread means" in ended.err and "line " in ended.err, ended
        assert numalens("apply", "--allocator", "spread=nowhere", locations, "--", "true").status == 2
        assert numalens("advise", "--format", "tables", trace).status == 2


@check("FlexMalloc's location files: offsets are bytes of the binary's file")
def _():
    with nlens.Folder() as folder:
        answer = os.path.join(folder, "answer.json")
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=bound_block", PLACED], stdout=subprocess.PIPE, text=True, check=True).stdout
        rows = [line.strip() for line in text.splitlines() if ":\t" in line]
        back = next(int(after.split(":")[0], 16) for line, after in zip(rows, rows[1:]) if "malloc" in line)
        loads = subprocess.run(["readelf", "-lW", PLACED], stdout=subprocess.PIPE, text=True, check=True).stdout
        at, start = next((int(line.split()[1], 16), int(line.split()[2], 16)) for line in loads.splitlines() if "LOAD" in line and "R E" in line)
        plan = written(folder, "%s!%x @ bind 0\n" % (PLACED, back - start + at))
        ended = numalens("apply", "--json", answer, plan, "--", PLACED, data_file(folder))
        with open(answer) as stream:
            (entry,) = json.load(stream)["entries"]
        assert ended.status == 0 and entry["applied"] and entry["bytes"] == 4 << 20, (ended, entry)


@check("advise: a plan that makes more remote says so, and how to measure whether it pays")
def _():
    with nlens.Folder() as folder:
        program = [nlens.example("patterns/concurrent_remote"), "bad", "--threads=8", "--rounds=4000000"]
        options = ["-q", "--no-latency", "-F", "1000", "--budget", "100", "--topology", "numa:2 core:6", "--assign", "packed"]
        ended = nlens.record(folder, program, options, bursts=300)
        assert ended.status == 0, ended
        advised = numalens("advise", ended.trace)
        assert "@ interleave all" in advised.out and "more would be remote" in advised.out, advised


def optimized(folder, *words, status=0):
    answer = os.path.join(folder, "answer.json")
    ended = numalens("optimize", "-q", "--json=" + answer, "-o", os.path.join(folder, "kept"), *words)
    assert ended.status == status, ended
    with open(answer) as stream:
        return json.load(stream), ended


# It does what it does by where it runs, and prints what that is worth: no clock decides.
WORTH = "case $(sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status) in CPU) echo worth %d;; *) echo worth %d;; esac".replace("CPU", str(nlens.CPU))


@check("optimize: keeps a plan that helps, neither one that harms nor one that does nothing")
def _():
    if len(os.sched_getaffinity(0)) < 2:
        raise nlens.Skip("one CPU only: a plan cannot change where a thread runs")
    with nlens.Folder() as folder:
        plan = written(folder, "numalens plan 1\nthread * @ cpus %d\n" % nlens.CPU)
        for with_plan, without, kept in ((200, 100, "plan"), (100, 200, "default"), (100, 100, "default")):
            answer, ended = optimized(folder, "--runs", "5", "--metric", "worth ([0-9]+)", "--plan", plan, "--", "sh", "-c", WORTH % (with_plan, without))
            assert answer["kept"] == kept, (answer, ended)
            assert os.path.exists(os.path.join(folder, "kept")) == (with_plan == 200), ended
            assert (answer["verdict"] == "the default placement is best") == (kept == "default"), answer
            runs = answer["runs"]
            assert len(runs) >= 8 and {run["plan"] for run in runs} == {"default", "plan"}, runs
            if kept == "plan":
                assert abs(answer["gain"]["factor"] - 2) < 0.001, answer
                os.unlink(os.path.join(folder, "kept"))
        answer, ended = optimized(folder, "--runs", "4", "--metric", "worth ([0-9]+)", "--less-is-better", "--plan", plan, "--", "sh", "-c",
                                  WORTH % (50, 100))
        assert answer["kept"] == "plan", answer


# Worth so much, and so much more in every other run with the plan.
UNSTEADY = "case $(sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status) in CPU) echo >>count; echo worth $((%d + $(wc -l <count) %% 2 * %d));; *) echo worth 100;; esac".replace("CPU", str(nlens.CPU))


@check("optimize: a gain that its runs cannot make sure is not kept, and its interval is reported")
def _():
    if len(os.sched_getaffinity(0)) < 2:
        raise nlens.Skip("one CPU only: a plan cannot change where a thread runs")
    with nlens.Folder() as folder:
        plan, kept = written(folder, "numalens plan 1\nthread * @ cpus %d\n" % nlens.CPU), os.path.join(folder, "kept")
        for least, more, seen in ((100, 300, "2.00"), (20, 280, "0.77")):  # on the whole a gain and a loss, and either may be the other
            ended = numalens("optimize", "--runs", "4", "--metric", "worth ([0-9]+)", "--plan", plan, "-o", kept, "--", "sh", "-c",
                             "cd %s; %s" % (folder, UNSTEADY % (least, more)))
            assert ended.out == "No placement was faster for sure.\n" and "plan was %s times as fast" % seen in ended.err and "--runs 16" in ended.err, ended
            assert not os.path.exists(kept), ended


@check("optimize: runs through on a program that needs no placement, and says so; failures are the program's")
def _():
    with nlens.Folder() as folder:
        plan = ("--plan", written(folder, "numalens plan 1\nthread main @ distribute\n"))
        answer, ended = optimized(folder, "--runs", "4", "--metric", "(1)", *plan, "--", "echo", "1")
        assert answer["kept"] == "default" and ended.out == "The default placement is best.\n" and answer["runs"], ended
        assert numalens("optimize", *plan, "--", "sh", "-c", "exit 3").status == 3
        assert numalens("optimize", "--", "./no-such").status == 127
        assert numalens("optimize", "--metric", "(", "--", "true").status == 2
        ended = numalens("optimize", "--metric", "worth ([0-9]+)", *plan, "--", "true")
        assert ended.status == 1 and "--metric" in ended.err, ended


@check("optimize: what it cannot try is no verdict, but an error")
def _():
    with nlens.Folder() as folder:
        static, started = built(folder, "int main(void) { return 0; }", options=["-static"]), os.path.join(folder, "started")
        for plan, program, says in (("thread * @ distribute\n", [static], "statically linked"), ("site no_such @ bind 0\n", ["touch", started], "no entry of the plan")):
            ended = numalens("optimize", "-q", "--plan", written(folder, "numalens plan 1\n" + plan), "--", *program)
            assert ended.status == 1 and ended.out == "" and "nothing could be measured: " in ended.err and says in ended.err, ended


@check("optimize: entries that place nothing here are not tried alone")
def _():
    with nlens.Folder() as folder:
        plan = written(folder, "numalens plan 1\nprogram %s\nfile /never/1 @ bind 0\nsite no_such @ bind 0\nfile /never/2 @ bind 0\nthread main @ distribute\n" % PLACED)
        answer, _ = optimized(folder, "--runs", "4", "--metric", "(1)", "--plan", plan, "--", "echo", "1")
        assert [tried["plan"] for tried in answer["tried"]] == ["plan", "plan: file /never/1", "plan: file /never/2"], answer


@check("optimize: a figure that is no number above 0 ends it with the line where it stands")
def _():
    with nlens.Folder() as folder:
        plan = written(folder, "numalens plan 1\nthread main @ distribute\n")
        for figure in ("inf", "nan", "0", "-1", "1e999", "1e-310", "12,345", "none"):
            ended = numalens("optimize", "--runs", "4", "--metric", "rate: ([^ ]*)", "--plan", plan, "--", "printf", "begun\\nrate: 1 a\\nrate: %s a\\n" % figure.replace("-", "\\055"))
            assert ended.status == 1 and "the program printed '%s' in line 3 " % figure in ended.err, (figure, ended)


@check("optimize: where there is one node it runs nothing, and says so and what to do")
def _():
    if len(glob.glob("/sys/devices/system/node/node[0-9]*")) > 1:
        raise nlens.Skip("this machine has several nodes")
    with nlens.Folder() as folder:
        started = os.path.join(folder, "started")
        answer, ended = optimized(folder, "--", "touch", started)
        assert answer["kept"] == "default" and answer["runs"] == [] and not os.path.exists(started), (answer, ended)
        assert "one NUMA node" in answer["verdict"] and "numalens compare --topology" in ended.out, ended


@check("optimize: Ctrl-C ends it with a verdict, and what it has started")
def _():
    with nlens.Folder() as folder:
        plan, kept = written(folder, "numalens plan 1\nthread main @ distribute\n"), os.path.join(folder, "kept")
        # Five runs, the recorded one too, end: two pairs are whole. The sixth is the one that is interrupted.
        script = "echo >>%s/count; [ $(wc -l <%s/count) -le 5 ] && exit 0; echo $$ >%s/begun; exec sleep 1000" % (folder, folder, folder)
        process = subprocess.Popen([nlens.NUMALENS, "optimize", "--plan", plan, "-o", kept, "--", "sh", "-c", script], env=nlens.ENVIRONMENT,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        while not os.path.exists(os.path.join(folder, "begun")) or not os.path.getsize(os.path.join(folder, "begun")):
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=nlens.PATIENCE)
        assert process.returncode == 0 and out == "The default placement is best, as far as it was tried.\n" and not os.path.exists(kept), (process.returncode, out, err)
        with open(os.path.join(folder, "begun")) as stream:
            assert not os.path.exists("/proc/%s" % stream.read().strip()), err


@check("optimize: Ctrl-C keeps the plan that was faster until then, whole")
def _():
    if len(os.sched_getaffinity(0)) < 2:
        raise nlens.Skip("one CPU only: a plan cannot change where a thread runs")
    with nlens.Folder() as folder:
        plan, kept, begun = written(folder, "numalens plan 1\nthread * @ cpus %d\n" % nlens.CPU), os.path.join(folder, "kept"), os.path.join(folder, "begun")
        # The recorded run and four pairs end and decide. The tenth run is interrupted: the plan's recorded one.
        script = "echo >>%s/count; [ $(wc -l <%s/count) -le 9 ] || { echo $$ >%s; exec sleep 1000; }; %s" % (folder, folder, begun, WORTH % (200, 100))
        process = subprocess.Popen([nlens.NUMALENS, "optimize", "-q", "--runs", "4", "--metric", "worth ([0-9]+)", "--plan", plan, "-o", kept, "--", "sh", "-c", script],
                                   env=nlens.ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        while not os.path.exists(begun) or not os.path.getsize(begun):
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=nlens.PATIENCE)
        says = "plan is 2.00 times as fast as the default placement (2.00 to 2.00, from 4 pairs of runs), as far as it was tried"
        assert process.returncode == 0 and out.startswith("The %s.\n" % says) and "numalens apply %s --" % kept in out, (process.returncode, out, err)
        with open(kept) as stream:
            text = stream.read()
        assert text.startswith("# the %s\n" % says) and text.endswith("\nthread * @ cpus %d\n" % nlens.CPU), text
        assert numalens("apply", kept, "--", "sh", "-c", WORTH % (200, 100)).out == "worth 200\n"


@check("optimize: Ctrl-C before anything was compared ends it without one")
def _():
    with nlens.Folder() as folder:
        plan = written(folder, "numalens plan 1\nthread main @ distribute\n")
        process = subprocess.Popen([nlens.NUMALENS, "optimize", "--plan", plan, "--", "sh", "-c", "echo >>%s/begun; exec sleep 1000" % folder],
                                   env=nlens.ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        while not os.path.exists(os.path.join(folder, "begun")):
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=nlens.PATIENCE)
        assert process.returncode == 0 and out.startswith("Nothing was measured: it was interrupted"), (process.returncode, out, err)


nlens.main()
