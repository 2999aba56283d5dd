#!/usr/bin/env python3
"""Programs that forbid themselves system calls (seccomp) or the processor's counter (PR_SET_TSC): recorded up to then,
unharmed from then on, and the report says why there is no more."""
import functools
import signal

import nlens
from nlens import Folder, NUMALENS, Skip, check, example, note, record, report, run

# How, and the cause that the report counts; exec: once for the program, once for the one that it becomes.
WAYS = [
    ("strict", "restricted", 1),
    ("kill", "restricted", 1),
    ("trap", "restricted", 1),
    ("few", "restricted", 1),
    ("threads", "restricted", 1),
    ("crash", "restricted", 1),
    ("break", "restricted", 1),
    ("raw", "restricted", 1),
    ("exec", "restricted", 2),
    ("tsc", "no_counter", 1),
    ("tsc_raw", "no_counter", 1),
    ("probe", None, 0),
]
OFTEN = ["-F", "1000", "--budget", "50"]
SAID = {"restricted": b"seccomp", "no_counter": b"PR_SET_TSC"}


@functools.lru_cache(maxsize=None)
def without(way):
    """How it ends without record."""
    return run([example("restricted"), way])


def compare(way, cause, times, options):
    command, plain = [example("restricted"), way], without(way)
    if plain.out.startswith(b"refused"):
        raise Skip("the kernel refuses it")
    if way == "exec" and plain.status == -signal.SIGSYS:
        raise Skip("this libc needs a system call to start a program that is forbidden in this check")
    with Folder() as folder:
        ended = record(folder, command, options)
        assert ended.out == plain.out and ended.status == plain.status, "%s\nwithout record: %s" % (ended, plain)
        result = report(ended.trace)
        note("%s: %d samples, %s" % (" ".join(options), result["samples"], result["dropped"]))
        for other in SAID:
            if other != cause:
                assert other not in result["dropped"], result["dropped"]
        assert "child_untracked" not in result["dropped"], "counted twice: %s" % result["dropped"]
        if cause:
            assert result["dropped"][cause] == times, result["dropped"]
            text = run([NUMALENS, "report", "-v", "--width", "0", ended.trace]).out
            assert SAID[cause] in text and SAID[cause] in ended.err, ended
            assert b"process 0" not in text and b"without the agent" not in ended.err, ended
        return result["samples"]


def harmless(way, cause, times):
    def body():
        for options in (OFTEN, [*OFTEN, "--tick", "timer"], ["--source", "none"]):
            samples = compare(way, cause, times, options)
            assert samples > 0 or "none" in options, "nothing was sampled before it"
    return body


for _way, _cause, _times in WAYS:
    check("%s: same output and status, and the reason is given" % _way)(harmless(_way, _cause, _times))


nlens.main()
