#!/usr/bin/env python3
"""From an object to the code that accesses it, and from code to its source."""
import json
import os
import re

import nlens
from nlens import check

OFTEN = ["-q", "-F", "3000", "--burst", "8", "--budget", "100"]
BURSTS = 200  # with so many a line that has nearly all accesses has 90% of the samples

PROGRAM = r"""
#include <stdlib.h>
static long *numbers;
static __attribute__((noinline)) long sum(long count)
{
    long total = 0;
    for (long i = 0; i < count; i++)
        total += *(volatile long *)&numbers[i]; /* read */
    return total;
}
int main(void)
{
    long total = 0, count = 1 << 20, rounds = getenv("EXAMPLE_LONGER") ? 300 * atol(getenv("EXAMPLE_LONGER")) : 300;
    numbers = calloc(count, sizeof *numbers); /* allocated */
    for (long round = 0; round < rounds; round++)
        total += sum(count);
    return total == 1;
}
"""


def line_of(text, mark):
    return next(i for i, line in enumerate(text.split("\n"), 1) if mark in line)


def build(folder, text=PROGRAM, *options):
    source, program = os.path.join(folder, "sum.c"), os.path.join(folder, "sum")
    with open(source, "w") as file:
        file.write(text)
    ended = nlens.run(["cc", "-O1", "-g", *options, "-o", program, source])
    assert ended.status == 0, ended
    return source, program


def shown(trace, *arguments):
    ended = nlens.run([nlens.NUMALENS, "report", *arguments, "-i", trace])
    assert ended.status == 0, ended
    return ended.out.decode()


@check("an object has the lines that access it, and these have their source")
def lines():
    with nlens.Folder() as folder:
        source, program = build(folder)
        trace = nlens.record(folder, [program], OFTEN, bursts=BURSTS).trace
        read, allocated = line_of(PROGRAM, "/* read"), line_of(PROGRAM, "/* allocated")
        top = nlens.report(trace, "lines")["lines"][0]
        assert (top["function"], top["file"], top["line"]) == ("sum", source, read) and top["share"] > 0.9, top
        assert top["objects"][0]["name"] == "numbers" and top["thread_count"] == len(top["threads"]) == 1, top
        row = nlens.report(trace, "object", str(top["objects"][0]["id"]))["objects"][0]
        first = row["accessed_at"][0]
        assert (first["line"], first["function"]) == (read, "sum") and first["share"] > 0.9, first
        assert first["samples"] <= row["samples"] and first["threads"][0]["samples"] == first["samples"], first
        assert ("main", allocated) in [(frame["function"], frame["line"]) for frame in row["allocated_at"]], row["allocated_at"]
        for name in ("sum.c", source, "sum"):
            annotated = json.loads(shown(trace, "annotate", name, "--json"))["sources"]
            assert [file["file"] for file in annotated] == [source] and annotated[0]["found"], annotated
            hot = [line for line in annotated[0]["source"] if line.get("samples")]
            assert any(line["line"] == read and line["text"] == PROGRAM.split("\n")[read - 1] and line["share"] == top["share"] for line in hot), hot
        text = shown(trace, "annotate", "sum", "--width", "80")
        assert re.search(r"(9\d\.\d|100)%%.* %d  +total \+=" % read, text), text
        assert max(map(len, text.split("\n"))) <= 80, text
        assert re.search(r"Accessed at\n.*\n +(9\d|100).* sum\.c:%d sum" % read, shown(trace, "object", str(row["id"]))), "in text too"


@check("a parallel region is found by the name of its function")
def region():
    with nlens.Folder() as folder:
        loop = re.search(r"\n    for \(.*\n        total \+=", PROGRAM).group()
        source, program = build(folder, PROGRAM.replace(loop, "\n#pragma omp parallel for num_threads(2) reduction(+ : total)" + loop), "-fopenmp")
        trace = nlens.record(folder, [program], OFTEN, bursts=BURSTS).trace
        functions = {line["function"] for line in nlens.report(trace, "lines")["lines"]}
        assert "sum._omp_fn.0" in functions, functions
        assert [file["file"] for file in json.loads(shown(trace, "annotate", "sum", "--json"))["sources"]] == [source]


@check("source that is missing or hostile does no harm")
def hostile():
    with nlens.Folder() as folder:
        source, program = build(folder)
        trace = nlens.record(folder, [program], OFTEN, bursts=BURSTS).trace
        with open(source, "wb") as file:
            file.write(b"\x1b[31m red \x00 \xff" + b"x" * 100000 + b"\n" + b"\x1b]0;title\x07\n" * 30)
        text = shown(trace, "annotate", "sum")
        assert "\x1b" not in text and "\\x1b" in text and max(map(len, text.split("\n")[1:])) <= 100, text
        json.loads(shown(trace, "annotate", "sum", "--json"))
        for bad in (lambda: os.mkfifo(source), lambda: os.mkdir(source), lambda: None):
            (os.rmdir if os.path.isdir(source) else os.remove)(source)
            bad()
            assert "The source is not at hand" in shown(trace, "annotate", "sum.c"), "a file that is none"
        ended = nlens.run([nlens.NUMALENS, "report", "annotate", "nothing", "-i", trace])
        assert ended.status == 1 and b"no sampled line is in a file or function 'nothing'" in ended.err, ended
        ended = nlens.run([nlens.NUMALENS, "report", "annotate"])
        assert ended.status == 2 and b"wants a file or function" in ended.err, ended


nlens.main()
