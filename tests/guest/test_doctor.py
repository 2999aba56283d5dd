#!/usr/bin/env python3
"""numalens doctor on four real nodes, as root and as a user whom this kernel (perf_event_paranoid 3) refuses perf."""
import sys

import guest_case

SCRIPT = """
chmod 755 /root
numalens=/root/src/cli/numalens
$numalens doctor --json > out/root.out; echo $? > out/root.status
echo 3 > /proc/sys/kernel/perf_event_paranoid
su user -c "TMPDIR=/tmp $numalens doctor --json" > out/user.out; echo $? > out/user.status
"""


def load(results, name):
    found = results.json(name) or {"works": False, "answer": results.text(f"{name}.out"), "checks": []}
    return found, {row["id"]: row for row in found["checks"]}, results.text(f"{name}.status").strip()


def check_root(tap, found, rows, status):
    tap.check("record works, with perf's ticks", found["works"] and status == "0" and "perf ticks" in found["answer"],
              found["answer"])
    for name in ("recording", "tick_perf", "faults", "homes", "uffd_wp", "soft_dirty_faults"):
        tap.check(f"{name} works", rows[name]["status"] == "works", rows[name])
    nodes = found["topology"]["nodes"]
    tap.is_equal("four nodes with a CPU each", [(n["node"], n["cpus"]) for n in nodes], [(i, [i]) for i in range(4)])
    tap.is_equal("the firmware's distances", [n["distances"] for n in nodes],
                 [[10 if i == j else 20 for j in range(4)] for i in range(4)])


def check_user(tap, found, rows, status):
    tap.check("a refused user records with timers",
              found["works"] and status == "0" and "timer ticks" in found["answer"], found["answer"])
    tap.check("the sysctl is named", rows["tick_perf"]["remedy"] == "sudo sysctl kernel.perf_event_paranoid=2"
              and "is 3" in rows["tick_perf"]["detail"], rows["tick_perf"])
    tap.check("the trial recording has samples", rows["recording"]["status"] == "works", rows["recording"])
    tap.check("homes are reported to users", rows["homes"]["status"] == "works", rows["homes"])


def judge_all(tap, build, folder):
    results = guest_case.boot(tap, folder, SCRIPT, "--count", "3", "--put", f"{build}/src/cli/numalens:src/cli/numalens",
                              "--put", f"{build}/src/agent/libnumalens-agent.so:src/agent/libnumalens-agent.so")
    check_root(tap, *load(results, "root"))
    check_user(tap, *load(results, "user"))


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all))
