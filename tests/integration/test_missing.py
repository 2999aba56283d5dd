#!/usr/bin/env python3
"""Binaries that are deleted or changed since the recording are reported, and found where perf's users keep them."""
import json
import os
import re
import shutil
import subprocess

import nlens
from nlens import Folder, check, example, record, report, run, tool

ACCESSES = os.path.join(nlens.SOURCE, "tests", "guest", "programs", "accesses.c")


def text_of(trace, *options, environment=None):
    ended = run([nlens.NUMALENS, "report", *options, "--width", "0", trace], environment=environment)
    assert ended.status == 0, ended
    return ended.out.decode()


def build_id(path):
    notes = subprocess.run([tool("readelf"), "-n", path], check=True, capture_output=True, text=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)


def functions_of(trace, *options, environment=None):
    return {row["function"]: row["samples"] for row in report(trace, "functions", *options, environment=environment)["functions"]}


def recorded(folder):
    """A recording of a copy of an example, in a folder without a cache of perf's."""
    program = os.path.join(folder, "programs", "static_array")
    os.makedirs(os.path.dirname(program))
    shutil.copy(example("static_array"), program)
    ended = record(folder, [program], bursts=20)
    assert ended.status == 0, ended
    return program, ended.trace, {"HOME": folder}


@check("a program that was removed: the report names it, the samples that have no names, and what to do")
def removed():
    with Folder() as folder:
        program, trace, home = recorded(folder)
        assert "missing_binaries" not in report(trace, environment=home)
        assert "--symfs" not in text_of(trace, environment=home)
        before = functions_of(trace, environment=home)
        assert "run" in before, before
        os.rename(program, program + ".away")
        whole = report(trace, environment=home)
        missing = [row for row in whole["missing_binaries"] if row["path"] == program]
        assert len(missing) == 1 and "No such file" in missing[0]["why"], whole["missing_binaries"]
        assert missing[0]["samples"] >= before["run"], (missing, before)
        assert "run" not in functions_of(trace, environment=home)
        for options in ((), ("-v",)):
            text = text_of(trace, *options, environment=home)
            assert re.search(r"No names from %s \(code of [0-9.]+%% of the samples\): it cannot be read: No such file"
                             % re.escape(program), text), text
            assert "--symfs DIR" in text and "buildid-cache" in text, text
            assert "othing was lost" not in text and "names of 1 binary are missing" in text, text


@check("another build of the program: it is not used, and the report says so")
def changed():
    with Folder() as folder:
        program, trace, home = recorded(folder)
        other = example("ratio")
        assert build_id(other) != build_id(program)
        shutil.copy(other, program)
        missing = [row for row in report(trace, environment=home)["missing_binaries"] if row["path"] == program]
        assert len(missing) == 1 and "build-id differs" in missing[0]["why"], missing
        assert "has changed since the recording" in text_of(trace, environment=home)


@check("--symfs DIR and perf's ~/.debug have the program: all names are back")
def elsewhere():
    with Folder() as folder:
        program, trace, home = recorded(folder)
        before = functions_of(trace, environment=home)
        tree = os.path.join(folder, "tree")
        os.makedirs(tree + os.path.dirname(program))
        identity = build_id(program)
        os.rename(program, tree + program)
        assert functions_of(trace, environment=home) != before
        assert functions_of(trace, "--symfs", tree, environment=home) == before
        assert "missing_binaries" not in report(trace, "--symfs", tree, environment=home)
        ended = run([nlens.NUMALENS, "export", "--symfs", tree, "--format", "folded", trace], environment=home)
        assert ended.status == 0 and b";run;" in ended.out, ended
        ended = run([nlens.NUMALENS, "export", "--format", "text", "--symfs", tree, "-F", "sym", "--no-header", trace], environment=home)
        assert ended.status == 0 and ended.out.split().count(b"run") == before["run"], ended
        ended = run([nlens.NUMALENS, "compare", "--symfs", tree, "--json", trace, trace], environment=home)
        assert ended.status == 0 and "run" in {row["name"] for row in json.loads(ended.out)["functions"]["rows"]}, ended
        ended = run([nlens.NUMALENS, "script", "--symfs", tree, ACCESSES, trace], environment=home)
        assert ended.status == 0 and re.search(rb"\brun\b", ended.out), ended
        ended = run([nlens.NUMALENS, "predict", "--symfs", tree, "--machine", "generic-4", trace], environment=home)
        assert ended.status in (0, 1) and b"--symfs" not in ended.err, ended # whatever so short a recording shows
        ended = run([nlens.NUMALENS, "check", "--symfs", tree, "--max-remote", "99%", trace], environment=home)
        assert ended.status in (0, 1) and b"--symfs" not in ended.err, ended # whatever 20 bursts decide
        cache = os.path.join(folder, ".debug", ".build-id", identity[:2], identity[2:])
        os.makedirs(cache)
        os.rename(tree + program, os.path.join(cache, "elf"))
        assert functions_of(trace, environment=home) == before
        assert "missing_binaries" not in report(trace, environment=home)


@check("a newer numalens reads the recording: the agent of then is not missed")
def newer():
    with Folder() as folder:
        numalens = nlens.copied(folder)
        trace = os.path.join(folder, "threads.data")
        ended = run([numalens, "record", "-o", trace, "--", example("handover")])
        assert ended.status == 0, ended
        os.unlink(os.path.join(folder, "src", "agent", "libnumalens-agent.so"))
        whole = report(trace)
        assert whole["samples"] > 0 and "missing_binaries" not in whole, whole.get("missing_binaries")


@check("--symfs with what is no directory: wrong usage, with the reason")
def no_directory():
    for path, why in (("/nowhere", b"No such file"), ("/dev/null", b"is not a directory")):
        for command in ("report", "import", "view", "export", "check", "compare", "predict", "script"):
            ended = run([nlens.NUMALENS, command, "--symfs", path])
            assert ended.status == 2 and b"--symfs" in ended.err and why in ended.err, ended


nlens.main()
