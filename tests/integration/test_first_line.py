#!/usr/bin/env python3
"""What a placement asks of a machine: the first line of a report with --machine, the gains of findings, and what is said without
traffic. The figures themselves are held against arithmetic in tests/predict."""
import functools
import os
import re
import shutil
import tempfile

import nlens
from nlens import Folder, Skip, check, example, note, record, report, run

BURSTS = 400
LONG_BURSTS = 6
EVEN_BURSTS = 16  # of which none stands for a third of the run
THREADS = 24
# Samples begin once all threads are there: how long main fills the arrays is no matter.
STREAM = ["--threads=%d" % THREADS, "--mib=256", "--times=20"]
OPTIONS = ["--threads", str(THREADS + 1), "-F", "400", "--budget", "10"]
MACHINE = "generic-4"
# What the threads want of what one node has: by far enough for twice the time, and the four nodes have too little as well.
WANTED = 6
# As scripts/demo has it, larger than any last cache; at a larger budget fewer steps have as many long bursts.
DEMO = ["--side=4729", "--workers=32", "--steps=120"]
BAD_MODEL = "title A machine\nsource a test\ntopology numa:2 core:2\nlatency 0 90 140\nlatency 1 140 90\nread 0 100 0\n"


def shown(trace, *arguments):
    ended = run([nlens.NUMALENS, "report", "--width", "100", *arguments, trace])
    assert ended.status == 0, ended
    return ended.out.decode()


def known(trace):
    """The traffic of a recording; skips where it cannot be had."""
    if report(trace)["session"].get("traffic") == "no":
        raise Skip("there is no tick by perf here")
    traffic = report(trace, "traffic")
    assert traffic["total_bytes_s"] is not None, traffic["silence"]
    return traffic


def speed(traffic):
    """Of a thread, bytes per second of its CPU time."""
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


@check("a triad with all of its arrays on one node of four: the first line says what is asked for, and of what")
def one_node():
    with Folder() as folder:
        ended = record(folder, [example("stream"), *STREAM], [*OPTIONS, "--machine", MACHINE], bursts=BURSTS, long_bursts=LONG_BURSTS)
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
    verdict = answer["verdict"]
    note(verdict)
    note(other)
    assert answer["session"]["machine"] == MACHINE and verdict["machine"] == MACHINE, verdict
    assert verdict["text"] in " ".join(text.split()) and len(text.splitlines()) <= 40, text
    assert answer["topology"]["simulated"] and answer["topology"]["nodes"] == 4, answer["topology"]
    assert other["machine"] == "xeon-e5-2680v4" and two["topology"]["nodes"] == 2, (other, two["topology"])
    assert verdict["low"] <= verdict["asked_bytes_s"] <= verdict["high"] and verdict["can_bytes_s"] > 0, verdict
    assert 0.5 < verdict["remote_bytes_share_low"] < verdict["remote_bytes_share"] < verdict["remote_bytes_share_high"], verdict
    assert verdict["bytes_s"] > 0, verdict
    assert verdict["evidence_bursts"] == traffic["long_bursts"], verdict
    assert patterns["verdict"] == verdict, patterns["verdict"]
    verdict = full["verdict"]
    note(verdict)
    assert verdict["matters"] is True and verdict["grade"] == "over", verdict
    assert verdict["bottleneck"] == "memory of node 0" and "memory of node 0" in verdict["text"], verdict
    assert 0.5 * WANTED < verdict["asked_bytes_s"] / verdict["can_bytes_s"] < 2 * WANTED, verdict
    arrays = [row for row in full["findings"] if row["kind"] == "heap"]
    assert all(row["gain"] for row in arrays), full["findings"]
    ratio = verdict["asked_bytes_s"] / verdict["can_bytes_s"]
    assert any(row["gain"]["asked_bytes_s"] / row["gain"]["can_bytes_s"] < 0.9 * ratio for row in arrays), full["findings"]


@check("the same with first touch by its users: silent")
def own_nodes():
    with Folder() as folder:
        ended = record(folder, [example("stream"), *STREAM, "--first-touch"], [*OPTIONS, "--topology", "numa:4 core:8"],
                       bursts=BURSTS, long_bursts=LONG_BURSTS)
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
                       ["--no-traffic", "--threads", "5", "--topology", "numa:4 core:2", "-F", "400", "--budget", "10"], bursts=200)
        assert ended.status == 0, ended
        plain, there = report(ended.trace)["verdict"], report(ended.trace, "--machine", MACHINE)["verdict"]
        text = shown(ended.trace)
    for verdict in (plain, there):
        note(verdict)
        assert verdict["matters"] is not False and verdict["grade"] is None and verdict["machine"] == MACHINE, verdict
        assert "NUMA is not what slows" not in verdict["text"], verdict
        assert "ow many bytes come from memory is not known" in verdict["text"], verdict
    assert "NUMA is not what slows" not in text, text


@functools.lru_cache(maxsize=None)
def recorded_demo():
    """Recorded once: (its folder, the trace). The model of the machine is deleted afterwards: the trace keeps it."""
    kept = tempfile.TemporaryDirectory(prefix="numalens-")
    folder = os.path.realpath(kept.name)
    model = os.path.join(folder, "own.machine")
    shutil.copy(os.path.join(nlens.SOURCE, "share", "machines", MACHINE + ".machine"), model)
    ended = record(folder, [example("demo"), *DEMO], ["--machine", model, "--budget", "10"], bursts=200, long_bursts=EVEN_BURSTS)
    assert ended.status == 0, ended
    os.unlink(model)
    return kept, ended.trace


@check("the demo's first line is what its mistake asks of the machine that it was recorded for")
def demo():
    _, trace = recorded_demo()
    known(trace)
    answer = report(trace)
    text = shown(trace)
    verdict = answer["verdict"]
    note(verdict)
    assert verdict["machine"] == "own" and "own (generic machine with 4 nodes)" in verdict["text"], verdict
    assert verdict["matters"] is True and verdict["grade"] == "over" and verdict["bottleneck"] == "memory of node 0", verdict
    assert "simulation->plate" in verdict["text"], verdict
    first, second = answer["findings"][:2]
    assert first["pattern"] == second["pattern"] == "far-initialised", answer["findings"]
    assert [first["name"], second["name"]] == ["simulation->plate", "simulation->next_plate"], answer["findings"]
    assert first["gain"]["machine"] == "own" and "each alone, on own" in text, text
    assert verdict["text"] in " ".join(text.split()) and len(text.splitlines()) <= 40, text


@check("threads that wait for each other have long bursts all the time: none stands for a third of the run")
def waiting():
    # Twice what is seen, 0.16 to 0.19 of the run with 20 of them; where a burst that never went on behind a call delayed the next one, 0.4 to 0.7.
    _, trace = recorded_demo()
    whole = sum(row["user_s"] for row in known(trace)["threads"])
    events = run([nlens.NUMALENS, "export", "--format", "events", "-o", "-", trace]).out.decode()
    times = [int(ns) / 1e9 for ns in re.findall(r"^long_burst .* process_ns=(\d+)", events, re.M)]
    longest = max(after - before for before, after in zip([0, *times], [*times, whole]))
    note("%d long bursts in %.1f s of CPU time, %.1f s without one" % (len(set(times)), whole, longest))
    assert longest < whole / 3, times


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
