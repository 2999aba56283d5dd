#!/usr/bin/env python3
"""Programs behave the same under record: same standard output, same exit status. Each is run twice, sampled far more often than by
default; NUMALENS_RUNS=N makes N runs of each."""
import os
import random
import re
import subprocess
import sys
import tempfile

import nlens
from nlens import ENVIRONMENT, Folder, Skip, check, example, note, record, report, run, tool

RUNS = int(os.environ.get("NUMALENS_RUNS", "2"))
OFTEN = ["--frequency", "5000", "--budget", "50"]

workbench = tempfile.TemporaryDirectory(prefix="numalens-")
NUMBERS = os.path.join(workbench.name, "numbers.txt")
with open(NUMBERS, "w") as stream:
    chance = random.Random(7)
    stream.writelines("%d some text %d\n" % (chance.randrange(10**9), i) for i in range(60000))

PERL = r"""
my %seen; my @lines;
for my $i (1 .. 60000) { my $key = ($i * 7919) % 10007; $seen{$key} .= chr(65 + $i % 26); push @lines, "$key:$i"; }
my @sorted = sort { $seen{(split /:/, $a)[0]} cmp $seen{(split /:/, $b)[0]} || $a cmp $b } @lines[0 .. 5000];
print join(",", @sorted[0 .. 20]), "\n", scalar(keys %seen), "\n";
eval { die "thrown\n" }; print $@;
print `echo from a child`;
"""

PYTHON = r"""
import hashlib, threading, subprocess, json
results = {}
def work(number):
    data, total = [str(i * number) for i in range(20000)], 0
    for text in data:
        total += len(text)
    results[number] = (total, hashlib.sha256("".join(data).encode()).hexdigest())
threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 7)]
[t.start() for t in threads]
[t.join() for t in threads]
print(json.dumps(results, sort_keys=True))
print(subprocess.run(["sh", "-c", "echo child; exit 3"], capture_output=True))
try:
    raise ValueError("thrown")
except ValueError as error:
    print(error)
"""

SQL = r"""
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, shop INTEGER);
CREATE INDEX item_shop ON item (shop, price);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
INSERT INTO item SELECT i, 'item ' || (i * 7919 % 30011), (i * 31 % 997) / 10.0, i % 17 FROM n;
BEGIN; UPDATE item SET price = price * 1.1 WHERE shop % 3 = 1; COMMIT;
BEGIN; DELETE FROM item WHERE id % 11 = 0; ROLLBACK;
SELECT shop, count(*), round(avg(price), 4), max(name) FROM item GROUP BY shop ORDER BY 3 DESC, 1;
SELECT a.name FROM item a JOIN item b ON a.shop = b.shop AND b.id = a.id + 17 ORDER BY a.name LIMIT 5;
PRAGMA integrity_check;
"""

# name, command, standard input
PROGRAMS = [
    ("sort", lambda: [tool("sort"), "-n", "--parallel=2", NUMBERS], b""),
    ("sort of keys", lambda: [tool("sort"), "-k4,4r", NUMBERS], b""),
    ("xz -T2", lambda: [tool("xz"), "-T2", "-1", "--block-size=500KiB", "-c", NUMBERS], b""),
    ("perl", lambda: [tool("perl"), "-e", PERL], b""),
    ("python3 with threads", lambda: [tool("python3"), "-c", PYTHON], b""),
    ("sqlite3", lambda: [tool("sqlite3"), ":memory:"], SQL.encode()),
    ("a shell and its children", lambda: [tool("sh"), "-c", "seq 1 40000 | sort -r | tail -2; (exit 4) || echo $?; kill -9 $$"],
     b""),
    ("C++ that throws", lambda: [example("cxx_new"), "--rounds=10000"], b""),
    ("own SIGSEGV handler", lambda: [example("segv_barrier")], b""),
    # A tick's descriptor is 0 then, which is in a fault's siginfo too, and a fault at no page has the code of what a descriptor sends.
    ("own SIGSEGV handler, without stdin", lambda: [tool("sh"), "-c", 'exec "$0" --unmapped=1 <&-', example("segv_barrier")], b""),
    ("all signals blocked", lambda: [example("block_signals")], b""),
    ("alternate stack and overflows", lambda: [example("altstack")], b""),
    ("alternate stack with room for one frame", lambda: [example("small_stack")], b""),
    ("forks from threads", lambda: [example("fork_threads")], b""),
    ("forks while a library is opened", lambda: [example("fork_loading")], b""),
    ("raw system calls on heap buffers", lambda: [example("raw_syscalls")], b""),
    ("handlers and masks set past libc", lambda: [example("raw_signals")], b""),
    ("SIGURG of its own, in threads that open their masks past libc", lambda: [example("own_urgent")], b""),
    ("closes every descriptor", lambda: [example("close_all")], b""),
    ("allocates before constructors and after destructors", lambda: [example("early_late")], b""),
    ("threads that come and go", lambda: [example("thread_churn"), "--rounds=400"], b""),
    ("threads that come and go, with jemalloc", lambda: [example("thread_churn_jemalloc"), "--rounds=400"], b""),
    ("own SIGTRAP, SIGALRM and real-time signals", lambda: [example("own_signals")], b""),
    ("coroutines and longjmp", lambda: [example("coroutines")], b""),
    ("looks at itself", lambda: [example("self_inspect")], b""),
    ("Fortran", lambda: [example("fortran_arrays"), "5000"], b""),
    ("demo", lambda: [example("demo"), "--steps=10"], b""),
    ("many small objects", lambda: [example("many_small"), "--rounds=2000"], b""),
    ("a child with exec", lambda: [example("child"), "--exec", "--rounds=4000"], b""),
    ("a child with spawn", lambda: [example("child"), "--spawn", "--rounds=4000"], b""),
]


# Less than a millisecond of CPU time.
TOO_SHORT = ("allocates before constructors and after destructors", "looks at itself")


def same_status(plain, recorded):
    """record passes a signal on as a shell does: 128 plus its number."""
    return recorded == plain or (plain < 0 and recorded == 128 - plain)


def compare(name, command, text):
    plain = run(command, text)
    with Folder() as folder:
        for number in range(RUNS):
            recorded = record(folder, command, OFTEN, input=text, name="%d.data" % number)
            assert same_status(plain.status, recorded.status), \
                "run %d: status %d, without record %d\n%s" % (number, recorded.status, plain.status, recorded)
            assert recorded.out == plain.out, "run %d: other output\n%s\nplain %s" % (number, recorded, plain)
        # Some are over before a tick comes; of those the agent must have seen that they ran at all.
        samples = next((samples for samples in (report(os.path.join(folder, "%d.data" % number))["samples"]
                                                for number in reversed(range(RUNS))) if samples), 0)
        note("%d runs, %d samples in one of them" % (RUNS, samples))
        assert samples > 0 or name in TOO_SHORT, "never sampled: nothing was tried"
        assert report(recorded.trace, "processes")["processes"], "the agent was not there"


for _name, _command, _text in PROGRAMS:
    check(_name + ": same output and status")(lambda n=_name, c=_command, t=_text: compare(n, c(), t))


@check("handlers and masks set past libc: the same with ticks of timers, and with perf's and long bursts")
def raw_signals():
    command = [example("raw_signals")]
    plain = run(command)
    with Folder() as folder:
        for options in (["--tick", "timer"], []):
            recorded = record(folder, command, options)
            assert (recorded.status, recorded.out) == (plain.status, plain.out) and report(recorded.trace)["samples"], recorded
            took = float(re.search(rb"sampling took ([0-9.]+)%", recorded.err)[1])
            assert took < 20, "ten times the budget: breakpoints of long bursts were taken for ticks\n%s" % recorded


GO = """package main
// static void nothing(void) {}
import "C"
import ("fmt"; "runtime")
func spin(words []int) { for i := 0; ; i++ { words[i & (len(words) - 1)] += i } }
func main() {
	C.nothing()
	runtime.GOMAXPROCS(4)
	for i := 0; i < 3; i++ { go spin(make([]int, 1 << 14)) }
	for i := 0; i < 20; i++ { runtime.Gosched(); runtime.GC() }
	fmt.Println("collected")
}
"""


@check("Go with cgo: what only its own SIGURG interrupts gives way to each collection, and is sampled")
def go():
    with Folder() as folder:
        program = os.path.join(folder, "spin")
        with open(program + ".go", "w") as stream:
            stream.write(GO)
        built = run([tool("go"), "build", "-o", program, program + ".go"],
                    environment={"HOME": folder, "GOCACHE": os.path.join(folder, "cache"), "GOFLAGS": "", "CGO_ENABLED": "1"})
        assert built.status == 0, built
        recorded = record(folder, [program], OFTEN)
        functions = report(recorded.trace, "functions")["functions"]
        assert (recorded.status, recorded.out) == (0, b"collected\n"), recorded
        assert any(row["function"] == "main.spin" for row in functions), functions[:3]


@check("recording takes less than 4 MiB of a small process's address space")
def address_space():
    command = [tool("sh"), "-c", "grep VmPeak /proc/self/status"]

    def peak(result):
        assert result.status == 0, result
        return int(re.search(rb"VmPeak:\s+(\d+) kB", result.out)[1])
    with Folder() as folder:
        plain, recorded = peak(run(command)), peak(record(folder, command))
        limited = record(folder, [tool("sh"), "-c", "ulimit -v 60000; grep -c . /proc/self/status"])
        note("%d KiB, recorded %d KiB" % (plain, recorded))
        assert recorded - plain < 4096
        assert limited.status == 0 and len(report(limited.trace)["threads"]) >= 2, limited


@check("what limits its address space keeps all of it, also when it gives up privileges")
def limited_space():
    script = ("import ctypes, mmap, resource\n"
              "used = int(open('/proc/self/statm').read().split()[0]) * mmap.PAGESIZE\n"
              "resource.setrlimit(resource.RLIMIT_AS, (used + (48 << 20),) * 2)\n"
              "assert ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS\n"
              "mmap.mmap(-1, 42 << 20)\n")
    plain = run([sys.executable, "-c", script])
    with Folder() as folder:
        recorded = record(folder, [sys.executable, "-c", script])
        assert plain.status == 0 and recorded.status == 0, "%s\nplain: %s" % (recorded, plain)


@check("long bursts leave code with restartable sequences alone, and the C library's that it calls not")
def sequences():
    command = [example("sequences")]
    if not os.path.exists(command[0]):
        raise Skip("the example is for x86-64")
    with Folder() as folder:
        ended = record(folder, command, OFTEN)
        events = run([nlens.NUMALENS, "export", "--format", "events", "-o", "-", ended.trace]).out.decode().splitlines()
    assert ended.status == 0 and ended.out == b"counted\n", ended
    own, = [line for line in events if line.startswith("module ") and line.endswith("/sequences")]
    start, end = (int(re.search(" %s=(0x[0-9a-f]+)" % which, own)[1], 16) for which in ("start", "end"))
    met = [int(re.search(" pc=(0x[0-9a-f]+)", line)[1], 16) for line in events if line.startswith("reuse ")]
    inside = sum(start <= pc < end for pc in met)
    note("%d reuses, %d of them in the program" % (len(met), inside))
    assert len(met) > 100 and inside == 0


def talk_to_redis(folder, launcher):
    """Starts a server through `launcher`, loads it, talks to it, shuts it down: (its status, what it answered)."""
    socket = os.path.join(folder, "redis.sock")
    server = subprocess.Popen(launcher + [tool("redis-server"), "--port", "0", "--unixsocket", socket, "--save", "",
                                          "--appendonly", "no", "--dir", folder, "--io-threads", "2"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
    try:
        for line in server.stdout:
            if "eady to accept connections" in line:
                break
        load = run([tool("redis-benchmark"), "-s", socket, "-q", "-n", "2000", "-c", "20", "-d", "100", "-r", "2000",
                    "-t", "set,get,lpush,sadd"])
        assert load.status == 0 and load.out.count(b"requests per second") >= 4, load
        script = "FLUSHALL\nSET a 1\nINCR a\nRPUSH l x y z\nLRANGE l 0 -1\nEVAL 'return 1+2' 0\nDBSIZE\nGET a\n"
        talk = run([tool("redis-cli"), "-s", socket], script.encode())
        run([tool("redis-cli"), "-s", socket, "shutdown", "nosave"])
        server.stdout.read()
        return server.wait(nlens.PATIENCE), talk.out
    finally:
        if server.poll() is None:
            server.kill()


@check("redis-server under redis-benchmark: same answers and status")
def redis():
    tool("redis-cli"), tool("redis-benchmark")
    with Folder() as folder:
        plain = talk_to_redis(folder, [])
    with Folder() as folder:
        trace = os.path.join(folder, "numalens.data")
        recorded = talk_to_redis(folder, [nlens.NUMALENS, "record", "-o", trace, *OFTEN, "--"])
        assert recorded == plain, "%s\nwithout record: %s" % (recorded, plain)
        result = report(trace)
        note("%d samples, %d threads" % (result["samples"], len(result["threads"])))
        assert result["samples"] > 0


@check("every way to end gives the program's own status, and a whole file")
def endings():
    for way in ("return", "exit", "_exit", "exit_group", "thread_exit", "exec", "abort", "segv", "trap", "term", "kill"):
        command = [example("endings"), way]
        plain = run(command)
        with Folder() as folder:
            for _ in range(2):
                recorded = record(folder, command, OFTEN)
                assert same_status(plain.status, recorded.status), "%s: %s, plain %s" % (way, recorded, plain)
                assert recorded.out == plain.out, "%s: %s, plain %s" % (way, recorded, plain)
                report(recorded.trace)


nlens.main()
