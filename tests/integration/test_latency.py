#!/usr/bin/env python3
"""Sharing, latency and balance on programs that have one problem or none; calibration; when samples begin and end."""
import json
import os
import re
import statistics
import tempfile

import nlens
from nlens import check, note

# Nodes are filled one after the other. Half of the eight workers that share are on node 1; of five workers where one is far, the fifth. A fifth of the accesses
# are remote then. The bound is a tenth: with so many bursts eight standard deviations away.
BURSTS = 1000
OFTEN = ["-F", "4000", "--burst", "12", "--budget", "100"]
# The parts of the unbalanced workers are larger than most caches: what wins less than 2% of run time is not advised.
WORTH_CHANGING = 0.02
UNBALANCED = ["--threads=5", "--kib=32768", "--rounds=5000000"]
MACHINES = {"sharing": "numa:2 core:4", "imbalance": "numa:2 core:5"}
PROBLEMS = ("cross-node-sharing", "contention", "imbalance")


def record(folder, mode, *options, name="run.data", bursts=0):
    command = [nlens.example("patterns/problems"), mode] + (UNBALANCED if mode == "imbalance" else [])
    ended = nlens.record(folder, command, ["--topology", MACHINES.get(mode, "numa:2 core:8"), "--assign", "packed", *options], name=name, bursts=bursts)
    assert ended.status == 0, "record failed: %s" % ended
    return ended


def patterns(trace):
    rows = nlens.report(trace, "patterns")["patterns"]
    note("; ".join("%s %s" % (row["pattern"], row["name"]) for row in rows) or "nothing")
    return rows


def register(mode, pattern, name):
    @check("problems %s: %s" % (mode, pattern or "no problem"))
    def verdict():
        with nlens.Folder() as folder:
            trace = record(folder, mode, "-q", *OFTEN, bursts=BURSTS).trace
            rows = [row for row in patterns(trace) if row["pattern"] in PROBLEMS]
            assert [row["pattern"] for row in rows] == ([pattern] if pattern else []), rows
            for row in rows:
                assert name is None or row["name"] == name, row["name"]
                assert row["evidence"] and (row["advice"] or row["lost_time_share"] < WORTH_CHANGING), row
                assert all(advice["code"] for advice in row["advice"]), row
            threads = nlens.report(trace, "balance")
            assert threads["verdict"]["unbalanced"] == (mode == "imbalance"), threads["verdict"]
            far = max(threads["threads"], key=lambda row: row["tid"])
            if mode == "imbalance":
                assert threads["critical_tid"] == far["tid"], threads["critical_tid"]


register("none", None, None)
register("imbalance", "imbalance", None)
register("sharing", "cross-node-sharing", "counters")


@check("report sharing: counters that all threads write are shared at every grain, parts are private")
def grains():
    with nlens.Folder() as folder:
        report = nlens.report(record(folder, "sharing", "-q", *OFTEN, bursts=BURSTS).trace, "sharing")
        shared = max(report["objects"], key=lambda row: row["line"]["shared"]["accesses"])
        assert shared["threads"] >= 8 and shared["nodes"] == 2, shared
        assert len(shared["writers"]) >= 8, shared["writers"]
        for grain in ("line", "page", "object"):
            classes = shared[grain]
            assert classes["cross_node"]["accesses"] > 0.9 * shared["all"]["accesses"], (grain, classes)
        for grain in ("address", "line", "page", "object"):
            whole = report[grain]
            both = whole["same_node"]["TN"] + whole["cross_node"]["TN"]
            assert whole["shared"]["TN"] == both, whole


@check("report latency: thresholds, histograms and pairs add up; levels are reported by calibration")
def adds_up():
    with nlens.Folder() as folder:
        trace = record(folder, "none", "-q", bursts=50).trace
        report = nlens.report(trace, "latency", "--thresholds", "0,50,100000000")
        above = [row["TN"] for row in report["above"]]
        assert above[0] >= above[1] >= above[2] == 0, above
        assert sum(row["number"] for row in report["histogram"]) == report["all"]["TN"]
        assert sum(row["TN"] for row in report["levels"].values()) == report["all"]["TN"]
        assert sum(pair["all"]["TN"] for pair in report["pairs"]) <= report["all"]["TN"]
        assert report["contention"]["on"] in ("none", "memory"), report["contention"]
        tables = ("sharing", "latency", "balance")
        together = nlens.report(trace, ",".join(tables))
        for table in tables:
            text = nlens.run([nlens.NUMALENS, "report", table, trace])
            assert text.status == 0 and text.out.strip(), text
            alone = nlens.report(trace, table)
            assert together[table] and together[table].items() <= alone.items(), table
        for words in ("sharing,", "sharing,sharing", "latency,objects", ","):
            wrong = nlens.run([nlens.NUMALENS, "report", words, trace])
            assert wrong.status == 2 and wrong.out == b"", wrong


@check("record --threads, --start-after and --stop-after: samples only then")
def begins():
    with nlens.Folder() as folder:
        late = record(folder, "none", "--threads", "9", *OFTEN, bursts=50)
        report = nlens.report(late.trace)
        assert report["samples"] > 0, late
        main = [row for row in report["threads"] if row["tid"] == row["pid"]]
        assert not main or main[0]["share"] < 0.1, main
        never = record(folder, "none", "--threads", "99")
        assert nlens.report(never.trace)["samples"] == 0 and b"no samples" in never.err, never
        ended = record(folder, "none", "--stop-after", "1ns", "-q")
        assert nlens.report(ended.trace)["samples"] == 0, ended
        ended = record(folder, "none", "--start-after", "1000s", "-q")
        assert nlens.report(ended.trace)["samples"] == 0, ended


def waiting(folder, mode, times):
    command = [nlens.example("patterns/waiting"), mode, "--threads=2", "--times=%d" % times]
    # With so large a budget the others would wait in truth for a thread that a long burst holds up.
    ended = nlens.record(folder, command, ["--topology", "numa:2 core:8", "--assign", "packed", "-q", "--no-traffic", *OFTEN], bursts=BURSTS)
    assert ended.status == 0, ended
    report = nlens.report(ended.trace, "balance")
    workers = sorted((row for row in report["threads"] if row["name"].startswith("worker")), key=lambda row: row["name"])
    assert [row["name"] for row in workers] == ["worker 1", "worker 2"], workers
    return report, workers, ended.out.decode()


def near(reported, known, within=0.1):
    note("reported %.3f, known %.3f" % (reported, known))
    assert abs(reported - known) <= within, (reported, known)


@check("report balance: who works K times as long between barriers is waited for (K - 1) / K of the time")
def waits():
    for times in (2, 4):
        with nlens.Folder() as folder:
            report, (long, short), _ = waiting(folder, "spin", times)
            assert report["barriers"] and report["last_tid"] == long["tid"], report
            near(report["waited_share"], 1 - 1 / times)
            near(short["waited_share"], 1 - 1 / times)
            near(long["waited_share"], 0)
            assert short["waited_s"] > 0, short


@check("report balance: between threads that work as long, what is seen is what they wait in truth")
def hardly_waits():
    # A thread waits for the one that works longest. Where a third program wants their processors both spin at times, each for
    # the other, and neither works longer: they say themselves how much of their CPU time was work.
    with nlens.Folder() as folder:
        report, workers, printed = waiting(folder, "spin", 1)
        worked = {name: float(all_) - float(waited) for name, waited, all_ in
                  re.findall(r"^(worker \d+) spun (\S+) of (\S+)$", printed, re.M)}
        for row in workers:
            note("%s: %s" % (row["name"], row))
            # While it has no CPU it has no samples: that time is known to nobody as work or as waiting.
            near(row["waited_share"], 1 - worked[row["name"]] / max(worked.values()), within=0.15 + 1 - row["ran"])


@check("report balance: waiting is reported for each phase, for the thread that is last in it")
def waits_in_turns():
    with nlens.Folder() as folder:
        report, (first, second), _ = waiting(folder, "turns", 4)
        phases = sorted(report["phases"], key=lambda row: row["end_s"] - row["start_s"])[-2:]
        phases.sort(key=lambda row: row["start_s"])
        assert [row["last_tid"] for row in phases] == [first["tid"], second["tid"]], report["phases"]
        near(report["waited_share"], 3 / 4)
        for worker in (first, second):
            near(worker["waited_share"], 3 / 8)


@check("report balance: threads asleep in pthread_barrier_wait waited as long as they say themselves")
def sleeps():
    with nlens.Folder() as folder:
        report, workers, reported = waiting(folder, "sleep", 4)
        known = {name: float(time) for name, time in re.findall(r"^(worker \d+) waited (\S+)$", reported, re.M)}
        long, short = workers
        assert report["barriers"] and report["last_tid"] == long["tid"], report
        assert {row["waited_by"] for row in workers} == {"barriers"}, workers
        # They also wait once for all to begin, which they do not print: some milliseconds. A thread may be set aside
        # between its own look at the clock and the agent's; rarely, so a tenth is much.
        for row in workers:
            note("%s: %.3f s, it says %.3f s" % (row["name"], row["waited_s"], known[row["name"]]))
        assert abs(short["waited_s"] - known["worker 2"]) <= 0.1 * known["worker 2"], (short, known)
        assert short["waited_s"] > 2 * long["waited_s"], workers
        near(short["ran"], 1 / 4)


def calibrate():
    answer = nlens.run([nlens.NUMALENS, "doctor", "--calibrate", "--json"])
    assert answer.status == 0, answer
    return json.loads(answer.out)


@check("calibration: caches and memory in order, in each of ten runs, eight of them alike")
def calibration():
    # How much alike in quiet is a matter of bench/latency: others' work in a shared cache lasts for seconds.
    runs = [run for run in (calibrate() for _ in range(10)) if run["distinguishes"]]
    if not runs:
        raise nlens.Skip("caches and memory cannot be distinguished on this machine")
    levels = [[cache["level"] for cache in run["caches"]] for run in runs]
    shared = min(levels, key=len)
    fields = {"L%d" % level: [run["caches"][i]["chased_ns"] for run in runs] for i, level in enumerate(shared)}
    fields["memory"] = [run["memory"][0]["chased_ns"] for run in runs]
    assert len(shared) >= 1, levels
    for one in zip(*fields.values()):
        assert list(one) == sorted(one), fields
    for name, values in fields.items():
        usual = statistics.median(values)
        alike = sum(usual / 2 < value < 2 * usual for value in values)
        note("%s: %.1f ns, from %.1f to %.1f" % (name, usual, min(values), max(values)))
        assert alike >= 8, (name, values)


@check("calibration: measured by the first recording that times loads, not by one that does not")
def calibration_kept():
    with tempfile.TemporaryDirectory() as place:
        kept = os.path.join(place, "numalens", "calibration")
        for options, measured in ((["--source", "none"], False), (["--no-latency"], False),
                                  (["--no-calibration"], False), ([], True)):
            ended = nlens.run([nlens.NUMALENS, "record", "-o", os.path.join(place, "data"), *options, "--", "true"],
                              environment={"XDG_CACHE_HOME": place})
            assert ended.status == 0, ended
            assert os.path.exists(kept) == measured, (options, ended)


nlens.main()
