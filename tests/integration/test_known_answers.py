#!/usr/bin/env python3
"""Programs whose right answer is known by construction: shares, kinds, sites and threads as the report shows them."""
import functools
import os

import nlens
from nlens import check, example, note, row_at, row_named, site_line

WITHIN = 0.05   # a share may be off by so much
ON_AVERAGE = 0.03
# Where a burst sees one thing at a time it is their number that shares are counted by: with so many the bound is five standard
# deviations of a half.
BURSTS = 2500
# Short bursts, so that a thread's ring holds many: a recorder that has to wait for a CPU loses none.
OFTEN = ["-F", "8000", "--burst", "4", "--budget", "50"]
errors = []


def record_and_report(program, options, longer=1 / 2, **rest):
    """Of a part of the program's usual work, which gives these bursts and half as many again."""
    return nlens.record_and_report(program, options, bursts=BURSTS, longer=longer, **rest)


def shares(title, found):
    """found: [(name, share reported, true share)]"""
    for name, reported, true in found:
        errors.append(abs(reported - true))
        note("%s: %s %.3f, truly %.3f" % (title, name, reported, true))
    for name, reported, true in found:
        assert abs(reported - true) <= WITHIN, "%s: share %.3f, truly %.3f" % (name, reported, true)


@check("two arrays read 3:1 have those shares, kinds and lines")
def two_arrays():
    # As by default; a burst sees both, in their proportion.
    result = nlens.record_and_report([example("ratio")], tables=["sites"], bursts=20, longer=1 / 4)
    often = row_at(result["sites"], "ratio.c", site_line("ratio.c", "often"))
    seldom = row_at(result["sites"], "ratio.c", site_line("ratio.c", "seldom"))
    shares("ratio", [("often", often["share"], 0.75), ("seldom", seldom["share"], 0.25)])
    assert often["kind"] == seldom["kind"] == "heap"
    assert often["size"] == 3 * 65536 * 8 and often["count"] == 1
    assert often["reads"] > 50 * often["writes"]
    top = result["objects"][0]
    assert (top["kind"], top["line"]) == ("heap", often["line"]), top
    assert top["threads"][0]["samples"] == top["samples"], "one thread only"


@check("dependent random reads are slower than sequential ones, and as many")
def latency():
    result = record_and_report([example("latency")], OFTEN, tables=["sites"], longer=1 / 8)
    chain = row_at(result["sites"], "latency.c", site_line("latency.c", "chain"))
    row = row_at(result["sites"], "latency.c", site_line("latency.c", "row"))
    reads = chain["reads"] + row["reads"]
    shares("latency, of the reads", [("chain", chain["reads"] / reads, 0.5), ("row", row["reads"] / reads, 0.5)])
    note("latency: chain %s, row %s" % (chain["latency_mean"], row["latency_mean"]))
    assert chain["latency_mean"] > 2 * row["latency_mean"]
    assert chain["latency_p95"] >= chain["latency_mean"]


@check("a buffer allocated by one thread and used by another names both")
def handover():
    result = record_and_report([example("handover")], ["--topology", "numa:4 core:1", *OFTEN], tables=["sites"])
    line = site_line("handover.c", "buffer")
    buffer = row_at(result["objects"], "handover.c", line)
    threads = {row["tid"]: row for row in result["threads"]}
    maker, user = (row_named(result["threads"], name) for name in ("maker", "user"))
    shares("handover", [("buffer", buffer["share"], 1.0)])
    assert buffer["alloc_tid"] == maker["tid"], "allocated by %s" % threads.get(buffer["alloc_tid"])
    used = max(buffer["threads"], key=lambda t: t["samples"])
    assert used["tid"] == user["tid"] and used["name"] == "user"
    note("remote share %.3f" % buffer["remote_share"])
    assert buffer["remote_share"] > 0.95, "the user's node is not the maker's"
    assert result["topology"]["simulated"] and result["topology"]["nodes"] == 4
    assert abs(buffer["writes"] / buffer["samples"] - 0.2) <= WITHIN, "a fifth of the accesses are writes"


@check("static arrays are reported by name: global, local to a file, local to a function")
def static_arrays():
    result = record_and_report([example("static_array")], OFTEN, tables=["objects"])
    rows = {name: [r for r in result["objects"] if r["name"].split(".")[0] == name][:1] for name in
            ("zeroed_table", "filled_table", "inner_table")}
    assert all(rows.values()), "missing one; there are:\n%s" % nlens.describe(result["objects"])
    shares("static_array", [(name, rows[name][0]["share"], true) for name, true in
                            (("zeroed_table", 0.5), ("filled_table", 0.25), ("inner_table", 0.25))])
    assert {r[0]["kind"] for r in rows.values()} == {"static"}
    assert rows["zeroed_table"][0]["size"] == 2 * 32768 * 8
    assert rows["inner_table"][0]["writes"] > 0.95 * rows["inner_table"][0]["samples"]


@check("a mapped file and an anonymous map are distinguished")
def mapped_file():
    result = record_and_report([example("mapped_file"), "mapped.bin"], OFTEN, tables=["objects"], longer=1 / 4)
    files = [r for r in result["objects"] if r["kind"] == "file" and os.path.basename(r["name"]) == "mapped.bin"]
    assert len(files) == 1, nlens.describe(result["objects"])
    plain = row_at(result["objects"], "mapped_file.c", site_line("mapped_file.c", "plain"))
    assert plain["kind"] == "map", plain
    shares("mapped_file", [("file", files[0]["share"], 2 / 3), ("plain", plain["share"], 1 / 3)])
    assert plain["size"] == files[0]["size"] == 1 << 20


@check("an array written by one thread and read by all")
def one_writer():
    result = record_and_report([example("one_writer")], OFTEN, tables=["objects"], longer=1 / 8)
    table = row_at(result["objects"], "one_writer.c", site_line("one_writer.c", "table"))
    shares("one_writer", [("table", table["share"], 1.0)])
    names = {t["name"]: t for t in table["threads"]}
    assert {"writer", "reader 1", "reader 2"} <= set(names), names
    threads = {row["name"]: row for row in result["threads"]}
    assert threads["writer"]["writes"] > 0.9 * table["writes"]
    assert threads["reader 1"]["writes"] < 0.02 * table["samples"]


@check("two generations of objects at one address are distinguished")
def reuse():
    result = record_and_report([example("reuse")], OFTEN, tables=["sites"])
    cold = row_at(result["sites"], "reuse.c", site_line("reuse.c", "cold"))
    hot = row_at(result["sites"], "reuse.c", site_line("reuse.c", "hot"))
    shares("reuse", [("cold", cold["share"], 0.1), ("hot", hot["share"], 0.9)])
    assert cold["count"] == hot["count"] == 100


@check("many small objects of one site are one site")
def many_small():
    result = record_and_report([example("many_small")], OFTEN, tables=["sites"], longer=1 / 4)
    node = row_at(result["sites"], "many_small.c", site_line("many_small.c", "node"))
    weights = row_at(result["sites"], "many_small.c", site_line("many_small.c", "weights"))
    shares("many_small", [("node", node["share"], 2 / 3), ("weights", weights["share"], 1 / 3)])
    assert node["count"] == 20000, node["count"]


@check("C++: new, a vector's storage and single objects have the user's lines")
def cxx():
    result = record_and_report([example("cxx_new")], OFTEN, tables=["sites"])
    found = {name: row_at(result["sites"], "cxx_new.cc", site_line("cxx_new.cc", name))
             for name in ("array", "numbers")}
    cells = [r for r in result["sites"] if r["line"] == site_line("cxx_new.cc", "cell") and r["count"] == 16384]
    assert len(cells) == 1, nlens.describe(result["sites"])
    shares("cxx_new", [("array", found["array"]["share"], 0.5), ("numbers", found["numbers"]["share"], 0.25),
                       ("cell", cells[0]["share"], 0.25)])
    assert "shop::Store::Store" in found["array"]["site"], found["array"]["site"]


@check("a child that does the work is followed: fork, exec, spawn")
def child():
    for way in ("--fork", "--exec", "--spawn"):
        result = record_and_report([example("child"), way], OFTEN, tables=["objects", "processes"])
        array = row_at(result["objects"], "child.c", site_line("child.c", "array"))
        shares("child " + way, [("array", array["share"], 1.0)])
        known = {row["pid"] for row in result["processes"]}
        parent, = (row for row in result["processes"] if row["parent"] not in known)
        child, = (row for row in result["processes"] if row["parent"] == parent["pid"])
        shares("child " + way, [("the child", child["share"], 1.0)])
        assert array["pid"] == child["pid"], (array, child)
        assert child["exit_status"] == 7 and parent["exit_status"] == 0, result["processes"]
        assert "child ended with 7" in result["stdout"]


@check("allocation wrappers are looked through; two arrays of one line are distinguished")
def wrappers():
    result = record_and_report([example("wrappers")], OFTEN, tables=["sites"], longer=1 / 4)
    sites = result["sites"]
    first = row_at(sites, "wrappers.c", site_line("wrappers.c", "first"))
    second = row_at(sites, "wrappers.c", site_line("wrappers.c", "second"))
    both = site_line("wrappers.c", "right")
    pair = sorted((r for r in sites if r["line"] == both and r["size"] > 1000), key=lambda r: r["share"])
    assert len(pair) == 2, "left and right:\n%s" % nlens.describe(sites)
    shares("wrappers", [("first", first["share"], 1 / 8), ("second", second["share"], 1 / 8),
                        ("left", pair[0]["share"], 2 / 8), ("right", pair[1]["share"], 4 / 8)])
    assert pair[0]["site"] != pair[1]["site"], "distinguished by name too"


@check("an allocation under twelve calls has its site")
def deep():
    result = record_and_report([example("deep")], OFTEN, tables=["sites", "functions"])
    block = row_at(result["sites"], "deep.c", site_line("deep.c", "block"))
    shares("deep", [("block", block["share"], 1.0)])
    top = result["functions"][0]
    assert top["function"] == "bottom" and top["share"] > 0.9, top


@check("Fortran: a COMMON block, a module array and an allocatable one by name")
def fortran():
    result = record_and_report([example("fortran_arrays"), "10000"], OFTEN, tables=["objects"], longer=1)
    rows = result["objects"]
    wave = [r for r in rows if r["kind"] == "static" and "wave" in r["name"]]
    grid = [r for r in rows if r["kind"] == "static" and "grid" in r["name"]]
    work = row_at(rows, "fortran_arrays.f90", site_line("fortran_arrays.f90", "work"))
    assert len(wave) == 1 and len(grid) == 1, nlens.describe(rows)
    shares("fortran_arrays", [("wave", wave[0]["share"], 0.5), ("grid", grid[0]["share"], 0.25),
                              ("work", work["share"], 0.25)])


@check("Fortran: arrays of one ALLOCATE statement and members of a COMMON block each by their own name, which filters find")
def fortran_fields():
    with nlens.Folder() as folder:
        trace = nlens.record(folder, [example("fortran_fields"), "300"], OFTEN, bursts=200).trace
        rows = nlens.report(trace, "objects")["objects"]
        sizes = {row["variable"]: row["size"] >> 19 for row in rows if row["kind"] == "heap" and row["variable"]}
        assert sizes == {"u": 1, "v": 2, "w": 3, "rhs": 4, "p": 5}, nlens.describe(rows)
        lines = open(os.path.join(nlens.SOURCE, "examples", "fortran_fields.f90")).read().split("\n")
        members = {row["name"]: lines[row["line"] - 1].split(":: ")[1] for row in rows if row["name"].startswith("fields/")}
        assert members == {"fields/left": "left(points)", "fields/right": "right(points)"}, nlens.describe(rows)
        for table in ("objects", "sites"):
            found = nlens.report(trace, table, "--filter", "rhs")[table]
            assert [row["variable"] for row in found] == ["rhs"], nlens.describe(found)


@functools.lru_cache(maxsize=None)
def recorded_demo():
    return record_and_report([example("demo")], ["--topology", "numa:4 core:2", *OFTEN], tables=["sites"], longer=1 / 4)


@check("the demo's mistake shows: shared data remote, private data local")
def demo():
    result = recorded_demo()
    rows = {name: row_at(result["sites"], "demo.c", site_line("demo.c", name)) for name in
            ("plate", "next_plate", "conductivity", "changes")}
    for name, row in rows.items():
        note("%s: share %.3f, remote %.3f" % (name, row["share"], row["remote_share"]))
    for name in ("plate", "next_plate", "conductivity"):
        assert abs(rows[name]["remote_share"] - 0.75) < 0.1, name
    assert rows["changes"]["remote_share"] < 0.05 and rows["changes"]["count"] == 8
    assert len([t for t in result["threads"] if t["name"].startswith("worker ")]) == 8


@check("threads are assigned to simulated nodes in turn, in the order of their creation")
def assigned():
    result = recorded_demo()
    workers = [t for t in result["threads"] if t["name"].startswith("worker ")]
    nodes = {t["name"]: sorted(node for node, count in t["nodes"].items() if count > t["samples"] / 20) for t in workers}
    expected = {"worker %d" % i: sorted({"0", str((i + 1) % 4)}) for i in range(8)}  # shared data on 0, own at home
    assert nodes == expected, nodes


@check("shares are right within 3 points on average")
def average():
    assert errors, "no share was checked"
    mean = sum(errors) / len(errors)
    note("mean error %.4f over %d shares, worst %.4f" % (mean, len(errors), max(errors)))
    assert mean <= ON_AVERAGE


nlens.main()
