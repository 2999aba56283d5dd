#!/usr/bin/env python3
"""Bytes from memory against programs that count their own (traffic_kernels.c): streams that prefetching hides, gathers and chases
that it does not, loops that stay in a cache; which node they go to; what is said when nothing can be said.

Bounds are wide: what is checked is that streams are found and caches are not called memory. docs/traffic.md has how close it
comes."""
import glob
import os
import platform
import re

import nlens
from nlens import Folder, Skip, check, note, record, report, run
from traffic_truth import KERNELS, SOURCE, counted, sites

BURSTS = 200
# So often that so much CPU time has half as many bursts again.
SECONDS, OFTEN = "0.8", ["-F", "400", "--budget", "10"]
OFF = 0.35  # of the bytes
BIG = "256"  # MiB of each array: more than any cache holds


def traffic_of(kernel, mib=BIG, threads="1", options=(), bursts=BURSTS):
    """What is reported of a kernel, and the bytes per second that it counted itself: {array: (read, written)}."""
    if not os.path.exists(KERNELS):
        raise Skip("the kernels were not built here")
    with Folder() as folder:
        ended = record(folder, [KERNELS, kernel, mib, SECONDS, threads], ["--traffic", *OFTEN, *options], bursts=bursts)
        assert ended.status == 0, ended
        answer = report(ended.trace, "traffic")
        session = report(ended.trace)["session"]
    if session.get("traffic") != "pairs":
        raise Skip("there is no tick by perf here")
    if answer["memory_from_ns"] == 0:
        raise Skip("caches and memory cannot be distinguished here")
    truth = counted(ended, answer["seconds"])
    rows = {name: row for name, line in sites().items() for row in answer["objects"] if row["line"] == line}
    for name in sorted(rows):
        row = rows[name]
        note("%s %s: %s, read %s of %.2f, written %s of %.2f GB/s; exposed %.2f, hidden %.2f, cached %.2f, unknown %.2f" % (
            kernel, name, row["state"], gigabytes(row["read_bytes_s"]), truth.get(name, (0, 0))[0] / 1e9,
            gigabytes(row["write_bytes_s"]), truth.get(name, (0, 0))[1] / 1e9, row["exposed"], row["hidden"], row["cached"],
            row["unknown"]))
    return answer, rows, truth


def gigabytes(rate):
    return "unknown" if rate is None else "%.2f" % (rate / 1e9)


def near(got, right, what):
    assert got is not None, "%s is unknown, and %.2f GB/s are right" % (what, right / 1e9)
    assert abs(got - right) <= OFF * right, "%s: %.2f GB/s, and %.2f are right" % (what, got / 1e9, right / 1e9)


def streams(kernel, arrays, share=0.8):
    """Each of these arrays comes from memory, and very little waits for it."""
    answer, rows, truth = traffic_of(kernel)
    for name in arrays:
        row = rows[name]
        assert row["hidden"] + row["exposed"] >= share, "%s of %s does not come from memory: %s" % (name, kernel, row)
        near(row["read_bytes_s"], truth[name][0], "%s of %s, read" % (name, kernel))
        near(row["write_bytes_s"], truth[name][1], "%s of %s, written" % (name, kernel))
    near(answer["total_bytes_s"], sum(map(sum, truth.values())), "all of %s" % kernel)
    return answer, rows, truth


@check("triad: three streams, hidden by prefetching, one of them written back")
def triad():
    answer, rows, _ = streams("triad", "abc")
    assert all(row["hidden"] >= 0.6 for row in rows.values()), rows
    thread, = [row for row in answer["threads"] if row["bytes_s"]]
    near(thread["bytes_s"], answer["total_bytes_s"], "the thread's")
    node, = answer["nodes"]
    near(node["read_bytes_s"] + node["write_bytes_s"], answer["total_bytes_s"], "the node's")
    pair, = answer["pairs"]
    near(pair["bytes_s"], answer["total_bytes_s"], "the pair of nodes'")


def last_cache_mib():
    sizes = [0]
    for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size"):
        with open(path) as stream:
            number, unit = re.match(r"(\d+)([KM]?)", stream.read()).groups()
            sizes.append(int(number) / {"": 1 << 20, "K": 1 << 10, "M": 1}[unit])
    return max(sizes)


@check("a reversed stream, and one by eight lines")
def other_ways():
    streams("reversed", "a")
    if last_cache_mib() < int(BIG) / 8:
        streams("strided", "a")
        return
    # It uses one line of eight, which a last cache of this size may hold: as known as the others, and no more bytes than its own count.
    _, rows, truth = traffic_of("strided")
    assert rows["a"]["unknown"] < 0.2, rows
    assert 0 < rows["a"]["read_bytes_s"] <= (1 + OFF) * truth["a"][0], (rows, truth)


@check("a stencil's three loads are one stream; arrays read 3 : 1")
def lines_once():
    streams("stencil", "ab")
    streams("mixed", "bc")


@check("a loop over rows, entered again for each; and one that leaves parts of them out")
def rows_of_a_matrix():
    streams("rows", "ab")
    _, rows, truth = traffic_of("parts")
    for name in "ab":
        # A quarter of each row: what is between would make it four times as much. Few loads behind may leave it unknown.
        got, right = rows[name]["read_bytes_s"], truth[name][0]
        assert got is None or 0.4 * right < got < 2.5 * right, "%s: %s, and %s are right" % (name, got, right)


@check("a loop whose turns are longer than a burst: not every burst meets all of it, so that its bytes are not known")
def long_turns():
    _, rows, _ = traffic_of("wide")
    assert rows["a"]["bytes_s"] is None and rows["a"]["cached"] < 0.2, rows["a"]


@check("between allocations there is too little for a whole burst: its accesses are sampled, and never called cached")
def allocates():
    # Their bursts have a few samples each, so that these are of some hundred.
    _, rows, truth = traffic_of("churn", bursts=BURSTS // 8)
    row, right = rows["a"], truth["a"][0]
    assert row["cached"] < 0.2 and row["state"] != "cached", row
    assert row["read_bytes_s"] is None or 0.5 * right < row["read_bytes_s"] < 1.5 * right, (row, right)


@check("threads that give their CPU away all the time have pairs of bursts, too")
def switches():
    answer, _, _ = streams("rests", "abc")
    assert answer["bursts"] <= 1.25 * answer["burst_pairs"], answer


@check("a gather and a chase wait for memory")
def exposed():
    _, rows, truth = traffic_of("gather")
    assert rows["a"]["exposed"] >= 0.5, rows["a"]
    near(rows["a"]["read_bytes_s"], truth["a"][0], "the gathered array")
    _, rows, truth = traffic_of("chase")
    assert rows["a"]["exposed"] >= 0.5, rows["a"]


@check("stores past the caches read nothing")
def past_caches():
    if platform.machine() != "x86_64":
        raise Skip("only x86-64 has them")
    _, rows, truth = traffic_of("nontemporal")
    assert rows["a"]["read_bytes_s"] == 0, rows["a"]
    near(rows["a"]["write_bytes_s"], truth["a"][1], "written past the caches")


@check("a loop that stays in the first cache is no traffic")
def cached():
    answer, rows, truth = traffic_of("triad", mib="0")
    for name in "abc":
        row, right = rows[name], sum(truth[name])
        assert row["bytes_s"] is None or row["bytes_s"] < 0.05 * right, "%s is called traffic: %s" % (name, row)
        assert row["cached"] + row["unknown"] >= 0.8, "%s is called memory: %s" % (name, row)


@check("a strip of a matrix, which is prefetched, is never called cached: how much comes from memory is not known")
def strip_of_a_matrix():
    _, rows, _ = traffic_of("strip")
    assert rows["a"]["cached"] < 0.2 and rows["a"]["state"] != "cached", rows["a"]


@check("two threads on two simulated nodes: each reads and writes what it touched first")
def two_nodes():
    answer, _, truth = traffic_of("triad", mib="128", threads="2",
                                options=["--topology", "numa:2 core:1", "--assign", "round-robin"])
    assert answer["total_bytes_s"], answer
    of = {(pair["from"], pair["to"]): pair["bytes_s"] for pair in answer["pairs"]}
    assert set(of) == {(0, 0), (0, 1), (1, 0), (1, 1)}, of
    near(sum(of.values()) + answer["unplaced_bytes_s"], answer["total_bytes_s"], "all pairs")
    near(answer["total_bytes_s"], sum(map(sum, truth.values())), "both threads")
    assert of[0, 1] + of[1, 0] < 0.2 * answer["total_bytes_s"], of
    busy = [row for row in answer["threads"] if row["bytes_s"] and row["bytes_s"] > 0.1 * answer["total_bytes_s"]]
    assert len(busy) == 2, answer["threads"]


@check("a load ahead is never the first touch of a page")
def first_touches():
    with Folder() as folder:
        ended = record(folder, [KERNELS, "edge", "1", "0.5"], ["--traffic", "-F", "2000", "--budget", "30"], bursts=BURSTS)
        assert ended.status == 0, ended
        assert ended.out.startswith(b"beyond 0\n"), ended


@check("the text has the same, and a recording without it says how to get it")
def texts():
    with Folder() as folder:
        ended = record(folder, [KERNELS, "sum", BIG, "0.3"], bursts=20)
        assert ended.status == 0, ended
        answer = report(ended.trace, "traffic")
        assert answer["total_bytes_s"] is None and answer["objects"] == [] and "--traffic" in answer["silence"], answer
        shown = run([nlens.NUMALENS, "report", "traffic", ended.trace])
        assert shown.status == 0 and b"numalens record --traffic" in shown.out, shown
        for options, why in (["--tick", "timer"], b"--tick timer"), (["--source", "faults"], b"--source"), (["--period", "1000"], b"in events"):
            refused = run([nlens.NUMALENS, "record", "--traffic", *options, "--", "true"])
            assert refused.status == 2 and b"--traffic" in refused.err and why in refused.err, refused
        # With hardware by name it is its samples' data sources; without such hardware it is refused for that alone.
        named = run([nlens.NUMALENS, "record", "--traffic", "--source", "pebs", "-o", os.path.join(folder, "pebs.data"), "--", "true"])
        assert named.status == 0 or (named.status == 1 and b"PEBS" in named.err and b"--traffic" not in named.err), named
        ended = record(folder, [KERNELS, "sum", BIG, SECONDS], ["--traffic", *OFTEN], bursts=BURSTS)
        shown = run([nlens.NUMALENS, "report", "traffic", ended.trace])
        assert shown.status == 0 and shown.err == b"", shown
        if report(ended.trace, "traffic")["silence"] is None:
            assert b"GB/s" in shown.out and SOURCE.encode() in shown.out, shown


nlens.main()
