#!/usr/bin/env python3
"""Functions that the user names as allocators: pools with known answers, calls that hooks could break, wrong usage."""
import collections
import os
import re
import subprocess

import nlens
from nlens import BUILD, Folder, check, example, note, record, record_and_report, report, row_at, run, site_line

WITHIN = 0.05
# Bursts are in one loop each: with so many the bound is five standard deviations of a share.
OFTEN = ["--frequency", "4000", "--budget", "50"]
BURSTS = 2500


def named_in(source):
    """The options that a program's first comment says to record it with."""
    with open(os.path.join(nlens.SOURCE, "examples", source)) as stream:
        comment = stream.read().split("*/")[0]
    return [word for option in re.findall(r"(--\w+-fn) (\S+)", comment) for word in option]


def objects_by_function(trace, names):
    """How many objects each named function gave, from the trace itself."""
    dump = os.path.join(BUILD, "tests", "trace", "trace_dump")
    text = subprocess.run([dump, trace], stdout=subprocess.PIPE, check=True).stdout.decode(errors="replace")
    counts = collections.Counter(int(number) - 64 for number in re.findall(r"^pool_alloc .* fn=(\d+) ", text, re.M))
    return {names[number]: count for number, count in counts.items()}


@check("objects of nested pools have their shares, sites and lives")
def pool():
    result = record_and_report([example("pool")], OFTEN + named_in("pool.c"), tables=["sites", "objects"], bursts=BURSTS)
    rows = {name: row_at(result["sites"], "pool.c", site_line("pool.c", name))
            for name in ("table", "header", "body", "trailer")}
    for name, true in (("table", 0.4), ("header", 0.3), ("body", 0.2), ("trailer", 0.1)):
        note("%s: %.3f, truly %.1f" % (name, rows[name]["share"], true))
        assert abs(rows[name]["share"] - true) <= WITHIN, "%s: share %.3f" % (name, rows[name]["share"])
        assert rows[name]["kind"] == "heap" and rows[name]["size"] == 65536, rows[name]
    assert rows["header"]["via"] == "pool_alloc" and rows["body"]["via"] == "pool_zero", "the outer function decides"
    assert [rows[name]["count"] for name in rows] == [1, 100, 100, 100]
    assert "fn_missing" not in result["dropped"] and "fn_refused" not in result["dropped"], result["dropped"]
    # A header and the trailer of the same pass have one address, one after the other; so each has its own lifetime.
    lives = sorted((row["start_s"], row["end_s"], row["line"]) for row in result["objects"]
                   if row["line"] in (rows["header"]["line"], rows["trailer"]["line"]))
    assert len(lives) > 50 and all(freed is not None for _, freed, _ in lives)
    assert all(first[1] <= second[0] for first, second in zip(lives, lives[1:])), "two lives at once"


@check("without names the same program is three blocks")
def unnamed():
    result = record_and_report([example("pool"), "--rounds=20"], tables=["sites"], bursts=30)
    block = row_at(result["sites"], "pool.c", site_line("pool.c", "block"))
    assert block["share"] > 0.9 and block["count"] == 3, block


@check("hooked functions with many arguments, exceptions, jumps, signals, threads, forks and plugins do as without")
def hooked():
    rounds, options = 300, named_in("harmless/hooked.cc")
    command = [example("hooked"), str(rounds), example("hooked_plugin.so")]
    plain = run(command)
    assert plain.status == 0, plain
    with Folder() as folder:
        for sampling in (["--source", "none"], ["--frequency", "5000", "--budget", "50"]):
            ended = record(folder, command, sampling + options)
            assert (ended.status, ended.out) == (0, plain.out), ended
            assert b"never found" not in ended.err and b"not hooked" not in ended.err, ended
            names = [word.split(":")[0] for word in options[1::2]]
            # own_alloc: after_jump (2), handler, registers, threads (4) and the child's one
            wanted = {name: rounds for name in ("own_format", "own_zero", "own_tail", "own_many", "own_store",
                                                "own_resize", "own_throw", "own_look")}
            wanted.update(own_alloc=8 * rounds + 1, plugin_alloc=2 * rounds)
            found = objects_by_function(ended.trace, names)
            assert found == wanted, "found %s\nwanted %s" % (found, wanted)


@check("vector registers of any width keep their values across a hooked function")
def wide_registers():
    with Folder() as folder:
        plain = run([example("wide_registers")])
        if b"kept" not in plain.out:
            raise nlens.Skip("the processor has no such registers: %s" % plain.out.decode().strip())
        ended = record(folder, [example("wide_registers")], ["--source", "none"] + named_in("harmless/wide_registers.c"))
        assert (ended.status, ended.out) == (0, plain.out), ended
        assert objects_by_function(ended.trace, ["wide_alloc"]) == {"wide_alloc": 1000}, ended


@check("a name that is nowhere, and a function that cannot be hooked, are reported by name; the program runs on")
def not_hooked():
    with Folder() as folder:
        ended = record(folder, [example("pool"), "--rounds=1"],
                       ["--free-fn", "no_such_function:ptr=1", "--alloc-fn", "memcpy:size=3"])
        assert ended.status == 0 and ended.out.startswith(b"total "), ended
        assert b"never found in the program or its libraries: no_such_function\n" in ended.err, ended
        assert b"not hooked: memcpy (its address is chosen at run time (IFUNC)" in ended.err, ended
        result = report(ended.trace)
        assert result["dropped"]["fn_missing"] == 1 and result["dropped"]["fn_refused"] >= 1, result["dropped"]
        reported = run([nlens.NUMALENS, "report", ended.trace]).out.decode()
        reported = " ".join(reported.split())
        assert "Never found in the program or its libraries: no_such_function." in reported, reported
        assert "Found, but not hooked: memcpy (its address" in reported, reported


@check("wrong words are wrong usage: status 2, nothing is run")
def wrong_words():
    with Folder() as folder:
        for option, text, says in (("--alloc-fn", "f", "NAME:WORDS"), ("--alloc-fn", "f:ret", "size=N is missing"),
                                   ("--free-fn", "f:ptr=9", "from 1 to 8"), ("--pool-fn", "f:pool=1", "first word"),
                                   ("--pool-fn", "rpa", "ready set"), ("--alloc-fn", "f:size=1,size=1", "twice")):
            ended = record(folder, [example("pool")], [option, text])
            assert ended.status == 2 and not ended.out and not os.path.exists(ended.trace), ended
            assert ended.err.decode().startswith("numalens record: %s '%s': " % (option, text)), ended
            assert says in ended.err.decode() and ended.err.count(b"\n") == 1, ended


nlens.main()
