#!/usr/bin/env python3
"""The diagnosis names each pattern on the program that has it and stays silent on its twin, on 2, 4 and 8 nodes."""
import nlens
import verdicts
from nlens import check, note


def judge_all(program, mode, trace, specs):
    failures = []
    for spec in specs:
        wrong, told = verdicts.judge(program, mode, trace, spec)
        note("%s %s on %s: %s" % (program, mode, spec, told))
        if wrong:
            failures.append("%s: %s" % (spec, wrong))
    assert not failures, "\n".join(failures)


def register(program, mode):
    what = verdicts.PROGRAMS[program][0]

    @check("%s %s: %s on 2, 4 and 8 nodes%s" % (program, mode, what if mode == "bad" else "no " + what,
                                                "; the code to change compiles" if mode == "bad" else ""))
    def verdict():
        with nlens.Folder() as folder:
            trace = verdicts.record(folder, program, mode, verdicts.topology(8), bursts=verdicts.BURSTS)
            judge_all(program, mode, trace, [verdicts.topology(n) for n in verdicts.NODES])
            if mode == "bad":
                count, error = verdicts.advised(program, folder, trace, verdicts.topology(4))
                assert count and not error, "%d pieces of code\n%s" % (count, error)


for run in verdicts.RUNS:
    register(*run)


@check("two CPUs a node, told when recording: the same verdicts")
def two_cpus():
    spec = verdicts.topology(4, 2)
    for program, mode in (("far_initialised", "bad"), ("far_initialised", "good"), ("mixed_pages", "bad")):
        with nlens.Folder() as folder:
            trace = verdicts.record(folder, program, mode, spec, bursts=verdicts.BURSTS)
            rows = nlens.report(trace, "patterns")["patterns"]
            wrong = verdicts.wrong(program, mode, rows)
            note("%s %s: %s" % (program, mode, verdicts.describe(rows)))
            assert not wrong, "%s %s: %s" % (program, mode, wrong)


nlens.main()
