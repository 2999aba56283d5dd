#!/usr/bin/env python3
"""Kernels of all kinds of code under bursts as often as they come: every result is bit-identical.

usage: test_identical.py DRIVE AGENT TARGET [BURSTS]"""
import ctypes
import subprocess
import sys
import tempfile

DRIVE, AGENT, TARGET = sys.argv[1:4]
BURSTS = int(sys.argv[4]) if len(sys.argv) > 4 else 3000
OFTEN = ["-t", "40000", "-b", "64", "-p", "900000"]
LONG_BURSTS = 1 | 2 | 4 | 8 | 16 | 64 | 1024
number = 0


def result(good, name, *why):
    global number
    number += 1
    print("ok" if good else "not ok", number, "-", name, flush=True)
    for line in why if not good else ():
        print("#", line)
    return good


def forbid_executable_memory():
    """For this process and its children: what is mapped writable cannot become executable (Linux 6.3)."""
    SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
    if ctypes.CDLL(None).prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) != 0:
        raise OSError("not here")


def run(options, rounds, before=None):
    with tempfile.NamedTemporaryFile("r") as out:
        done = subprocess.run([DRIVE, "-o", out.name, *OFTEN, *options, AGENT, TARGET, str(rounds)], capture_output=True,
                              text=True, timeout=600, preexec_fn=before)
        counters = {fields[1]: int(fields[2]) for fields in map(str.split, out) if fields[0] == "C"}
    return done.returncode, done.stdout, counters


def compare(name, options, wanted, rounds, before=None, of="bursts"):
    """Runs until there were enough of a counter: how long that takes is the machine's affair."""
    plain = subprocess.run([TARGET, str(rounds)], capture_output=True, text=True, check=True, timeout=600).stdout
    bursts = steps = there = 0
    good = True
    while good and there < wanted:
        status, text, counters = run(options, rounds, before)
        wrong = [line for line, right in zip(text.splitlines(), plain.splitlines()) if line != right]
        good = status == 0 and text == plain
        bursts += counters["bursts"]
        there += counters[of]
        steps += counters["steps"]
    kernels = len({line.split()[0] for line in plain.splitlines()})
    seen = f"{bursts} bursts, {steps} instructions" if of == "bursts" else f"{there} {of}"
    return result(good, f"{name}: {kernels} kernels, {seen}", f"status {status}", *wrong[:5]), steps / max(1, bursts)


print("TAP version 13")
good, steps = compare("engine", [], BURSTS, 16)
good &= result(steps > 64, f"{steps:.0f} instructions a burst")
good &= compare("long bursts", ["-f", str(LONG_BURSTS)], BURSTS * 1000, 200, of="long_accesses")[0]
try:
    subprocess.run(["true"], check=True, preexec_fn=forbid_executable_memory)
except subprocess.SubprocessError:
    number += 1
    print("ok", number, "- executable memory forbidden # SKIP this kernel cannot")
else:
    status, text, counters = run([], 16, forbid_executable_memory)
    plain = subprocess.run([TARGET, "16"], capture_output=True, text=True, check=True, timeout=600).stdout
    good &= result(status == 0 and text == plain and counters["bursts"] == 0,
                   f"executable memory forbidden: the program runs, {counters['bursts']} bursts", f"status {status}")
print(f"1..{number}")
sys.exit(0 if good else 1)
