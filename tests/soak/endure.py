#!/usr/bin/env python3
"""usage: tests/soak/endure.py [SECONDS [RESULTS]]

redis under load with `record --rotate` for SECONDS (3600): the memory of the recorder and of the agent, second by second into RESULTS,
must be flat to 1% from a tenth of the time on, no event may be lost, and each file must open. Load: 8 clients, bounded keys, as much
time of load as of rest. The memory of the recorder is what it alone has (anonymous); of the agent its shared memory, its data and what
it has mapped in redis; of redis all that is anonymous."""
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
import nlens  # noqa: E402

FLAT = 0.01
BATCH = ("-q", "-n", "10000", "-c", "8", "-r", "10000", "-t", "set,get,incr,sadd,hset")
FILES = 3


def mappings(pid):
    """Each mapping: its name, where it begins and ends, and what of it is in memory: all of it, and what this process alone has written."""
    with open("/proc/%d/smaps" % pid) as stream:
        text = stream.read()
    for part in re.split(r"\n(?=[0-9a-f]+-[0-9a-f]+ )", text):
        first, *lines = part.splitlines()
        values = dict(line.split(":", 1) for line in lines if ":" in line)
        name = first.split(None, 5)[5] if len(first.split(None, 5)) > 5 else ""
        start, end = (int(word, 16) for word in first.split()[0].split("-"))
        yield name, start, end, *(int(values[key].split()[0]) for key in ("Rss", "Private_Dirty"))


def agent_memory(pid):
    """KiB."""
    total = behind = 0
    for name, start, end, resident, dirty in mappings(pid):
        if name.startswith(("/memfd:numalens", "/dev/zero (deleted)")):
            total += resident
        elif "libnumalens-agent.so" in name or (not name and start == behind):  # its data goes on behind the file
            total += dirty
        behind = end if "libnumalens-agent.so" in name else 0
    return total


def anonymous(pid):
    """KiB."""
    with open("/proc/%d/status" % pid) as stream:
        return int(re.search(r"RssAnon:\s+(\d+)", stream.read())[1])


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as stream:
        return [int(word) for word in stream.read().split()]


def load(path, end, process, results):
    rows, requests = [], 0
    begin = time.monotonic()
    while time.monotonic() < end:
        before = time.monotonic()
        subprocess.run(["redis-benchmark", "-s", path, *BATCH], check=True, stdout=subprocess.DEVNULL)
        requests += 10000 * 5
        time.sleep(min(max(end - time.monotonic(), 0), time.monotonic() - before))
        redis = children(process.pid)[0]
        row = (time.monotonic() - begin, anonymous(process.pid), agent_memory(redis), anonymous(redis))
        rows.append(row)
        print("%.0f\t%d\t%d\t%d\t%d" % (*row, requests), file=results, flush=True)
    return rows, requests


def compare(rows):
    """Of each memory: its median in the second tenth, in the last, and by how much it differs."""
    tenth = max(len(rows) // 10, 1)
    assert len(rows) > 1, "too short: a batch of requests took all of the time"
    for column, name in ((1, "recorder"), (2, "agent"), (3, "redis, all anonymous memory")):
        first, last = (statistics.median(row[column] for row in part) for part in (rows[tenth:2 * tenth], rows[-tenth:]))
        yield name, first, last, last / first - 1


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3600
    results = open(sys.argv[2] if len(sys.argv) > 2 else os.devnull, "w")
    with nlens.Folder() as folder:
        path = os.path.join(folder, "s")
        process = subprocess.Popen(
            [nlens.NUMALENS, "record", "--rotate", "60s", "--keep", str(FILES), "-o", os.path.join(folder, "it.data"), "--",
             "redis-server", "--port", "0", "--unixsocket", "s", "--save", "", "--appendonly", "no"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder, text=True)
        while subprocess.run(["redis-cli", "-s", path, "ping"], capture_output=True).returncode:
            time.sleep(0.1)
        rows, requests = load(path, time.monotonic() + seconds, process, results)
        redis = children(process.pid)[0]
        os.kill(redis, signal.SIGTERM)
        _, err = process.communicate(timeout=nlens.PATIENCE)
        said = [line for line in err.splitlines() if line.startswith("numalens")]
        files = sorted(name for name in os.listdir(folder) if name.endswith(".data"))
        parts = [json.loads(nlens.run([nlens.NUMALENS, "report", "--json", os.path.join(folder, name)]).out) for name in files]
    failed = 0
    for name, first, last, differs in compare(rows):
        bad = name != "redis, all anonymous memory" and abs(differs) > FLAT
        failed |= bad
        print("%s%s: %.0f KiB, then %.0f KiB, %+.2f%%" % ("not flat: " if bad else "", name, first, last, 100 * differs))
    lost = [line for line in said if "lost" in line]
    damaged = [part["damage"] for part in parts if part["damage"]]
    print("%d requests in %.0f s; %d files kept, the last %s" % (requests, rows[-1][0], len(files), files[-1]))
    print("\n".join(said))
    failed |= bool(lost or damaged or process.returncode)
    print("failed" if failed else "nothing lost, memory flat to %.0f%%" % (100 * FLAT))
    return int(failed)


sys.exit(main())
