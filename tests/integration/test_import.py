#!/usr/bin/env python3
"""Recordings of perf, made on other machines, become traces that every report works on."""
import json
import os
import re
import subprocess

import nlens
import perf_pebs
import perf_spe
from nlens import Folder, Skip, check, note, run
from perf_older import as_older

HERE = os.path.join(nlens.SOURCE, "tests", "perf", "data")
# More and larger recordings may be beside the project.
BESIDE = os.path.join(os.path.dirname(nlens.SOURCE), "shared", "data", "perf")


def data(name):
    for folder in (HERE, BESIDE):
        path = os.path.join(folder, name + ".perf.data")
        if os.path.exists(path):
            return path
    raise Skip("%s.perf.data is not here" % name)


def recordings(names):
    """Those that are here."""
    for name in names:
        try:
            yield name, data(name)
        except Skip as why:
            note(why)


def import_of(folder, path, *options, **more):
    trace = os.path.join(folder, "numalens.data")
    ended = run([nlens.NUMALENS, "import", "-o", trace, *options, path], **more)
    return ended, trace


def report(trace, *words):
    ended = run([nlens.NUMALENS, "report", *words, "--json", trace])
    assert ended.status == 0, ended
    return json.loads(ended.out)


@check("perf mem record of one machine: every sample is there")
def pebs():
    with Folder() as folder:
        ended, trace = import_of(folder, data("pebs-rcppthread"))
        assert ended.status == 0, ended
        assert b"698 memory samples (204 loads, 494 stores) of 11 threads" in ended.out, ended
        whole = report(trace)
        assert whole["samples"] == 698, whole["samples"]
        assert whole["source"] == "pebs", whole["source"]
        names = " ".join(row["name"] for row in report(trace, "objects")["objects"])
        for name in ("test-ia.o", "libm-2.31.so", "stack"):
            assert name in names, names
        assert os.stat(trace).st_mode & 0o777 == 0o600
        kernel = [row for row in report(trace, "functions", "--limit", "0")["functions"] if row["function"] == "[kernel]"]
        assert len(kernel) == 1 and kernel[0]["samples"] == 71, kernel
        traffic = report(trace, "traffic")
        # One load from memory is too few for bytes; where loads were answered is known, and what is hidden is not.
        assert traffic["traffic_source"] == "data-sources" and traffic["at_least"] is True, traffic
        assert traffic["total_bytes_s"] is None and traffic["silence"] is None, traffic
        assert traffic["sampled"] == {"samples": 698, "loads": 204, "stores": 494, "loads_with_source": 204,
            "loads_from_memory": 1, "loads_from_remote_memory": 0, "lost": 0}, traffic["sampled"]
        # As the periods in `perf script -F period,data_src` add up: 47, 26,756 and 265 of 27,068.
        assert [traffic[key] for key in ("exposed", "cached", "under_way", "unknown")] == [0.0017, 0.9885, 0.0098, 0], traffic
        text = run([nlens.NUMALENS, "report", "traffic", trace]).out
        assert b"memory answered 1 of the 204 sampled loads" in text and b"less than 30 cycles" in text, text
        assert "bytes_s" not in report(trace, "objects")["objects"][0] # nothing is known: no column


@check("a recording of two nodes: its topology comes along")
def two_nodes():
    with Folder() as folder:
        ended, trace = import_of(folder, data("pebs-weight-struct-2node"))
        assert ended.status == 0, ended
        assert b"14 memory samples (14 loads, 0 stores) of 12 threads" in ended.out, ended
        assert b"2 nodes, 112 CPUs" in ended.out, ended
        whole = report(trace)
        assert whole["topology"]["nodes"] == 2, whole["topology"]
        assert "14 of 14 sampled loads, and 30 are needed" in report(trace, "traffic")["silence"]
        assert whole["remote"] is None and whole["home_known"] == 0, whole # unknown, not 0
        objects = report(trace, "objects")["objects"]
        assert objects and all(row["remote"] is None for row in objects), whole
        assert all(thread["remote"] is None for row in objects for thread in row["threads"]), objects
        object_id = str(objects[0]["id"])
        facts = report(trace, "object", object_id)["objects"][0]["facts"]
        assert facts["users"] and all(row["remote"] is None for row in facts["users"] + facts["phases"]), facts
        for name, rows in (("balance", "threads"), ("map", "phases"), ("map", "cells")):
            found = report(trace, name)[rows]
            assert found and all(row["remote"] is None for row in found), (name, found)
        compared = json.loads(run([nlens.NUMALENS, "compare", "--all", "--json", trace, trace]).out)
        rows = [row[side] for table in ("objects", "functions", "threads") for row in compared[table]["rows"] for side in ("before", "after")]
        assert rows and all(row["remote"] is None and row["remote_share"] is None for row in rows), rows
        # In text: no percentage of what is not known.
        text = run([nlens.NUMALENS, "report", "object", object_id, trace]).out
        assert b", remote unknown," in text and b"  0%" not in text.split(b"Used by")[1].split(b"\n\n")[0], text
        assert b" samples, remote unknown\n" in run([nlens.NUMALENS, "report", "objects", trace]).out
        balance = run([nlens.NUMALENS, "report", "balance", trace]).out
        assert b"home nodes of the pages are not known" in balance and b"Balanced" not in balance, balance


# What perf 6.1 prints of each recording: `perf script` for samples, directions, threads and locks, `perf mem report --sort mem`
# for levels and the weight in all. Loads and stores apart; "" is what nobody answered as far as reported.
FIGURES = {
    "pebs-rcppthread": {"samples": 698, "loads": 204, "stores": 494, "threads": 11, "locked": 5, "weight": 9922, "remote": 0,
                        "levels": {"l1": 185, "lfb": 12, "l3": 6, "ram": 1}, "store levels": {"l1": 493, "": 1}},
    "pebs-weight-struct-2node": {"samples": 14, "loads": 14, "stores": 0, "threads": 12, "locked": 2, "weight": 1725,
                                 "remote": 0, "levels": {"l1": 4, "lfb": 5, "l2": 1, "l3": 4}, "store levels": {}},
}
# perf's words for them.
LEVELS = {"L1": "l1", "LFB": "lfb", "L2": "l2", "L3": "l3", "Local RAM": "ram", "Remote RAM": "remote-ram",
          "Remote": "remote-cache", "I/O": "io", "Uncached": "uncached"}


def level_of(words):
    """"L3 or L3 hit", "Local RAM or RAM hit", "L1 miss"."""
    if words.endswith("miss"):
        return ""
    return next((level for name, level in LEVELS.items() if words.startswith(name)), "")


def as_perf_counts(perf, path, *options):
    """The same figures, as perf itself prints them."""
    ended = run([perf, "script", "-i", path, "-F", "tid,addr,data_src,weight", *options])
    lines = [line for line in ended.out.decode(errors="replace").splitlines() if "|OP " in line]
    if ended.status != 0 or not lines:
        raise Skip("this perf does not read it")
    counts = {"samples": len(lines), "loads": 0, "stores": 0, "locked": 0, "weight": 0, "remote": 0, "levels": {},
              "store levels": {}, "threads": len({line.split()[0] for line in lines})}
    for line in lines:
        load = "|OP LOAD" in line
        level = level_of(re.search(r"\|LVL ([^|]*)\|", line)[1].strip())
        levels = counts["levels" if load else "store levels"]
        levels[level] = levels.get(level, 0) + 1
        counts["loads" if load else "stores"] += 1
        counts["locked"] += "|LCK Yes" in line
        counts["remote"] += level.startswith("remote")
        counts["weight"] += int(line.split()[-1]) if load else 0
    return counts


def as_imported(trace):
    """The same figures, of the trace that was made of it."""
    latency = report(trace, "latency")
    counts = {"samples": latency["samples"], "loads": latency["reads"], "stores": latency["writes"], "levels": {},
              "store levels": {}, "weight": latency["all"]["TL"], "remote": 0,
              "threads": len({thread["tid"] for thread in report(trace, "threads")["threads"] if thread["samples"]})}
    for level, row in latency["levels"].items():
        name = "" if level == "unknown" else level
        if row["TN"]:
            counts["levels"][name] = row["TN"]
        if row["accesses"] - row["TN"]:
            counts["store levels"][name] = row["accesses"] - row["TN"]
        counts["remote"] += row["accesses"] if level.startswith("remote") else 0
    return counts


@check("every sample count, level and remote count is what perf prints; here as kept, and anew where perf is installed")
def figures():
    for name, path in recordings(FIGURES):
        expected = FIGURES[name]
        with Folder() as folder:
            ended, trace = import_of(folder, path)
            assert ended.status == 0, ended
            found = as_imported(trace)
            for key in found:
                assert found[key] == expected[key], "%s: %s is %s, not %s" % (name, key, found[key], expected[key])
        try:
            anew = as_perf_counts(nlens.tool("perf"), path)
        except Skip as why:
            note(why)
            continue
        assert anew == expected, "%s: perf prints %s" % (name, anew)
        note("%s: as perf prints it now" % name)


@check("Arm SPE: packets made by hand, by every source; what perf decodes is the same")
def spe():
    expected = {"samples": 16, "loads": 16, "stores": 0, "threads": 2, "locked": 0, "weight": sum(range(10, 26)), "remote": 2,
                "levels": {"l1": 2, "l2": 4, "l3": 6, "remote-cache": 2, "ram": 2}, "store levels": {}}
    with Folder() as folder:
        path = os.path.join(folder, "spe.perf.data")
        with open(path, "wb") as out:
            out.write(perf_spe.recording())
        ended, trace = import_of(folder, path)
        assert ended.status == 0 and b"Source spe" in ended.out, ended
        found = as_imported(trace)
        assert found == {key: expected[key] for key in found}, found
        try:
            anew = as_perf_counts(nlens.tool("perf"), path, "--itrace=M")
        except Skip as why:
            note(why)
            return
        assert anew == expected, "perf prints %s" % anew
        note("as perf decodes it")


@check("PEBS made by hand, two nodes, every sample of another period: bytes from memory are at least what the periods add up to")
def traffic_of_samples():
    loads = [access for access in perf_pebs.accesses() if access[2] & perf_pebs.LOAD]
    lines = [sum(period for thread, period, source in loads if thread == which and source & perf_pebs.UNKNOWN == perf_pebs.RAM)
             for which in (0, 1)]
    exposed = [lines[which] / sum(period for thread, period, _ in loads if thread == which) for which in (0, 1)]
    with Folder() as folder:
        path = os.path.join(folder, "pebs.perf.data")
        with open(path, "wb") as out:
            out.write(perf_pebs.recording())
        ended, trace = import_of(folder, path)
        assert ended.status == 0 and b"850 memory samples (800 loads, 50 stores)" in ended.out, ended
        found = report(trace, "traffic")

        def is_rate(value, count):
            return abs(value * found["seconds"] - 64 * count) < 1 + 64e-6 * count
        assert found["traffic_source"] == "data-sources" and found["at_least"] is True and found["silence"] is None, found
        assert is_rate(found["total_bytes_s"], sum(lines)), (found["total_bytes_s"], lines)
        for rows in (found["objects"], found["threads"]):
            assert len(rows) == 2 and is_rate(rows[0]["bytes_s"], lines[1]) and is_rate(rows[1]["bytes_s"], lines[0]), rows
            assert abs(rows[0]["exposed"] - exposed[1]) < 1e-4 and abs(rows[1]["exposed"] - exposed[0]) < 1e-4, (rows, exposed)
            assert all(row["write_bytes_s"] is None for row in rows), rows
        assert [row["name"] for row in found["objects"]] == list(reversed(perf_pebs.FILES)), found["objects"]
        # The first thread's node answered both: the second one's is unknown, not 0.
        pairs = {(pair["from"], pair["to"]): pair["bytes_s"] for pair in found["pairs"]}
        assert is_rate(pairs[0, 0], lines[0]) and is_rate(pairs[1, 0], lines[1]), pairs
        assert pairs[0, 1] is None and pairs[1, 1] is None, pairs
        assert [node["write_bytes_s"] for node in found["nodes"]] == [None, None], found["nodes"]
        over = sum((time["end_s"] - time["start_s"]) * (time["nodes"][0]["read_bytes_s"] or 0) for time in found["over_time"])
        assert abs(over - 64 * sum(lines)) < 64e-3 * sum(lines), over
        text = run([nlens.NUMALENS, "report", "traffic", trace]).out
        for words in (b"At least 0.09 GB/s from memory", b"another node answered 67%", b"less than 30 cycles"):
            assert words in text, text
        # Columns of other tables, as lower bounds.
        for table in ("objects", "threads", "functions"):
            assert any(is_rate(row["bytes_s"], lines[1]) for row in report(trace, table)[table]), table
            assert b">= 0.07" in run([nlens.NUMALENS, "report", table, trace]).out, table
        # No prediction, and no verdict, from a lower bound.
        predicted = run([nlens.NUMALENS, "predict", "--machine", "generic-2", trace])
        assert predicted.status == 1 and b"lower bound" in predicted.err, predicted
        verdict = report(trace)["verdict"]
        assert verdict["matters"] is not False and verdict["remote_bytes_share"] is None, verdict


# Of those without memory samples: how many samples of other kinds, as perf prints them. perf 6.1 refuses plain, zstd and zstd2, which
# newer ones wrote: it is given them in the older form. perf 6.12 reads plain and zstd as they are and prints the same.
OTHERS = {"hybrid-topology": 7, "lost-samples": 191, "numa-topology-2node": 175, "pipe-header-aligned": 9,
          "pipe-header-features": 2, "zstd-pipe": 8, "zstd2": 7, "plain": 7, "zstd": 8}


def printed_by_perf(perf, path):
    """How many samples it prints, and of what."""
    ended = run([perf, "script", "-i", path, "-F", "tid"])
    if ended.status == 0:
        return len(ended.out.split()), "now"
    with open(path, "rb") as stream, Folder() as folder:
        older = os.path.join(folder, "older.perf.data")
        with open(older, "wb") as out:
            out.write(as_older(stream.read()))
        ended = run([perf, "script", "-i", older, "-F", "tid"])
    assert ended.status == 0, ended
    return len(ended.out.split()), "of its older form"


@check("recordings without memory samples: as many others as perf prints")
def others():
    for name, path in recordings(OTHERS):
        with Folder() as folder:
            ended, _ = import_of(folder, path)
        reported = re.search(r"no memory samples \((\d+) samples of other kinds(, 2 lost)?\)", ended.err.decode())
        assert ended.status == 1 and reported, ended
        assert bool(reported[2]) == (name == "lost-samples"), ended  # "Total Lost Samples: 2", says perf report
        assert int(reported[1]) == OTHERS[name], "%s: %s, not %d" % (name, reported[1], OTHERS[name])
        try:
            perf = nlens.tool("perf")
        except Skip as why:
            note(why)
            continue
        count, how = printed_by_perf(perf, path)
        assert count == OTHERS[name], "%s: perf prints %d" % (name, count)
        note("%s: %d samples of other kinds, as perf prints %s" % (name, count, how))


@check("of a machine with the other byte order: refused, and said")
def other_order():
    with Folder() as folder:
        path = os.path.join(folder, "swapped.perf.data")
        with open(path, "wb") as out, open(data("pebs-rcppthread"), "rb") as stream:
            out.write(stream.read(8)[::-1] + stream.read())
        ended, _ = import_of(folder, path)
        assert ended.status == 1 and b"the other byte order" in ended.err, ended


@check("a pipe is read as well")
def from_a_pipe():
    with Folder() as folder, open(data("pebs-rcppthread"), "rb") as stream:
        trace = os.path.join(folder, "numalens.data")
        ended = subprocess.run([nlens.NUMALENS, "import", "-o", trace, "-"], stdin=stream, capture_output=True,
                               timeout=nlens.PATIENCE)
        assert ended.returncode == 0 and b"698 memory samples" in ended.stdout, ended


@check("recordings without memory samples, damaged ones, and what is none: one clear line, no file")
def refused():
    with Folder() as folder:
        words = {name: "no memory samples" for name in OTHERS}
        words.update({"corrupt-zero-size-sample": "49104", "corrupt-extra-byte": "cut short"})
        for name, path in recordings(words):
            ended, trace = import_of(folder, path)
            text = ended.err.decode()
            assert ended.status == 1 and text.count("\n") == 1 and words[name] in text, ended
            assert not os.path.exists(trace)
        ended, trace = import_of(folder, os.path.join(folder, "none"))
        assert ended.status == 1 and b"none" in ended.err and not os.path.exists(trace), ended
        ended, trace = import_of(folder, __file__)
        assert ended.status == 1 and b"no recording of perf" in ended.err and not os.path.exists(trace), ended


@check("a cut recording: what is whole is kept, and the cut is said")
def cut():
    with open(data("pebs-rcppthread"), "rb") as stream:
        whole = stream.read()
    with Folder() as folder:
        path = os.path.join(folder, "cut.perf.data")
        with open(path, "wb") as stream:
            stream.write(whole[:len(whole) * 8 // 10])
        ended, trace = import_of(folder, path)
        assert ended.status == 0 and b"Damaged" in ended.out, ended
        samples = report(trace)["samples"]
        assert 0 < samples < 698, samples


@check("inputs that broke other readers: no crash, no hang")
def fuzzed():
    folder_of = os.path.join(BESIDE, "fuzz")
    if not os.path.isdir(folder_of):
        raise Skip("no such inputs here")
    with Folder() as folder:
        for name in sorted(os.listdir(folder_of)):
            ended, _ = import_of(folder, os.path.join(folder_of, name))
            assert ended.status in (0, 1), "%s: %s" % (name, ended)


@check("page faults of perf have no direction: reports show no figure, not 0")
def no_direction():
    perf = nlens.tool("perf")
    with Folder() as folder:
        recording = os.path.join(folder, "faults.perf.data")
        ended = run([perf, "record", "-q", "-e", "page-faults", "-c", "1", "-d", "-o", recording, "true"])
        if ended.status != 0:
            raise Skip("perf cannot record page faults here: %s" % ended)
        ended, trace = import_of(folder, recording)
        assert ended.status == 0 and b"(0 loads, 0 stores)" in ended.out, ended
        whole = report(trace)
        assert whole["samples"] > 0 and whole["reads"] is None and whole["writes"] is None, whole
        for row in report(trace, "objects")["objects"]:
            assert row["samples"] == 0 or (row["reads"] is None and row["writes"] is None), row
        ended = run([nlens.NUMALENS, "report", "objects", "--width", "0", trace])
        lines = ended.out.decode().splitlines()[2:]
        column = lines[0].split().index("writes")
        assert lines[1].split()[column] == "-", ended
        ended = run([nlens.NUMALENS, "export", "--format", "text", "-F", "cpu,op,latency", "--no-header", trace])
        assert ended.out and b"65535" not in ended.out and set(line.split(b"\t")[1] for line in ended.out.splitlines()) == {b"-"}, ended


nlens.main()
