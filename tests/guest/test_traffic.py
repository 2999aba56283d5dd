#!/usr/bin/env python3
"""Bytes from memory on an Arm machine, by long bursts, against programs that count their own (tests/integration/traffic_kernels.c).

The guest's clock counts instructions, a nanosecond each: then some hundred lines are followed in each burst. The speed that
bursts count comes out low by the instructions that count, of a triad one in nine."""
import sys

import guest_build
import guest_case
import guest_machine

ARM = guest_machine.Kind("arm64")
PARTS = ("src/cli", "src/agent", "tests/integration/traffic_kernels")
LONG_BURSTS = 6
OFF = 0.3   # of the bytes
LINE = 64
# Of each array that is judged, whether it is written back.
MIB = 32  # of each array; a gather finds some of its lines in the smallest cache that is reported, of 1 MiB
KERNELS = {"triad": {"a": True, "b": False, "c": False}, "gather": {"a": False}}
SCRIPT = """
cd /tmp; out=/root/out
for kernel in %(kernels)s; do
    %(build)s/src/cli/numalens record --budget 20 -o $out/$kernel.data -- %(build)s/tests/integration/traffic_kernels $kernel %(mib)d 1 1 > $out/record-$kernel.out 2> $out/record-$kernel.err
    echo $? > $out/record-$kernel.status
done
"""


def allocations():
    source = (guest_machine.PROJECT / "tests" / "integration" / "traffic_kernels.c").read_text().splitlines()
    return {line.split("site: ")[1].split()[0]: number for number, line in enumerate(source, 1) if "site: " in line}


def counted(text):
    """Lines read, by array."""
    return {words[0]: int(words[1]) for words in map(str.split, text.splitlines()) if words[0] != "took"}


def judge_kernel(tap, results, kernel):
    """Each line of an array is read once, and perhaps written back."""
    answer, notes = guest_case.reported(results, kernel, "traffic"), results.notes(f"record-{kernel}", f"{kernel}.report")
    if not tap.check(f"{kernel}: recorded and reported", answer is not None and results.status(f"record-{kernel}") == 0, *notes):
        return
    bursts = answer["long_bursts"]
    tap.check(f"{kernel}: long bursts", bursts >= LONG_BURSTS, bursts, *notes)
    lines, truth = allocations(), counted(results.text(f"record-{kernel}.out"))
    rows = {row["line"]: row["traffic"]["caches"][0] for row in answer["objects"] if row["traffic"]}
    for array, written in KERNELS[kernel].items():
        row, rate = rows.get(lines[array], {}), truth[array] * LINE / answer["seconds"]
        read, back = row.get("read_bytes_s", 0), row.get("write_bytes_s", 0)
        tap.check(f"{kernel}: bytes read of {array}", abs(read - rate) <= OFF * rate, read, rate, row)
        tap.check(f"{kernel}: bytes written of {array}", abs(back - read) <= OFF * read if written else back == 0, back, read, row)
        tap.note(f"{kernel} {array}: {read / rate - 1:+.1%}; {bursts} long bursts")


def judge(tap, build, folder):
    script = SCRIPT % {"kernels": " ".join(KERNELS), "mib": MIB, "build": build}
    results = guest_case.boot(tap, folder, script, "--arch", "arm64", "--nodes", "1", "--count", "0", *guest_build.puts(build, *PARTS))
    for kernel in KERNELS:
        judge_kernel(tap, results, kernel)


if __name__ == "__main__":
    sys.exit(guest_case.main(judge, ARM, PARTS))
