#!/usr/bin/env python3
"""The reader side under address and undefined-behaviour sanitizers: real traces, whole and damaged. NUMALENS_SANITIZED
names the sanitized binary; `make test` sets it."""
import functools
import os
import random

import nlens
from nlens import Folder, Skip, check, example, record, run

SANITIZED = os.environ.get("NUMALENS_SANITIZED")
OPTIONS = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
TABLES = ([], ["objects"], ["sites"], ["threads"], ["functions"])


@functools.lru_cache(maxsize=None)
def options():
    """With leaks, where they can be looked for: that is done by tracing the process, which some containers forbid."""
    leaks = {**OPTIONS, "ASAN_OPTIONS": "detect_leaks=1"}
    return leaks if run([SANITIZED, "--version"], environment=leaks).status == 0 else OPTIONS


def read(trace, *arguments):
    ended = run([SANITIZED, "report", *arguments, trace], environment=options())
    assert b"Sanitizer" not in ended.err and b"runtime error" not in ended.err, ended
    return ended


def need():
    if not SANITIZED or not os.path.exists(SANITIZED):
        raise Skip("no sanitized build; make test has one")


def export(trace, format):
    """None of its output is kept."""
    ended = run([SANITIZED, "export", "--format", format, "-o", "/dev/null", trace], environment=options())
    assert b"Sanitizer" not in ended.err and b"runtime error" not in ended.err, ended
    return ended


@functools.lru_cache(maxsize=None)
def formats():
    """Those that this build has."""
    listed = run([SANITIZED, "export", "--format", "list"], environment=OPTIONS).out.decode().splitlines()
    return [line.split()[0] for line in listed if "not in this build" not in line and "moca" not in line]


@check("every table of real traces")
def whole():
    need()
    with Folder() as folder:
        for program in (["demo", "--steps=15"], ["cxx_new", "--rounds=5000"], ["child", "--fork", "--rounds=5000"],
                        ["child", "--exec", "--rounds=5000"], ["thread_churn", "--rounds=150"]):
            trace = record(folder, [example(program[0]), *program[1:]], ["--topology", "numa:4 core:2"]).trace
            for table in TABLES:
                for format in ([], ["--json"]):
                    ended = read(trace, *table, *format)
                    assert ended.status == 0, ended
            for format in formats():
                ended = export(trace, format)
                assert ended.status == 0, ended


@check("damaged traces")
def damaged():
    need()
    chance = random.Random(5)
    with Folder() as folder:
        trace = record(folder, [example("demo"), "--steps=10"], ["--topology", "numa:4 core:2"]).trace
        with open(trace, "rb") as stream:
            content = stream.read()
        path = os.path.join(folder, "damaged.data")
        for number in range(30):
            bytes_ = bytearray(content)
            if number % 3 == 0:
                del bytes_[chance.randrange(len(content)):]
            else:
                for _ in range(chance.randrange(1, 20)):
                    bytes_[chance.randrange(len(bytes_))] = chance.randrange(256)
            with open(path, "wb") as stream:
                stream.write(bytes_)
            ended = read(path)
            assert ended.status in (0, 1), ended
            ended = export(path, formats()[number % len(formats())])
            assert ended.status in (0, 1), ended


nlens.main()
