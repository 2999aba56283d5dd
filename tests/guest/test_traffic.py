#!/usr/bin/env python3
"""Bytes from memory on an Arm machine, against programs that count their own (tests/integration/traffic_kernels.c).

An emulator has no caches: every load takes the same. Its kept calibration is made to say that memory takes that long and caches
less, so that everything counts as memory; what is judged is how fast streams and gathers advance, by pairs of bursts, and that
loads ahead of streams are made. Long bursts follow so many lines as fit into their time, so for them an instruction takes
a nanosecond, in a boot of its own. The guest's clocks count instructions."""
import re
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
LONG_BURSTS = 6  # some hundred lines are followed in each
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
LONG = """
cd /tmp; out=/root/out
numalens record --traffic --budget 20 -o long.data -- %(program)s triad 8 1 1 > $out/record-long.out 2> $out/record-long.err
echo $? > $out/record-long.status
numalens report traffic --json long.data > $out/long.out 2> $out/long.err
echo $? > $out/long.status
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


def judge_long(tap, results):
    """Of a triad's arrays by long bursts: each line of all three is read once, one array's written back, while the program itself
    runs, which is what its bursts leave of the time. The speed that they count comes out an eighth low: of 63 instructions 7
    count."""
    answer, notes = results.json("long"), results.notes("record-long", "long")
    if not tap.check("long bursts: recorded and reported", answer is not None and results.status("record-long") == 0, *notes):
        return
    reuse = answer["reuse"]
    tap.check("long bursts: made", reuse["long_bursts"] >= LONG_BURSTS, reuse["long_bursts"], *notes)
    lines, truth = allocations(), counted(results.text("record-long.out"))
    rows = {row["line"]: row for row in reuse["caches"][0]["objects"]}
    own = 1 - float(re.search(r"sampling took ([\d.]+)%", results.text("record-long.err"))[1]) / 100
    for array, written in (("a", True), ("b", False), ("c", False)):
        row, rate = rows.get(lines[array], {}), truth[array][0] * LINE / answer["seconds"] / own
        read, back = row.get("read_bytes_s", 0), row.get("write_bytes_s", 0)
        tap.check(f"long bursts: bytes read of {array}", abs(read - rate) <= OFF * rate, read, rate, row)
        tap.check(f"long bursts: bytes written of {array}", abs(back - read) <= OFF * read if written else back == 0, back, read, row)
        tap.note(f"long bursts {array}: {read / rate - 1:+.1%}; {reuse['long_bursts']} bursts")


def judge(tap, build, folder):
    program = build / "tests" / "integration" / "traffic_kernels"
    script = SCRIPT % {"kernels": " ".join(KERNELS), "program": program, "seconds": SECONDS}
    words = "--arch", "arm64", "--nodes", "1", "--build", "--put", f"{program}:{program}"
    results = guest_case.boot(tap, folder, script, "--count", "4", *words)
    for kernel in KERNELS:
        judge_kernel(tap, results, kernel)
    judge_long(tap, guest_case.boot(tap, folder, LONG % {"program": program}, "--count", "0", *words, name="long"))


if __name__ == "__main__":
    sys.exit(guest_case.main(judge, ARM, [*guest_build.PROGRAMS, "tests/integration"]))
