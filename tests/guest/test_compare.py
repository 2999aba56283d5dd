#!/usr/bin/env python3
"""compare on four real nodes: threads and memory are where each placement says, access by access; the best placement is named by
run time, with what explains it; what a program may not use is skipped, with the reason.

The guest's clock counts instructions, and far memory costs the program more of them (programs/far_costs.c): so run times differ between
placements for the reason that they have on a real machine, and do not depend on what else this one does. The kernel's own
balancing is off: it would move pages to their users."""
import sys

import guest_accesses
import guest_build
import guest_case

# A signal is dear in the guest; without leave to spend more there would be too few samples to judge.
OFTEN = ["--", "--frequency=1000", "--burst=4", "--budget=90", "--"]
# Plain runs have no agent that assigns threads to nodes: where run time is judged, threads are spread by the kernel.
MODES = {"own": ("cluster", "mem0-cpu0", "mem0-cpu1", "interleave"), "shared": ("cluster", "interleave"),
         "near": ("cluster", "distributed"), "assigned": ("distributed", "local")}
TIMED = {"own": 2, "shared": 2}   # runs of each placement; of the others one


def script(build):
    numalens, program = build / "src/cli/numalens", build / "tests/guest/far_costs"
    lines = ["cd /tmp", "echo 0 >/proc/sys/kernel/numa_balancing"]

    def run(name, *words):
        lines.extend(guest_case.run_lines(name, *words))
        lines.append("cut -d' ' -f1 /proc/uptime >>/root/out/uptime")

    # The first run after the boot takes longer than all others, and calibrates: it is not one of those that are judged.
    run("first", numalens, "compare", "-q", "--repeat", "1", "--plain", "--placements", "cluster,mem0-cpu1", *OFTEN, program, "own")
    for mode, placements in MODES.items():
        run(mode, numalens, "compare", "--json", "--repeat", TIMED.get(mode, 1), *(["--plain"] if mode in TIMED else []), "--same-output",
            "--placements", ",".join(placements), "--keep", f"/root/out/{mode}", *OFTEN, program, "own" if mode == "assigned" else mode)
    run("traces", numalens, "compare", "--json", "/root/out/own/cluster-1.data", "/root/out/own/mem0-cpu1-1.data")
    run("bound", "taskset", "1", numalens, "compare", "--repeat", "1", "--", "true")
    return "\n".join(lines) + "\nexit 0\n"


def assigned(accesses):
    """Whether each thread stayed on one node, and each node had one."""
    nodes = guest_accesses.nodes_of_threads(accesses).values()
    return all(len(seen) == 1 for seen in nodes) and set().union(*nodes) == {0, 1, 2, 3}


def judge_places(tap, results, mode, placement):
    accesses = guest_accesses.read(results.folder / mode / f"{placement}-1.data")
    tap.check(f"{mode}: {placement}: it is known where data lies", guest_accesses.are_known(accesses), len(accesses))
    accesses = guest_accesses.heap(accesses)
    share, deviation = guest_accesses.remote_share(accesses)
    title = f"{mode}: {placement}: "
    if placement in guest_accesses.SOURCES:
        guest_accesses.judge_bound(tap, title, accesses, placement)
    elif placement == "distributed":
        wrong = [access for access in accesses if access.home != (access.source if mode == "near" else 0)]
        tap.check(title + "threads on all nodes; every access goes to where its data was touched",
                  accesses and assigned(accesses) and not wrong, guest_accesses.nodes_of_threads(accesses), *wrong[:5])
    elif placement == "interleave":
        tap.check(title + "three of four go to another node, as near as the pages seen can tell",
                  guest_accesses.is_near(accesses, 0.75), f"{share:.3f}, standard deviation {deviation:.3f}")
    tap.note(f"{placement}: {len(accesses)} accesses, {share:.3f} +- {deviation:.3f} remote")


def judge_mode(tap, results, mode, placements):
    answer = results.json(mode) or {}
    if not tap.check(f"{mode}: all placements run on real nodes and print the same",
                     results.status(mode) == 0 and not answer["simulated"] and answer["same_output"] is True,
                     *results.notes(mode)):
        return {}
    for row in answer["placements"]:
        tap.note(f"{row['placement']}: {row['text']}; s, s without recording, samples: "
                 f"{[(run['recorded_s'], run['plain_s'], run['samples']) for run in row['runs']]}")
    tap.note(answer["verdict"]["text"])
    tap.note(answer["verdict"]["why"])
    for placement in placements:
        judge_places(tap, results, mode, placement)
    return answer["verdict"]


def judge_verdicts(tap, own, shared, *_):
    # cluster and mem0-cpu0 are the same for this program, so either may be ahead by a hair; mem0-cpu1 alone has all of it far.
    tap.check("own: the best placements are named by run time, and the worst",
              own.get("by") == "plain time" and own["differ"] and own["best"] and set(own["best"]) <= {"cluster", "mem0-cpu0"}
              and "worst is mem0-cpu1" in own["text"], own)
    tap.check("own: that data lies elsewhere than its threads explains it",
              own.get("problem") == "distance" and "100% of the accesses are remote under mem0-cpu1" in own["why"], own)
    tap.check("shared: cluster is best, and sharing explains it",
              shared.get("by") == "plain time" and shared["best"] == ["cluster"] and shared["problem"] == "sharing"
              and shared["why"].startswith("Sharing explains it: under interleave"), shared)


def judge_rest(tap, results):
    answer = results.json("traces") or {}
    tap.check("two placements' recordings compared: remote accesses rose",
              results.status("traces") == 0 and "Remote accesses rose" in answer.get("what", "")
              and answer["before"]["placement"] == "cluster" and answer["after"]["placement"] == "mem0-cpu1",
              answer.get("what"), *results.notes("traces"))
    tap.note(answer.get("what"))
    reported = results.text("bound.err")
    tap.check("on one node's CPUs nothing can be compared, and that is said",
              results.status("bound") == 1 and "cluster is skipped" in reported and "only one" in reported, *results.notes("bound"))


def judge_all(tap, build, folder):
    program = build / "tests/guest/far_costs"
    puts = [*guest_build.puts(build, "src/agent", "src/cli"), "--put", f"{program}:{program}"]
    results = guest_case.boot(tap, folder, script(build), "--count", "3", *puts)
    judge_verdicts(tap, *[judge_mode(tap, results, mode, placements) for mode, placements in MODES.items()])
    judge_rest(tap, results)


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all))
