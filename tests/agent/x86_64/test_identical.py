#!/usr/bin/env python3
"""Kernels of all kinds of code under bursts as often as they come: every result is bit-identical.

usage: test_identical.py DRIVE AGENT TARGET [BURSTS]"""
import subprocess
import sys
import tempfile

DRIVE, AGENT, TARGET = sys.argv[1:4]
BURSTS = int(sys.argv[4]) if len(sys.argv) > 4 else 3000
OFTEN = ["-t", "40000", "-b", "64", "-p", "900000"]
STEP_BY_TRAP = 1 | 2 | 4 | 8 | 16 | 64 | 512
number = 0


def result(good, name, *why):
    global number
    number += 1
    print("ok" if good else "not ok", number, "-", name, flush=True)
    for line in why if not good else ():
        print("#", line)
    return good


def run(options, rounds):
    with tempfile.NamedTemporaryFile("r") as out:
        done = subprocess.run([DRIVE, "-o", out.name, *OFTEN, *options, AGENT, TARGET, str(rounds)], capture_output=True,
                              text=True, timeout=600)
        counters = {fields[1]: int(fields[2]) for fields in map(str.split, out) if fields[0] == "C"}
    return done.returncode, done.stdout, counters


def compare(name, options, wanted, rounds):
    """Runs until there were enough bursts: how long that takes is the machine's affair."""
    plain = subprocess.run([TARGET, str(rounds)], capture_output=True, text=True, check=True, timeout=600).stdout
    bursts = steps = 0
    good = True
    while good and bursts < wanted:
        status, text, counters = run(options, rounds)
        wrong = [line for line, right in zip(text.splitlines(), plain.splitlines()) if line != right]
        good = status == 0 and text == plain
        bursts += counters["bursts"]
        steps += counters["steps"]
    kernels = len({line.split()[0] for line in plain.splitlines()})
    return result(good, f"{name}: {kernels} kernels, {bursts} bursts, {steps} instructions", f"status {status}", *wrong[:5])


print("TAP version 13")
good = compare("engine", [], BURSTS, 16)
good &= compare("trap flag", ["-f", str(STEP_BY_TRAP)], BURSTS // 60, 16)
print(f"1..{number}")
sys.exit(0 if good else 1)
