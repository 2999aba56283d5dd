#!/usr/bin/env python3
"""The machine as asked for: distances, a node without CPUs, no nodes at all. numalens must see exactly that; homes that
came by first touch, and pages that move while a program runs, must show."""
import sys

import guest_build
import guest_case
import guest_machine
from guest_results import Results

# Two pairs of near nodes, and memory that is far from all.
DISTANCES = [[10, 16, 22, 22, 28], [16, 10, 22, 22, 28], [22, 22, 10, 16, 28], [22, 22, 16, 10, 28], [28, 28, 28, 28, 10]]
# A signal is dear in the guest; without leave to spend more there would be too few samples to judge.
OFTEN = "--frequency=1000 --budget=90"
MACHINE = f"""
cd /tmp; out=/root/out
cat /sys/devices/system/node/node?/distance > $out/distances
cat /sys/devices/system/node/has_cpu /sys/devices/system/node/has_memory > $out/nodes
%(numalens)s doctor --json > $out/doctor.out
echo 0 > /proc/sys/kernel/numa_balancing
# The first recording after the boot calibrates and takes few samples: it is not judged.
%(numalens)s record -q {OFTEN} -o first.data -- %(build)s/tests/guest/moved 3 > /dev/null
%(numalens)s record {OFTEN} -o $out/moved.data -- %(build)s/tests/guest/moved 3 > $out/moved 2> $out/moved.err; echo $? > $out/moved.status
"""
WITHOUT = f"""
cd /tmp; out=/root/out
ls -d /sys/devices/system/node/node* > $out/sysfs
%(numalens)s doctor --json > $out/doctor.out; echo $? > $out/doctor.status
%(build)s/examples/ratio --rounds=300 > $out/plain
%(numalens)s record -q {OFTEN} -o first.data -- %(build)s/examples/ratio --rounds=300 > /dev/null # as above
%(numalens)s record {OFTEN} -o $out/ratio.data -- %(build)s/examples/ratio --rounds=300 > $out/record 2>&1; echo $? > $out/record.status
%(numalens)s report $out/ratio.data > $out/report.text
%(numalens)s migrate --interval 200ms -- %(build)s/examples/ratio --rounds=300 > $out/migrate 2> $out/migrate.err; echo $? > $out/migrate.status
"""


class Guest(Results):
    """One boot; what the script left in out."""

    def __init__(self, tap, build, folder, name, script, *options):
        ratio, puts = build / "examples/ratio", guest_build.puts(build, "src/agent", "src/cli", "tests/guest")
        script = script % {"numalens": build / "src/cli/numalens", "build": build} + "\nexit 0\n"
        super().__init__(guest_case.boot(tap, folder, script, *options, *puts, "--put", f"{ratio}:{ratio}", name=name).folder)

    def json(self, name):
        return super().json(name) or {}


def judge_machine(tap, guest):
    tap.is_equal("the kernel has these distances", [[int(n) for n in line.split()] for line in
                                                    guest.text("distances").splitlines()], DISTANCES)
    tap.is_equal("the kernel has CPUs on four nodes, memory on five", guest.text("nodes").split(), ["0-3", "0-4"])
    nodes = guest.json("doctor").get("topology", {}).get("nodes", [])
    tap.is_equal("doctor sees these distances", [node["distances"] for node in nodes], DISTANCES)
    tap.is_equal("doctor sees a node without CPUs", [node["cpus"] for node in nodes], [[0], [1], [2], [3], []])


def row_of(guest, site):
    source = (guest_machine.PROJECT / "tests/guest/programs/moved.c").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if f"site: {site} " in text)
    rows = [row for row in (guest_case.reported(guest, "moved", "objects") or {}).get("objects", []) if row["line"] == line]
    return rows[0] if rows else {"homes": {}, "remote_share": -1, "facts": {"pages_moved": None}}


def judge_moved(tap, guest):
    notes = guest.text("moved"), guest.text("moved.err"), guest.text("moved.report.out")[:3000]
    tap.is_equal("pages are where first touch and move_pages put them", guest.text("moved").splitlines(),
                 ["touched 0 0 16 0", "moving 16 0 0 0", "moving 0 0 0 16", "touched 0 0 16 0"])
    touched, moving = row_of(guest, "touched"), row_of(guest, "moving")
    # The thread that touched it first did so from node 2.
    tap.check("what was touched first on node 2 lies there and is remote",
              list(touched["homes"]) == ["2"] and touched["remote_share"] > 0.95, touched, *notes)
    tap.is_equal("what stays is not said to move", touched["facts"]["pages_moved"], 0)
    tap.is_equal("every page that move_pages moved is said to have moved", moving["facts"]["pages_moved"], 16)
    # Hot pages are asked for once a second, so the second half begins with some accesses that still count as local.
    tap.check("accesses after the move are remote, those before are not", sorted(moving["homes"]) == ["0", "3"]
              and 0.2 < moving["remote_share"] < 0.7, moving)


def judge_without(tap, guest):
    tap.is_equal("numa=off: the kernel has one node", guest.text("sysfs").split(), ["/sys/devices/system/node/node0"])
    doctor = guest.json("doctor")
    tap.check("numa=off: doctor sees one node and that recording works", doctor.get("works")
              and len(doctor["topology"]["nodes"]) == 1 and guest.text("doctor.status") == "0\n", doctor)
    tap.check("numa=off: a program is recorded", guest.text("record.status") == "0\n"
              and guest.text("plain").strip() in guest.text("record"), guest.text("record"))
    report = guest_case.reported(guest, "ratio") or {}
    tap.check("numa=off: the report has samples, and none is remote", report.get("samples", 0) > 0
              and report["remote"] == 0 and report["topology"]["nodes"] == 1, guest.text("ratio.report.out")[:2000])
    tap.check("numa=off: the report says why", "one memory node" in guest.text("report.text"), guest.text("report.text"))
    tap.check("numa=off: migrate says so and lets the program run", guest.text("migrate.status") == "0\n"
              and guest.text("migrate") == guest.text("plain") and "one memory node" in guest.text("migrate.err"),
              guest.text("migrate"), guest.text("migrate.err"))


def judge_all(tap, build, folder):
    distances = "/".join(" ".join(map(str, row)) for row in DISTANCES)
    # By the clock of a busy machine the program would be over before its pages were asked for again.
    guest = Guest(tap, build, folder, "guest with distances", MACHINE, "--count", "3", "--nodes", "5", "--memory-only", "4",
                  "--distances", distances)
    judge_machine(tap, guest)
    judge_moved(tap, guest)
    judge_without(tap, Guest(tap, build, folder, "guest without nodes", WITHOUT, "--count", "3", "--kernel", "numa=off"))


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all))
