#!/usr/bin/env python3
"""The dataflow example: the actor that gathers at random costs most, and the channels it uses are seen.

usage: test_dataflow.py PROGRAM"""
import re
import subprocess
import sys

ended = subprocess.run([sys.argv[1]], capture_output=True, text=True, timeout=120)
rows = {(kind, name): (int(samples), int(ns)) for kind, name, samples, ns in
        re.findall(r"^(\w+) +(\w+) +(\d+) samples +(\d+) ns$", ended.stdout, re.MULTILINE)}
actors = {name: ns for (kind, name), (_, ns) in rows.items() if kind == "actor"}
checks = [
    ("it runs and lists four actors and three channels", ended.returncode == 0 and len(actors) == 4 and len(rows) == 7),
    ("the actor that gathers costs most", bool(actors) and max(actors, key=actors.get) == "gather"),
    ("by far", bool(actors) and actors["gather"] * 2 > sum(actors.values())),
    ("a channel it reads or writes was sampled",
     rows.get(("channel", "samples"), (0, 0))[0] + rows.get(("channel", "values"), (0, 0))[0] > 0),
]
print("1..%d" % len(checks))
for number, (title, good) in enumerate(checks, 1):
    print("%s %d - %s" % ("ok" if good else "not ok", number, title))
for line in (ended.stdout + ended.stderr).splitlines():
    print("#", line)
sys.exit(0 if all(good for _, good in checks) else 1)
