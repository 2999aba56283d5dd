#!/usr/bin/env python3
"""The cross build for the other kind of machine: its unit tests that need no real kernel run under QEMU's user emulation."""
import pathlib
import platform
import re
import subprocess
import sys

from guest_tap import Tap

CROSS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "cross"


def main():
    tap = Tap()
    other = "x86_64" if platform.machine() == "aarch64" else "arm64"
    done = subprocess.run([CROSS, other, "--quick", "--test"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = done.stderr.strip().splitlines()
    if done.returncode == 77:
        return tap.skip_all(said[-1])
    counts = re.search(r"(\d+) passed, (\d+) failed", done.stderr)
    tap.check(f"unit tests for {other} pass", done.returncode == 0 and counts and int(counts[1]) > 100, *said[:-31:-1])  # the last line, which says most, first
    if counts:
        tap.note(said[-1])
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
