#!/usr/bin/env python3
"""The diagnosis names each pattern on the program that has it and stays silent on its twin, on 2, 4 and 8 nodes."""
import os

import nlens
import verdicts
from nlens import check, note


# So often that a part of their usual work gives the bursts that are needed and half as many again: each is recorded once.
OFTEN = ["-F", "1000", "--budget", "100"]
# What it costs depends on the machine's caches, and code to change is advised where it is worth that.
UNTIMED = [*OFTEN, "--no-latency"]
# Of run time: no kind of change is advised for less, over all findings that it is advised for. That all advice compiles,
# tests/analysis/test_advice.c shows.
WORTH_CHANGING = 0.02
LONGER = {"concurrent_remote": 1 / 4, "saturated_node": 1 / 2, "far_initialised": 1 / 2, "remote_after_allocation": 1 / 2,
          "rewritten": 1 / 2}


def record(folder, program, mode, spec):
    return verdicts.record(folder, program, mode, spec, OFTEN, verdicts.BURSTS, LONGER.get(program, 1))


def judge_all(program, mode, trace, specs):
    failures = []
    for spec in specs:
        wrong, reported = verdicts.judge(program, mode, trace, spec)
        note("%s %s on %s: %s" % (program, mode, spec, reported))
        if wrong:
            failures.append("%s: %s" % (spec, wrong))
    assert not failures, "\n".join(failures)


def register(program, mode):
    what = verdicts.PROGRAMS[program][0]

    @check("%s %s: %s on 2, 4 and 8 nodes%s" % (program, mode, what if mode == "bad" else "no " + what,
                                                "; the code to change compiles" if mode == "bad" else ""))
    def verdict():
        with nlens.Folder() as folder:
            trace = record(folder, program, mode, verdicts.topology(8))
            judge_all(program, mode, trace, [verdicts.topology(n) for n in verdicts.NODES])
            if mode == "bad":
                count, cost, error = verdicts.advised(program, folder, trace, verdicts.topology(8))  # what was judged last
                assert not error, error
                assert count or cost < WORTH_CHANGING, "no code for what costs %.1f%%" % (100 * cost)


for run in verdicts.RUNS:
    register(*run)


@check("a copy a node is advised where write protection proves that nobody writes, and nowhere else")
def proved():
    spec = verdicts.topology(4)
    for program, options, copy in (("concurrent_remote", ["--faults"], True), ("concurrent_remote", [], False),
                                   ("rewritten", ["--faults"], False)):
        with nlens.Folder() as folder:
            trace = verdicts.record(folder, program, "bad", spec, [*verdicts.OFTEN, "--no-latency", *options])
            rows = [row for row in nlens.report(trace, "patterns")["patterns"] if row["pattern"] == "concurrent-remote"]
            assert len(rows) == 1, rows
            note("%s %s: %s" % (program, options, rows[0]["evidence"]))
            actions = [advice["action"] for advice in rows[0]["advice"]]
            assert (actions[0] == "duplicate") == copy and ("duplicate" in actions) == copy, rows[0]
            why = [advice["why"] for advice in rows[0]["against"] if advice["action"] == "duplicate"]
            wanted = "pages were written" if options else "numalens record --faults"
            assert copy or wanted in why[0], rows[0]


@check("variables of one thread's stack that all use: each thread is to have its own, pages stay where they are")
def shared_stack():
    spec = verdicts.topology(4)
    with nlens.Folder() as folder:
        trace = verdicts.record(folder, "concurrent_remote", "stack", spec, UNTIMED, 2 * verdicts.BURSTS)
        reported = nlens.report(trace, "patterns")
        rows = reported["patterns"]
        note("%s; undecided: %s" % (verdicts.describe(rows), reported["undecided"]))
        assert rows and all(row["name"].startswith("stack of ") for row in rows if row["object"] is not None), rows
        assert [advice["action"] for advice in rows[0]["advice"]] == ["own-copy"], rows[0]


THREAD_LOCAL = ("thread_local.c", "workspace")


def on_variable(trace, nodes, instances):
    """The one finding on the thread-local variable, whose copies are all on the main thread's node."""
    rows = nlens.report(trace, "patterns", "--topology", verdicts.topology(nodes))["patterns"]
    note("%d nodes: %s" % (nodes, verdicts.describe(rows)))
    row, = [row for row in rows if row["pattern"] != "saturated-node"]
    source, name = THREAD_LOCAL
    assert (row["pattern"], row["name"], row["kind"]) == ("remote-after-allocation", name, "thread-local"), row
    assert (os.path.basename(row["file"]), row["line"]) == (source, nlens.site_line("patterns/" + source, name)), row
    assert row["instances"] == instances and row["share_of_remote"] > 0.9, row
    assert [advice["action"] for advice in row["advice"]] == ["allocate-near", "migrate"], row
    assert "the C library clears it" in row["advice"][0]["why"] and name in row["advice"][0]["code"], row
    assert "duplicate" in [advice["action"] for advice in row["against"]], row
    return row


@check("a thread-local variable: one finding for all threads' copies, which says that the C library clears it elsewhere")
def thread_local():
    with nlens.Folder() as folder:
        trace = verdicts.record(folder, "thread_local", "bad", verdicts.topology(8), UNTIMED, verdicts.BURSTS, 2)
        for nodes in verdicts.NODES:
            row = on_variable(trace, nodes, 8)
            assert row["evidence"].startswith("Each of 8 threads has its own; "), row
        text = nlens.run([nlens.NUMALENS, "report", "patterns", trace]).out.decode()
        assert "1.0 MiB thread-local in each of 8 threads" in text, text


@check("a thread-local variable that one thread uses; and none where each thread allocates its own")
def thread_local_twin():
    with nlens.Folder() as folder:
        ended = nlens.record(folder, [nlens.example("patterns/thread_local"), "bad", "--threads=1"],
                             ["-q", *UNTIMED, "--topology", verdicts.topology(2)], bursts=verdicts.BURSTS, longer=16)
        assert ended.status == 0, ended
        assert on_variable(ended.trace, 2, 1)["evidence"].startswith("First touched by thread thread_local"), ended.trace
        trace = verdicts.record(folder, "thread_local", "good", verdicts.topology(8), OFTEN, verdicts.BURSTS, 2)
        for nodes in verdicts.NODES:
            rows = nlens.report(trace, "patterns", "--topology", verdicts.topology(nodes))["patterns"]
            assert not rows, verdicts.describe(rows)


@check("two CPUs a node, given when recording: the same verdicts")
def two_cpus():
    spec = verdicts.topology(4, 2)
    for program, mode in (("far_initialised", "bad"), ("far_initialised", "good"), ("mixed_pages", "bad")):
        with nlens.Folder() as folder:
            trace = record(folder, program, mode, spec)
            rows = nlens.report(trace, "patterns")["patterns"]
            wrong = verdicts.wrong(program, mode, rows)
            note("%s %s: %s" % (program, mode, verdicts.describe(rows)))
            assert not wrong, "%s %s: %s" % (program, mode, wrong)


nlens.main()
