#!/usr/bin/env python3
"""Whatever ends, what was recorded stays: the file opens, holds every whole block, and says what is missing. And the
program does not notice that its recorder has ended. test_kills.py kills at random moments."""
import os
import resource
import signal
import subprocess
import time

import nlens
from nlens import ENVIRONMENT, Folder, PATIENCE, Skip, check, example, note, record, run, tool

DUMP = os.path.join(nlens.BUILD, "tests", "trace", "trace_dump")
ALLOC, FREE = 11, 12

# Allocates in two threads until a line comes in, then says so.
WORK = """
import sys, threading
done = False
def work():
    kept = [b""] * 64
    turn = 0
    while not done:
        kept[turn % 64] = bytearray(600 + turn % 5000)
        turn += 1
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
print("working", flush=True)
line = sys.stdin.readline()
done = True
for thread in threads:
    thread.join()
print("ended after", line.strip(), flush=True)
"""
# A known number of allocations, then a known line.
LOAD = """
kept = [b""] * 64
for turn in range(300000):
    kept[turn % 64] = bytearray(600 + turn * 37 % 5000)
print("all done", flush=True)
"""


def python():
    return tool("python3")


def dump(trace):
    """What a trace holds: (session and ending by key, count by kind, damage or None)."""
    ended = run([DUMP, "--count", trace])
    assert ended.status == 0, ended
    keys, counts, damage = {}, {}, None
    for line in ended.out.decode().splitlines():
        kind, _, rest = line.partition(" ")
        if kind in ("session", "ending"):
            key, _, value = rest.partition("=")
            keys[kind + "." + key] = value
        elif kind == "count":
            number, _, count = rest.partition("=")
            counts[int(number)] = int(count)
        elif kind == "damage:":
            damage = rest
    return keys, counts, damage


def opens(trace):
    """The report reads it too."""
    ended = run([nlens.NUMALENS, "report", "--json", trace])
    assert ended.status == 0, ended


def start(folder):
    trace = os.path.join(folder, "numalens.data")
    process = subprocess.Popen([nlens.NUMALENS, "record", "-o", trace, "--", python(), "-c", WORK], cwd=folder,
                               env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    assert process.stdout.readline() == b"working\n", process.stderr.read()
    return process, trace


def target_of(process):
    with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as stream:
        children = stream.read().split()
    assert len(children) == 1, children
    return int(children[0])


# More than a group of a limit has room for.
EATER = 'b"x" * (1 << 30)'
GROW = WORK.replace("line = sys.stdin.readline()", "sys.stdin.readline(); %s" % EATER)


class MemoryLimit:
    """A control group of so many MiB, of either version."""

    def __init__(self, mib):
        top = next((folder for folder in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory")
                    if os.path.exists(os.path.join(folder, "memory.stat")) or
                    os.path.exists(os.path.join(folder, "cgroup.subtree_control"))), None)
        self.folder = top and os.path.join(top, "numalens-test-%d" % os.getpid())
        try:
            os.mkdir(self.folder)
            limit = next(name for name in ("memory.max", "memory.limit_in_bytes") if os.path.exists(os.path.join(self.folder, name)))
            self.write(limit, mib << 20)
            for name, most in ("memory.swap.max", 0), ("memory.memsw.limit_in_bytes", mib << 20):  # else what is too much goes there
                if os.path.exists(os.path.join(self.folder, name)):
                    self.write(name, most)
        except (OSError, TypeError, StopIteration):
            self.close()
            raise Skip("no control group of memory can be made here")

    def write(self, name, value):
        with open(os.path.join(self.folder, name), "w") as stream:
            stream.write(str(value))

    def take(self, pid):
        self.write("cgroup.procs", pid)

    def join(self):
        self.take(os.getpid())

    def close(self):
        """A program whose recorder was killed is nobody's child here: its end is waited for."""
        until = time.monotonic() + PATIENCE
        while self.folder and os.path.isdir(self.folder):
            try:
                os.rmdir(self.folder)
            except OSError:
                assert time.monotonic() < until, "a process in %s does not end" % self.folder
                time.sleep(0.01)


def prefer(pid):
    """The kernel, when it is out of memory."""
    with open("/proc/%d/oom_score_adj" % pid, "w") as score:
        score.write("1000")


@check("out of memory: the target is killed, and the file is whole")
def target_grows():
    with Folder() as folder:
        limit, trace = MemoryLimit(80), os.path.join(folder, "numalens.data")
        try:
            process = subprocess.Popen([nlens.NUMALENS, "record", "-o", trace, "--", python(), "-c", GROW], cwd=folder, env=ENVIRONMENT,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit.join)
            assert process.stdout.readline() == b"working\n", process.stderr.read()
            prefer(target_of(process))
            _, err = process.communicate(b"\n", timeout=PATIENCE)
        finally:
            limit.close()
        assert process.returncode in (-9, 137), "%s %s" % (process.returncode, err)
        keys, counts, damage = dump(trace)
        assert damage is None and keys["ending.exit_status"] == "137" and counts[ALLOC] > 100, (damage, keys, counts)
        opens(trace)


@check("out of memory: the recorder is killed, the target goes on to its end, the file opens and says that its end is missing")
def recorder_grows():
    """Another program eats the recorder's room. The target is in no group: the kernel may kill the next process of it, too, before it has
    the memory of the first."""
    with Folder() as folder:
        limit = MemoryLimit(16)
        try:
            process, trace = start(folder)
            limit.take(process.pid)
            prefer(process.pid)
            run([python(), "-c", EATER], prepare=limit.join)
            process.wait(timeout=PATIENCE)
            out, err = process.communicate(b"a line\n", timeout=PATIENCE)
        finally:
            limit.close()
        assert process.returncode == -9 and out == b"ended after a line\n" and err == b"", (process.returncode, out, err)
        keys, _, damage = dump(trace)
        assert damage and "ending.exit_status" not in keys, damage
        opens(trace)


@check("kill -9 of the recorder in a long run keeps all but the last moment")
def recorder_late():
    with Folder() as folder:
        process, trace = start(folder)
        began = time.monotonic()
        while (before := dump(trace)[1][ALLOC]) <= 10000:  # blocks get written as the run goes on; the size of half of one says nothing
            assert time.monotonic() - began < PATIENCE, "nothing is written"
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(b"\n", timeout=PATIENCE)
        _, counts, damage = dump(trace)
        assert damage and counts[ALLOC] >= before, "%d before the kill, %s %s" % (before, counts, damage)
        note(damage)


def check_cut(ended):
    """After a full disk: the program did not notice, the user is reported, the file says how much is missing."""
    assert ended.status == 0 and ended.out == b"all done\n", ended
    assert b"not whole" in ended.err, ended
    keys, counts, damage = dump(ended.trace)
    note(damage)
    assert damage, keys
    opens(ended.trace)
    return keys, counts


@check("a file that may not grow any further: the program goes on, the file opens and says what is missing")
def limited():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    with Folder() as folder:
        ended = record(folder, [python(), "-c", LOAD], prepare=limit)
        keys, counts = check_cut(ended)
        assert os.path.getsize(ended.trace) <= 100000
        assert int(keys["ending.unwritten"]) > 1000, keys
        assert counts[ALLOC] + counts[FREE] + int(keys["ending.unwritten"]) >= 600000, keys


@check("a full disk: likewise")
def full_disk():
    unshare, script = tool("unshare"), "mount -t tmpfs -o size=%s none \"$1\" && shift && exec \"$@\""
    with Folder() as folder:
        disk = os.path.join(folder, "disk")
        os.mkdir(disk)
        around = [unshare, "--mount", "--map-root-user", "sh", "-c", script % "128k", "sh", disk]
        if run(around + ["true"]).status != 0:
            raise Skip("a disk of one's own cannot be mounted here")
        # The mount ends with the command: the file is copied out of it before.
        inner = "\"$0\" record -o disk/x.data -- \"$1\" -c \"$2\"; status=$?; cp disk/x.data . ; exit $status"
        ended = run(around + ["sh", "-c", inner, nlens.NUMALENS, python(), LOAD], folder=folder)
        ended.trace = os.path.join(folder, "x.data")
        check_cut(ended)


@check("no room for even the first block: one line, and the program is not run")
def no_room():
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    ended = run([nlens.NUMALENS, "record", "-o", "/dev/full", "--", "echo", "ran"])
    assert ended.status == 1 and ended.out == b"", ended
    assert ended.err.count(b"\n") == 1 and b"space" in ended.err, ended


@check("an older recording is replaced only when the new one could be created")
def kept():
    with Folder() as folder:
        first = record(folder, ["true"])
        with open(first.trace, "rb") as stream:
            before = stream.read()
        assert record(folder, ["./there-is-none"]).status == 127
        with open(first.trace, "rb") as stream:
            assert stream.read() == before
        assert os.stat(first.trace).st_mode & 0o777 == 0o600
        assert record(folder, ["true"]).status == 0
        assert os.listdir(folder) == ["numalens.data"]


nlens.main()
