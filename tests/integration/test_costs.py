#!/usr/bin/env python3
"""What a placement costs on a machine: the first line of a report with --machine, the gains of findings, and what is said without
traffic. The figures themselves are held against arithmetic in tests/predict."""
import json
import os

import nlens
from nlens import Folder, Skip, check, example, note, record, report, run

BURSTS = 400
THREADS = 24
# Samples begin once all threads are there: how long main fills the arrays is no matter.
STREAM = ["--threads=%d" % THREADS, "--mib=256", "--times=20"]
OPTIONS = ["--traffic", "--threads", str(THREADS + 1), "-F", "400", "--budget", "10"]
MACHINE = "generic-4"
# What the threads want of what one node has: by far enough for twice the time, and the four nodes have too little as well.
WANTED = 6
# As scripts/demo has it: larger than any last cache.
DEMO = ["--side=4729", "--workers=16", "--steps=20"]
BAD_MODEL = "title A machine\nsource a test\ntopology numa:2 core:2\nlatency 0 90 140\nlatency 1 140 90\nread 0 100 0\n"


def shown(trace, *arguments):
    ended = run([nlens.NUMALENS, "report", "--width", "100", *arguments, trace])
    assert ended.status == 0, ended
    return ended.out.decode()


def measured(trace):
    """The traffic of a recording, known or not; skips where it cannot be had. integration/traffic judges whether that may be."""
    if report(trace)["session"].get("traffic") != "pairs":
        raise Skip("there is no tick by perf here")
    traffic = report(trace, "traffic")
    if traffic["memory_from_ns"] == 0:
        raise Skip("caches and memory are not distinguished here")
    return traffic


def known(trace):
    traffic = measured(trace)
    if traffic["total_bytes_s"] is None:
        raise Skip("most of the traffic is unknown: this machine's caches are as large as the arrays, or it is too busy")
    return traffic


def speed(traffic):
    busy = [row for row in traffic["threads"] if row["bytes_s"]]
    return sum(row["bytes_s"] for row in busy) * traffic["seconds"] / sum(row["user_s"] for row in busy)


def model_of(folder, rate):
    """A generic-4 so slow, or so quick, that threads of that rate want WANTED times what one of its nodes has."""
    with open(os.path.join(nlens.SOURCE, "share", "machines", MACHINE + ".machine")) as stream:
        lines = [line.split() for line in stream if line.split()[0] != "#"]
    node = next(float(words[2]) for words in lines if words[0] == "read")
    scale = rate * THREADS / 1e9 / (WANTED * node)
    path = os.path.join(folder, "full.machine")
    with open(path, "w") as stream:
        for name, *figures in lines:
            first = {"read": 1, "core": 0}.get(name, len(figures))
            print(name, *figures[:first], *(float(figure) * scale for figure in figures[first:]), file=stream)
    return path


def whole_and_parts(answer):
    """The first line is no less than any finding's own gain, as both are printed."""
    for row in answer["findings"]:
        note("%s %s: %s" % (row["pattern"], row["name"], row["gain"]))
        assert row["gain"] is None or row["gain"]["factor"] <= answer["verdict"]["slowdown"], (row, answer["verdict"])


@check("a triad with all of its arrays on one node of four: the first line says what that costs, and what is full")
def one_node():
    with Folder() as folder:
        ended = record(folder, [example("stream"), *STREAM], [*OPTIONS, "--machine", MACHINE], bursts=BURSTS)
        assert ended.status == 0, ended
        traffic = known(ended.trace)
        rate = speed(traffic)
        note("%.2f GB/s of a thread" % (rate / 1e9))
        answer = report(ended.trace)
        patterns = report(ended.trace, "patterns")
        text = shown(ended.trace)
        other = report(ended.trace, "--machine", "xeon-e5-2680v4")["verdict"]
        two = report(ended.trace, "--machine", "generic-2")
        full = report(ended.trace, "--machine", model_of(folder, rate))
        predicted = run([nlens.NUMALENS, "predict", "--machine", MACHINE, "--json", ended.trace])
    verdict = answer["verdict"]
    note(verdict)
    note(other)
    assert answer["session"]["machine"] == MACHINE and verdict["machine"] == MACHINE, verdict
    assert verdict["text"] in " ".join(text.split()) and len(text.splitlines()) <= 40, text
    assert answer["topology"]["simulated"] and answer["topology"]["nodes"] == 4, answer["topology"]
    assert other["machine"] == "xeon-e5-2680v4" and two["topology"]["nodes"] == 2, (other, two["topology"])
    assert 1 <= verdict["low"] <= verdict["slowdown"] <= verdict["high"], verdict
    assert patterns["verdict"] == verdict, patterns["verdict"]
    assert predicted.status == 0, predicted
    rows = {row["placement"]: row["time_s"] for row in json.loads(predicted.out)["rows"]}
    if verdict["against"] in rows:
        right = max(rows["as-is"] / rows[verdict["against"]], 1)
        assert abs(verdict["slowdown"] - right) < 0.05 * verdict["slowdown"], (verdict, rows)
    else:
        assert verdict["against"] == "advice" and "as the findings advise" in verdict["text"], verdict
    whole_and_parts(answer)
    for row in answer["findings"]:
        assert row["gain"] is None or row["gain"]["machine"] == MACHINE, row
    verdict = full["verdict"]
    note(verdict)
    assert verdict["matters"] is True, verdict
    assert 2 <= verdict["slowdown"] <= 4.1, verdict
    assert "node 0" in verdict["text"] and "bottleneck" in verdict["text"], verdict
    arrays = [row for row in full["findings"] if row["kind"] == "heap"]
    assert any(row["gain"] and row["gain"]["factor"] > 1.05 for row in arrays), full["findings"]


@check("the same with first touch by its users: silent")
def own_nodes():
    with Folder() as folder:
        ended = record(folder, [example("stream"), *STREAM, "--first-touch"], [*OPTIONS, "--topology", "numa:4 core:8"],
                       bursts=BURSTS)
        assert ended.status == 0, ended
        known(ended.trace)
        answer = report(ended.trace)
    note(answer["verdict"])
    assert answer["verdict"]["machine"] == MACHINE, answer["verdict"]  # the one with so many nodes that is nobody's
    assert answer["verdict"]["matters"] is False and answer["findings"] == [], answer["verdict"]


@check("without traffic nothing that is remote is called harmless: the first line counts latency and says so")
def without():
    with Folder() as folder:
        ended = record(folder, [example("stream"), "--threads=4", "--mib=128", "--times=15"],
                       ["--threads", "5", "--topology", "numa:4 core:2", "-F", "400", "--budget", "10"], bursts=200)
        assert ended.status == 0, ended
        plain, there = report(ended.trace)["verdict"], report(ended.trace, "--machine", MACHINE)["verdict"]
        text = shown(ended.trace)
    for verdict in (plain, there):
        note(verdict)
        assert verdict["matters"] is not False and verdict["high"] is None, verdict
        assert "NUMA is not what slows" not in verdict["text"], verdict
    assert plain["machine"] is None and there["machine"] == MACHINE, (plain, there)
    assert "latency alone" in there["text"] and "numalens record --traffic" in there["text"], there
    assert "NUMA is not what slows" not in text, text


@check("the demo's first line is what its mistake costs on the machine that it was recorded for")
def demo():
    with Folder() as folder:
        model = os.path.join(folder, "own.machine")
        with open(os.path.join(nlens.SOURCE, "share", "machines", MACHINE + ".machine")) as stream:
            text = stream.read()
        with open(model, "w") as stream:
            stream.write(text)
        ended = record(folder, [example("demo"), *DEMO], ["--traffic", "--machine", model], bursts=200)
        assert ended.status == 0, ended
        os.unlink(model)  # the trace keeps it
        measured(ended.trace)
        answer = report(ended.trace)
        text = shown(ended.trace)
    verdict = answer["verdict"]
    note(verdict)
    assert verdict["machine"] == "own" and "own (generic machine with 4 nodes)" in verdict["text"], verdict
    assert 1.05 < verdict["low"] <= verdict["slowdown"] <= verdict["high"], verdict
    assert "simulation->plate and simulation->next_plate are on node 0" in verdict["text"], verdict
    whole_and_parts(answer)
    first, second = answer["findings"][:2]
    assert first["pattern"] == second["pattern"] == "far-initialised", answer["findings"]
    assert [first["name"], second["name"]] == ["simulation->plate", "simulation->next_plate"], answer["findings"]
    assert first["gain"]["low"] > 1.05 and "gain of each alone on own" in text, text
    assert verdict["text"] in " ".join(text.split()) and len(text.splitlines()) <= 40, text


@check("a machine that is not there, a bad model, two topologies: one line says what is wrong")
def refused():
    with Folder() as folder:
        model = os.path.join(folder, "bad.machine")
        with open(model, "w") as stream:
            stream.write(BAD_MODEL)
        ended = record(folder, ["true"])
        assert ended.status == 0, ended
        cases = [(["report", "--machine", "no-such", ended.trace], 1, ["no-such", MACHINE]),
                 (["report", "--machine", model, ended.trace], 1, ["bad.machine:6"]),
                 (["report", "--machine", MACHINE, "--topology", "numa:2 core:2", ended.trace], 2, ["--topology", MACHINE]),
                 (["record", "--machine", "no-such", "--", "true"], 1, ["no-such", MACHINE]),
                 (["record", "--machine", model, "--", "true"], 1, ["bad.machine:6"]),
                 (["record", "--machine", MACHINE, "--topology", "numa:2", "--", "true"], 2, ["--machine", "--topology"]),
                 (["record", "-a", "--machine", MACHINE], 2, ["--machine"])]
        for arguments, status, words in cases:
            answer = run([nlens.NUMALENS, *arguments], folder=folder)
            text = answer.err.decode()
            assert answer.status == status and not answer.out and text.count("\n") == 1, answer
            assert all(word in text for word in words), answer


nlens.main()
