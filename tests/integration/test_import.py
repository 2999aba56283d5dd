#!/usr/bin/env python3
"""Recordings of perf, made on other machines, become traces that every report works on."""
import json
import os
import subprocess

import nlens
from nlens import Folder, Skip, check, note, run

HERE = os.path.join(nlens.SOURCE, "tests", "perf", "data")
# More and larger recordings may lie beside the project.
BESIDE = os.path.join(os.path.dirname(nlens.SOURCE), "shared", "data", "perf")


def data(name):
    for folder in (HERE, BESIDE):
        path = os.path.join(folder, name + ".perf.data")
        if os.path.exists(path):
            return path
    raise Skip("%s.perf.data is not here" % name)


def import_of(folder, path, *options, **more):
    trace = os.path.join(folder, "numalens.data")
    ended = run([nlens.NUMALENS, "import", "-o", trace, *options, path], **more)
    return ended, trace


def report(trace, *words):
    ended = run([nlens.NUMALENS, "report", *words, "--json", trace])
    assert ended.status == 0, ended
    return json.loads(ended.out)


@check("perf mem record of one machine: every sample is there")
def pebs():
    with Folder() as folder:
        ended, trace = import_of(folder, data("pebs-rcppthread"))
        assert ended.status == 0, ended
        assert b"698 memory samples (204 loads, 494 stores) of 11 threads" in ended.out, ended
        whole = report(trace)
        assert whole["samples"] == 698, whole["samples"]
        assert whole["source"] == "pebs", whole["source"]
        names = " ".join(row["name"] for row in report(trace, "objects")["objects"])
        for name in ("test-ia.o", "libm-2.31.so", "stack"):
            assert name in names, names
        assert os.stat(trace).st_mode & 0o777 == 0o600


@check("a recording of two nodes: its topology comes along")
def two_nodes():
    with Folder() as folder:
        ended, trace = import_of(folder, data("pebs-weight-struct-2node"))
        assert ended.status == 0, ended
        assert b"14 memory samples (14 loads, 0 stores) of 12 threads" in ended.out, ended
        assert b"2 nodes, 112 CPUs" in ended.out, ended
        whole = report(trace)
        assert whole["topology"]["nodes"] == 2, whole["topology"]


@check("what perf script prints of the same file: the same samples")
def as_perf_script():
    path = data("pebs-rcppthread")
    perf = nlens.tool("perf")
    ended = run([perf, "script", "-i", path, "-F", "tid,addr,data_src"])
    if ended.status != 0:
        raise Skip("this perf does not read it")
    lines = [line.split() for line in ended.out.decode(errors="replace").splitlines() if line.strip()]
    loads = sum("LOAD" in " ".join(words) for words in lines)
    stores = sum("STORE" in " ".join(words) for words in lines)
    note("perf script: %d loads, %d stores" % (loads, stores))
    with Folder() as folder:
        ended, _ = import_of(folder, path)
        assert b"(%d loads, %d stores)" % (loads, stores) in ended.out, ended


@check("a pipe is read as well")
def from_a_pipe():
    with Folder() as folder, open(data("pebs-rcppthread"), "rb") as stream:
        trace = os.path.join(folder, "numalens.data")
        ended = subprocess.run([nlens.NUMALENS, "import", "-o", trace, "-"], stdin=stream, capture_output=True,
                               timeout=nlens.PATIENCE)
        assert ended.returncode == 0 and b"698 memory samples" in ended.stdout, ended


@check("recordings without memory samples, damaged ones, and what is none: one clear line, no file")
def refused():
    with Folder() as folder:
        for name, word in (("lost-samples", "no memory samples"), ("zstd2", "no memory samples"),
                           ("zstd-pipe", "no memory samples"), ("pipe-header-features", "no memory samples"),
                           ("numa-topology-2node", "no memory samples"), ("corrupt-zero-size-sample", "49104"),
                           ("corrupt-extra-byte", "cut short"), ("hybrid-topology", "no memory samples")):
            try:
                path = data(name)
            except Skip as why:
                note(why)
                continue
            ended, trace = import_of(folder, path)
            text = ended.err.decode()
            assert ended.status == 1 and text.count("\n") == 1 and word in text, ended
            assert not os.path.exists(trace)
        ended, trace = import_of(folder, os.path.join(folder, "none"))
        assert ended.status == 1 and b"none" in ended.err and not os.path.exists(trace), ended
        ended, trace = import_of(folder, __file__)
        assert ended.status == 1 and b"no recording of perf" in ended.err and not os.path.exists(trace), ended


@check("a cut recording: what is whole is kept, and the cut is said")
def cut():
    with open(data("pebs-rcppthread"), "rb") as stream:
        whole = stream.read()
    with Folder() as folder:
        path = os.path.join(folder, "cut.perf.data")
        with open(path, "wb") as stream:
            stream.write(whole[:len(whole) * 8 // 10])
        ended, trace = import_of(folder, path)
        assert ended.status == 0 and b"Damaged" in ended.out, ended
        samples = report(trace)["samples"]
        assert 0 < samples < 698, samples


@check("inputs that broke other readers: no crash, no hang")
def fuzzed():
    folder_of = os.path.join(BESIDE, "fuzz")
    if not os.path.isdir(folder_of):
        raise Skip("no such inputs here")
    with Folder() as folder:
        for name in sorted(os.listdir(folder_of)):
            ended, _ = import_of(folder, os.path.join(folder_of, name))
            assert ended.status in (0, 1), "%s: %s" % (name, ended)


nlens.main()
