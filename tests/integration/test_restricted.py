#!/usr/bin/env python3
"""Programs that forbid themselves system calls (seccomp) or the processor's counter (PR_SET_TSC): recorded up to then,
unharmed from then on, and the report says why there is no more. And memory (protection keys): recorded, under their own rights."""
import functools
import signal

import nlens
from nlens import Folder, NUMALENS, Skip, check, example, note, record, report, row_at, run, site_line, work

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
SAID = {"restricted": b"seccomp", "no_counter": b"PR_SET_TSC", "no_tick": b"not sampled: no ticks"}


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


KEYS = {"open": "memory that it may use, in front of memory that it may not", "gates": "memory opened for each pass and closed behind it",
        "faults": "SIGSEGV for closed memory, again and again"}


def under_keys(way):
    def body():
        command = [example("keys"), way]
        if run(command).out.startswith(b"refused"):
            raise Skip("this machine has no protection keys")
        for options in (OFTEN, [*OFTEN, "--tick", "timer"], ["--source", "none"]):
            with Folder() as folder:
                ended = record(folder, command, options, bursts=0 if "none" in options else 20)
                plain = run(command, environment=work(ended.longer))
                assert ended.out == plain.out and ended.status == plain.status == 0, "%s\nwithout record: %s" % (ended, plain)
                if "none" not in options:
                    numbers = row_at(report(ended.trace)["objects"], "keys.c", site_line("harmless/keys.c", "numbers"))
                    note("%s: %d samples under the key" % (" ".join(options), numbers["samples"]))
    return body


for _way, _what in KEYS.items():
    check("protection keys, %s: same output, and recorded" % _what)(under_keys(_way))


@check("past: timers refused by a filter that no function of libc knows of: nothing is sampled any more, and it is said")
def past_libc():
    assert compare("past", "no_tick", 1, [*OFTEN, "--tick", "timer"]) > 0, "nothing was sampled before it"


nlens.main()
