#!/usr/bin/env python3
"""A target can write whatever it likes into the memory that it shares with the recorder: the recorder ends as ever, with the
program's exit status and a file that can be read."""
import os
import shutil
import subprocess

import nlens
from nlens import NUMALENS, check, run

PROGRAM = os.path.join(nlens.BUILD, "tests", "integration", "hostile_region")
PASSES = 200


def attack(way, *options):
    with nlens.Folder() as folder:
        ended = nlens.record(folder, [PROGRAM, str(way)], options)
        # Below 0: a signal ended the recorder. The program that writes has no agent that it could harm.
        assert ended.status == 0 and ended.out == b"done\n", ended
        for name in sorted(os.listdir(folder)):
            reported = run([NUMALENS, "report", os.path.join(folder, name)])
            assert reported.status == 0, reported


@check("pointers of the target's around the recorder's robust futex")
def _():
    attack("list")


@check("a process for each ring, each the parent of the next, with 900 MiB of rings")
def _():
    attack("nest", "--memory", "1400")


for source in ("soft", "none"):
    @check("any bytes in the header, rings that look claimed, heads and tails of any value: --source " + source)
    def _(source=source):
        attack(PASSES, "--source", source)


@check("the same while files rotate")
def _():
    attack(PASSES, "--rotate", "1s")


@check("its size cannot be changed, and holes in it are no records")
def _():
    attack("resize")


@check("an agent does not use a region that has another number than the session's")
def _():
    script = """IFS=: read -r pid fd number filters <<.
$NUMALENS_REGION
.
NUMALENS_REGION=$pid:$fd:%s:$filters %s victim </dev/null"""
    for wrong, number in enumerate(("$number", "1$number")):
        with nlens.Folder() as folder:
            ended = nlens.record(folder, ["sh", "-c", script % (number, PROGRAM)], ["--source", "none"])
            assert ended.status == 0, ended
            events = run([NUMALENS, "export", "--format", "events", "-o", "-", ended.trace])
            # Without its agent a program is known to perf alone, which does not know its arguments.
            named = [line for line in events.out.decode().splitlines() if "exe=%s " % PROGRAM in line and "victim" in line]
            assert bool(named) != bool(wrong), events


@check("apply: any bytes in the plan that the agent follows, and its size")
def _():
    with nlens.Folder() as folder:
        plan = os.path.join(folder, "it.plan")
        with open(plan, "w") as stream:
            stream.write("numalens plan 1\nthread main @ node 0\nsite main @ bind 0\n")
        ended = run([NUMALENS, "apply", plan, "--", PROGRAM, "plan"])
        assert ended.status == 0 and ended.out == b"done\n", ended


def offered(what):
    """Whether the recorder takes a userfaultfd that the target offers."""
    with nlens.Folder() as folder:
        ended = nlens.record(folder, [PROGRAM, "offer:" + what], ["--source", "faults", "--mechanism", "uffd-wp"])
        if ended.status == 1 and b"userfaultfd" in ended.err:
            raise nlens.Skip("userfaultfd cannot be used here")
        assert ended.status == 0 and ended.out.endswith(b"taken\ndone\n"), ended
        return ended.out == b"taken\ndone\n"


@check("an offer in the name of a process outside of the recorded tree is not taken")
def _():
    assert offered("0:0"), "not even the target's own"
    with subprocess.Popen([PROGRAM, "victim"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as victim:
        who = victim.stdout.readline().decode().strip()
        assert not who.endswith(":-1"), who
        assert not offered(who), "%s, of another process" % who


@check("another user's target and root's recorder")
def _():
    if os.geteuid() != 0:
        raise nlens.Skip("only root can record for another user")
    with nlens.Folder() as folder:
        numalens, program = nlens.copied(folder), shutil.copy(PROGRAM, folder)
        ended = run([numalens, "record", "-o", os.path.join(folder, "numalens.data"), "--", nlens.tool("setpriv"),
                     "--reuid=65534", "--clear-groups", program, "list"])
        assert ended.status == 0 and ended.out == b"done\n", ended


nlens.main()
