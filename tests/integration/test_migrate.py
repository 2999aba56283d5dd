#!/usr/bin/env python3
"""numalens migrate over simulated nodes: the whole way from samples to moves, on any machine. Real nodes: tests/guest."""
import json
import os
import signal
import subprocess
import time

import nlens
from nlens import check

TWO = ["--topology", "numa:2 core:2", "--assign", "round-robin", "--interval", "100ms"]
LASTS = 1.0  # seconds of CPU time: ten intervals, more where the machine is busy


def migrate(folder, options, program, **rest):
    """Returns how it ended and the JSON."""
    path = os.path.join(folder, "reported.json")
    ended = nlens.run([nlens.NUMALENS, "migrate", *options, "--json=" + path, "--", *program], folder=folder, **rest)
    reported = None
    if os.path.exists(path):
        with open(path) as stream:
            reported = json.load(stream)
    return ended, reported


def handover():
    return [nlens.example("handover"), nlens.rounds("handover", LASTS)]


@check("pages go to the thread that uses them, and remote accesses fall")
def _():
    with nlens.Folder() as folder:
        plain = nlens.run(handover())
        ended, reported = migrate(folder, [*TWO, "--policy=neighbours:64", "-v"], handover())
        assert ended.status == 0, ended
        assert ended.out == plain.out, ended
        assert reported["simulated"] and reported["total"]["moved"] > 100, reported["total"]
        # Nothing has moved in the first interval with a remote sample: what is local there is the maker's, which runs for a
        # millisecond or two.
        first = next(n for n, i in enumerate(reported["intervals"]) if i["remote"])
        before, after = reported["intervals"][first], [i for i in reported["intervals"][first + 1:] if i["home_known"] >= 20]
        assert before["home_known"] - before["remote"] <= 16, before
        assert after and min(i["remote_ratio"] for i in after) < 0.05, (before, after)
        assert b"#1 " in ended.err and b"remote" in ended.err, ended
        assert sum(i["moved"] for i in reported["intervals"]) == reported["total"]["moved"]
        assert reported["overhead"] > 0 and reported["monitor_ns"] > 0


@check("a recording kept beside it shows the pages' new homes")
def _():
    with nlens.Folder() as folder:
        trace = os.path.join(folder, "kept.data")
        ended, reported = migrate(folder, [*TWO, "--policy=neighbours:64", "-o", trace], handover())
        assert ended.status == 0, ended
        still = nlens.report(trace)["remote_ratio"]
        ended, _ = migrate(folder, [*TWO, "--policy=none", "--keep-going", "-o", trace], handover())
        never = nlens.report(trace)["remote_ratio"]
        assert never > 0.9 and still < never - 0.1, (still, never)


@check("--dry-run moves nothing and says what it would")
def _():
    with nlens.Folder() as folder:
        ended, reported = migrate(folder, [*TWO, "--dry-run", "--keep-going"], handover())
        assert ended.status == 0 and reported["dry_run"], ended
        assert reported["total"]["moved"] > 10 and reported["remote_ratio_last"] > 0.9, reported["total"]
        assert b"would have moved" in ended.err, ended


@check("it stays out of the way when there is nothing to gain, and says so")
def _():
    with nlens.Folder() as folder:
        ended, reported = migrate(folder, [*TWO, "--interval=20ms"], [nlens.example("ratio"), nlens.rounds("ratio", 0.5)])
        assert ended.status == 0, ended
        assert reported["intervals_paused"] > 0 and reported["pauses"].get("nothing_to_gain", 0) > 0, reported
        assert b"paused for" in ended.err and b"nothing to gain" in ended.err, ended


@check("a policy of one's own is loaded, and what it has to say is said")
def _():
    library = os.path.join(nlens.BUILD, "examples", "policies", "quiet_writers.so")
    with nlens.Folder() as folder:
        ended, reported = migrate(folder, [*TWO, "--policy", library + ":1"], handover())
        assert ended.status == 0, ended
        assert reported["total"]["requests"] > 0 and reported["policy_says"], reported
        assert b"was not written" in ended.err, ended


@check("a policy that asks for nonsense is caught, counted, said")
def _():
    library = os.path.join(nlens.BUILD, "tests", "migrate", "policy_nonsense.so")
    with nlens.Folder() as folder:
        ended, reported = migrate(folder, [*TWO, "--policy", library], handover())
        assert ended.status == 0 and reported["total"]["invalid_requests"] > 0 and reported["total"]["moved"] == 0, ended
        assert b"invalid requests" in ended.err and b"nodes that do not exist" in ended.err, ended


@check("a policy that hangs does not keep the program waiting")
def _():
    library = os.path.join(nlens.BUILD, "tests", "migrate", "policy_hanging.so")
    with nlens.Folder() as folder:
        plain = nlens.run(handover())
        ended, reported = migrate(folder, [*TWO, "--policy", library], handover())
        assert ended.status == 0 and ended.out == plain.out, ended
        assert "policy" in reported["hangs"] and b"did not return" in ended.err, ended


@check("a process that runs already is sampled from outside until it ends, and may be recorded meanwhile")
def _():
    with nlens.Folder() as folder:
        path, trace = os.path.join(folder, "reported.json"), os.path.join(folder, "kept.data")
        with subprocess.Popen([nlens.example("handover"), nlens.rounds("handover", 4 * LASTS)], stdout=subprocess.DEVNULL) as program:
            ended = nlens.run([nlens.NUMALENS, "migrate", *TWO, "--keep-going", "--json=" + path, "-o", trace, "-p", str(program.pid)])
            assert program.wait() == 0
        assert ended.status == 0 and b"process %d ended; seen of it: " % program.pid in ended.err, ended
        with open(path) as stream:
            reported = json.load(stream)
        assert len(reported["intervals"]) > 2 and reported["total"]["samples"] > 0, reported["total"]
        assert nlens.report(trace)["samples"] > 0


@check("wrong usage is said in one line")
def _():
    ratio = nlens.example("ratio")
    for options, words in (
            (["--policy=best", *TWO, "--", ratio], "there is no policy 'best'"),
            (["--policy=./none.so", *TWO, "--", ratio], "cannot be loaded"),
            (["--interval=5", "--", ratio], "--interval"),
            (["--max-bytes=lots", "--", ratio], "--max-bytes"),
            (["--source=none", "--", ratio], "without samples"),
            ([], "a program to run is missing"),
            (["-p", "1", "--", ratio], "only one of both"),
            (["-p", "1", "--source=soft"], "nothing is put into a process"),
            (["-p", "0"], "a number from 1"),
    ):
        ended = nlens.run([nlens.NUMALENS, "migrate", *options])
        assert ended.status in (1, 2) and words.encode() in ended.err, (options, str(ended))
        assert len(ended.err.splitlines()) == 1, (options, str(ended))


@check("a machine with one node: the program runs, and it is said, with the remedy")
def _():
    if os.path.exists("/sys/devices/system/node/node1"):
        raise nlens.Skip("this machine has several nodes")
    ended = nlens.run([nlens.NUMALENS, "migrate", "--", nlens.example("ratio")])
    assert ended.status == 0 and b"one memory node" in ended.err and b"--topology" in ended.err, ended


@check("the program's status and signal are passed on, whatever it does")
def _():
    with nlens.Folder() as folder:
        for word, status in (("exit 7", 7), ("kill -TERM $$", -signal.SIGTERM), ("exec false", 1)):
            ended, _ = migrate(folder, TWO, ["sh", "-c", word])
            assert ended.status == status, (word, str(ended))
        ended, _ = migrate(folder, TWO, ["./not-there"])
        assert ended.status == 127, ended


def program_of(pid):
    try:
        return os.path.basename(os.readlink("/proc/%s/exe" % pid))
    except FileNotFoundError:  # exited meanwhile
        return ""


@check("when numalens is killed the program goes on")
def _():
    with nlens.Folder() as folder:
        plain = nlens.run(handover())
        out = os.path.join(folder, "out")
        with open(out, "wb") as stream:
            tool = subprocess.Popen([nlens.NUMALENS, "migrate", *TWO, "--", *handover()], stdout=stream,
                                    stderr=subprocess.PIPE, cwd=folder, env=nlens.ENVIRONMENT)
        children = "/proc/%d/task/%d/children" % (tool.pid, tool.pid)
        child, end = 0, time.monotonic() + nlens.PATIENCE
        while time.monotonic() < end and not child:
            with open(children) as stream:
                child = next((int(pid) for pid in stream.read().split() if program_of(pid) == "handover"), 0)
        assert child, "the program did not start"
        tool.kill()
        tool.communicate()
        while time.monotonic() < end and os.path.getsize(out) == 0:
            time.sleep(0.05)
        with open(out, "rb") as stream:
            assert stream.read() == plain.out


@check("a system without move_pages: said, nothing is lost")
def _():
    with nlens.Folder() as folder:
        # A simulated machine needs none; a real one says so. This machine's own nodes are what they are.
        ended, reported = migrate(folder, TWO, handover(), prepare=nlens.refuse("move_pages"))
        assert ended.status == 0 and reported["total"]["moved"] > 0, ended


nlens.main()
