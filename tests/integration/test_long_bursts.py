#!/usr/bin/env python3
"""Long bursts are in every recording by the soft sampler, within their part of the budget over all processes, and what they take is
in the account; where they might harm there are none. What is made of them: test_traffic.py; threads that wait for each other:
test_first_line.py."""
import re
import sys

import nlens
from nlens import Folder, check, note, record, run

TIMED = 16  # flag of a row: a load that was timed
PART = 1 / 2  # of the budget that is theirs, and at most 10% of CPU time
WORK = """
import os, sys
def work(seconds):
    end = sum(os.times()[:2]) + seconds
    while sum(os.times()[:2]) < end:
        sorted(range(100000), key=lambda n: n * 7919 % 100003)
"""


def bursts_of(ended):
    """[(process, ms)] of the long bursts."""
    assert ended.status == 0, ended
    events = run([nlens.NUMALENS, "export", "--format", "events", "-o", "-", ended.trace]).out.decode()
    return [(int(pid), int(took) / 1e6) for pid, took in re.findall(r"^long_burst .* pid=(\d+) .* took_ns=(\d+)", events, re.M)]


def working(folder, options, before="", seconds=0.5, launcher=()):
    return record(folder, [*launcher, sys.executable, "-c", "%s%s\nwork(%s)" % (WORK, before, seconds)], options)


@check("in the default recording, by timers too, and without latencies")
def everywhere():
    with Folder() as folder:
        for options in [], ["--tick", "timer"], ["--no-latency"]:
            ended = working(folder, options)
            assert bursts_of(ended), options
            session = nlens.report(ended.trace)["session"]
            assert session["traffic"] == "bursts", session


@check("loads are timed at their ends, unless latencies are not to be measured")
def timed():
    with Folder() as folder:
        for options, wanted in ([], True), (["--no-latency"], False):
            ended = working(folder, ["--budget", "20", *options])
            events = run([nlens.NUMALENS, "export", "--format", "events", "-o", "-", ended.trace]).out.decode()
            ages = [int(bin) for bin, flags in re.findall(r"^reuse .* bin=(\d+) flags=(\d+)", events, re.M) if int(flags) & TIMED]
            note("%s: %d loads" % (options, len(ages)))
            assert (len(set(ages)) > 8) == wanted, (options, ages)


@check("none with --no-traffic, nor where nothing is sampled, nor where they would take address space that is limited")
def nowhere():
    limited = [nlens.tool("sh"), "-c", "ulimit -v 2000000; exec \"$@\"", "sh"]
    with Folder() as folder:
        for options, launcher in (["--no-traffic"], ()), (["--source", "none"], ()), (["--source", "faults"], ()), ([], limited):
            assert not bursts_of(working(folder, ["--budget", "20", *options], launcher=launcher)), (options, launcher)
        assert "traffic" not in nlens.report(working(folder, ["--no-traffic"]).trace)["session"]


@check("their part of the budget is that of all processes together, and what they took is in the account")
def budget():
    fork = "for i in range(12):\n    if os.fork() == 0:\n        work(0.12)\n        os._exit(0)\n    os.wait()"
    with Folder() as folder:
        ended = working(folder, ["--budget", "4"], fork, 0.4)
        found = bursts_of(ended)
    percent = float(re.search(rb"sampling took ([0-9.]+)% of the program's CPU time", ended.err)[1])
    cpu_ms = 12 * 120 + 400
    took = sum(ms for _, ms in found)
    note("%d long bursts in %d processes took %.1f ms of %d; sampling %.1f%%" % (
        len(found), len({pid for pid, _ in found}), took, cpu_ms, percent))
    # One may begin as soon as there is room for it, and be the last.
    assert 0 < took <= 0.04 * PART * 1.2 * cpu_ms + max(ms for _, ms in found), found
    assert percent / 100 >= took / (1.2 * cpu_ms), (percent, took)


nlens.main()
