"""totals - samples and remote accesses of an export, counted in the file as its readers would: {"samples": N, "remote": N}"""
import csv
import json
import os
import re
import sqlite3
import subprocess

SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/integration")


def of_folded(path, remote_path):
    def total(name):
        with open(name, encoding="utf-8") as stream:
            return sum(int(line.rsplit(" ", 1)[1]) for line in stream)
    return total(path), total(remote_path)


def of_csv(path, _):
    with open(path, encoding="utf-8", newline="") as stream:
        rows = csv.reader(stream)
        column = next(rows).index("remote")
        remote = [row[column] for row in rows]
    return len(remote), remote.count("1")


def of_dump(path, _):
    with open(path, encoding="utf-8") as stream:
        column = next(stream).split("\t").index("remote")
        remote = [line.split("\t")[column] for line in stream]
    return len(remote), remote.count("1")


def of_speedscope(path, _):
    with open(path, encoding="utf-8") as stream:
        sums = {profile["name"]: sum(profile["weights"]) for profile in json.load(stream)["profiles"]}
    return sums["samples"], sums["remote accesses"]


def of_callgrind(path, _):
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    events = re.search(r"^events: (.*)$", text, re.MULTILINE)[1].split()
    own = re.sub(r"^calls=.*\n.*\n", "", text, flags=re.MULTILINE)
    sums = [sum(column) for column in zip(*(map(int, line.split()[1:]) for line in own.splitlines() if line[:1].isdigit()))]
    return sums[events.index("Samples")], sums[events.index("Remote")]


def of_firefox(path, _):
    with open(path, encoding="utf-8") as stream:
        profile = json.load(stream)
    names = [category["name"] for category in profile["meta"]["categories"]]
    of = [names[thread["stackTable"]["category"][stack]] for thread in profile["threads"] for stack in thread["samples"]["stack"]]
    return len(of), of.count("Remote")


def of_sqlite(path, _):
    return sqlite3.connect(path).execute("SELECT count(*), sum(remote) FROM samples").fetchone()


def decoded(path, schema, message):
    """Lines of a message as protoc prints it."""
    with open(path, "rb") as stream:
        process = subprocess.Popen(["protoc", "-I", SCHEMAS, "--decode", message, schema], cwd=SCHEMAS, stdin=stream, stdout=subprocess.PIPE,
                                   text=True)
        yield from (line.strip() for line in process.stdout)
        if process.wait():
            raise SystemExit("protoc cannot read %s" % path)


def of_pprof(path, _):
    sums, column = [0] * 5, 0  # samples, remote, latency, timed, home_known
    for line in decoded(path, "profile.proto", "Profile"):
        if line == "sample {":
            column = 0
        elif line.startswith("value: "):
            sums[column] += int(line[7:])
            column += 1
    return sums[0], sums[1]


def of_perfetto(path, _):
    samples = remote = 0
    for line in decoded(path, "perfetto.proto", "Trace"):
        samples += line == "perf_sample {"
        remote += int(line[15:]) if line.startswith("counter_value: ") else 0
    return samples, remote


def count(format, path, remote_path):
    samples, remote = globals()["of_" + format](path, remote_path)
    return {"samples": samples, "remote": remote}
