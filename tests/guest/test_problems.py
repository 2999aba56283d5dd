#!/usr/bin/env python3
"""Sharing and imbalance on real nodes: programs with exactly one problem and one with none, three runs of each, all right.

Two nodes of four CPUs. Workers 1 to 3 run on node 0 beside the data, worker 4 on node 1. Where data is shared there are six, three on
either node: one far thread of four that use the same would bear all that is remote, an imbalance too. Contention is not judged here:
an emulated memory has no load (tests/analysis/test_problems.c has made-up latencies). The kernel's own balancing is off, and its clock
counts instructions: how many samples there are does not depend on what else the machine does."""
import sys

import guest_build
import guest_case

# More would show little: runs hardly differ where the clock counts instructions, and have several times the samples that a verdict
# is asked for. What is wrong in half of all runs passes one time in eight.
RUNS = 3
ENOUGH = 400  # samples to judge by, of a hundred bursts
# Samples begin when the workers are there: in an emulator, loading the program takes as long as its work.
OFTEN = ["--frequency=1000", "--burst=4", "--budget=90"]
KIB = 512  # of each worker: touching a page first takes as long there as 500 iterations
# mode: (pattern that must be found, iterations: emulation is slow, workers)
MODES = {"none": (None, 60000, 4), "imbalance": ("imbalance", 100000, 4), "sharing": ("cross-node-sharing", 50000, 6)}
PROBLEMS = ("cross-node-sharing", "imbalance")


def script(build):
    numalens = build / "src/cli/numalens"
    lines = ["cd /tmp", "echo 0 >/proc/sys/kernel/numa_balancing"]

    def run(name, *words):
        lines.extend(guest_case.run_lines(name, *words))

    # The first recording after the boot calibrates and takes few samples: it is not one of those that are judged.
    run("first", numalens, "record", "-q", *OFTEN, "--threads=5", "-o", "first.data", "--", build / "examples/patterns/problems",
        "none", "--pin", "--threads=4", "--rounds=50000")
    for mode, (_, rounds, workers) in MODES.items():
        for number in range(RUNS):
            lines.extend(guest_case.record_lines(
                f"{mode}{number}", numalens, [*OFTEN, f"--threads={workers + 1}"],
                [build / "examples/patterns/problems", mode, "--pin", f"--kib={KIB}", f"--threads={workers}", f"--rounds={rounds}"], ENOUGH))
        lines.append("cut -d' ' -f1 /proc/uptime >>/root/out/uptime")
    return "\n".join(lines) + "\nexit 0\n"


def fault_of(mode, patterns, balance):
    """What is wrong with the verdict, or None."""
    wanted = MODES[mode][0]
    rows = [row for row in patterns.get("patterns", []) if row["pattern"] in PROBLEMS]
    far = max((row["tid"] for row in balance.get("threads", [])), default=None)
    if patterns.get("topology", {}).get("nodes") != 2 or patterns["topology"]["simulated"]:
        return "not recorded on two real nodes"
    if patterns["samples"] < ENOUGH:
        return f"judged by {patterns['samples']} samples"
    if [row["pattern"] for row in rows] != ([wanted] if wanted else []):
        return "called " + (", ".join(row["pattern"] for row in rows) or "nothing")
    if mode == "sharing" and rows[0]["name"] != "counters":
        return "blamed on " + rows[0]["name"]
    if mode == "imbalance" and (rows[0]["name"] != f"thread {far}" or balance["critical_tid"] != far):
        return f"blamed on {rows[0]['name']}, critical {balance['critical_tid']}, it is {far}"
    if rows and not (rows[0]["advice"] and all(advice["code"] for advice in rows[0]["advice"])):
        return "no advice with a command"
    return None


def judge(tap, results, mode):
    faults, samples = [], []
    for number in range(RUNS):
        patterns, balance = (guest_case.reported(results, f"{mode}{number}", table) or {} for table in ("patterns", "balance"))
        fault = fault_of(mode, patterns, balance)
        samples.append(patterns.get("samples", 0))
        if fault:
            found = "; ".join(f"{row['pattern']} on {row['name']}: {row['evidence']}" for row in patterns.get("patterns", []))
            faults.append(f"run {number}: {fault}; found: {found}")
    tap.note(f"{mode}: {min(samples)} to {max(samples)} samples")
    tap.is_equal(f"{mode}: {MODES[mode][0] or 'no problem'} is found, {RUNS} times out of {RUNS}", faults, [])


def judge_all(tap, build, folder):
    puts = guest_build.puts(build, "examples/patterns", "src/agent", "src/cli")
    results = guest_case.boot(tap, folder, script(build), "--nodes", "2", "--cpus", "4", "--count", "3", *puts)
    for mode in MODES:
        judge(tap, results, mode)


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all))
