#!/usr/bin/env python3
"""One object has one name, that of the source, in every output: C++ and Fortran programs of the kind that has no names otherwise."""
import json
import os
import re

import nlens
import page_data
from nlens import NUMALENS, check, example, run, row_named, site_line

OFTEN = ["-F", "3000", "--burst", "8", "--budget", "50", "--topology", "numa:4 core:2"]
WORLD = {"World::particles": "std::vector<Particle>", "World::cells": "std::vector<Cell>", "scratch": "Block<double>", "report": "Buffer", "notes": "Buffer"}


def text(*arguments):
    result = run([NUMALENS, *arguments])
    assert result.status == 0, result
    return result.out.decode()


def recorded(folder, *arguments, name="numalens.data"):
    return nlens.record(folder, [example("cxx_names"), *arguments], OFTEN, bursts=1500, name=name).trace


@check("C++: members, containers and what a call fills have the source's names and types, at 80 columns with file and line")
def cxx():
    with nlens.Folder() as folder:
        trace = recorded(folder)
        rows = nlens.report(trace, "sites")["sites"]
        for name, kind in WORLD.items():
            row = row_named(rows, name, "variable")
            assert row["type"] == kind, nlens.describe(rows)
        particles, cells = row_named(rows, "World::particles", "variable"), row_named(rows, "World::cells", "variable")
        assert particles["line"] == cells["line"] == site_line("cxx_names.cc", "world")
        assert (particles["size"], cells["size"]) == (16 << 20, 256 << 10), nlens.describe(rows)
        narrow = text("report", "sites", trace, "--width", "80")
        assert "World::particles(cxx_names.cc:%d)" % particles["line"] in narrow, narrow
        narrow += text("report", "annotate", "cxx_names.cc", trace, "--width", "80") + text("report", "type", "Particle", trace, "--width", "80")
        assert all(len(line) <= 80 for line in narrow.split("\n")), narrow
        findings = nlens.report(trace, "patterns")["patterns"]
        assert "World::particles" in [finding["name"] for finding in findings], findings
        share = {name: row_named(rows, name, "variable")["samples"] for name in WORLD}
        folded, table = text("export", "--format", "folded", trace), text("export", "--format", "csv", trace)
        for name, samples in share.items():
            counts = [int(line.split()[-1]) for line in folded.split("\n") if ";[%s(" % name in line]
            assert sum(counts) == table.count(",%s," % name) == samples, (name, samples, folded[:2000])


@check("behind templates in the shapes of Eigen, Kokkos and Boost: members, of two objects too, results of operators, deep expressions, what a sort merges in")
def libraries():
    with nlens.Folder() as folder:
        trace = nlens.record(folder, [example("cxx_libraries")], OFTEN, bursts=600).trace
        rows = nlens.report(trace, "sites")["sites"]
        source = "cxx_libraries.cc"
        for name in ("Solver::left", "Solver::field #2", "Solver::grid"): # the first of field is its record
            assert row_named(rows, name, "variable")["line"] == site_line(source, "solver"), nlens.describe(rows)
        assert row_named(rows, "product", "variable")["line"] == site_line(source, "product"), nlens.describe(rows)
        for name, line in (("twice", "twice"), ("grown", "grown"), ("table", "table"), ("first.cells", "first"), ("first.marks", "first"),
                           ("second.cells", "second")):
            mine = [row for row in rows if re.fullmatch(re.escape(name) + r"( #\d+)?", row["variable"] or "") and row["size"] >= 2 << 20]
            assert [row["line"] for row in mine] == [site_line(source, line)], (name, nlens.describe(rows))
        for row in nlens.report(trace, "objects")["objects"]:  # a page of its own: the name that the tables have, chains that fit
            lines = text("report", "object", str(row["id"]), trace, "--width", "80").split("\n")
            assert all(len(line) <= 80 for line in lines), lines
            if row["variable"]:
                assert lines[0].startswith("Object %d: %s(" % (row["id"], row["variable"])), lines
        merged = [row for row in rows if row["file"] and row["file"].endswith(source) and row["line"] == site_line(source, "sorted")]
        assert len(merged) == 1 and merged[0]["name"].startswith("stable_sort ("), nlens.describe(rows)
        assert not merged[0]["variable"], merged


@check("an object that a fix renames is the same: compare says so, check passes")
def renamed():
    with nlens.Folder() as folder:
        before, after = recorded(folder, name="before.data"), recorded(folder, "--fixed", name="after.data")
        said = text("compare", before, after)
        assert re.search(r"Swarm::grains \(cxx_names.cc:\d+\) is what was World::particles", " ".join(said.split())), said
        rows = json.loads(text("compare", "--json", before, after))["objects"]["rows"]
        grains = row_named(rows, "Swarm::grains")
        assert grains["was"] == "World::particles" and grains["before"] and grains["after"], grains
        assert row_named(rows, "scratch")["was"] is None, rows
        result = run([NUMALENS, "check", "--no-new-findings", before, after])
        assert result.status == 0, result
        assert "is what was" in " ".join(result.out.decode().split()), result
        shown = page_data.of(before, os.path.join(folder, "both.html"), "--against", after)[1].tables["comparison"]
        named = {row["before"]["name"]: row["after"]["name"] for row in shown["objects"] if row["renamed"]}
        assert named["World::particles"] == "Swarm::grains" and "scratch" not in named, named
        assert "is what was World::particles" in shown["more"], shown


@check("Fortran in fixed form: each name of one ALLOCATE over many lines")
def fortran():
    with nlens.Folder() as folder:
        trace = nlens.record(folder, [example("fortran_fixed"), "1500"], OFTEN, bursts=200).trace
        rows = nlens.report(trace, "sites")["sites"]
        sizes = {row["variable"]: row["size"] >> 20 for row in rows if row["kind"] == "heap" and row["size"] >= 1 << 20}
        assert sizes == {"colidx": 1, "a": 2, "p": 3, "q": 4}, nlens.describe(rows)


nlens.main()
