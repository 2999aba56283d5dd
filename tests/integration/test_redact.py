#!/usr/bin/env python3
"""--redact: a trace that can be handed over has no argument, path, host or thread name of who recorded it, and still reports."""
import glob
import os
import platform
import shutil

import nlens
from nlens import Folder, NUMALENS, check, example, record, run

ARGUMENT, FOLDER, PROGRAM = b"secretargument", b"secretfolder", b"secretprogram"


def secret_program(folder):
    place = os.path.join(folder, FOLDER.decode())
    os.makedirs(place)
    return shutil.copy(example("demo"), os.path.join(place, PROGRAM.decode()))


def command(folder):
    return [secret_program(folder), "--steps=5", "--name=" + ARGUMENT.decode()]


def texts(trace):
    """All that the file says, decoded: every event, and the report as JSON, which has the session's texts."""
    events = run([NUMALENS, "export", "--format", "events", trace])
    samples = run([NUMALENS, "export", "--format", "text", trace])
    reported = run([NUMALENS, "report", "--json", trace])
    assert events.status == 0 and samples.status == 0 and reported.status == 0, (events, samples, reported)
    return events.out + samples.out + reported.out


def secrets(folder):
    host = b'"host": "%s"' % platform.node().encode()  # a name as short as vm may be a part of any other word
    return [ARGUMENT, FOLDER, PROGRAM, host, os.path.basename(folder).encode(), b"worker 1"]


def check_redacted(trace, folder):
    said = texts(trace)
    for secret in secrets(folder):
        assert secret not in said, "%r is in %r" % (secret, said[max(0, said.index(secret) - 100):][:200])
    assert b"build_id=" in said and b"/redacted/" in said, said[:500]
    return said


def samples_of(said):
    return sum(line.startswith(b"sample ") for line in said.splitlines())


@check("record --redact: none of the secrets is in the file, in one or in several")
def recorded():
    with Folder() as folder:
        program = command(folder)
        plain = texts(record(folder, program, ["--topology", "numa:2 core:1"]).trace)
        for secret in secrets(folder):
            assert secret in plain, "%r should be in a plain recording" % secret
        ended = record(folder, program, ["--topology", "numa:2 core:1", "--redact"])
        assert ended.status == 0, ended
        assert samples_of(check_redacted(ended.trace, folder)) > 0
        os.mkdir(os.path.join(folder, "rotated"))
        ended = record(os.path.join(folder, "rotated"), program, ["--rotate", "1s", "--redact"])
        assert ended.status == 0, ended
        for part in glob.glob(os.path.join(folder, "rotated", "*.data")):
            check_redacted(part, folder)


@check("merge --redact: of a recording that is there, and nothing else changes")
def existing():
    with Folder() as folder:
        trace = record(folder, command(folder), ["--topology", "numa:2 core:1"]).trace
        public = os.path.join(folder, "public.data")
        ended = run([NUMALENS, "merge", "--redact", "-o", public, trace])
        assert ended.status == 0, ended
        before, after = texts(trace), check_redacted(public, folder)
        assert samples_of(after) == samples_of(before) > 0
        assert os.stat(public).st_mode & 0o777 == 0o600
        kinds = [sorted(line.split(b" ")[0] for line in run([NUMALENS, "export", "--format", "events", path]).out.splitlines())
                 for path in (trace, public)]
        assert kinds[0] == kinds[1]


@check("merge --redact: equal names have equal marks, and another run of it has others")
def marks():
    with Folder() as folder:
        trace = record(folder, command(folder)).trace
        seen = []
        for name in ("a.data", "b.data"):
            public = os.path.join(folder, name)
            assert run([NUMALENS, "merge", "--redact", "-o", public, trace]).status == 0
            said = run([NUMALENS, "export", "--format", "events", public]).out.decode().splitlines()
            process = [line for line in said if line.startswith("process ")][0]
            exe = process.split("exe=")[1].split(" ")[0]
            assert exe.startswith("/redacted/") and any("path=" + exe in line for line in said if line.startswith("module ")), process
            seen.append(exe)
        assert seen[0] != seen[1], seen


nlens.main()
