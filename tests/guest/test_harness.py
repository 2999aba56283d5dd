#!/usr/bin/env python3
"""The guest itself: status, output and files come back, the nodes are there, and a broken guest is not taken for a
good one."""
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

import guest_case
import guest_machine
from guest_tap import Tap

RUN = pathlib.Path(__file__).parent / "run"


def guest(*words):
    return subprocess.run([RUN, "--timeout", str(guest_case.PATIENCE), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL)


def type_into_shell(command, patience=guest_case.PATIENCE):
    """What a user sees who types it at the shell's prompt, and leaves."""
    shell = subprocess.Popen([RUN, "--shell"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    watchdog = threading.Timer(patience, shell.kill)
    watchdog.start()
    seen = b""
    while b"# " not in seen and (data := os.read(shell.stdout.fileno(), 4096)):
        seen += data
    shell.stdin.write(f"{command}\nexit\n".encode())
    shell.stdin.flush()
    while data := os.read(shell.stdout.fileno(), 4096):
        seen += data
    watchdog.cancel()
    return shell.wait(), seen


def main():
    tap = Tap()
    try:
        guest_machine.kernel()
        guest_machine.busybox()
    except guest_machine.Unavailable as reason:
        return tap.skip_all(reason)

    with tempfile.TemporaryDirectory() as folder:
        put = pathlib.Path(folder) / "put"
        put.write_bytes(b"it's \x00 here")
        script = ("cat put > out/copy; mkdir out/deep; echo '  deep' > out/deep/file; "
                  "cat /sys/devices/system/node/online; cat /sys/devices/system/node/node2/distance; "
                  "grep -c MemTotal /sys/devices/system/node/node?/meminfo; printf 'no newline'; echo error >&2; exit 42")
        done = guest("--put", str(put), "--get", f"{folder}/back", "--", "sh", "-c", script)
        lines = done.stdout.decode().splitlines()
        tap.is_equal("the command's status is ours", done.returncode, 42)
        tap.is_equal("four nodes are online", lines[:1], ["0-3"])
        tap.is_equal("distances are as asked for", lines[1:2], ["20 20 10 20"])
        tap.check("output without a newline and standard error arrive", b"no newlineerror\n" in done.stdout)
        back = pathlib.Path(folder) / "back"
        tap.check("files come back byte for byte",
                  back.is_dir() and (back / "copy").read_bytes() == put.read_bytes()
                  and (back / "deep/file").read_text() == "  deep\n")

        done = guest("--nodes", "2", "--", "sh", "-c",
                     "cat /sys/devices/system/node/online; echo 1 > /proc/sys/kernel/sysrq; echo c > /proc/sysrq-trigger")
        tap.is_equal("two nodes when asked for two", done.stdout, b"0-1\n")
        tap.is_equal("a panic is no success", done.returncode, 125)
        tap.check("the console's end is shown then", b"sysrq" in done.stderr.lower())

        done = guest("--timeout", "0.5", "--", "true")
        tap.is_equal("a guest that takes too long is given up", done.returncode, 124)

    status, seen = type_into_shell("echo nodes=$(cat /sys/devices/system/node/online)")
    tap.check("a shell in a guest with four nodes", status == 0 and b"nodes=0-3" in seen, seen.decode(errors="replace"))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
