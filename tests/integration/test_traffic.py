#!/usr/bin/env python3
"""Bytes from memory, by long bursts, against programs that count their own (traffic_kernels.c): loops that are streams and loops
that are not, one that fits into the cache, bytes written back; which node they go to; what is said when nothing can be said.

Bounds are wide: docs/traffic.md has how close it comes."""
import os
import platform
import sys

import nlens
from nlens import Folder, Skip, check, note, record, report, run
from traffic_truth import KERNELS, SOURCE, counted, recorded, sites

CACHE = 2 << 20  # of those that are reported
SMALLER = 1 << 20  # for a loop most of whose accesses are to its stack: so many have fewer different lines
OFF = 0.3  # of the bytes: what loops make of them in a cache that forgets the line longest unused


def size_of(answers, size):
    row, = [row for row in answers["caches"] if row["bytes"] == size]
    return row


def bytes_of(kernel, mib, size, lines=True):
    """{array: (read, written)} by the report and by the kernel, bytes per second; and all of the report's answer for the cache.
    lines: the kernel has as many different ones as the cache, so that long bursts come to know it."""
    with Folder() as folder:
        ended, whole = recorded(folder, kernel, mib, known=size if lines else 0)
    truth = counted(ended, whole["seconds"])
    cache = size_of(whole["reuse"], size)
    known = [(row["line"], size_of(row["traffic"], size)) for row in whole["objects"] if row["traffic"]]
    rows = {name: row for name, line in sites().items() for at, row in known if at == line}
    got = {name: (row["read_bytes_s"], row["write_bytes_s"]) for name, row in rows.items()}
    for name in sorted(truth):
        note("%s %s: read %.2f of %.2f, written %.2f of %.2f GB/s; %d long bursts, known up to %.1f MiB" % (
            kernel, name, *(value / 1e9 for pair in zip(got.get(name, (0, 0)), truth[name]) for value in pair),
            whole["long_bursts"], whole["known_up_to_bytes"] / (1 << 20)))
    return got, truth, cache


def near(said, right, what, off=OFF):
    assert abs(said - right) <= off * right + 2e7, "%s: %.2f GB/s, and %.2f are right" % (what, said / 1e9, right / 1e9)


def close(kernel, arrays, size=CACHE, off=OFF):
    got, truth, cache = bytes_of(kernel, "64", size)
    assert cache["known"], cache
    for name in arrays:
        for which in 0, 1:
            near(got[name][which], truth[name][which], "%s of %s" % (name, kernel), off)


@check("a triad's three streams, one of them written back")
def triad():
    close("triad", "abc")


@check("a reversed stream, one by eight lines, arrays read 3 : 1")
def streams():
    close("reversed", "a")
    close("strided", "a")
    close("mixed", "bc")


@check("a stencil's lines come once; rows, parts of rows, a strip of a matrix, wide loops")
def shapes():
    close("stencil", "ab")
    close("rows", "ab")
    close("parts", "ab")
    close("strip", "a", off=0.5)  # 14 to 35% low, as seen: its speed is counted low
    close("wide", "a", SMALLER)


@check("a gather and a chase")
def others():
    close("gather", "a")
    got, truth, _ = bytes_of("chase", "16", CACHE)  # a chain that is made in a small part of the time
    near(got["a"][0] - got["a"][1], truth["a"][0], "the chased array, but for what its chain is made with")


@check("a thread that gives its CPU away all the time: bursts go on behind calls")
def calls():
    close("rests", "abc")


@check("what a thread that rests uses again much later: watches tell, and by timers there are none")
def again():
    # three arrays, 30 MiB: a cache of 8 MiB forgets them before they are used again, one of 32 MiB has them all
    with Folder() as folder:
        ended, whole = recorded(folder, "rests", "10", known=32 << 20)
        truth = sum(map(sum, counted(ended, whole["seconds"]).values()))
        bytes_s = {mib: sum(size_of(whole["reuse"], mib << 20)[key] for key in ("read_bytes_s", "write_bytes_s")) for mib in (8, 32)}
        note("8 MiB: %.2f of %.2f GB/s, 32 MiB: %.2f; %d long bursts" % (
            bytes_s[8] / 1e9, truth / 1e9, bytes_s[32] / 1e9, whole["long_bursts"]))
        near(bytes_s[8], truth, "what 8 MiB forget")
        assert bytes_s[32] < 0.2 * truth, bytes_s
        _, alone = recorded(folder, "rests", "10", options=["--tick", "timer"])
        assert alone["known_up_to_bytes"] < 24 << 20, alone["known_up_to_bytes"]


@check("a thread that allocates every few accesses: its bytes are not known, and why")
def allocates():
    with Folder() as folder:
        ended = record(folder, [KERNELS, "churn", "64", "1", "1"], ["--budget", "20"])
        assert ended.status == 0, ended
        answer = report(ended.trace, "traffic")
    assert answer["total_bytes_s"] is None and "allocators" in answer["silence"], answer["silence"]


@check("stores past the caches read nothing")
def past_caches():
    if platform.machine() != "x86_64":
        raise Skip("only x86-64 has them")
    got, truth, _ = bytes_of("nontemporal", "64", CACHE)
    near(got["a"][0], 0, "read for stores past the caches")
    near(got["a"][1], truth["a"][1], "written past the caches")


@check("what fits into the cache is no traffic")
def cached():
    got, truth, cache = bytes_of("triad", "0", CACHE, lines=False)
    total = cache["read_bytes_s"] + cache["write_bytes_s"]
    assert total < 0.02 * sum(map(sum, truth.values())), "%.2f GB/s" % (total / 1e9)


@check("two threads on two simulated nodes: each reads and writes what it touched first")
def two_nodes():
    with Folder() as folder:
        ended, answer = recorded(folder, "triad", "256", "2", ["--machine", "generic-2", "--assign", "round-robin"])
        truth = counted(ended, answer["seconds"])
        text = run([nlens.NUMALENS, "report", "traffic", ended.trace])
    total = answer["total_bytes_s"]
    near(total, sum(map(sum, truth.values())), "both threads")
    of = {(pair["from"], pair["to"]): pair["bytes_s"] for pair in answer["pairs"]}
    assert set(of) == {(0, 0), (0, 1), (1, 0), (1, 1)}, of
    near(sum(of.values()) + answer["unplaced_bytes_s"], total, "all pairs")
    near(sum(node["read_bytes_s"] + node["write_bytes_s"] for node in answer["nodes"]) + answer["unplaced_bytes_s"], total, "all nodes")
    assert of[0, 1] + of[1, 0] < 0.2 * total, of
    busy = [row for row in answer["threads"] if row["bytes_s"] and row["bytes_s"] > 0.1 * total]
    assert len(busy) == 2, answer["threads"]
    near(sum(row["bytes_s"] for row in busy), total, "the threads'")
    assert text.status == 0 and text.err == b"" and b"GB/s" in text.out and SOURCE.encode() in text.out, text


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
        ended = record(folder, [sys.executable, "-c", program], ["--budget", "20"])
        assert ended.status == 0, ended
        events = run([nlens.NUMALENS, "export", "--format", "events", "-o", "-", ended.trace]).out.decode()
    processes = {line.split("pid=")[1].split()[0] for line in events.splitlines() if line.startswith("long_burst ")}
    assert len(processes) == 2, processes
    assert int(ended.out) < 1 << 20, "the child maps what long bursts of the parent run in: %s" % ended.out


@check("a recording without long bursts says so, and how to get them")
def silent():
    with Folder() as folder:
        ended = record(folder, [KERNELS, "sum", "64", "0.3"], ["--no-traffic"], bursts=20)
        assert ended.status == 0, ended
        answer = report(ended.trace, "traffic")
        assert answer["total_bytes_s"] is None and answer["objects"] == [] and "--no-traffic" in answer["silence"], answer
        shown = run([nlens.NUMALENS, "report", "traffic", ended.trace])
        assert shown.status == 0 and b"--no-traffic" in shown.out, shown
        ended = record(folder, ["true"])
        assert ended.status == 0, ended
        answer = report(ended.trace, "traffic")
        assert answer["total_bytes_s"] is None and "longer" in answer["silence"], answer


nlens.main()
