"""verdicts - the programs of examples/patterns that have a pattern, their twins that have not, and what is right to say.

Shared by test_patterns.py, which runs each once, and bench/verdicts/run, which runs each ten times.

A recording with the largest team is judged under several topologies afterwards: the threads of a team are assigned onto
CPUs in order of creation, so with one CPU a node worker I runs on node I modulo N.
"""
import os

import nlens

NODES = (2, 4, 8)
# program: (pattern, name and site of the object that has it)
PROGRAMS = {
    "remote_after_allocation": ("remote-after-allocation", "work->buffer", "buffer"),
    "alternate_remote": ("alternate-remote", "array", "array"),
    "concurrent_remote": ("concurrent-remote", "table", "table"),
    "saturated_node": ("saturated-node", "node 0", None),
    "far_initialised": ("far-initialised", "grid", "grid"),
    "mixed_pages": ("mixed-pages", "record", "record"),
    "false_sharing": ("false-sharing", "counters", "counters"),
    "blocks": ("far-initialised", "grid", "grid"),
    "rewritten": ("concurrent-remote", "vector", "vector"),
}
# What has a pattern besides, where enough bursts are there to see it: threads that allocate in turn from one arena of the C library.
ALSO = {("mixed_pages", "bad"): ("main_arena", "[heap]")}
# Every run there is: (program, mode).
RUNS = [(program, mode) for program in PROGRAMS for mode in ("bad", "good")] + [("false_sharing", "same")]


def topology(nodes, cpus=1):
    return "numa:%d core:%d" % (nodes, cpus)


# Bursts enough to decide, whatever a burst costs: how many decide what is bench/verdicts/calibrate's matter.
OFTEN = ["-F", "200", "--budget", "100"]


BURSTS = 300


def record(folder, program, mode, spec, often=OFTEN, bursts=0, longer=1):
    ended = nlens.record(folder, [nlens.example("patterns/" + program), mode], ["-q", *often, "--topology", spec],
                         name="%s-%s.data" % (program, mode), bursts=bursts, longer=longer)
    assert ended.status == 0, "record failed: %s" % ended
    return ended.trace


def describe(rows):
    return "; ".join("%s on %s (%s:%s), %s" % (row["pattern"], row["name"], os.path.basename(row["file"] or "-"),
                                               row["line"], row["evidence"]) for row in rows) or "nothing"


def wrong(program, mode, rows):
    """What is wrong with the findings on a run, in words; None when they are right.

    Memory that one thread made and all use keeps one node busy too: a saturated node is right beside other patterns. It is
    wrong where nobody made all of it (good), and it is all that may be said of a program that shows only that."""
    pattern, name, site = PROGRAMS[program]
    on_nodes = [row for row in rows if row["pattern"] == "saturated-node"]
    on_objects = [row for row in rows if row["pattern"] != "saturated-node" and row["name"] not in ALSO.get((program, mode), ())]
    if program == "saturated_node":
        # The tables are shared in both: that is no matter here.
        if mode == "good":
            return "a node is called saturated" if on_nodes else None
        return None if [row["name"] for row in on_nodes] == [name] else "node 0 is not called saturated"
    if mode == "good":
        return "the twin is found guilty" if rows else None
    if mode == "same":
        others = [row["pattern"] for row in on_objects if row["pattern"] not in ("concurrent-remote", "cross-node-sharing")]
        return "called " + others[0] if others else None
    if len(on_objects) != 1:
        return "%d findings on objects" % len(on_objects)
    row, source = on_objects[0], program + ".c"
    if row["pattern"] != pattern:
        return "called " + row["pattern"]
    if row["name"] != name:
        return "the object is called " + row["name"]
    if (os.path.basename(row["file"] or ""), row["line"]) != (source, nlens.site_line("patterns/" + source, site)):
        return "the place is %s:%s" % (row["file"], row["line"])
    return None


def truth(program, mode):
    """The pattern that a run has, or None."""
    return PROGRAMS[program][0] if mode == "bad" else None


def is_right(program, mode, row):
    """Whether a single finding on a run is right, whatever else is said or not."""
    if row["pattern"] == "saturated-node":  # right beside what one thread made and all use, but not of what threads use in turns
        return row["name"] == "node 0" and (mode == "bad" and program != "alternate_remote" or mode == "same")
    if program == "saturated_node":
        return row["pattern"] == "concurrent-remote"
    if mode == "same":
        return row["pattern"] in ("concurrent-remote", "cross-node-sharing")
    return row["pattern"] == truth(program, mode) and row["name"] == PROGRAMS[program][1] or row["name"] in ALSO.get((program, mode), ())


# Cases on which verdicts were wrong once: {program: (patterns that are right of the object, its name)}
CASES = {
    "far_initialised": ({"far-initialised"}, "grid"),                # the demo with few bursts
    "blocks": ({"far-initialised"}, "grid"),                         # LULESH, fluidanimate: parts that look mixed
    "options": ({"far-initialised"}, "options"),                     # blackscholes: tables of the mathematical library
    "rewritten": ({"concurrent-remote"}, "vector"),                  # CG: written, though no write was sampled
    "scratch": ({"remote-after-allocation"}, "made"),                # SP: a few pages of one thread
    "thread_local": ({"remote-after-allocation"}, "workspace"),      # OpenMP's private arrays: each thread's own, cleared by another
    "recycled": ({"remote-after-allocation", "mixed-pages"}, "block"),  # mstress: pages that the C library recycles
}


def case(program, mode, rows):
    """right, silent or wrong. Advice counts too: no copy of what is not proved to be read only, no command for the whole program on a
    few pages, no other place to allocate what its user allocates already."""
    patterns, name = CASES[program]
    for row in rows:
        actions = [advice["action"] for advice in row["advice"]]
        codes = " ".join(advice["code"] for advice in row["advice"])
        if row["pattern"] == "saturated-node":
            good = mode == "bad" and row["name"] == "node 0" and program != "scratch"
        else:
            good = mode == "bad" and row["pattern"] in patterns and row["name"] == name
        if not good or "duplicate" in actions or (program == "scratch" and "numactl" in codes) or (
                program == "recycled" and "allocate-near" in actions):
            return "wrong"
    return "right" if rows or mode == "good" else "silent"


COMMANDS = ("numactl ", "numalens ", "LD_PRELOAD=", "OMP_")
HEADERS = ("numa.h", "numaif.h", "sched.h", "string.h", "stdlib.h")


def code_of(rows):
    """The advice that is lines of code: no commands, no sentences."""
    return [(row, advice["code"]) for row in rows for advice in row["advice"]
            if row["line"] and not advice["code"].startswith(COMMANDS) and not advice["code"].rstrip().endswith(".")]


def uncompilable(folder, source, rows):
    """What the compiler says of advised code that is put behind the allocating line; None when all of it compiles."""
    path = os.path.join(nlens.SOURCE, "examples", source)
    for row, code in code_of(rows):
        with open(path) as file:
            lines = file.read().split("\n")
        if "static void *take(" in code:  # a function
            lines.append(code)
        else:
            at = row["line"]
            while ";" not in lines[at - 1]:
                at += 1
            lines[at:at] = ["{ size_t size = 65536, count = 8192, from = 0, to = size; (void)count; (void)from; (void)to;", code, "}"]
        copy = os.path.join(folder, "advised.c")
        with open(copy, "w") as file:
            file.write("\n".join(lines))
        ended = nlens.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-fopenmp", "-fsyntax-only", "-I", os.path.dirname(path),
                           *[word for header in HEADERS for word in ("-include", header)], copy])
        if ended.status:
            return "%s\n%s" % (code, ended.err.decode())
    return None


def judge(program, mode, trace, spec):
    """(what is wrong or None, the findings in words)"""
    rows = nlens.report(trace, "patterns", "--topology", spec)["patterns"]
    return wrong(program, mode, rows), describe(rows)


def advised(program, folder, trace, spec):
    """(how much of the advice is code, what the dearest finding costs of run time, what of the code does not compile)"""
    rows = nlens.report(trace, "patterns", "--topology", spec)["patterns"]
    cost = max((row["lost_time_share"] or 0 for row in rows), default=0)
    return len(code_of(rows)), cost, uncompilable(folder, "patterns/%s.c" % program, rows)
