"""kills - recordings that are killed or paused at chosen moments, and what must be left of them. Used by test_kills.py, for a
few moments, and by tests/soak/kills.py for hundreds."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import nlens
from nlens import ENVIRONMENT, PATIENCE, run

DUMP = os.path.join(nlens.BUILD, "tests", "trace", "trace_dump")
# Two threads that allocate; every line that comes in is answered with how often they did. An empty one ends it.
WORK = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.SIG_DFL)
done, turns = False, [0, 0]
def work(mine):
    kept = [b""] * 64
    while not done:
        kept[turns[mine] % 64] = bytearray(600 + turns[mine] % 5000)
        turns[mine] += 1
threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
for thread in threads:
    thread.start()
print("working", flush=True)
while sys.stdin.readline().strip():
    print(sum(turns), flush=True)
done = True
for thread in threads:
    thread.join()
print("ended", flush=True)
"""
# More allocations than two rings hold, many times.
MANY = 50000


class Recording:
    def __init__(self, folder, options=()):
        self.trace = os.path.join(folder, "numalens.data")
        self.process = subprocess.Popen(
            [nlens.NUMALENS, "record", *options, "-o", self.trace, "--", sys.executable, "-c", WORK], cwd=folder,
            env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        assert self.process.stdout.readline() == b"working\n", self.process.stderr.read()
        self.pids = [str(self.process.pid), str(self.target())]

    def target(self):
        with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as stream:
            children = stream.read().split()
        assert len(children) == 1, children
        return int(children[0])

    def turns(self):
        self.process.stdin.write(b"count\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def work_on(self, turns=MANY):
        """Until the program has done so much more."""
        goal, began = self.turns() + turns, time.monotonic()
        while self.turns() < goal:
            assert time.monotonic() - began < PATIENCE, "the program stands still"
            time.sleep(0.01)

    def end(self):
        """Lets the program end: (its and the recorder's output)."""
        out, err = self.process.communicate(b"\n", timeout=PATIENCE)
        assert out == b"ended\n", "%s %s" % (out, err)
        return err


def settings():
    """What a recorder may have changed in the system."""
    found = {}
    for path in glob.glob("/proc/sys/kernel/numa_balancing*") + ["/proc/sys/kernel/perf_event_paranoid"]:
        if os.path.exists(path):
            with open(path) as stream:
                found[path] = stream.read()
    return found


def living(group):
    """Processes of the group, without those that have ended and that nobody has waited for."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, "rb") as stream:
                state, _, member = stream.read().rpartition(b") ")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(member) == group and state not in b"ZX":
            found.append(path)
    return found


def check_left(recording, folder, before):
    """No process, no file beside the recording, no setting."""
    began = time.monotonic()
    while living(recording.process.pid):  # a program has closed its output a moment before it ends
        assert time.monotonic() - began < PATIENCE, "a process is left"
        time.sleep(0.01)
    assert set(os.listdir(folder)) <= {"numalens.data", "before.data"}, os.listdir(folder)
    assert settings() == before, (before, settings())
    # Others may record at the same time: their names have other numbers.
    shared = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    assert not [name for name in shared if set(re.findall(r"\d+", name)) & set(recording.pids)], shared


def interrupt(folder, number, whom, delay):
    """Ctrl-C and the like, as perf takes them: program and recorder end, and the file is whole. `whom`: "both", as a terminal
    does, or the recorder alone, which passes it on."""
    before = settings()
    recording = Recording(folder)
    time.sleep(delay)
    (os.killpg if whom == "both" else os.kill)(recording.process.pid, number)
    recording.process.wait(timeout=PATIENCE)  # its input stays open: only the signal may end it
    _, err = recording.process.communicate()
    assert recording.process.returncode in (-number, 128 + number), "%s %s" % (recording.process.returncode, err)
    result = read(recording.trace)
    assert result["damage"] is None and result["exit_status"] == 128 + number, (result["damage"], result["exit_status"])
    check_left(recording, folder, before)
    return result


def read(trace):
    """The report, and it must be readable: every complete block is."""
    for command in (["report", "--json", trace], ["report", trace]):
        ended = run([nlens.NUMALENS, *command])
        assert ended.status == 0, ended
        if "--json" in command:
            result = json.loads(ended.out)
    result["text"] = ended.out.decode()
    result["events"] = count(trace)
    return result


def count(trace):
    ended = run([DUMP, "--count", trace])
    assert ended.status == 0, ended
    return sum(int(line.rsplit("=", 1)[1]) for line in ended.out.decode().splitlines() if line.startswith("count "))


def kill(folder, whom, delay):
    """Kills after so many seconds; every block that was in the file by then must be there. Returns the report."""
    found = settings()
    recording = Recording(folder)
    process = recording.process
    time.sleep(delay)
    before = os.path.join(folder, "before.data")
    shutil.copy(recording.trace, before)
    if whom == "target":
        os.kill(recording.target(), signal.SIGKILL)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode in (-9, 137), "%s %s" % (process.returncode, err)
    elif whom == "recorder":
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=PATIENCE)
        recording.work_on()
        assert recording.end() == b""
    else:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
    result = read(recording.trace)
    assert result["events"] >= count(before), "%d events, before the kill %d" % (result["events"], count(before))
    if whom == "target":
        assert result["damage"] is None and result["exit_status"] == 137, result["damage"]
    else:  # how far it goes is said, in seconds, when there is anything
        assert "no end" in result["damage"] and ("is missing" in result["damage"] or not result["events"]), result["damage"]
    check_left(recording, folder, found)
    return result


def pause(folder, delay, seconds):
    """Stops the recorder for so long, and until the program went on without it: (the report, how long it was)."""
    recording = Recording(folder, ["-F", "1000", "--budget", "20"])
    time.sleep(delay)
    os.kill(recording.process.pid, signal.SIGSTOP)
    stopped = time.monotonic()
    time.sleep(seconds)
    recording.work_on()
    paused = time.monotonic() - stopped  # before it goes on: afterwards others may have the processor
    os.kill(recording.process.pid, signal.SIGCONT)
    recording.work_on(8 * MANY)
    recording.end()
    assert recording.process.returncode == 0, recording.process.returncode
    result = read(recording.trace)
    gaps = [gap for gap in result["gaps"] if gap["cause"] == "recorder_paused"]
    longest = max(gaps, key=lambda gap: gap["until_s"] - gap["from_s"])
    # The last thing that it did before is before the stop, the first after it is after it.
    assert longest["until_s"] - longest["from_s"] > paused - 0.1, "%s, paused %.2f s" % (gaps, paused)
    assert "from %.1f s to %.1f s" % (longest["from_s"], longest["until_s"]) in " ".join(result["text"].split()), result["text"]
    assert result["dropped"]["ring_full"] > 0 and result["damage"] is None, result["dropped"]
    for kind, last in last_of(recording.trace, ("alloc", "sample")).items():
        assert last > longest["until_s"], "no %s after the pause: %.2f s, %s" % (kind, last, longest)
    return result, paused


def last_of(trace, wanted):
    """When the last event of each of these kinds was recorded, in seconds from the first event: {kind: seconds}."""
    first, last = float("inf"), dict.fromkeys(wanted, 0)
    dump = subprocess.Popen([DUMP, trace], stdout=subprocess.PIPE, text=True, errors="replace")
    for line in dump.stdout:
        event = re.match(r"(\w+) time=(\d+) ", line)
        if not event or event[1] in ("stack", "loss"):
            continue
        kind, at = event[1], int(event[2])
        first = min(first, at)
        if kind in last:
            last[kind] = max(last[kind], at)
    assert dump.wait() == 0
    return {kind: (at - first) / 1e9 for kind, at in last.items()}
