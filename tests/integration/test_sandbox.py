#!/usr/bin/env python3
"""The recorder, view and readers restrict themselves; the target does not inherit it; and where filters are refused, all goes on."""
import glob
import json
import os
import re
import subprocess
import time

import nlens
from nlens import Folder, NUMALENS, check, record, refuse, run, tool

# What the kernel says of the recorder's threads, once all are restricted, and of the target itself.
LOOK = r"""
import os, re, time
def status(path):
    text = open(path).read()
    return {name: re.search(r"^%s:\s*(\S+)" % name, text, re.M)[1] for name in ("NoNewPrivs", "Seccomp", "CapEff", "CapBnd")}
recorder = os.environ["NUMALENS_REGION"].split(":")[0]
while True:
    threads = [status("/proc/%s/task/%s/status" % (recorder, task)) for task in os.listdir("/proc/%s/task" % recorder)]
    if all(thread["Seccomp"] == "2" and thread["NoNewPrivs"] == "1" for thread in threads) or not WAIT:
        break
    time.sleep(0.01)
import glob
import json
print(json.dumps({"threads": threads, "own": status("/proc/self/status")}))
"""
SETUID, SYS_MODULE, NET_ADMIN, CHOWN = 7, 16, 12, 0


def works():
    """Whether a filter can be had here."""
    rows = json.loads(run([NUMALENS, "doctor", "--json"]).out)["checks"]
    return {row["id"]: row["status"] for row in rows}["sandbox"] == "works"


def look(folder, options=(), wait=True, **more):
    plain = run([tool("python3"), "-c", "import re; text = open('/proc/self/status').read(); "
                 "print(re.findall(r'^(?:NoNewPrivs|Seccomp|CapEff):\\s*(\\S+)', text, re.M))"], **more)
    ended = record(folder, [tool("python3"), "-c", LOOK.replace("WAIT", str(wait))], options, **more)
    assert ended.status == 0, ended
    return json.loads(ended.out), eval(plain.out)


@check("each thread of the recorder is restricted, and the target is as without it")
def threads():
    if not works():
        raise nlens.Skip("seccomp is refused here")
    with Folder() as folder:
        for options in ((), ("--rotate", "1s"), ("--source", "faults")):
            seen, plain = look(folder, options)
            assert len(seen["threads"]) >= 3, seen
            assert [seen["own"][name] for name in ("CapEff", "NoNewPrivs", "Seccomp")] == plain, (seen, plain)
            for thread in seen["threads"]:
                left = int(thread["CapEff"], 16)
                assert not left & (1 << SETUID | 1 << SYS_MODULE | 1 << NET_ADMIN | 1 << CHOWN), thread


@check("a recorder of a process that runs already is restricted too, and the process stays as it was")
def attached():
    if not works():
        raise nlens.Skip("seccomp is refused here")
    with Folder() as folder, subprocess.Popen([tool("python3"), "-c", "while True: pass"]) as target:
        rights = lambda path: dict(re.findall(r"^(CapEff|NoNewPrivs|Seccomp):\s*(\S+)", open(path).read(), re.M))  # noqa: E731
        own = "/proc/%d/status" % target.pid
        before = rights(own)
        recorder = subprocess.Popen([NUMALENS, "record", "-q", "-p", str(target.pid), "-o", os.path.join(folder, "trace")],
                                    stderr=subprocess.PIPE)
        try:
            while rights("/proc/%d/status" % recorder.pid)["Seccomp"] != "2":
                assert recorder.poll() is None, recorder.stderr.read()
                time.sleep(0.01)
            for thread in glob.glob("/proc/%d/task/*/status" % recorder.pid):
                seen = rights(thread)
                assert not int(seen["CapEff"], 16) & (1 << SETUID | 1 << SYS_MODULE | 1 << NET_ADMIN | 1 << CHOWN), seen
                assert seen["Seccomp"] == "2" and seen["NoNewPrivs"] == "1", seen
            assert rights(own) == before
        finally:
            recorder.terminate()
            recorder.communicate()
            target.kill()


@check("a child of the target that is set-user-ID gets its rights as without a recorder")
def setuid():
    with Folder() as folder:
        os.chmod(folder, 0o755)
        program = os.path.join(folder, "id")
        with open(tool("id"), "rb") as source, open(program, "wb") as copy:
            copy.write(source.read())
        os.chmod(program, 0o4755)
        if os.geteuid() == 0:
            os.chown(program, 65534, 65534)
            os.chmod(program, 0o4755)
        plain = run(["sh", "-c", program + " -u"])
        ended = record(folder, ["sh", "-c", "sleep 0.1; %s -u" % program])
        assert ended.status == 0 and ended.out == plain.out, (plain, ended)


@check("where filters are refused, recording, reading and serving go on, and doctor says so")
def refused():
    with Folder() as folder:
        seen, _ = look(folder, wait=False, prepare=refuse("seccomp"))
        assert len(seen["threads"]) >= 1, seen
        trace = os.path.join(folder, "numalens.data")
        assert run([NUMALENS, "report", trace], prepare=refuse("seccomp")).status == 0
        rows = json.loads(run([NUMALENS, "doctor", "--json"], prepare=refuse("seccomp")).out)["checks"]
        row = {row["id"]: row for row in rows}["sandbox"]
        assert row["status"] == "limited" and "not permitted" in row["detail"], row


@check("a reader of foreign files starts no program and opens no socket")
def readers():
    with Folder() as folder:
        trace = record(folder, [tool("true")]).trace
        for command in (["report", trace], ["export", "--format", "text", trace], ["report", "--json", trace],
                        ["advise", trace]):
            log = os.path.join(folder, "log")
            ended = run([tool("strace"), "-f", "-o", log, "-e", "trace=seccomp,execve,socket,clone,fork,vfork", NUMALENS, *command])
            if ended.status != 0 and b"ptrace" in ended.err:
                raise nlens.Skip("strace cannot trace here")
            assert ended.status == 0, ended
            calls = open(log).read()
            assert "SECCOMP_SET_MODE_FILTER" in calls, calls
            assert "socket(" not in calls and calls.count("execve(") == 1, calls


@check("view is restricted once it serves")
def view():
    if not works():
        raise nlens.Skip("seccomp is refused here")
    with Folder() as folder:
        trace = record(folder, [tool("true")]).trace
        with subprocess.Popen([NUMALENS, "view", "--no-open", trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as served:
            try:
                line = served.stdout.readline()
                assert b"http://" in line, line
                while "Seccomp:\t2" not in open("/proc/%d/status" % served.pid).read():
                    assert served.poll() is None
            finally:
                served.terminate()


nlens.main()
