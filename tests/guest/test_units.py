#!/usr/bin/env python3
"""Unit tests of what meets a kernel or a processor, built for x86-64 and run in the guest: on a machine of another kind that
is the only place where the x86-64 stepper, unwinder and agent run; on any machine, here they meet four real nodes.

The clock counts instructions, so that a busy machine changes nothing. One node has a CPU: QEMU runs several one after the
other, in slices of up to a tenth of a second, and threads that wait for each other crawl."""
import platform
import re
import sys

import guest_build
import guest_case
import guest_machine
from guest_build import quote

# The rest reads and computes: it is tested on this machine, and most of it under QEMU's user emulation (guest-emulated).
ROOMS = {"agent", "capture", "count", "library", "migrate", "symbols", "topology"}
# Of these rooms, on a machine of the guest's own kind: what does not ask for nodes, and has been run there already.
# Reading symbols takes a tool chain that is four times as large as all the rest.
NATIVELY = {"agent", "symbols", "languages", "damaged", "decode_x86_64", "decode_zydis", "drain", "executor_streams", "program",
            "rotation", "stack", "session_hardware", "numap", "paper", "pages", "sessions", "migrate_regions", "count_plan",
            "code_files", "unwind", "unwind_cfi"}
TOOLS = ["--with", "binutils,coreutils,xz-utils"]


def script(tests):
    lines = []
    for number, (_, command, environment, folder) in enumerate(tests):
        variables = " ".join(f"{name}={quote(value)}" for name, value in environment.items())
        lines += [f"mkdir -p {quote(folder)} && cd {quote(folder)}",
                  f"env {variables} timeout {guest_case.LIMIT} {' '.join(map(quote, command))} >/root/out/{number} 2>&1",
                  f"echo $? >/root/out/{number}.status",
                  "cut -d' ' -f1 /proc/uptime >>/root/out/uptime"]
    return "\n".join(lines) + "\nexit 0\n"


def judge(tap, name, output, status):
    results = re.findall(r"^(not )?ok \d+ - (.*)$", output, re.M)
    shown = False
    for bad, title in results:
        if not tap.check(f"{name}: {title}", not bad) and not shown:
            tap.note(output)
            shown = True
    planned = re.search(r"^1\.\.(\d+)", output, re.M)
    if not planned or int(planned[1]) != len(results) or (status != 0 and not shown):
        tap.check(f"{name}: runs to its end", False, f"status {status}", output[-3000:])


def judge_all(tap, build, folder):
    every = guest_build.unit_tests(build)
    alike = platform.machine() == guest_machine.X86_64.machine
    elsewhere = NATIVELY if alike else set()
    tests = [test[1:] for test in every if test[0] in ROOMS and test[1] not in elsewhere]
    tap.note("not here: those of " + ", ".join(sorted({test[0] for test in every} - ROOMS)))
    tap.note("nor " + ", ".join(sorted(elsewhere) or ["any other"]))
    puts = guest_build.puts(build, *[f"tests/{room}" for room in sorted(ROOMS)], "src/agent", "src/cli", "src/executor", "src/lib")
    sources = guest_machine.PROJECT / "tests"
    results = guest_case.boot(tap, folder, script(tests), "--count", "0",
                              "--memory-only", "1,2,3", *puts, "--put",
                              f"{sources}:{sources}", *([] if alike else TOOLS))
    for number, (name, *_) in enumerate(tests):
        if results.text(f"{number}.status"):
            judge(tap, name, results.text(str(number)), results.status(str(number)))
        else:
            tap.check(f"{name}: was run", False)


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all))
