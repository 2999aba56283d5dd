#!/usr/bin/env python3
"""Bytes from memory for a cache of some size, by long bursts, against programs that count their own (traffic_kernels.c): loops that
are streams and loops that are not, one that fits into the cache, bytes written back. docs/traffic.md has how close it comes."""
import os
import sys

import nlens
from nlens import Folder, Skip, check, note, record, report, run
from traffic_truth import KERNELS, counted, sites

LONG_BURSTS = 8
CACHE = 2 << 20  # of those that are reported
SMALLER = 1 << 20  # for a loop most of whose accesses are to its stack: so many have fewer different lines
OFF = 0.3  # of the bytes: what loops make of them in a cache that forgets the line longest unused


def bytes_of(kernel, mib, size):
    """{array: (read, written)} by the report and by the kernel, bytes per second; and all of the report's answer for the cache."""
    if not os.path.exists(KERNELS):
        raise Skip("the kernels were not built here")
    answer, seconds = {}, 2
    with Folder() as folder:
        while answer.get("long_bursts", 0) < LONG_BURSTS:
            ended = record(folder, [KERNELS, kernel, mib, str(seconds), "1"], ["--traffic", "--budget", "20"])
            assert ended.status == 0, ended
            whole = report(ended.trace, "traffic")
            answer = whole.get("reuse", {})
            seconds *= 2
            assert seconds < 1000, "no long bursts: %s" % whole
    truth = counted(ended, whole["seconds"])
    cache, = [row for row in answer["caches"] if row["bytes"] == size]
    rows = {name: row for name, line in sites().items() for row in cache["objects"] if row["line"] == line}
    got = {name: (row["read_bytes_s"], row["write_bytes_s"]) for name, row in rows.items()}
    for name in sorted(truth):
        note("%s %s: read %.2f of %.2f, written %.2f of %.2f GB/s; %d long bursts, known up to %.1f MiB" % (
            kernel, name, *(value / 1e9 for pair in zip(got.get(name, (0, 0)), truth[name]) for value in pair),
            answer["long_bursts"], answer["known_up_to_bytes"] / (1 << 20)))
    return got, truth, cache


def close(kernel, arrays, size=CACHE):
    got, truth, cache = bytes_of(kernel, "64", size)
    assert cache["known"], cache
    for name in arrays:
        for which in 0, 1:
            right, said = truth[name][which], got[name][which]
            assert abs(said - right) <= OFF * right + 2e7, "%s of %s: %.2f GB/s, and %.2f are right" % (name, kernel, said / 1e9, right / 1e9)


@check("a triad's three streams, one of them written back")
def triad():
    close("triad", "abc")


@check("a stencil's lines come once; rows, parts of rows, a strip of a matrix, wide loops")
def shapes():
    close("stencil", "ab")
    close("parts", "ab")
    close("strip", "a")
    close("wide", "a", SMALLER)


@check("a gather")
def others():
    close("gather", "a")


@check("what fits into the cache is no traffic")
def cached():
    got, truth, cache = bytes_of("triad", "0", CACHE)
    total = cache["read_bytes_s"] + cache["write_bytes_s"]
    assert total < 0.02 * sum(map(sum, truth.values())), "%.2f GB/s" % (total / 1e9)


@check("the child of a fork has long bursts of its own, and shares no memory of the parent's")
def forks():
    program = """
import os, re
def work():
    end = sum(os.times()[:2]) + 0.6
    while sum(os.times()[:2]) < end:
        sorted(range(100000), key=lambda n: n * 7919 % 100003)
work()
if os.fork() == 0:
    shared = re.findall("^([0-9a-f]+)-([0-9a-f]+) r.xs .*/dev/zero", open("/proc/self/maps").read(), re.M)
    print(max(int(end, 16) - int(start, 16) for start, end in shared), flush=True)
    work()
    os._exit(0)
os.wait()
"""
    with Folder() as folder:
        ended = record(folder, [sys.executable, "-c", program], ["--traffic", "--budget", "20"])
        assert ended.status == 0, ended
        events = run([nlens.NUMALENS, "export", "--format", "events", "-o", "-", ended.trace]).out.decode()
    processes = {line.split("pid=")[1].split()[0] for line in events.splitlines() if line.startswith("long_burst ")}
    assert len(processes) == 2, processes
    assert int(ended.out) < 1 << 20, "the child maps what long bursts of the parent run in: %s" % ended.out


nlens.main()
