#!/usr/bin/env python3
"""A part of the matrix of programs and ways of running (tests/soak/matrix.py, docs/reliability.md): what numalens records keeps
its output, status and signals; what it cannot record, it gives the reason for."""
import os
import sys
import tempfile

import nlens
from nlens import Skip, check, note

sys.path.insert(0, os.path.join(nlens.SOURCE, "tests", "soak"))
import matrix  # noqa: E402
import programs  # noqa: E402
import ways  # noqa: E402

PROGRAMS = ["sh", "c", "c++", "python", "perl", "tar|xz"]
WAYS = ["as it is", "nobody", "PID namespace", "bubblewrap with PIDs", "perf refused", "calls refused", "sandbox with a filter",
        "no /proc", "program without /proc", "no /dev/shm", "low limits", "closed streams", "full disk"]
# Other sources and commands, for a part of them.
SOURCES, FEW = ["no samples", "faults", "timers", "migrate", "outside", "apply"], ["c", "python"]
BESIDE = ["top beside"]  # which may find the program ended
# What must come of it, whatever the program is.
REFUSED = {"no /proc"}
RECORDED = {*SOURCES, "as it is", "PID namespace", "bubblewrap with PIDs", "low limits", "perf refused", "program without /proc"}

folder = tempfile.TemporaryDirectory(prefix="numalens-")
os.chmod(folder.name, 0o755)
made = programs.make(folder.name, PROGRAMS)


def run_way(name):
    found = 0
    for program in PROGRAMS if name in WAYS else FEW:
        _, _, verdict, text = matrix.cell((program, made[program], name))
        note("%s: %s, %s" % (program, verdict, text[:200]))
        assert verdict != matrix.FAILED, "%s: %s" % (program, text)
        if verdict == matrix.SKIPPED:
            continue
        found += 1
        assert name not in REFUSED or verdict == matrix.REASON, "%s: %s, %s" % (program, verdict, text)
        if name in RECORDED:
            assert verdict == matrix.RECORDED, "%s: %s, %s" % (program, verdict, text)
    if not found:
        raise Skip("none of the programs can be run so here")


assert set(WAYS + SOURCES + BESIDE) <= set(ways.make())
for each in WAYS + SOURCES + BESIDE:
    check("%s: programs keep their output and status" % each)(lambda each=each: run_way(each))

nlens.main()
