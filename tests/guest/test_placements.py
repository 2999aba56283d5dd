#!/usr/bin/env python3
"""The shapes of LaProf's four programs (docs/case-studies.md) under every placement on four real nodes: each access to the
program's own data goes from where and to where the placement implies. The tables come as notes. Nothing is asked of time: emulated
memory is flat. The guest's clock counts instructions: how many samples there are does not depend on what else the machine does."""
import sys

import guest_accesses
import guest_build
import guest_case

# A signal is dear in the guest, and much of what it costs are its steps: few at a time, and leave to spend much.
OFTEN = ["--", "--frequency=1000", "--burst=2", "--budget=90", "--"]
LU_SIZE, LU_THREADS, DOUBLE = 256, 4, 8
PROGRAMS = {
    "streamcluster": ["examples/case_streamcluster", "--rounds=4", "--points=768"],
    "blackscholes": ["examples/case_blackscholes", "--options=16384", "--rounds=4", "--threads=4"],
    "lu": ["examples/nas_lu", f"--size={LU_SIZE}", "--iterations=5", f"--threads={LU_THREADS}"],
    "freqmine": ["examples/case_freqmine", "--transactions=3000", "--rounds=10", "--threads=4"],
}
PLACEMENTS = ("cluster", "distributed", "mem0-cpu0", "mem0-cpu1", "interleave")
WITH_LOCAL = "lu"  # "local" implies of no access where it goes: that it runs and what it prints is judged by one program


def placements(name):
    return (*PLACEMENTS, "local") if name == WITH_LOCAL else PLACEMENTS


def script(build):
    lines = ["cd /tmp", "echo 0 >/proc/sys/kernel/numa_balancing"]

    def run(name, *words):
        lines.extend(guest_case.run_lines(name, *words))

    # The first recording after the boot calibrates and takes few samples: it is not one of those that are judged.
    program, *arguments = PROGRAMS["blackscholes"]
    run("first", build / "src/cli/numalens", "record", "-q", *OFTEN[1:-1], "-o", "/tmp/first.data", "--", build / program, *arguments)
    for name, (program, *arguments) in PROGRAMS.items():
        run(name, build / "src/cli/numalens", "compare", "--json", "--repeat", "1", "--same-output", "--placements", ",".join(placements(name)),
            "--keep", f"/root/out/{name}", *OFTEN, build / program, *arguments)
        lines.append("cut -d' ' -f1 /proc/uptime >>/root/out/uptime")
    return "\n".join(lines) + "\nexit 0\n"


def table(answer):
    """As docs/case-studies.md has it."""
    yield "| placement | remote | private TL | TN | shared TL | TN | deviation |"
    for row in answer["placements"]:
        if not row["possible"]:
            continue
        run = row["runs"][0]
        share = "unknown" if run["remote_ratio"] is None else "%.1f%%" % (100 * run["remote_ratio"])
        yield "| %s | %s | %s | %s | %s | %s | %s |" % (
            row["placement"], share, run["private"]["TL"], run["private"]["TN"], run["shared"]["TL"], run["shared"]["TN"],
            run["deviation"])


def of_main(accesses):
    """To what main has made and filled, on its node; the rest of the heap is what a worker made for itself."""
    return [access for access in accesses if access.object.startswith(("main", "nas_array"))]


def lu_homes(accesses, nodes):
    """LU's threads touch their rows first. (access, the node of the row's thread), but for pages that two threads share."""
    workers = sorted(nodes)[-LU_THREADS:]
    for access in of_main(accesses):
        row_size = LU_SIZE * DOUBLE
        first = access.offset - access.address % guest_accesses.PAGE
        rows = [max(first, 0) // row_size, min(first + guest_accesses.PAGE - 1, LU_SIZE * row_size - 1) // row_size]
        owners = {row * LU_THREADS // LU_SIZE for row in rows}
        if len(owners) == 1:
            yield access, nodes[workers[owners.pop()]]


def wrong_of_distributed(name, accesses):
    """Every thread stays on the node it was assigned to, and all nodes have some. Then of all accesses those that do not go where their
    data was touched first."""
    nodes = guest_accesses.nodes_of_threads(accesses)
    if any(len(seen) != 1 for seen in nodes.values()) or set().union(*nodes.values()) != {0, 1, 2, 3}:
        return [f"threads ran on {dict(nodes)}"]
    if name == "lu":
        return [access for access, node in lu_homes(accesses, nodes) if {access.home} != node]
    shared = of_main(accesses)
    own = set(accesses) - set(shared)
    return guest_accesses.elsewhere(shared, None, 0) + [access for access in own if access.home != access.source]


def judge_placement(tap, name, placement, accesses):
    tap.check(f"{name}: {placement}: it is known where data lies", guest_accesses.are_known(accesses), len(accesses))
    heap = guest_accesses.heap(accesses)
    share, deviation = guest_accesses.remote_share(of_main(heap))
    title = f"{name}: {placement}: "
    if placement in guest_accesses.SOURCES:
        guest_accesses.judge_bound(tap, title, heap, placement)
    elif placement == "distributed":
        wrong = wrong_of_distributed(name, heap)
        tap.check(title + "every access goes from where its thread was assigned to where its data was touched", heap and not wrong,
                  *wrong[:5])
    elif placement == "interleave":
        tap.check(title + "three of four go to another node, as near as the pages seen can tell",
                  guest_accesses.is_near(of_main(heap), 0.75), f"{share:.3f}, standard deviation {deviation:.3f}")
    tap.note(f"{len(heap)} of {len(accesses)} accesses to the heap; of main's {share:.3f} +- {deviation:.3f} remote")


def judge(tap, results, name):
    answer = results.json(name) or {}
    if not tap.check(f"{name}: runs under every placement and prints the same",
                     results.status(name) == 0 and answer.get("same_output") is True, *results.notes(name)):
        return
    for line in table(answer):
        tap.note(line)
    for placement in placements(name):
        judge_placement(tap, name, placement, guest_accesses.read(results.folder / name / f"{placement}-1.data"))


def judge_all(tap, build, folder):
    puts = guest_build.puts(build, "src/agent", "src/cli", *(program for program, *_ in PROGRAMS.values()))
    results = guest_case.boot(tap, folder, script(build), "--count", "3", *puts)
    for name in PROGRAMS:
        judge(tap, results, name)


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all))
