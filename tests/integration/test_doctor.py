#!/usr/bin/env python3
"""numalens doctor: what it says where all is well, where the kernel refuses, for users without rights, and where nothing
can work. What each trial must find is forced from outside, by filters and by missing files."""
import json
import os
import platform
import pty
import shutil
import subprocess

import nlens
from nlens import Folder, Skip, check, note, refuse, run

IDS = {"recording", "tick_perf", "tick_timer", "executable_memory", "faults", "pmu", "homes", "region",
       "numa_hint", "uffd_wp", "soft_dirty_faults", "numa_balancing",
       "user", "perf_event_paranoid", "ptrace_scope", "outside", "seccomp", "sandbox", "memlock"}
MEMFD_CREATE = {"x86_64": 319, "aarch64": 279}


def doctor(prefix=(), prepare=None, binary=nlens.NUMALENS):
    """doctor --json, with its checks by id."""
    ended = run([*prefix, binary, "doctor", "--json"], prepare=prepare)
    assert ended.err == b"", ended
    found = json.loads(ended.out)
    assert (ended.status == 0) == found["works"], ended
    found["by_id"] = {row["id"]: row for row in found["checks"]}
    return found


def status(found, name):
    return found["by_id"][name]["status"]


@check("as JSON: every check with its status, why not, and the topology")
def as_json():
    found = doctor()
    assert found["version"] == 3 and found["works"]
    assert set(found["by_id"]) == IDS, set(found["by_id"]) ^ IDS
    for row in found["checks"]:
        assert row["status"] in ("works", "limited", "missing", "fact"), row
        assert row["group"] in ("sources", "mechanisms", "homes", "permissions"), row
        assert row["detail"] and row["name"], row
    assert status(found, "recording") == "works", found["by_id"]["recording"]
    topology = found["topology"]
    assert not topology["simulated"]
    cpus = sorted(cpu for node in topology["nodes"] for cpu in node["cpus"])
    assert set(os.sched_getaffinity(0)) <= set(cpus), cpus
    for index, node in enumerate(topology["nodes"]):
        assert node["distances"][index] == 10 and len(node["distances"]) == len(topology["nodes"]), node


@check("as text: the answer first, aligned, no colours in a pipe, no line too long")
def as_text():
    ended = run([nlens.NUMALENS, "doctor"])
    assert ended.status == 0 and ended.err == b"", ended
    text = ended.out.decode()
    lines = text.splitlines()
    hardware = status(doctor(), "pmu") == "works"
    sampler = "hardware samples" if hardware else "soft sampler with "
    assert lines[0].startswith("numalens record works here: " + sampler), lines[0]
    assert "\033" not in text
    assert max(len(line) for line in lines[3:]) <= 110, max(lines[3:], key=len)
    for title in ("Sources of samples", "Home nodes of pages", "Topology", "Permissions"):
        assert title in lines, text
    names = [row["name"] for row in doctor()["checks"]]
    assert all(any(line[8:].startswith(name) for line in lines) for name in names), text


@check("colours on a terminal, unless NO_COLOR is set")
def colours():
    for variables, wanted in (({}, True), ({"NO_COLOR": "1"}, False)):
        main_end, terminal = pty.openpty()
        process = subprocess.Popen([nlens.NUMALENS, "doctor"], stdout=terminal, stdin=subprocess.DEVNULL,
                                   env={**nlens.ENVIRONMENT, **variables})
        os.close(terminal)
        text = b""
        try:
            while chunk := os.read(main_end, 65536):
                text += chunk
        except OSError:
            pass  # how a terminal says that nobody writes to it any more
        os.close(main_end)
        assert process.wait() == 0
        assert (b"\033[" in text) == wanted, text[:500]


@check("a seccomp filter that refuses perf_event_open: timers, first touch from samples, and the remedy")
def no_perf():
    for error in (1, 13, 38):
        found = doctor(prepare=refuse("perf_event_open", error=error))
        assert found["works"], found["answer"]
        assert "timer ticks" in found["answer"] and "first touch from samples" in found["answer"], found["answer"]
        assert status(found, "tick_timer") == "works" and status(found, "recording") == "works"
        for name in ("tick_perf", "faults"):
            row = found["by_id"][name]
            assert row["status"] == "missing", row
            paranoid = int(open("/proc/sys/kernel/perf_event_paranoid").read()) > 2 and os.geteuid() != 0
            assert ("sysctl" if paranoid else "seccomp") in row["remedy"], row
        assert status(found, "seccomp") == "limited"
        assert status(found, "homes") == "works"


@check("a filter that refuses move_pages: homes are not known, record still works")
def no_homes():
    found = doctor(prepare=refuse("move_pages"))
    assert found["works"] and "home nodes not known" in found["answer"], found["answer"]
    assert status(found, "homes") == "missing" and found["by_id"]["homes"]["remedy"]


@check("a filter that refuses memfd_create: record cannot work, and exit status 1 says so")
def no_memory():
    if platform.machine() not in MEMFD_CREATE:
        raise Skip("no system call number for %s" % platform.machine())
    nlens._SYSTEM_CALLS[platform.machine()]["memfd_create"] = MEMFD_CREATE[platform.machine()]
    prepare = refuse("memfd_create")
    found = doctor(prepare=prepare)
    assert not found["works"] and status(found, "region") == "missing", found["answer"]
    ended = run([nlens.NUMALENS, "doctor"], prepare=prepare)
    assert ended.status == 1, ended
    assert ended.out.startswith(b"numalens record cannot work here: "), ended


@check("without a PMU: doctor and record --source say so in one line each, and what to use instead")
def no_pmu():
    found = doctor()
    if status(found, "pmu") == "works":
        raise Skip("this machine has one")
    row = found["by_id"]["pmu"]
    assert row["detail"].startswith("no PMU") and "soft sampler" in row["remedy"] and "\n" not in row["detail"], row
    with Folder() as folder:
        output = os.path.join(folder, "out.data")
        for source in ("pebs", "ibs", "spe"):
            ended = run([nlens.NUMALENS, "record", "--source", source, "-o", output, "--", "/bin/true"])
            assert ended.status == 1 and ended.out == b"", ended
            lines = ended.err.decode().splitlines()
            assert len(lines) == 1 and "no PMU" in lines[0] and "--source soft" in lines[0], lines
            assert not os.path.exists(output)
        ended = run([nlens.NUMALENS, "record", "-a", "-o", output])
        assert ended.status == 1 and b"no PMU" in ended.err and ended.err.count(b"\n") == 1, ended
        assert b"--source faults" in ended.err and not os.path.exists(output), ended
        ended = run([nlens.NUMALENS, "record", "-v", "-o", output, "--", "/bin/true"])
        assert ended.status == 0 and b"not from hardware: there is no PMU" in ended.err, ended
        ended = run([nlens.NUMALENS, "record", "--source", "auto", "-c", "1000", "-o", output, "--", "/bin/true"])
        assert ended.status == 1 and b"no PMU" in ended.err, ended
        ended = run([nlens.NUMALENS, "record", "--source", "soft", "-c", "1000", "-o", output, "--", "/bin/true"])
        assert ended.status == 2 and b"--period" in ended.err, ended


@check("a user without rights gets the same samples")
def nobody():
    if os.geteuid() != 0:
        raise Skip("needs root to become nobody")
    prefix = [nlens.tool("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
              "--inh-caps=-all", "--"]
    with Folder() as folder:
        found = doctor(prefix, binary=nlens.copied(folder))
    note(found["answer"])
    assert found["works"] and status(found, "recording") == "works", found["by_id"]["recording"]
    assert "uid 65534" in found["by_id"]["user"]["detail"] and "without" in found["by_id"]["user"]["detail"]
    assert status(found, "homes") == "works"
    if int(open("/proc/sys/kernel/perf_event_paranoid").read()) > 2:
        assert "sysctl kernel.perf_event_paranoid=2" in found["by_id"]["tick_perf"]["remedy"]


@check("without the agent's library beside it, doctor says that it is missing")
def no_agent():
    with Folder() as folder:
        lonely = shutil.copy(nlens.NUMALENS, folder)
        found = doctor(binary=lonely)
        assert not found["works"] and "libnumalens-agent.so" in found["answer"], found["answer"]


@check("wrong usage ends with status 2 and one line")
def usage():
    for arguments in (["extra"], ["--no-such-option"]):
        ended = run([nlens.NUMALENS, "doctor", *arguments])
        assert ended.status == 2 and ended.out == b"" and ended.err.startswith(b"numalens doctor: "), ended


@check("nothing is left behind in the folder for temporary files")
def tidy():
    with Folder() as folder:
        ended = run([nlens.NUMALENS, "doctor"], environment={"TMPDIR": folder})
        assert ended.status == 0 and os.listdir(folder) == [], os.listdir(folder)
        ended = run([nlens.NUMALENS, "doctor"], environment={"TMPDIR": folder + "/none"})
        assert ended.status == 1 and b"TMPDIR" in ended.out, ended


nlens.main()
