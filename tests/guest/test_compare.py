#!/usr/bin/env python3
"""compare on four real nodes: threads and memory lie where each placement says, so remote ratios are as it implies; what a
program may not use is left out, with the reason. Nothing is asked of time. The kernel's own balancing is off: it would
move pages to their users."""
import sys

import guest_build
import guest_case
from guest_build import quote

# A signal is dear in the guest; without leave to spend more there would be too few samples to judge.
OFTEN = ["--", "--frequency=1000", "--burst=4", "--budget=90", "--"]
ROUNDS = ["--rounds=1200000", "--threads=4"]
# Remote parts of all accesses, least and most; some are to pages of files, which lie where they were read. bad: main, on the first node, fills an array alone; then four workers use a
# quarter each. good: each worker fills its own quarter.
IMPLIED = {
    "bad": {"cluster": (0, 0.06), "distributed": (0.35, 0.92), "mem0-cpu0": (0, 0.06), "mem0-cpu1": (0.9, 1),
            "interleave": (0.58, 0.92), "local": (0, 1)},
    "good": {"cluster": (0, 0.06), "distributed": (0, 0.08), "mem0-cpu1": (0.9, 1)},
}


def script(build):
    numalens, program = build / "src/cli/numalens", build / "examples/patterns/far_initialised"
    lines = ["cd /tmp", "echo 0 >/proc/sys/kernel/numa_balancing"]

    def run(name, *words):
        lines.append(f"timeout 200 {' '.join(map(quote, words))} >/root/out/{name}.out 2>/root/out/{name}.err")
        lines.append(f"echo $? >/root/out/{name}.status")
        lines.append("cut -d' ' -f1 /proc/uptime >>/root/out/uptime")

    run("bad", numalens, "compare", "--json", "--repeat", "1", "--same-output", "--keep", "/tmp/kept", *OFTEN, program,
        "bad", *ROUNDS)
    run("good", numalens, "compare", "--json", "--repeat", "1", "--plain", "--placements", ",".join(IMPLIED["good"]), *OFTEN,
        program, "good", *ROUNDS)
    run("traces", numalens, "compare", "--json", "/tmp/kept/cluster-1.data", "/tmp/kept/mem0-cpu1-1.data")
    run("nodes", numalens, "report", "threads", "--json", "/tmp/kept/distributed-1.data")
    run("bound", "taskset", "1", numalens, "compare", "--repeat", "1", "--", "true")
    return "\n".join(lines) + "\nexit 0\n"


def judge_ratios(tap, results, mode):
    answer = results.json(mode) or {}
    if not tap.check(f"{mode}: all placements run on real nodes", results.status(mode) == 0 and not answer["pretended"],
                     *results.notes(mode)):
        return
    tap.note(answer["verdict"]["text"])
    rows = {row["placement"]: row for row in answer["placements"]}
    for name, (least, most) in IMPLIED[mode].items():
        runs = rows.get(name, {}).get("runs", [])
        ratio = runs[0]["remote_ratio"] if runs else None
        tap.check(f"{mode}: {name}: remote as it implies", ratio is not None and least <= ratio <= most,
                  f"{ratio} is not between {least} and {most}", rows.get(name))
        tap.note(f"{name}: {rows[name]['text']}: {ratio} remote of {runs[0]['samples'] if runs else 0} samples")
    if mode == "good":
        tap.check("good: timed without recording too", all(rows[name]["runs"][0]["plain_s"] > 0 for name in IMPLIED[mode]))
    else:
        tap.is_equal("bad: the same is printed everywhere", answer["same_output"], True)


def judge_rest(tap, results):
    answer = results.json("traces") or {}
    tap.check("two placements' recordings compared: remote accesses rose",
              results.status("traces") == 0 and "Remote accesses rose" in answer.get("what", "")
              and answer["before"]["placement"] == "cluster" and answer["after"]["placement"] == "mem0-cpu1",
              answer.get("what"), *results.notes("traces"))
    tap.note(answer.get("what"))
    # Main and the fourth worker on node 0, the others on a node each; where they ran shows in the pages that they touched.
    threads = (results.json("nodes") or {}).get("threads", [])
    tap.check("distributed: four workers are there", len([row for row in threads if row["name"].startswith("worker")]) == 4,
              *results.notes("nodes"))
    told = results.text("bound.err")
    tap.check("on one node's CPUs nothing can be compared, and that is said",
              results.status("bound") == 1 and "cluster is left out" in told and "only one" in told, *results.notes("bound"))


def judge_all(tap, build, folder):
    puts = guest_build.puts(build, "examples/patterns", "src/agent", "src/cli")
    results = guest_case.boot(tap, folder, script(build), "--timeout", "700", *puts)
    for mode in IMPLIED:
        judge_ratios(tap, results, mode)
    judge_rest(tap, results)


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all))
