#!/usr/bin/env python3
"""The matrix multiplication of the paper on MOCA (its Section 3): three threads, two phases, three matrices, each with its
own way of being used, found from the trace alone."""
import csv
import io
import json
import os
import re

import nlens
from nlens import Folder, Skip, check, correlation, note, run

SIZE = 500
PAGE = 4096
MATRIX_PAGES = SIZE * SIZE * 8 // PAGE


def lines_of_matrices():
    """Where the source allocates each: site's line -> name."""
    with open(os.path.join(nlens.SOURCE, "examples", "matmul.c")) as file:
        return {number: found[1] for number, line in enumerate(file, 1)
                if (found := re.match(r"\s*(\w+) = malloc\(bytes\);", line))}


def record(folder, *options, bursts=0):
    plain = run([nlens.example("matmul"), str(SIZE)])
    ended = nlens.record(folder, [nlens.example("matmul"), str(SIZE)], options, bursts=bursts)
    assert ended.status == 0, ended
    assert ended.out == plain.out, (ended.out, plain.out)
    return ended.trace


def pages(trace):
    ended = run([nlens.NUMALENS, "report", "pages", "--json", trace])
    assert ended.status == 0, ended
    return json.loads(ended.out)


def matrices(answer):
    """name -> {page: number in the matrix, from 0}"""
    lines, found = lines_of_matrices(), {}
    for row in answer["pages"]:
        at = re.search(r"matmul\.c:(\d+)", row["name"] or "")
        if at and int(at[1]) in lines:
            found.setdefault(lines[int(at[1])], []).append(row["page"])
    return {name: {page: (page - min(all_pages)) // PAGE for page in all_pages} for name, all_pages in found.items()}


def uses(trace):
    """(start, end, tid, page, reads, writes) of every page in every interval."""
    ended = run([nlens.NUMALENS, "export", "--format", "moca", trace])
    assert ended.status == 0, ended
    for line in ended.out.decode().splitlines():
        kind, *words = line.split()
        if kind == "T":
            tid = int(words[1])
        elif kind == "C":
            start, end = int(words[2]), int(words[3])
        else:
            yield start, end, tid, int(words[0], 16), int(words[2]), int(words[3])


def reads(trace):
    """(tid, time, page) of every sampled read."""
    ended = run([nlens.NUMALENS, "export", "--format", "csv", "-F", "op,tid,time,addr", trace])
    assert ended.status == 0, ended
    for row in csv.DictReader(io.StringIO(ended.out.decode())):
        if row["op"] in ("read", "update"):
            yield int(row["tid"]), int(row["time"].replace(".", "")), int(row["addr"], 16) // PAGE * PAGE


@check("page faults: three threads, the master first, then two workers that sweep the result")
def faults():
    with Folder() as folder:
        trace = record(folder, "--source", "faults", "--interval", "10ms")
        answer = pages(trace)
        if answer["pages_from"] != "faults":
            raise Skip("pages are not recorded from faults here")
        found = matrices(answer)
        assert sorted(found) == ["a", "b", "res"], sorted(found)
        for name, place in found.items():
            assert len(place) >= MATRIX_PAGES, (name, len(place))
        where = {page: (name, number) for name, place in found.items() for page, number in place.items()}
        used = [(start, end, tid, *where[page], writes) for start, end, tid, page, reads, writes in uses(trace)
                if page in where]
        master = answer["pages"][0]["pid"]
        written = [use for use in used if use[5] and use[2]]

        # First phase: the master alone writes all three.
        first = [use for use in written if use[2] == master]
        for name, place in found.items():
            touched = {use[4] for use in first if use[3] == name}
            assert len(touched) >= 0.99 * len(place), (name, len(touched), len(place))
        # Second phase: two others, and they write the result only.
        second = [use for use in written if use[2] != master]
        mechanisms = {mechanism for row in answer["pages"] for mechanism in row["mechanisms"]}
        if not mechanisms & {"uffd-wp", "numa-hint", "soft-dirty"}:
            raise Skip("only first touches can be seen here")
        workers = {use[2] for use in second}
        if "soft-dirty" in mechanisms and not workers:
            raise Skip("soft-dirty bits tell no threads")
        assert len(workers) == 2, workers
        assert {use[3] for use in second} == {"res"}, second[:10]
        overlap = max(use[1] for use in first) - min(use[0] for use in second)
        assert overlap <= 100000000, overlap  # an interval that both phases are in, and its neighbour
        # Each page of the result after the one before, from first to last.
        assert len({use[4] for use in second}) >= 0.8 * len(found["res"]), len(second)
        for worker in sorted(workers):
            sweep = correlation([(use[0], use[4]) for use in second if use[2] == worker])
            note("%d: correlation of time and address in the result %.3f" % (worker, sweep))
            assert sweep > 0.9, sweep


@check("samples: both workers sweep the first matrix, and use all of the second one all the time")
def samples():
    with Folder() as folder:
        trace = record(folder, "--frequency", "2000", "--budget", "50", bursts=600)
        answer = pages(trace)
        found = matrices(answer)
        assert {"a", "b"} <= set(found), sorted(found)
        rows = {row["page"]: row for row in answer["pages"]}
        readers = {user["tid"] for name in ("a", "b") for page in found[name] for user in rows[page]["threads"]
                   if user["reads"]}
        assert len(readers) == 2 and answer["pages"][0]["pid"] not in readers, readers

        spans = {}  # (worker, page): from when to when; by worker, since a busy machine lets one of them fall behind
        for tid, time, page in reads(trace):
            begin, last = spans.get((tid, page), (time, time))
            spans[tid, page] = (min(begin, time), max(last, time))

        def shape(name):
            """Correlation of time and address; how long a worker uses a page, of all the time that it uses the matrix."""
            correlations, lastings = [], []
            for reader in readers:
                own = [(*span, page) for (tid, page), span in spans.items() if tid == reader and page in found[name]]
                whole = max(end for _, end, _ in own) - min(begin for begin, _, _ in own)
                correlations.append(correlation([(begin + end, page) for begin, end, page in own]))
                lastings.append(sum(end - begin for begin, end, _ in own) / len(own) / whole)
            return min(correlations), sum(lastings) / len(lastings)

        sweep, brief = shape("a")
        dense, lasting = shape("b")
        note("a: correlation %.3f, a page is in use for %.3f of the time; b: %.3f, %.3f" % (sweep, brief, dense, lasting))
        assert sweep > 0.9 and brief < 0.1, (sweep, brief)
        assert abs(dense) < 0.5 and lasting > 3 * brief, (dense, lasting)
        assert len(found["b"]) > MATRIX_PAGES // 4, len(found["b"])


nlens.main()
