#!/usr/bin/env python3
"""numalens stat: what it counts on this machine and on machines that are only files, that the program it runs behaves as
without it, and what it says where counters are refused."""
import json
import os
import pty
import re
import signal
import subprocess
import sys

import nlens
from nlens import Folder, Skip, check, refuse, run

MACHINES = os.path.join(nlens.SOURCE, "tests", "count", "machines")
ALLOCATIONS = {"hit", "miss", "foreign", "by_own_cpus", "by_other_cpus"}
# Small pages of memory that is touched: each is one allocation.
PAGES = 16384
TOUCH = """
import mmap
memory = mmap.mmap(-1, %d * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(%d):
    memory[page * mmap.PAGESIZE] = 1
""" % (PAGES, PAGES)


def make_machine(name, folder):
    """tests/count/tree.h says what the lists mean."""
    def write(path, content):
        braces = re.search(r"\{(\d+)-(\d+)\}", path)
        if braces:
            for number in range(int(braces[1]), int(braces[2]) + 1):
                write(path[:braces.start()] + str(number) + path[braces.end():], content)
            return
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(content.replace("\\n", "\n") + "\n")
    with open(os.path.join(MACHINES, name + ".txt"), encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                path, _, content = line.rstrip("\n").partition(" = ")
                write(path, content)


def stat(*words, **rest):
    return run([nlens.NUMALENS, "stat", *words], **rest)


def stat_json(*words, **rest):
    """stat --json, parsed; with its own exit status in `ended`."""
    with Folder() as folder:
        path = os.path.join(folder, "stat.json")
        ended = stat("--json", "-o", path, *words, **rest)
        with open(path, encoding="utf-8") as file:
            reported = json.load(file)
        reported["ended"] = ended
        return reported


def real_nodes():
    names = os.listdir("/sys/devices/system/node")
    return sorted(int(name[4:]) for name in names if re.fullmatch(r"node\d+", name))


@check("as JSON: all nodes, what was refused and why, intervals that add up to the whole")
def as_json():
    reported = stat_json("-I", "20", "-d", "0.2", "-s", "numastat")
    assert reported["ended"].status == 0 and reported["ended"].out == reported["ended"].err == b"", reported["ended"]
    assert reported["version"] == 3 and reported["source"] == "numastat" and reported["unit"] == "allocations"
    assert reported["counted_at"] == "allocation" and reported["command"] is None and reported["exit_status"] is None
    assert [row["nodes"] for row in reported["total"]["nodes"]] == [[node] for node in real_nodes()]
    assert reported["intervals"], reported
    for before, after in zip(reported["intervals"], reported["intervals"][1:]):
        assert before["end_s"] == after["start_s"] < after["end_s"], (before, after)
    assert reported["intervals"][0]["start_s"] == 0
    assert abs(reported["intervals"][-1]["end_s"] - reported["total"]["duration_s"]) < 1e-5
    for index, row in enumerate(reported["total"]["nodes"]):
        assert ALLOCATIONS <= set(row), row
        for column in ALLOCATIONS:
            parts = sum(interval["nodes"][index][column] for interval in reported["intervals"])
            assert parts == row[column], (column, parts, row)


@check("the best that can be had is taken, and each better source says why not")
def best():
    reported = stat_json("-d", "0.01")
    order = ["uncore", "resctrl", "numastat"]
    assert reported["source"] in order
    refused = [row["source"] for row in reported["refused"]]
    assert [name for name in order if name in refused] == order[:order.index(reported["source"])], reported
    assert all(len(row["reason"]) > 20 for row in reported["refused"])
    for row in reported["refused"]:
        if row["source"] not in (reported["source"], ):
            ended = stat("-s", row["source"], "-d", "0.01")
            assert ended.status == 1 and ended.out == b"" and ended.err.count(b"\n") == 1, ended


@check("allocations: at least the pages that the program touched")
def allocations():
    reported = stat_json("-s", "numastat", "--", sys.executable, "-c", TOUCH)
    assert reported["ended"].status == 0, reported["ended"]
    assert sum(row["hit"] + row["miss"] for row in reported["total"]["nodes"]) >= PAGES, reported["total"]
    assert reported["command"][0] == sys.executable and reported["exit_status"] == 0


@check("the program's output, input, environment, signals and files are as without")
def same_program():
    script = ("cat; env | grep -v '^_=' | sort; grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status; ls /proc/self/fd; "
              "ulimit -a; echo problem >&2; exit 3")
    with Folder() as folder:
        for prepare in (None, lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
                        lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
                        lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])):
            plain = run(["sh", "-c", script], input=b"words\n", prepare=prepare)
            counted = stat("-o", os.path.join(folder, "table"), "-I", "10", "--", "sh", "-c", script, input=b"words\n",
                           prepare=prepare)
            assert (plain.status, plain.out, plain.err) == (counted.status, counted.out, counted.err), (plain, counted)
            assert counted.status == 3


@check("exit status and death are the program's; what cannot be run is reported as by a shell, and nothing else")
def endings():
    assert stat("--", "true").status == 0
    assert stat("--", "sh", "-c", "exit 77").status == 77
    assert stat("--", "sh", "-c", "kill -TERM $$").status == -signal.SIGTERM
    assert stat("--", "sh", "-c", "kill -KILL $$").status == -signal.SIGKILL
    for words, status in ((["./no such"], 127), (["/etc/passwd"], 126)):
        for option in ([], ["--json"]):
            ended = stat(*option, "--", *words)
            assert ended.status == status and ended.out == b"", ended
            assert ended.err.count(b"\n") == 1 and ended.err.startswith(b"numalens stat: "), ended


@check("a signal to numalens alone reaches the program; its figures come all the same")
def forwarded():
    script = "trap 'echo got it; exit 9' TERM; echo ready; while :; do read line || sleep 0.01; done"
    process = subprocess.Popen([nlens.NUMALENS, "stat", "--json", "--", "sh", "-c", script], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=nlens.ENVIRONMENT,
                               start_new_session=True)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=nlens.PATIENCE)
    assert process.returncode == 9 and out == b"got it\n", (process.returncode, out, err)
    assert json.loads(err)["exit_status"] == 9


@check("without a program: Ctrl-C ends it, with whole figures and status 0")
def interrupted():
    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen([nlens.NUMALENS, "stat", "--json", "-I", "10"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=nlens.ENVIRONMENT)
        begun = b""
        while b'"end_s"' not in begun:
            begun += process.stdout.readline()
        process.send_signal(number)
        reported = json.loads(begun + process.stdout.read())
        err = process.stderr.read()
        assert process.wait(timeout=nlens.PATIENCE) == 0 and err == b"", (process.returncode, err)
        process.stdout.close()
        process.stderr.close()
        assert reported["intervals"] and reported["total"]["duration_s"] > 0


@check("Ctrl-C at a terminal goes to the program by itself, once, and numalens waits for it")
def terminal():
    script = ("n=0; trap 'n=$((n+1)); echo trapped $n' INT; echo ready; while [ $n -lt 1 ]; do sleep 0.01; done; "
              "sleep 0.2; exit 5")
    pid, main_end = pty.fork()
    if pid == 0:
        os.execve(nlens.NUMALENS, ["numalens", "stat", "-q", "--", "sh", "-c", script], nlens.ENVIRONMENT)
    text = b""
    try:
        while chunk := os.read(main_end, 65536):
            if b"ready" in chunk:
                os.write(main_end, b"\x03")
            text += chunk
    except OSError:
        pass  # how a terminal says that nobody writes to it any more
    os.close(main_end)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 5 and b"trapped 1" in text and b"trapped 2" not in text and b"In " in text, (status, text)


@check("when nobody reads any more it stops, but never the program")
def nobody_reads():
    process = subprocess.Popen([nlens.NUMALENS, "stat", "-q", "-I", "10"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=nlens.ENVIRONMENT)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait(timeout=nlens.PATIENCE) == -signal.SIGPIPE, process.returncode
    process.stderr.close()
    with Folder() as folder:
        done = os.path.join(folder, "done")
        reading, writing = os.pipe()
        os.close(reading)
        process = subprocess.Popen([nlens.NUMALENS, "stat", "-I", "5", "--", "sh", "-c", "sleep 0.1; echo >'%s'; exit 6" % done],
                                   stderr=writing, env=nlens.ENVIRONMENT)
        os.close(writing)
        assert process.wait(timeout=nlens.PATIENCE) == 6 and os.path.exists(done), process.returncode


@check("as text: what is counted first, aligned, no colours in a pipe, no line too long")
def as_text():
    ended = stat("-I", "20", "-d", "0.1", "-s", "numastat")
    assert ended.status == 0 and ended.err == b"", ended
    text = ended.out.decode()
    lines = text.splitlines()
    assert lines[0].startswith("Pages handed out on each node") and "allocations, not traffic" in lines[0], text
    assert "\033" not in text and max(map(len, lines)) <= 112, text
    heads = [line for line in lines if line.lstrip().startswith(("time", "node"))]
    assert len(heads) == 2 and heads[0].endswith("in use"), text
    rows = [line for line in lines if re.match(r" +\d+\.\d{3} s  +\d+ ", line)]
    assert {len(line) for line in rows} == {len(heads[0])}, text
    quiet = stat("-q", "-d", "0.01").out.decode().splitlines()
    assert quiet[0].startswith("In "), quiet


@check("resctrl on two nodes: bytes, what is remote, and groups of tasks together")
def resctrl():
    with Folder() as root:
        make_machine("zen2", root)
        data = os.path.join(root, "sys/fs/resctrl/mon_data")
        script = ("cd '%s'; echo 5000 >mon_L3_00/mbm_total_bytes; echo 1900 >mon_L3_00/mbm_local_bytes; "
                  "echo 100 >../database/mon_data/mon_L3_00/mbm_total_bytes; echo 64 >mon_L3_02/mbm_total_bytes; "
                  "echo 64 >mon_L3_02/mbm_local_bytes" % data)
        reported = stat_json("--root", root, "-s", "resctrl", "--", "sh", "-c", script)
        assert reported["ended"].status == 0 and reported["source"] == "resctrl" and reported["counted_at"] == "cpus", reported
        first, second = reported["total"]["nodes"]
        assert (first["total"], first["local"], first["remote"]) == (4050, 1000, 3050), first
        assert abs(first["remote_ratio"] - 3050 / 4050) < 1e-5 and "read" not in first, first
        assert (second["total"], second["local"], second["remote_ratio"]) == (64, 64, 0), second
        make_machine("zen2", root)
        text = stat("--root", root, "-s", "resctrl", "--", "sh", "-c", script).err.decode()
        assert "CPUs of each node cause" in text and "75.3%" in text and "\n     all" in text, text


@check("counters that are refused: why, what to do, and the next best")
def refused():
    with Folder() as root:
        make_machine("skylake-sp", root)
        reported = stat_json("--root", root, "-d", "0.01", prepare=refuse("perf_event_open", error=13))
        assert reported["source"] == "numastat", reported
        reason = reported["refused"][0]["reason"]
        assert "perf_event_paranoid is 2" in reason and "CAP_PERFMON" in reason, reason
        ended = stat("--root", root, "-s", "uncore", "-d", "1", prepare=refuse("perf_event_open", error=13))
        assert ended.status == 1 and b"sysctl kernel.perf_event_paranoid=0" in ended.err, ended
        with open(os.path.join(root, "proc/sys/kernel/perf_event_paranoid"), "w", encoding="utf-8") as level:
            level.write("-1\n")
        ended = stat("--root", root, "-s", "uncore", "-d", "1", prepare=refuse("perf_event_open"))
        assert ended.status == 1 and b"seccomp" in ended.err, ended
        ended = stat("--root", root, "-s", "uncore", "-d", "1", prepare=refuse("perf_event_open", error=24))
        assert ended.status == 1 and b"ulimit -n" in ended.err, ended


@check("the way of hardware counters, with clocks of the kernel in their place")
def clocks():
    with Folder() as root:
        for path, content in (("type", "1"), ("cpumask", "0"), ("format/event", "config:0-7"),
                              ("format/umask", "config:8-15"), ("events/cas_count_read", "event=0x0"),
                              ("events/cas_count_read.scale", "3"), ("events/cas_count_read.unit", "Bytes"),
                              ("events/cas_count_write", "event=0x0")):
            for device in ("uncore_imc_0", "uncore_cha_0"):
                path_there = os.path.join(root, "sys/bus/event_source/devices", device, path)
                os.makedirs(os.path.dirname(path_there), exist_ok=True)
                with open(path_there, "w", encoding="utf-8") as file:
                    file.write(content + "\n")
        os.makedirs(os.path.join(root, "sys/devices/system/node/node0"))
        with open(os.path.join(root, "sys/devices/system/node/node0/cpulist"), "w", encoding="utf-8") as file:
            file.write("0\n")
        ended = stat("--root", root, "-s", "uncore", "-d", "0.01")
        if ended.status == 1 and b"refused" in ended.err:
            raise Skip("only the administrator may count for the whole machine")
        reported = stat_json("--root", root, "-I", "20", "-d", "2")  # beside which it is short how long a busy machine holds it up
        assert reported["source"] == "uncore" and reported["counted_at"] == "memory" and reported["unit"] == "bytes", reported
        # A clock of CPU 0 counts nanoseconds: three bytes each by the kernel's scale, a line each without one.
        row, ns = reported["total"]["nodes"][0], reported["total"]["duration_s"] * 1e9
        assert 0.8 < row["read"] / (3 * ns) < 1.2 and 0.8 < row["write"] / (64 * ns) < 1.2, reported
        assert abs(row["total"] - row["read"] - row["write"]) <= 1 and reported["counters"] == 2, reported
        # There is no such event for local and remote: they are skipped, and it is reported.
        assert "local" not in row and [r["devices"] for r in reported["refused"]] == [
            "the counters of local and remote requests"], reported
        assert reported["running_ratio"] == 1 and reported["counters_lost"] == 0


@check("nodes that share their controllers are one row, and it is said")
def shared_rows():
    with Folder() as root:
        make_machine("sapphire-rapids-snc", root)
        text = stat("--root", root, "-d", "0.01").out.decode()
        # Here nobody has those PMUs; resctrl's files are there, and distinguish the nodes.
        assert "resctrl" in text and "share their counters" not in text, text
        assert re.search(r"^ +4 +- +- ", text, re.MULTILINE), text  # memory without CPUs causes nothing


@check("wrong usage is met with one line and status 2")
def usage():
    for words in (["-I", "0"], ["-I", "soon"], ["-d", "-1"], ["-d", "1", "true"], ["-s", "perf"], ["-o", ""]):
        ended = stat(*words)
        assert ended.status == 2 and ended.out == b"" and ended.err.count(b"\n") == 1, (words, ended)
    ended = stat("-o", "/no such folder/x", "-d", "0.01")
    assert ended.status == 1 and b"cannot write" in ended.err, ended
    if os.path.exists("/dev/full"):
        ended = stat("-o", "/dev/full", "--", "sh", "-c", "exit 4")
        assert ended.status == 4 and b"cannot write" in ended.err, ended
        assert stat("-o", "/dev/full", "-d", "0.01").status == 1


nlens.main()
