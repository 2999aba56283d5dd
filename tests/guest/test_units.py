#!/usr/bin/env python3
"""Every unit test that is a program, built for x86-64 and run in the guest: on a machine of another kind that is the
only place where the x86-64 stepper, unwinder and agent run; on any machine, here they meet four real nodes."""
import pathlib
import re
import subprocess
import sys
import tempfile

import guest_build
import guest_machine
from guest_build import quote
from guest_tap import Tap

RUN = pathlib.Path(__file__).parent / "run"
# Long ones that damage files at random and read them: the same on every machine.
NOT_HERE = {"damage"}


def script(tests):
    lines = []
    for number, (_, command, environment, folder) in enumerate(tests):
        variables = " ".join(f"{name}={quote(value)}" for name, value in environment.items())
        lines += [f"mkdir -p {quote(folder)} && cd {quote(folder)}",
                  f"env {variables} timeout 200 {' '.join(map(quote, command))} >/root/out/{number} 2>&1",
                  f"echo $? >/root/out/{number}.status",
                  "cut -d' ' -f1 /proc/uptime >>/root/out/uptime"]
    return "\n".join(lines) + "\nexit 0\n"


def judge(tap, name, output, status):
    # cmocka writes "ok 1 - title" and "not ok 2 # SKIP title"
    results = re.findall(r"^(not )?ok \d+ (- |# SKIP )(.*)$", output, re.M)
    shown = False
    for bad, kind, title in results:
        if "SKIP" in kind:
            tap.check(f"{name}: {title} # SKIP", True)
        elif not tap.check(f"{name}: {title}", not bad) and not shown:
            tap.note(output)
            shown = True
    planned = re.search(r"^1\.\.(\d+)", output, re.M)
    if not planned or int(planned[1]) != len(results) or (status != 0 and not shown):
        tap.check(f"{name}: runs to its end", False, f"status {status}", output[-3000:])


def main():
    tap = Tap()
    try:
        guest_machine.kernel()
        build = guest_build.build()
        guest_machine.busybox()
    except guest_machine.Unavailable as reason:
        return tap.skip_all(reason)
    tests = [test for test in guest_build.unit_tests(build) if test[0] not in NOT_HERE]
    with tempfile.TemporaryDirectory() as folder:
        path = guest_build.scratch(script(tests), folder)
        puts = guest_build.puts(build, "tests", "src/agent", "src/cli")
        sources = guest_machine.PROJECT / "tests"
        puts += ["--put", f"{sources}:{sources}", "--with", "binutils,coreutils,xz-utils"]
        done = subprocess.run([RUN, "--timeout", "800", "--get", f"{folder}/out", *puts, "--put", f"{path}:script", "--",
                               "sh", "script"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            tap.check("the guest runs to its end", False, done.stdout)
        took = pathlib.Path(folder, "out", "uptime")
        tap.note("uptime after each test: " + " ".join(took.read_text().split() if took.exists() else []))
        for number, (name, *_) in enumerate(tests):
            status = pathlib.Path(folder, "out", f"{number}.status")
            if status.exists():
                output = pathlib.Path(folder, "out", str(number)).read_text(errors="replace")
                judge(tap, name, output, int(status.read_text()))
            else:
                tap.check(f"{name}: was run", False)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
