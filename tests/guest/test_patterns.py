#!/usr/bin/env python3
"""Patterns and facts on four real nodes: verdicts on programs with a pattern and on their twins, threads pinned to CPUs;
pages that a program moves. The kernel's own balancing is off: it moves pages to their users, and then nothing is wrong.
Contention is not judged: an emulated memory has no load, and how long a load takes is the emulator's affair. Not by a
clock that counts instructions: by that one every access is quick, and what is small would be taken for cached."""
import sys

import guest_build
import guest_case
import guest_machine

sys.path.insert(0, str(guest_machine.PROJECT / "tests/integration"))
import verdicts  # noqa: E402

# A signal is dear in the guest; without leave to spend more there would be too few samples to judge.
OFTEN = ["--frequency=1000", "--budget=90"]
ENOUGH = 1600  # samples, of a hundred bursts
# Emulation is slow: fewer iterations than elsewhere.
ROUNDS = {"remote_after_allocation": 1500000, "far_initialised": 1500000, "mixed_pages": 300}


def script(build):
    numalens = build / "src/cli/numalens"
    lines = ["cd /tmp", "echo 0 >/proc/sys/kernel/numa_balancing"]

    def program(name, mode, *options, enough=ENOUGH):
        lines.extend(guest_case.record_lines(f"{name}-{mode}", numalens, OFTEN,
                                             [build / "examples/patterns" / name, mode, "--pin", *options], enough))
        lines.append("cut -d' ' -f1 /proc/uptime >>/root/out/uptime")

    # The first recording after the boot calibrates and takes few samples: it is not one of those that are judged.
    program("moved_pages", "stays", "--rounds=100", enough=0)
    for name, rounds in ROUNDS.items():
        for mode in ("bad", "good"):
            program(name, mode, f"--rounds={rounds}", "--threads=4")
    for mode in ("moved", "stays"):
        program("moved_pages", mode)
    return "\n".join(lines) + "\nexit 0\n"


def judge_pattern(tap, results, program, mode):
    name = f"{program}-{mode}"
    report = guest_case.reported(results, name, "patterns") or {}
    if not tap.check(f"{program} {mode}: is recorded on real nodes",
                     results.text(f"{name}.status").strip() == "0" and "patterns" in report
                     and not report["topology"]["simulated"] and report["topology"]["nodes"] == 4,
                     *results.notes(name, f"{name}.report")):
        return
    verdict = report["verdict"]
    tap.check(f"{program} {mode}: commands that measure are named, unless NUMA is not what slows it",
              ("numalens compare -- " in verdict["text"] and "numalens optimize -- " in verdict["text"]) == (verdict["matters"] is not False), verdict)
    rows = [row for row in report["patterns"] if row["pattern"] != "contention"]
    wrong, found = verdicts.wrong(program, mode, rows), verdicts.describe(report["patterns"])
    tap.note(f"{report['samples']} samples: {found}")
    tap.check(f"{program} {mode}: the verdict is right", not wrong, wrong, found)


def judge_moved(tap, results, mode):
    name = f"moved_pages-{mode}"
    rows = [row for row in (guest_case.reported(results, name, "objects") or {}).get("objects", [])
            if (row["file"] or "").endswith("moved_pages.c")
            and row["line"] == verdicts.nlens.site_line("patterns/moved_pages.c", "array")]
    if not tap.check(f"moved_pages {mode}: is recorded", len(rows) == 1, rows, *results.notes(name)):
        return
    moved, homes = rows[0]["facts"]["pages_moved"], rows[0]["homes"]
    tap.note(f"{rows[0]['samples']} samples, {moved} pages moved, homes {homes}")
    if mode == "stays":
        tap.is_equal("pages that stay have not moved", [moved, list(homes)], [0, ["0"]])
    else:
        tap.check("pages that were moved are reported", moved == 16 and sorted(homes) == ["0", "1"], f"{moved} moved, {homes}")


def judge_all(tap, build, folder):
    puts = guest_build.puts(build, "examples/patterns", "src/agent", "src/cli")
    results = guest_case.boot(tap, folder, script(build), *puts)
    for program in ROUNDS:
        for mode in ("bad", "good"):
            judge_pattern(tap, results, program, mode)
    for mode in ("moved", "stays"):
        judge_moved(tap, results, mode)


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all))
