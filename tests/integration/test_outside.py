#!/usr/bin/env python3
"""Sampling from outside: what it finds in programs whose right answer is known, and that the program notices nothing.
tests/soak/outside.py does it for longer, on servers."""
import collections
import os
import random
import re
import signal
import subprocess
import time

import nlens
from nlens import BUILD, ENVIRONMENT, Folder, NUMALENS, PATIENCE, Skip, check, example, note, report, row_named, run

WITHIN = 0.02
# A burst sees the arrays in their proportion, or nearly so.
BURSTS = 200
OFTEN = ["-F", "8000", "--budget", "100"]
# Others are seen one at a time: of so many, bounds are five standard deviations.
BURSTS_KNOWN = 1000
KILLS, CYCLES = 8, 12
# CPU time of two processes: 240 ticks for the one that gets a tenth.
SHARED_NS = 2400000000


def of_size(rows, size):
    """malloc's sizes are those of its chunks."""
    found = [row for row in rows if row["kind"] == "heap" and size <= row["size"] < size + 2 * 4096]
    assert len(found) == 1, "%d objects of %d bytes; there are:\n%s" % (len(found), size, nlens.describe(rows))
    return found[0]


def ratio(program, options, longer=1):
    result = nlens.record_and_report([program], [*OFTEN, *options], tables=["objects"], bursts=BURSTS, longer=longer)
    often, seldom = (of_size(result["objects"], count * 65536 * 8)["share"] for count in (3, 1))
    note("%s: often %.4f, seldom %.4f" % (os.path.basename(program), often, seldom))
    assert abs(often - 0.75) <= WITHIN and abs(seldom - 0.25) <= WITHIN, (often, seldom)
    return result


@check("two arrays read 3:1 have those shares")
def two_arrays():
    result = ratio(example("ratio"), ["--source", "outside"])
    assert result["source"] == "outside" and result["exit_status"] == 0, result
    assert max(result["threads"], key=lambda row: row["samples"])["name"] == "ratio", result["threads"]


@check("a static program is sampled from outside by itself, and that is said")
def static_program():
    result = ratio(example("ratio_static"), [])
    assert result["source"] == "outside" and "statically linked" in result["stderr"], result["stderr"]


def heap(*sizes):
    """malloc's sizes are those of its chunks."""
    return lambda row: row["kind"] == "heap" and any(row["site"].startswith("malloc of %s " % size) for size in sizes)


def static(name):
    return lambda row: row["kind"] == "static" and name in row["name"]


# The example with its arguments; its hottest function; its objects with their true shares. A block that takes another's place is the same
# for us, and a line has as many objects as it has sizes.
KNOWN = [
    (["latency"], "main", [(heap("516.0 KiB"), 0.5, "reads"), (heap("128.0 MiB"), 0.5, "reads")]),
    (["handover"], "use", [(heap("2.0 MiB"), 1)]),
    (["static_array"], "run", [(static("zeroed_table"), 0.5), (static("filled_table"), 0.25), (static("inner_table"), 0.25)]),
    (["mapped_file", "mapped.bin"], "main", [(lambda row: row["kind"] == "file" and row["name"].endswith("mapped.bin"), 2 / 3),
                                             (lambda row: row["kind"] == "map" and row["size"] >= 1 << 20, 1 / 3)]),
    (["one_writer"], "run", [(heap("8.0 MiB"), 1)]),
    (["reuse"], "use", [(heap("64.0 KiB"), 1)]),
    (["many_small"], "main", [(heap("72 B"), 2 / 3), (heap("160.0 KiB"), 1 / 3)]),
    (["many_small_static"], "main", [(heap("72 B"), 2 / 3), (heap("160.0 KiB"), 1 / 3)]),
    (["cxx_new"], "shop::Store::pass() const", [(heap("260.0 KiB"), 0.5), (heap("132.0 KiB"), 0.25), (heap("24 B"), 0.25)]),
    (["wrappers"], "main", [(heap("128.0 KiB", "132.0 KiB"), 0.25), (heap("260.0 KiB"), 0.25), (heap("516.0 KiB"), 0.5)]),
    (["deep"], "bottom", [(heap("516.0 KiB"), 1)]),
    (["fortran_arrays", "20000"], "fortran_arrays", [(static("wave"), 0.5), (static("grid"), 0.25), (heap("128.0 KiB", "132.0 KiB"), 0.25)]),
]


@check("programs of each kind: functions, objects by kind and size, and their shares")
def known():
    for (name, *words), function, objects in KNOWN:
        result = nlens.record_and_report([example(name), *words], ["--source", "outside", "-F", "8000", "--budget", "100", "--burst", "8"],
                                         tables=["sites", "functions"], bursts=BURSTS_KNOWN, longer=1 / 4)
        found = [(sum(row[(*rest, "samples")[0]] for row in result["sites"] if matches(row)), share) for matches, share, *rest in objects]
        seen = sum(samples for samples, _ in found)
        note("%s: %s" % (name, ", ".join("%.4f for %.4f" % (samples / seen, share) for samples, share in found) if seen else "none"))
        assert result["source"] == "outside" and seen > 0.25 * result["samples"], nlens.describe(result["sites"])
        for samples, share in found:
            assert abs(samples / seen - share) <= 5 * (share * (1 - share) / BURSTS_KNOWN) ** 0.5, nlens.describe(result["sites"])
        top = result["functions"][0]
        assert top["function"] == function and top["share"] > 0.8 and top["line"], (name, top)


def chains_of(trace):
    """The functions of each chain, outermost first, to its samples."""
    chains = collections.Counter()
    for line in run([NUMALENS, "export", "--format", "folded", trace]).out.decode().splitlines():
        chain, samples = line.rsplit(" ", 1)
        chains[tuple(chain.split(";")[2:-1])] += int(samples)
    return chains


@check("call chains, by call frame information: twelve calls above where the accesses are, in code without frame pointers")
def native_chains():
    with Folder() as folder:
        trace = os.path.join(folder, "numalens.data")
        ended = run([NUMALENS, "record", "--source", "outside", "-F", "4000", "--budget", "100", "-o", trace, "--", example("deep"), "12000"])
        assert ended.status == 0, ended
        chains = chains_of(trace)
        wanted = ("main", *("level_%d" % i for i in range(1, 13)), "bottom")
        whole, all_of_it = (sum(samples for chain, samples in chains.items() if matches(chain))
                            for matches in (lambda chain: chain[-14:] == wanted, lambda chain: chain[-1:] == ("bottom",)))
        note("%d of %d samples with the whole chain" % (whole, all_of_it))
        assert all_of_it > 1000 and whole > 0.98 * all_of_it, chains.most_common(5)


@check("thread-local variables of the executable are objects of their threads")
def thread_locals():
    result = nlens.record_and_report([example("patterns/thread_local"), "bad"], ["--source", "outside", *OFTEN], tables=["objects"], bursts=BURSTS, longer=1 / 4)
    found = [row for row in result["objects"] if row["kind"] == "static" and row["name"] == "workspace" and row["line"]]
    # The C library clears them before there is a thread that they are of.
    seen, rest = (sum(row["samples"] for row in rows) for rows in (found, [row for row in result["objects"] if row["kind"] != "map"]))
    note("%d blocks, %d of %d samples" % (len(found), seen, rest))
    assert len(found) >= 6 and seen > 0.95 * rest, nlens.describe(result["objects"])


def status_of(pid):
    with open("/proc/%d/status" % pid) as stream:
        return dict(re.findall(r"^(\w+):\t(\S+)", stream.read(), re.MULTILINE))


class Target:
    """A program that runs until its standard input ends."""

    def __init__(self, seconds):
        program = os.path.join(BUILD, "tests", "integration", "outside_target")
        self.process = subprocess.Popen([program, str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT)
        assert self.process.stdout.readline() == b"working\n"
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def end(self):
        out = self.process.communicate(timeout=PATIENCE)[0].decode()
        assert self.process.returncode == 0, out
        return {words[0]: [int(word) for word in words[1:]] for words in map(str.split, out.splitlines())}


@check("a process that runs already: its threads, stacks and code; no call is interrupted, no signal lost, no page brought in")
def running():
    with Folder() as folder, Target(PATIENCE) as target:
        trace = os.path.join(folder, "numalens.data")
        ended = run([NUMALENS, "record", "-p", str(target.pid), *OFTEN, "--stop-after", "2s", "-o", trace])
        assert ended.status == 0, ended
        assert status_of(target.pid)["TracerPid"] == "0"
        found = report(trace)
        note(ended.err.decode())
        assert found["source"] == "outside" and len(found["threads"]) >= 6, found["threads"]
        assert all(row["tid"] for row in found["threads"])
        unknown = "call chains of allocations, lifetimes of objects, latencies and bytes from memory"
        text = " ".join(run([NUMALENS, "report", trace]).out.decode().split())
        assert ended.err.decode().count(unknown) == 1 and text.count("Sampled from outside: %s are not known." % unknown) == 1, (ended, text)
        stacks = sum(row["samples"] for row in report(trace, "objects")["objects"] if row["kind"] == "stack")
        assert stacks > 0.1 * found["samples"] > 0, (stacks, found["samples"])
        result = target.end()
        note(result)
        assert result["interrupted"] == [0] and result["failed"] == [0], result
        assert result["signals"][0] == result["signals"][1] > 0, result
        assert result["touched"] == [1], "a page that the program never used was brought in"


@check("kill -9 of the recorder at random moments: the program runs on, and nothing is left")
def killed():
    chance = random.Random(11)
    with Folder() as folder, Target(PATIENCE) as target:
        for i in range(KILLS):
            recorder = subprocess.Popen([NUMALENS, "record", "-p", str(target.pid), *OFTEN, "-o", os.path.join(folder, "%d" % i)],
                                        env=ENVIRONMENT, stderr=subprocess.PIPE)
            time.sleep(0.05 + chance.random() / 2)
            children = run(["ps", "-o", "pid=", "--ppid", str(recorder.pid)]).out.split()
            recorder.kill()
            recorder.communicate()
            while any(os.path.exists("/proc/%d" % int(child)) for child in children):
                time.sleep(0.01)  # its executor ends with it
            status = status_of(target.pid)
            assert status["TracerPid"] == "0" and status["State"] not in ("t", "T"), status
        result = target.end()
        # Where it was killed just between a stop and the repair of the call that this interrupted, that one call fails.
        assert result["interrupted"][0] <= KILLS and result["signals"][0] == result["signals"][1], result


@check("attached to and let go again and again: no call is interrupted, no descriptor more, nobody is left stopped")
def cycles():
    with Folder() as folder, Target(PATIENCE) as target:
        before = len(os.listdir("/proc/%d/fd" % target.pid))
        for _ in range(CYCLES):
            ended = run([NUMALENS, "record", "-q", "-p", str(target.pid), *OFTEN, "--stop-after", "30ms", "-o", os.path.join(folder, "x")])
            assert ended.status == 0 and ended.err == b"", ended
            status = status_of(target.pid)
            assert status["TracerPid"] == "0" and status["State"] not in ("t", "T"), status
        assert len(os.listdir("/proc/%d/fd" % target.pid)) == before
        result = target.end()
        assert result["interrupted"] == [0] and result["failed"] == [0] and result["signals"][0] == result["signals"][1], result


@check("refusals are one line with the remedy")
def refusals():
    with Folder() as folder, Target(PATIENCE) as target:
        def refused(pid, words, prefix=(), binary=NUMALENS):
            ended = run([*prefix, binary, "record", "-p", str(pid), "-o", os.path.join(folder, "none")])
            assert ended.status == 1 and words in ended.err and ended.err.count(b"\n") == 1, ended
        refused(2 ** 22 + 1, b"there is no process")
        tid = max(map(int, os.listdir("/proc/%d/task" % target.pid)))
        refused(tid, b"%d is a thread of process %d" % (tid, target.pid))
        with subprocess.Popen(["true"]) as ended:
            while status_of(ended.pid)["State"] != "Z":
                time.sleep(0.01)
            refused(ended.pid, b"has ended: a zombie until its parent, process %d, waits for it" % os.getpid())
        if os.path.exists("/proc/2/status") and status_of(2)["Name"] == "kthreadd":
            refused(2, b"a thread of the kernel")
        if os.geteuid() != 0:
            raise Skip("needs root to become nobody")
        nobody = [nlens.tool("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
                  "--inh-caps=-all", "--"]
        refused(target.pid, b"another user's: root may sample it", nobody, nlens.copied(folder))
        ended = run([NUMALENS, "record", "-p", "%d,x" % target.pid])
        assert ended.status == 2 and ended.err.count(b"\n") == 1, ended
        tracer = subprocess.Popen([nlens.tool("strace"), "-qq", "-o", "/dev/null", "-p", str(target.pid)])
        try:
            while status_of(target.pid)["TracerPid"] == "0":
                time.sleep(0.01)
            refused(target.pid, b"traced already")
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait()


def executor_ticks(recorder):
    """CPU time of each of the recorder's executors, as the kernel counts it."""
    ticks = []
    for pid in run(["ps", "-o", "pid=", "--ppid", str(recorder.pid)]).out.split():
        try:
            with open("/proc/%d/stat" % int(pid)) as stream:
                ticks.append(sum(map(int, stream.read().rsplit(")", 1)[1].split()[11:13])))
        except OSError:
            pass
    return ticks


def until(recorder, ready):
    while not ready():
        assert recorder.poll() is None, recorder.stderr.read()
        time.sleep(0.01)


def record_until_done(trace, pid, *options, ticks=20, done=lambda: True):
    """Until its executor has worked for long enough for a thousand bursts, or so many ticks; and what else is to be there is."""
    recorder = subprocess.Popen([NUMALENS, "record", "-p", str(pid), *OFTEN, *options, "-o", trace], env=ENVIRONMENT, stderr=subprocess.PIPE)
    try:
        until(recorder, lambda: sum(executor_ticks(recorder)) > ticks and done())
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0, recorder.stderr.read()
    finally:
        recorder.kill()
        recorder.communicate()


@check("blocks in a thread's arena, behind one that was freed, have their sizes and shares")
def arena():
    with Folder() as folder:
        trace = os.path.join(folder, "numalens.data")
        target = subprocess.Popen([os.path.join(BUILD, "tests", "integration", "outside_arena")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT)
        try:
            assert target.stdout.readline() == b"working\n"
            record_until_done(trace, target.pid)
        finally:
            target.kill()
            target.communicate()
        found = report(trace, "objects")
        often, seldom = (of_size(found["objects"], size * 8)["share"] for size in (4096, 6144))
        note("%d samples: often %.4f, seldom %.4f" % (found["samples"], often, seldom))
        assert abs(often - 0.75) <= WITHIN and abs(seldom - 0.25) <= WITHIN, (often, seldom)


def has_priority(nice):
    """On the first CPU, whatever the priority of the tests."""
    os.sched_setaffinity(0, [nlens.CPU])
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.setpriority(os.PRIO_PROCESS, 0, nice)


def cpu_ns(pid):
    with open("/proc/%d/schedstat" % pid) as stream:
        return int(stream.read().split()[0])


@check("two processes that share a CPU nine to one have samples by CPU time, not by the time that they wait for it")
def shared_cpu():
    targets = []
    with Folder() as folder:
        trace = os.path.join(folder, "numalens.data")
        try:
            for nice in (0, 10):
                targets.append(subprocess.Popen([example("ratio")], stdout=subprocess.DEVNULL, env={**ENVIRONMENT, "EXAMPLE_LONGER": "100000"},
                                                preexec_fn=lambda nice=nice: has_priority(nice)))
            before = [cpu_ns(target.pid) for target in targets]
            recorder = subprocess.Popen([NUMALENS, "record", "-p", ",".join(str(target.pid) for target in targets), "-F", "1000", "--budget", "100", "-o", trace],
                                        env=ENVIRONMENT, stderr=subprocess.PIPE)
            until(recorder, lambda: sum(cpu_ns(target.pid) for target in targets) > sum(before) + SHARED_NS)
            recorder.send_signal(signal.SIGINT)
            said = recorder.communicate(timeout=PATIENCE)[1]
            used = [cpu_ns(target.pid) - was for target, was in zip(targets, before)]
            assert recorder.returncode == 0, said
        finally:
            for target in targets:
                target.kill()
                target.wait()
        samples = collections.Counter()
        for row in report(trace)["threads"]:
            samples[row["pid"]] += row["samples"]
        seen, true = samples[targets[0].pid] / sum(samples.values()), used[0] / sum(used)
        note("%.3f of the samples, %.3f of the CPU time" % (seen, true))
        assert true > 0.6 and abs(seen - true) < 0.02, (samples, used)


LATER = """
import ctypes, sys, threading
over = []
threading.Thread(target=lambda: over.append(sys.stdin.readline())).start()
print("working", flush=True)
while not over:
    sum(range(1000))
library = ctypes.CDLL(sys.argv[1])
assert over[0] == "more\\n"
while True:
    library.in_plugin()
"""


@check("a library that is loaded while the recording runs: its code has names")
def loaded_later():
    plugin = os.path.join(BUILD, "examples", "objects", "libstatics_plugin.so")
    with Folder() as folder:
        trace = os.path.join(folder, "numalens.data")
        target = subprocess.Popen([nlens.tool("python3"), "-c", LATER, plugin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        recorder = None
        try:
            assert target.stdout.readline() == "working\n"
            recorder = subprocess.Popen([NUMALENS, "record", "-p", str(target.pid), *OFTEN, "-o", trace], env=ENVIRONMENT, stderr=subprocess.PIPE)
            until(recorder, lambda: sum(executor_ticks(recorder)) > 1)
            target.stdin.write("more\n")
            target.stdin.flush()
            before = sum(executor_ticks(recorder))
            until(recorder, lambda: sum(executor_ticks(recorder)) > before + 10)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0, recorder.stderr.read()
        finally:
            for process in filter(None, (recorder, target)):
                process.kill()
                process.communicate()
        rows = [row for row in report(trace, "functions")["functions"] if row["module"] == os.path.basename(plugin) and row["function"]]
        code = sum(row["share"] for row in rows)
        table = row_named(report(trace, "objects")["objects"], "plugin_table")
        note("its functions %.2f, plugin_table %.2f" % (code, table["share"]))
        assert code > 0.05 and table["share"] > 0.05, (rows, table)


PYTHON = """import ctypes
import threading
short, long = list(range(10000)), list(range(30000))

def often():
    return sum(long)

def seldom():
    return sum(short)

def left():
    ctypes.CDLL(None).prctl(15, b"thread-left")
    while True:
        often()
        seldom()

def right():
    ctypes.CDLL(None).prctl(15, b"thread-right")
    total = 0
    while True:
        for i in range(1000):
            total += i

for function in (left, right):
    threading.Thread(target=function).start()
print("working", flush=True)
"""


@check("a Python program that runs already: each thread's functions and lines, and their shares")
def python():
    with Folder() as folder:
        trace, program = os.path.join(folder, "numalens.data"), os.path.join(folder, "sums.py")
        with open(program, "w") as stream:
            stream.write(PYTHON)
        target = subprocess.Popen(["/usr/bin/python3", program], stdout=subprocess.PIPE, env=ENVIRONMENT)
        try:
            assert target.stdout.readline() == b"working\n"
            record_until_done(trace, target.pid, "--burst", "8", ticks=40)
        finally:
            target.kill()
            target.communicate()
        functions = report(trace, "functions")["functions"]
        often, seldom, right = (row_named(functions, name, key="function") for name in ("often", "seldom", "right"))
        for row, lines in ((often, [6]), (seldom, [9]), (right, [21, 22])):
            assert row["module"] == "[python]" and row["file"] == program and row["line"] in lines, row
        both = often["samples"] + seldom["samples"]
        note("%d samples; sums 3:1 %.4f; right %.4f" % (both, often["samples"] / both, right["share"]))
        assert both > 8 * BURSTS and abs(often["samples"] / both - 0.75) <= 5 * (0.75 * 0.25 * 8 / both) ** 0.5, functions[:5]
        folded = run([NUMALENS, "export", "--format", "folded", "-o", "-", trace])
        assert folded.status == 0, folded
        for thread, own, other in (("left", b";left;", b";right;"), ("right", b";right;", b";left;")):
            lines = [line for line in folded.out.splitlines() if b";thread-" + thread.encode() + b";" in line]
            wrong = [line for line in lines if own not in line or other in line]
            assert lines and not wrong, wrong[:5]


JIT = """'use strict';
function gather(grid, index) {
    let sum = 0;
    for (let i = 0; i < index.length; i++)
        sum += grid[index[i]];
    return sum;
}
const grid = new Float64Array(100000).fill(1), index = new Uint32Array(100000);
for (let i = 0; i < index.length; i++)
    index[i] = i * 7919 % index.length;
for (let i = 0; ; i++) {
    gather(grid, index);
    if (i == 1000)
        require('fs').writeSync(1, 'working\\n');
}
"""


def has_names_of_jit(trace):
    """Whether there are samples; then they are in the function of the source, or where that is inlined."""
    rows = [row for row in report(trace, "functions")["functions"] if row["share"] > 0.05]
    for row in rows:
        assert row["module"] == "[jit]" and os.path.basename(row["file"]) == "gather.js", rows
        assert (row["function"], row["line"]) in (("gather", 2), ("(top level)", 1)), rows
    return rows


def musl():
    with Folder() as folder:
        program, source = os.path.join(folder, "tables"), os.path.join(nlens.SOURCE, "examples", "static_array.c")
        built = run([nlens.tool("musl-gcc"), "-static", "-O2", "-g", "-D_GNU_SOURCE", "-o", program, source])
        assert built.status == 0, built
        result = nlens.record_and_report([program], OFTEN, tables=["objects", "functions"], bursts=BURSTS, longer=1 / 4)
        assert result["source"] == "outside", result
        worker = result["functions"][0]
        assert worker["function"] == "run" and worker["share"] > 0.9 and worker["file"] == source and worker["line"] in range(10, 22), worker
        for name, share in (("zeroed_table", 0.5), ("filled_table", 0.25), ("inner_table", 0.25)):
            row, = (row for row in result["objects"] if static(name)(row))
            assert abs(row["share"] - share) <= WITHIN and row["line"], row


if nlens.shutil.which("musl-gcc"):
    check("a static program with musl: functions, lines, arrays and their shares")(musl)


GO = """package main

//go:noinline
func gather(grid []float64, index []uint32) float64 {
	sum := 0.0
	for _, i := range index {
		sum += grid[i]
	}
	return sum
}

func main() {
	grid, index := make([]float64, 1000000), make([]uint32, 1000000)
	for i := range index {
		index[i] = uint32(i * 7919 % len(index))
	}
	for gather(grid, index) == 0 {
	}
}
"""


@check("a Go program, which is static: package, function, file and line; its heap is Go's")
def go():
    with Folder() as folder:
        trace, program = os.path.join(folder, "numalens.data"), os.path.join(folder, "gather")
        with open(program + ".go", "w") as stream:
            stream.write(GO)
        built = run([nlens.tool("go"), "build", "-o", program, program + ".go"],
                    environment={"HOME": folder, "GOCACHE": os.path.join(folder, "cache"), "GOFLAGS": "", "CGO_ENABLED": "0"})
        assert built.status == 0, built
        target = subprocess.Popen([program], env=ENVIRONMENT)
        try:
            record_until_done(trace, target.pid, ticks=5)
        finally:
            target.kill()
            target.wait()
        gather = row_named(report(trace, "functions")["functions"], "main.gather", key="function")
        assert gather["share"] > 0.5 and gather["file"] == program + ".go" and gather["line"] in range(4, 10), gather
        heap = [row for row in report(trace, "objects")["objects"] if row["name"] == "[Go heap]"]
        note("main.gather %.2f, Go heap %.2f" % (gather["share"], sum(row["share"] for row in heap)))
        assert sum(row["share"] for row in heap) > 0.9, report(trace, "objects")["objects"][:5]


@check("code that node has compiled before: function and line, in each file of a recording in several")
def jit():
    with Folder() as folder:
        trace, program = os.path.join(folder, "numalens.data"), os.path.join(folder, "gather.js")
        whole = lambda: sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".data"))  # noqa: E731
        with open(program, "w") as stream:
            stream.write(JIT)
        target = subprocess.Popen([nlens.tool("node"), "--perf-basic-prof", program], stdout=subprocess.PIPE, env=ENVIRONMENT, cwd=folder)
        try:
            assert target.stdout.readline() == b"working\n"
            record_until_done(trace, target.pid, "--rotate", "200ms", ticks=10, done=lambda: len([name for name in whole() if report(name)["samples"]]) > 2)
        finally:
            target.kill()
            target.communicate()
            os.unlink("/tmp/perf-%d.map" % target.pid)
        named = [name for name in whole() if has_names_of_jit(name)]
        note("%d files, %d with samples" % (len(whole()), len(named)))
        assert len(named) > 2, whole()


@check("the same in a container: the map is in its own /tmp, under the number that the process has there")
def jit_apart():
    if os.geteuid() != 0:
        raise Skip("only root can mount")
    script = 'mount -t tmpfs none /tmp && cd /tmp && printf %s "$1" >/tmp/gather.js && exec "$0" --perf-basic-prof /tmp/gather.js'
    with Folder() as folder:
        trace = os.path.join(folder, "numalens.data")
        outer = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, nlens.tool("node"), JIT],
                                 stdout=subprocess.PIPE, env=ENVIRONMENT)
        try:
            assert outer.stdout.readline() == b"working\n"
            target = int(run(["ps", "-o", "pid=", "--ppid", str(outer.pid)]).out)
            record_until_done(trace, target, ticks=5)
        finally:
            outer.kill()
            outer.communicate()
        assert not os.path.exists("/tmp/perf-%d.map" % target) and has_names_of_jit(trace)


class ControlGroup:
    """One of this test's own, of either version, called as a container's. `path` is as in /proc/PID/cgroup."""
    def __init__(self):
        self.name = "%064x" % (os.getpid() << 200)
        for tree in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/freezer"):
            if not os.path.exists(os.path.join(tree, "cgroup.procs")):
                continue
            self.folder = os.path.join(tree, self.name)
            try:
                os.mkdir(self.folder)
                lines = subprocess.run(["cat", "/proc/self/cgroup"], stdout=subprocess.PIPE, check=True, preexec_fn=self.join).stdout.decode()
                self.path = re.search(r"^\d+:[^:]*:(/.*%s)$" % self.name, lines, re.MULTILINE)[1]
                return
            except (OSError, subprocess.SubprocessError):
                if os.path.isdir(self.folder):
                    os.rmdir(self.folder)
        raise Skip("no control group can be made here")

    def join(self):
        with open(os.path.join(self.folder, "cgroup.procs"), "w") as stream:
            stream.write(str(os.getpid()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        until = time.monotonic() + PATIENCE
        while os.path.isdir(self.folder):
            try:
                os.rmdir(self.folder)
            except OSError:
                assert time.monotonic() < until, "a process in %s does not end" % self.folder
                time.sleep(0.01)


@check("a cgroup, a container: all its processes, later ones too, with names from files that only they see; an empty one is refused")
def cgroup():
    if os.geteuid() != 0:
        raise Skip("only root can mount")
    with Folder() as folder, ControlGroup() as group:
        trace, program = os.path.join(folder, "numalens.data"), os.path.join(folder, "own", "lens-%d" % os.getpid())
        os.mkdir(os.path.dirname(program))
        script = "mount -t tmpfs none %s && cp %s %s && exec %s" % (os.path.dirname(program), example("ratio"), program, program)
        targets, name = [], os.path.basename(program)

        def start():
            targets.append(subprocess.Popen(["unshare", "--mount", "--pid", "--kill-child", "sh", "-c", script], stdout=subprocess.DEVNULL,
                                            env={**ENVIRONMENT, "EXAMPLE_LONGER": "100000"}, preexec_fn=group.join))

        def record(*options):
            return [NUMALENS, "record", *OFTEN, *options, "-o", trace]

        for words, said in (([group.path], b"it is empty"), (["/no/such"], b"there is no such one")):
            ended = run(record("--cgroup", *words))
            assert ended.status == 1 and said in ended.err and ended.err.count(b"\n") == 1, ended
        ended = run(record("--container", "0123456789ab"))
        assert ended.status == 1 and b"no process here is in a container 0123456789ab" in ended.err, ended
        for words, said in ((["--cgroup", "own"], b"a path from /"), (["--cgroup", group.folder], b"a path from /"), (["--container", "12"], b"12 or more"),
                            (["--cgroup", "/", "-p", "1"], b"one of -p"), (["--cgroup", "/", "--container", group.name], b"one of -p"),
                            (["--cgroup", "/", "--source", "faults"], b"from outside"), (["--cgroup", "/", "-a"], b"with -a"), (["--cgroup", "/", "--", "true"], b"with a program")):
            ended = run(record(*words))
            assert ended.status == 2 and said in ended.err and ended.err.count(b"\n") == 1, ended
        assert not os.path.exists(trace)
        try:
            start()
            for number, choice in enumerate((["--cgroup", group.path], ["--container", group.name[:40]])):
                while len(run(["pgrep", "-x", name]).out.split()) < number + 1:
                    time.sleep(0.01)
                recorder = subprocess.Popen(record(*choice), env=ENVIRONMENT, stderr=subprocess.PIPE)
                until(recorder, lambda: len([ticks for ticks in executor_ticks(recorder) if ticks > 1]) >= number + 1)
                start()
                until(recorder, lambda: len([ticks for ticks in executor_ticks(recorder) if ticks > 1]) >= number + 2)
                recorder.send_signal(signal.SIGINT)
                said = recorder.communicate(timeout=PATIENCE)[1]
                assert recorder.returncode == 0, said
                sampled = {row["pid"]: row["name"] for row in report(trace)["threads"] if row["samples"] and row["name"] == name}
                note("%s: %s" % (choice[0], said.decode()))
                assert len(sampled) == number + 2, report(trace)["threads"]
                functions = report(trace, "functions")["functions"]
                assert any(row["module"] == name and row["function"] == "main" and row["file"].endswith("ratio.c") for row in functions), functions[:5]
                text = run([NUMALENS, "report", trace]).out.decode()
                assert "namespaces of its own (PID, mount)" in text and choice[0][2:] in text, text
        finally:
            for target in targets:
                target.kill()
                target.wait()


nlens.main()
