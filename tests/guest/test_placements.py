#!/usr/bin/env python3
"""The shapes of LaProf's four programs (docs/case-studies.md) under every placement on four real nodes: what is remote is what
the placement implies. The tables come as notes. Nothing is asked of time: emulated memory is flat."""
import sys

import guest_build
import guest_case
from guest_build import quote

OFTEN = ["--", "--frequency=1000", "--budget=90", "--"]
PROGRAMS = {
    "streamcluster": ["examples/case_streamcluster", "--rounds=4", "--points=1024"],
    "blackscholes": ["examples/case_blackscholes", "--options=16384", "--rounds=60", "--threads=4"],
    "lu": ["examples/nas_lu", "--size=256", "--iterations=20", "--threads=4"],
    "freqmine": ["examples/case_freqmine", "--transactions=6000", "--rounds=40", "--threads=4"],
}
# Remote parts, least and most. Some accesses are to pages of files, which lie where they were read; interleaved pages are on
# four nodes, so three of four are elsewhere.
NEAR, FAR, QUARTERS = (0, 0.12), (0.88, 1), (0.58, 0.9)
IMPLIED = {"cluster": NEAR, "mem0-cpu0": NEAR, "mem0-cpu1": FAR, "interleave": QUARTERS, "local": (0, 1)}
# Under distributed: LU's threads touch their rows first and read one row of the neighbour; of the others main has filled
# everything on the first node, where a fourth of the workers run, and main while it fills.
DISTRIBUTED = {"streamcluster": (0.25, 0.9), "blackscholes": (0.25, 0.85), "lu": (0, 0.3), "freqmine": (0.2, 0.85)}


def script(build):
    lines = ["cd /tmp", "echo 0 >/proc/sys/kernel/numa_balancing"]
    for name, (program, *arguments) in PROGRAMS.items():
        words = [build / "src/cli/numalens", "compare", "--json", "--repeat", "1", "--same-output", *OFTEN,
                 build / program, *arguments]
        lines.append(f"timeout 300 {' '.join(map(quote, words))} >/root/out/{name}.out 2>/root/out/{name}.err")
        lines.append(f"echo $? >/root/out/{name}.status")
        lines.append("cut -d' ' -f1 /proc/uptime >>/root/out/uptime")
    return "\n".join(lines) + "\nexit 0\n"


def table(answer):
    """As docs/case-studies.md has it."""
    yield "| placement | remote | private TL | TN | shared TL | TN | deviation |"
    for row in answer["placements"]:
        run = row["runs"][0]
        yield "| %s | %.1f%% | %d | %d | %d | %d | %.1f |" % (
            row["placement"], 100 * run["remote_ratio"], run["private"]["TL"], run["private"]["TN"], run["shared"]["TL"],
            run["shared"]["TN"], run["deviation"])


def judge(tap, results, name):
    answer = results.json(name) or {}
    if not tap.check(f"{name}: runs under every placement and prints the same",
                     results.status(name) == 0 and answer.get("same_output") is True, *results.notes(name)):
        return
    for line in table(answer):
        tap.note(line)
    rows = {row["placement"]: row["runs"][0] for row in answer["placements"]}
    for placement, (least, most) in {**IMPLIED, "distributed": DISTRIBUTED[name]}.items():
        ratio = rows[placement]["remote_ratio"]
        tap.check(f"{name}: {placement}: remote as it implies", least <= ratio <= most,
                  f"{ratio} of {rows[placement]['samples']} samples is not between {least} and {most}")


def judge_all(tap, build, folder):
    puts = guest_build.puts(build, "src/agent", "src/cli")
    for program, *_ in PROGRAMS.values():
        puts += ["--put", f"{build / program}:{build / program}"]
    results = guest_case.boot(tap, folder, script(build), "--timeout", "850", *puts)
    for name in PROGRAMS:
        judge(tap, results, name)


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all))
