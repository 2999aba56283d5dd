#!/usr/bin/env python3
"""An Arm machine with three nodes: pages from faults of both mechanisms that Arm's kernel has, samples, the report, and
pages that migrate moves. One boot. One report is made there; all others are made here, of the recordings that came back."""
import re
import subprocess
import sys

import guest_build
import guest_case
import guest_machine

ARM = guest_machine.Kind("arm64")
PARTS = ("src/cli", "src/agent", "examples/matmul", "examples/nas_lu")
# Hints come by and by, and protecting pages again has a budget: both must take some seconds.
SIZES = {"numa-hint": 544, "uffd-wp": 320}
PAGE = 4096
SCRIPT = """
cd /tmp; out=/root/out; PATH=$PATH:%(folders)s
one() { name=$1; shift; "$@" > $out/$name.out 2> $out/$name.err; echo $? > $out/$name.status
    echo $name $(cut -d ' ' -f 1 /proc/uptime) >> $out/uptime; }
uname -m > $out/machine; cat /sys/devices/system/node/online > $out/nodes
for run in %(runs)s; do
    mechanism=${run%%:*}; size=${run#*:}
    one record-$mechanism numalens record --source faults --mechanism $mechanism -o $out/$mechanism.data -- matmul $size
done
cat /proc/sys/kernel/numa_balancing > $out/balancing
echo 0 > /proc/sys/kernel/numa_balancing
one record-soft numalens record --frequency 1000 --budget 50 -o $out/soft.data -- matmul 160
one report-soft numalens report --json $out/soft.data
one lu nas_lu 1
one migrate numalens migrate --frequency 1000 --budget 20 --interval 200ms --keep-going -- nas_lu 1
"""


def lines_of_matrices():
    source = (guest_machine.PROJECT / "examples" / "matmul.c").read_text().splitlines()
    return {number: found[1] for number, line in enumerate(source, 1)
            if (found := re.match(r"\s*(\w+) = malloc\(bytes\);", line))}


def product(size):
    """What matmul prints: two elements of a product in which all of a row, or of a column, are alike."""
    last = size - 1
    return f"{size + size * (last % 7 + 1) * (last % 5 + 1)}\n"


def matrices(reported):
    lines, found = lines_of_matrices(), {}
    for row in reported["pages"]:
        at = re.search(r"matmul\.c:(\d+)", row["name"] or "")
        if at and int(at[1]) in lines:
            found.setdefault(lines[int(at[1])], []).append(row)
    return found


def missing(reported, found):
    """What is known of pages between the first and the last of each matrix that do not count as its own."""
    for name, rows in found.items():
        own = {row["page"] for row in rows}
        rest = {row["page"]: row for row in reported["pages"] if min(own) < row["page"] < max(own) and row["page"] not in own}
        removed = [page for page in range(min(own), max(own), PAGE) if page not in own and page not in rest]
        yield f"{name}: without a row {list(map(hex, removed))}"
        yield from (f"{name}: {row}" for row in rest.values())


def moca(results, name):
    return subprocess.run([guest_build.NATIVE / "src/cli/numalens", "export", "--format", "moca", results.folder / f"{name}.data"],
                          text=True, stdout=subprocess.PIPE).stdout


def judge_pages(tap, results, mechanism):
    reported = guest_case.reported(results, mechanism, "pages")
    notes = results.notes(f"record-{mechanism}", f"{mechanism}.report")
    if not tap.check(f"{mechanism}: recorded and reported", reported is not None and
                     results.status(f"record-{mechanism}") == 0, *notes):
        return
    tap.is_equal(f"{mechanism}: the program's answer is its own", results.text(f"record-{mechanism}.out"),
                 product(SIZES[mechanism]))
    found = matrices(reported)
    wanted = SIZES[mechanism] ** 2 * 8 // PAGE
    tap.check(f"{mechanism}: three matrices with all their pages",
              sorted(found) == ["a", "b", "res"] and all(len(rows) in (wanted, wanted + 1) for rows in found.values()),
              {name: len(rows) for name, rows in found.items()}, reported["dropped"], *missing(reported, found))
    master = reported["pages"][0]["pid"]
    # None: a page whose writer had ended before its interval was reported.
    writers = {user["tid"] for row in found.get("res", []) for user in row["threads"] if user["writes"]} - {None}
    # Both workers use the same pages at the same time: a fault reports the one that was first after the page was armed,
    # and hints are armed by a thread, which then often is the first.
    tap.check(f"{mechanism}: the master and the workers write the result", master in writers and len(writers) in (2, 3), writers)
    homes = {row["node"] for rows in found.values() for row in rows} - {None}
    tap.check(f"{mechanism}: homes of pages are known", homes <= {0, 1, 2} and homes, homes)
    # Of the matrices that workers only read, faults of NUMA hinting show the readers as well; others the writers only.
    readers = {user["tid"] for row in found.get("b", []) for user in row["threads"] if user["reads"]} - {master}
    if mechanism == "numa-hint":
        tap.check("numa-hint: the workers read the middle matrix", len(readers) in (1, 2), readers)
        lasting = {name: sum(row["last_s"] - row["first_s"] for row in rows) / len(rows) for name, rows in found.items()}
        both = {name: sum(row["intervals"] for row in rows) for name, rows in found.items()}
        tap.check("numa-hint: the middle matrix is in use in more intervals than the first", both["b"] > both["a"],
                  both, lasting)
        tap.note(f"intervals {both}, seconds {lasting}")
    tasks = re.findall(r"^T \d+ (\d+)", moca(results, mechanism), re.M)
    tap.check(f"{mechanism}: MOCA's tasks are the threads", {str(tid) for tid in writers} <= set(tasks), tasks)


def judge(tap, results):
    tap.is_equal("it is an Arm machine", results.text("machine").strip(), "aarch64")
    tap.is_equal("with three nodes", results.text("nodes").strip(), "0-2")
    for mechanism in SIZES:
        judge_pages(tap, results, mechanism)
    tap.is_equal("settings are what they were", results.text("balancing").strip(), "1")
    frames = guest_case.reported(results, "soft", "pages", "--physical") or {"pages": []}
    # QEMU's nodes are one behind the other, 256 MiB each, from 1 GiB on.
    known = [(row["physical_node"], (row["physical"] - (1 << 30)) // (256 << 20)) for row in frames["pages"]
             if row["physical_node"] is not None]
    right = sum(node == place for node, place in known)
    tap.check("frames lie where the machine has its nodes", known and right == len(known),
              f"{right} of {len(known)}", *results.notes("soft.report"))
    whole = results.json("report-soft") or {}
    tap.check("the soft sampler works, and knows homes", whole.get("samples", 0) > 20 and
              whole.get("home_known", 0) > 0.5 * whole["samples"], *results.notes("record-soft"), str(whole)[:300])
    tap.is_equal("migrate: the program's answer is its own", results.text("migrate.out"), results.text("lu.out"))
    moved = re.search(r"moved (\d[\d,]*) pages", results.text("migrate.err"))
    tap.check("migrate: pages move", results.status("migrate") == 0 and moved and int(moved[1].replace(",", "")) > 0,
              *results.notes("migrate"))


def judge_all(tap, build, folder):
    runs = " ".join(f"{name}:{size}" for name, size in SIZES.items())
    script = SCRIPT % {"runs": runs, "folders": f"{build}/src/cli:{build}/examples"}
    judge(tap, guest_case.boot(tap, folder, script, "--arch", "arm64", "--nodes", "3", "--count", "4", *guest_build.puts(build, *PARTS)))


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all, ARM, PARTS))
