#!/usr/bin/env python3
"""usage: tests/soak/agree.py PROGRAMS [NAME...]

Programs recorded by the agent and from outside: where do the shares of functions and of kinds of objects differ most, in points? PROGRAMS has
a name, a tab and a command in each line; NAME: only these. Prints a row of docs/reliability.md for each."""
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
from nlens import ENVIRONMENT, NUMALENS  # noqa: E402

OFTEN = ["-q", "-F", "500", "--budget", "100", "--no-latency", "--no-traffic", "--no-calibration", "--memory", "1024"]
SOURCES = ("soft", "outside")


def shares(folder, source, command):
    """Of functions, of kinds of objects; and how many bursts there were."""
    trace = os.path.join(folder, "x.data")
    subprocess.run([NUMALENS, "record", *OFTEN, "--source", source, "-o", trace, "--", *command], cwd=folder, env={**ENVIRONMENT, "OMP_WAIT_POLICY": "passive"},
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)  # the status is the program's
    found = {}
    for table, key in (("functions", "function"), ("objects", "kind")):
        report = json.loads(subprocess.run([NUMALENS, "report", trace, table, "--json", "-v", "--limit", "0"], stdout=subprocess.PIPE, check=True, env=ENVIRONMENT).stdout)
        found[table] = {}
        for row in report[table]:
            name = re.sub(r"\.so[.\d]*\+", ".so+", row[key])  # without a name: libz.so.1+0x1234 or, from outside, libz.so.1.2.13+0x1234
            found[table][name] = found[table].get(name, 0) + row["samples"] / report["samples"]
    return found, report["samples"] / 28


def worst(one, other):
    """The name whose shares differ most, with both."""
    name = max({*one, *other}, key=lambda key: abs(one.get(key, 0) - other.get(key, 0)))
    return name, one.get(name, 0), other.get(name, 0)


def compare(name, command):
    with tempfile.TemporaryDirectory(prefix="numalens-") as folder:
        (agent, bursts), (outside, others) = (shares(folder, source, command) for source in SOURCES)
    cells = []
    for table in ("functions", "objects"):
        where, a, b = worst(agent[table], outside[table])
        chance = math.sqrt(a * (1 - a) / bursts + b * (1 - b) / others)
        cells.append("%.1f (`%s`: %.1f, %.1f; by chance %.1f)" % (100 * abs(a - b), where, 100 * a, 100 * b, 100 * chance))
    print("| %s | %d | %d | %s |" % (name, bursts, others, " | ".join(cells)), flush=True)


with open(sys.argv[1]) as stream:
    lines = [line.rstrip("\n").split("\t") for line in stream if "\t" in line and not line.startswith(("#", "name\t"))]
for words in lines:
    if len(sys.argv) < 3 or words[0] in sys.argv[2:]:
        compare(words[0], shlex.split(words[1]))
