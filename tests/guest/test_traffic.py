#!/usr/bin/env python3
"""Bytes from memory on an Arm machine, against programs that count their own (tests/integration/traffic_kernels.c).

An emulator has no caches: every load takes the same. Its kept calibration is made to say that memory takes that long and caches
less, so that everything counts as memory; what is judged is how fast streams and gathers advance, by pairs of bursts, and that
loads ahead of streams are made. The guest's clocks count instructions."""
import sys

import guest_build
import guest_case
import guest_machine

ARM = guest_machine.Kind("arm64")
PAIRS = 40
OFF = 0.3   # of the bytes
LINE = 64
# Of each array, whether what is read and what is written of it is judged.
KERNELS = {"triad": {"a": (1, 1), "b": (1, 0), "c": (1, 0)}, "gather": {"a": (1, 0)}}
SECONDS = 3
SCRIPT = """
cd /tmp; out=/root/out
numalens doctor --calibrate > $out/calibrate.out 2>&1
kept=${XDG_CACHE_HOME:-$HOME/.cache}/numalens/calibration
sed -i '2s/.*/1 nodes=1 L1:65536:1.00:1.00 L2:1048576:3.00:3.00 0>0:20.00:16.00/' $kept
cp $kept $out/kept
for kernel in %(kernels)s; do
    numalens record --traffic --budget 5 -o $kernel.data -- %(program)s $kernel 8 %(seconds)d 1 > $out/record-$kernel.out 2> $out/record-$kernel.err
    echo $? > $out/record-$kernel.status
    numalens report traffic --json $kernel.data > $out/$kernel.out 2> $out/$kernel.err
    echo $? > $out/$kernel.status
done
"""


def allocations():
    source = (guest_machine.PROJECT / "tests" / "integration" / "traffic_kernels.c").read_text().splitlines()
    return {line.split("site: ")[1].split()[0]: number for number, line in enumerate(source, 1) if "site: " in line}


def counted(text):
    """Lines read and written, by array."""
    return {words[0]: (int(words[1]), int(words[2])) for words in map(str.split, text.splitlines()) if words[0] != "took"}


def judge_kernel(tap, results, kernel):
    answer, notes = results.json(kernel), results.notes(f"record-{kernel}", kernel)
    if not tap.check(f"{kernel}: recorded and reported", answer is not None and results.status(f"record-{kernel}") == 0, *notes):
        return
    tap.check(f"{kernel}: pairs of bursts", answer["burst_pairs"] >= PAIRS, answer["bursts"], answer["burst_pairs"], *notes)
    lines, truth = allocations(), counted(results.text(f"record-{kernel}.out"))
    for array, uses in KERNELS[kernel].items():
        row = next((row for row in answer["objects"] if row["line"] == lines[array]), {})
        for use, key, wanted in zip(uses, ("read_bytes_s", "write_bytes_s"), truth[array]):
            rate = wanted * LINE / answer["seconds"]
            if use:
                got = row.get(key)
                tap.check(f"{kernel}: {key} of {array}", got is not None and abs(got - rate) <= OFF * rate, got, rate, row)
                tap.note(f"{kernel} {array} {key}: {got and got / rate - 1:+.1%}")


def judge(tap, build, folder):
    program = build / "tests" / "integration" / "traffic_kernels"
    script = SCRIPT % {"kernels": " ".join(KERNELS), "program": program, "seconds": SECONDS}
    results = guest_case.boot(tap, folder, script, "--arch", "arm64", "--nodes", "1", "--count", "4", "--build",
                              "--put", f"{program}:{program}")
    for kernel in KERNELS:
        judge_kernel(tap, results, kernel)


if __name__ == "__main__":
    sys.exit(guest_case.main(judge, ARM, [*guest_build.PROGRAMS, "tests/integration"]))
