#!/usr/bin/env python3
"""Sampling from outside on an Arm machine: shares of arrays that are known, a static program, a process that runs already and
whose calls and signals are its own, and the unit tests of stops and of hostile code. One boot, one CPU."""
import re
import sys

import guest_build
import guest_case
import guest_machine

ARM = guest_machine.Kind("arm64")
UNITS = ("thread_stop", "executor_pages", "executor_streams")
RATIOS = {"ratio": "--source outside", "ratio_static": ""}  # the latter goes there by itself
PARTS = ("src/cli", "src/agent", "src/executor", "tests/integration/outside_target",
         *(f"examples/{name}" for name in RATIOS), *(f"tests/capture/test_{name}" for name in UNITS))
WITHIN, BURSTS, BURST = 0.02, 200, 8
SCRIPT = """
cd /tmp; out=/root/out; PATH=$PATH:%(folders)s
one() { name=$1; shift; "$@" > $out/$name.out 2> $out/$name.err; echo $? > $out/$name.status
    echo $name $(cut -d ' ' -f 1 /proc/uptime) >> $out/uptime; }
export STREAMS=1500 CMOCKA_MESSAGE_OUTPUT=tap
for name in %(units)s; do one unit-$name test_$name; done
mkfifo go; outside_target 1000 < go > target & target=$!; exec 3> go
while ! grep -q working target; do sleep 0.1; done
one attach numalens record -p $target %(often)s --stop-after 5s -o $out/attach.data
exec 3>&-; wait $target; cp target $out/target
%(ratios)s
"""


def judge_ratio(tap, results, name):
    found = guest_case.reported(results, name, "objects") or {"objects": []}
    samples = {row["size"] >> 19: row["samples"] for row in found["objects"] if row["kind"] == "heap"}
    both = samples.get(3, 0) + samples.get(1, 0)
    whole = guest_case.reported(results, name) or {}
    tap.is_equal(f"{name}: from outside", whole.get("source"), "outside")
    tap.note(f"{name}: {whole.get('samples')} samples, by half MiB of size {samples}")
    tap.check(f"{name}: two arrays read 3:1 have those shares", both >= BURSTS * BURST and both > 0.9 * whole["samples"] and
              abs(samples[3] / both - 0.75) <= WITHIN, *results.notes(name, f"{name}.report"))


def judge(tap, results):
    for name in UNITS:
        said = results.text(f"unit-{name}.out")
        tap.note("\n".join(re.findall("^# .*accesses.*", said, re.M)))
        tap.check(f"unit tests: {name}", results.status(f"unit-{name}") == 0 and re.search(r"^ok \d", said, re.M), *results.notes(f"unit-{name}"))
    whole = guest_case.reported(results, "attach") or {}
    tap.note(f"attach: {whole.get('samples')} samples")
    tap.check("a process that runs already is sampled", results.status("attach") == 0 and whole.get("source") == "outside" and
              whole.get("samples", 0) > 0, *results.notes("attach"))
    target = dict(re.findall(r"^(\w+) (.*)$", results.text("target"), re.M))
    tap.is_equal("no call of it is interrupted or fails, no page is brought in",
                 [target.get(key) for key in ("interrupted", "failed", "touched")], ["0", "0", "1"])
    sent, _, handled = target.get("signals", "").partition(" ")
    tap.check("no signal of it is lost", sent == handled and int(sent or 0) > 0, target)
    for name in RATIOS:
        judge_ratio(tap, results, name)


def judge_all(tap, build, folder):
    often = f"-F 1000 --budget 90 --burst {BURST}"
    ratios = "\n".join(f"one {name} numalens record {options} {often} -o $out/{name}.data -- {name} --rounds=250"
                       for name, options in RATIOS.items())
    folders = ":".join(str(build / place) for place in ("src/cli", "examples", "tests/capture", "tests/integration"))
    script = SCRIPT % {"folders": folders, "units": " ".join(UNITS), "often": often, "ratios": ratios}
    judge(tap, guest_case.boot(tap, folder, script, "--arch", "arm64", "--nodes", "1", "--count", "4", *guest_build.puts(build, *PARTS)))


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all, ARM, PARTS))
