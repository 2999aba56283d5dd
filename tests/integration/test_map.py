#!/usr/bin/env python3
"""numalens report map on real programs: known phases, known shapes, lines that fit."""
import collections
import json

import nlens
from nlens import Folder, check, correlation, note, run

SIMULATED = ("--topology", "numa:4 core:2")


BURSTS = 1000  # of up to nine threads: phases are found by how often each is seen using what


def record(folder, program, *arguments, bursts=BURSTS):
    ended = nlens.record(folder, [program, *arguments], ["-F", "1000", "--budget", "100", *SIMULATED], bursts=bursts)
    assert ended.status == 0, ended
    return ended.trace


def report(trace, *options):
    ended = run([nlens.NUMALENS, "report", "map", *options, trace])
    assert ended.status == 0, ended
    return ended.out.decode()


def phases(answer):
    return [(phase["name"], phase["end_s"] - phase["start_s"]) for phase in answer["phases"]]


def stages(answer):
    """Names of the workers' phases; not of the moment in which main still fills and the first of them begin."""
    whole = sum(seconds for _, seconds in phases(answer))
    note("phases: %s" % phases(answer))
    return [name for name, seconds in phases(answer) if "workers" in name and seconds > 0.1 * whole]


@check("three stages of a program are three phases, named by what is used")
def three_stages():
    with Folder() as folder:
        trace = record(folder, nlens.example("patterns/phases"), "twice")
        answer = json.loads(report(trace, "--json"))
        work = stages(answer)
        assert len(work) == 3, work
        assert "plan" in work[0] and "other" in work[1] and "plan" in work[2], work
        assert "other" not in work[0] and "plan" not in work[1], work


@check("the same work throughout is one phase")
def one_stage():
    with Folder() as folder:
        trace = record(folder, nlens.example("patterns/phases"), "throughout")
        answer = json.loads(report(trace, "--json"))
        work = stages(answer)
        assert len(work) == 1, work


@check("a matrix multiplication: master, then workers; a is swept, b is in use everywhere all the time")
def matmul():
    with Folder() as folder:
        trace = record(folder, nlens.example("matmul"), "450", "12", bursts=400)
        answer = json.loads(report(trace, "--json"))
        names = phases(answer)
        note("phases: %s" % names)
        assert "2 threads read a, b" in names[-1][0], names
        if "Page faults could not be recorded" in run([nlens.NUMALENS, "report", "--width", "0", trace]).out.decode():
            note("without page faults a master may be too quick to be seen")
        else:
            # The master's own parts may be distinguished: it maps, fills, starts the workers.
            assert len(names) >= 2 and all(name.startswith("main ") for name, _ in names[:-1]), names
        objects = json.loads(run([nlens.NUMALENS, "report", "objects", "--json", trace]).out)["objects"]
        variable = {row["id"]: row["variable"] for row in objects}
        places = collections.defaultdict(list)
        for cell in answer["cells"]:
            leaf = answer["leaves"][cell["leaf"]]
            if cell["reads"]:
                places[variable.get(leaf["object"]), cell["tid"]].append((cell["slice"], leaf["addr"]))
        workers = [tid for name, tid in places if name == "a" and len(places[name, tid]) > 20]
        assert len(workers) == 2, {key: len(found) for key, found in places.items()}
        for tid in workers:
            sweep, spread = correlation(places["a", tid]), correlation(places["b", tid])
            note("time and address: a %.3f, b %.3f" % (sweep, spread))
            assert sweep > 0.9 and abs(spread) < 0.5, (sweep, spread)


@check("text keeps to the width and to the letters, in both views")
def text():
    with Folder() as folder:
        trace = record(folder, nlens.example("matmul"), "400", bursts=100)
        for view in ((), ("--gantt",)):
            lines = report(trace, "--width", "80", "--height", "12", *view).splitlines()
            assert all(len(line) <= 80 for line in lines), [line for line in lines if len(line) > 80]
            assert any("█" in line for line in lines), lines
            for width in ("80", "50"):  # names are cut there
                plain = report(trace, "--width", width, "--ascii", *view)
                assert plain.isascii(), plain
            colored = report(trace, "--width", "80", "--color", "always", *view)
            assert "\x1b[38;5;" in colored and "▀" in colored, colored
        assert "matmul (" in report(trace, "--gantt")
        assert "of the accesses" in report(trace, "--filter", "kind=stack")


@check("options of the map are for the map")
def usage():
    for options in (("report", "--gantt"), ("report", "objects", "--by", "write"), ("report", "map", "--by", "nothing"),
                    ("report", "map", "--from", "2", "--to", "1"), ("report", "map", "--to", "x")):
        assert run([nlens.NUMALENS, *options]).status == 2, options


nlens.main()
