#!/usr/bin/env python3
"""The command's manners: Ctrl-C, exit status, children followed or not, -o, quiet, pipes."""
import json
import os
import signal
import subprocess

import nlens
from nlens import ENVIRONMENT, Folder, PATIENCE, Skip, check, example, record, report, row_at, run, site_line


def start(folder, program, options=()):
    """Starts record and returns when the program has said its first line."""
    trace = os.path.join(folder, "numalens.data")
    process = subprocess.Popen([nlens.NUMALENS, "record", *options, "-o", trace, "--", *program], cwd=folder, env=ENVIRONMENT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    assert process.stdout.readline() == b"working\n"
    return process, trace


def end(process):
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise AssertionError("still running after %d s" % PATIENCE)
    return process.returncode, out, err


def nobody_left(process):
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return True
    return False


@check("Ctrl-C stops both and leaves a good file")
def interrupt():
    with Folder() as folder:
        process, trace = start(folder, [example("endings"), "wait"])
        os.killpg(process.pid, signal.SIGINT)
        status, _, err = end(process)
        assert status in (130, -2), "status %s, %s" % (status, err)
        assert nobody_left(process)
        result = report(trace)
        assert len(result["threads"]) >= 3, result["threads"]


@check("SIGINT and SIGTERM to the recorder alone stop both and leave a good file")
def terminate():
    for number in (signal.SIGINT, signal.SIGTERM):
        with Folder() as folder:
            process, trace = start(folder, [example("endings"), "wait"])
            process.send_signal(number)
            status, _, err = end(process)
            assert status in (128 + number, -number), "status %s, %s" % (status, err)
            assert nobody_left(process), "the program is still there"
            report(trace)


@check("the exit status is the program's")
def status():
    with Folder() as folder:
        for number in (0, 1, 2, 42, 126, 127, 255):
            ended = record(folder, ["sh", "-c", "exit %d" % number])
            assert ended.status == number, ended
            assert report(ended.trace)["exit_status"] == number


@check("children are followed, or not when so wished")
def children():
    with Folder() as folder:
        line = site_line("child.c", "array")
        ended = record(folder, [example("child"), "--exec", "--rounds=12000"], bursts=10)
        assert ended.status == 0, ended
        followed = report(ended.trace, "objects")["objects"]
        row_at(followed, "child.c", line)
        ended = record(folder, [example("child"), "--exec", "--rounds=12000"], ["--no-follow"])
        assert ended.status == 0, ended
        alone = report(ended.trace, "objects")["objects"]
        assert not [r for r in alone if r.get("line") == line], nlens.describe(alone)


@check("without -o the file is numalens.data in the current folder; with -o it is that one and no other")
def output():
    with Folder() as folder:
        ended = run([nlens.NUMALENS, "record", "--", "true"], folder=folder)
        assert ended.status == 0 and os.listdir(folder) == ["numalens.data"], "%s %s" % (ended, os.listdir(folder))
        os.unlink(os.path.join(folder, "numalens.data"))
        ended = run([nlens.NUMALENS, "record", "-o", "mine.data", "--", "true"], folder=folder)
        assert ended.status == 0 and os.listdir(folder) == ["mine.data"], "%s %s" % (ended, os.listdir(folder))
        assert run([nlens.NUMALENS, "report", "mine.data"], folder=folder).status == 0


@check("a process that runs already: its threads and first touches; it goes on when the recording ends, and ends it")
def running():
    with Folder() as folder:
        trace = os.path.join(folder, "numalens.data")
        program = [example("endings"), "wait"]
        process = subprocess.Popen(program, env=ENVIRONMENT, stdout=subprocess.PIPE, start_new_session=True)
        try:
            assert process.stdout.readline() == b"working\n"
            words = [nlens.NUMALENS, "record", "-p", str(process.pid), "-o", trace]
            ended = run([*words, "--source", "faults", "--stop-after", "50ms"])
            if b"perf_event_open" in ended.err:
                raise Skip(ended.err.decode().strip())
            assert ended.status == 0 and process.poll() is None, ended
            found = report(trace)
            assert found["command"] == " ".join(program) and found["source"] == "faults", found
            assert len(found["threads"]) == 3, found["threads"]

            recorder = subprocess.Popen([*words, "--source", "faults"], env=ENVIRONMENT, stderr=subprocess.PIPE)
            process.kill()
            process.wait(PATIENCE)
            _, said = recorder.communicate(timeout=PATIENCE)
            # Whichever was first: the recording ends with the process, or there is none to record any more.
            assert (recorder.returncode == 0 and b"page faults" in said) or b"process" in said, said
        finally:
            process.kill()
            process.communicate()
        ended = run(words)
        assert ended.status == 1 and b"there is no process %d" % process.pid in ended.err, ended
        for options, word in ((["--source", "soft"], b"from its start"), (["-a"], b"with -a"), (["--", "true"], b"with a program"),
                              (["--interval", "20ms", "--source", "faults"], b"with options for faults"),
                              (["--start-after", "1s"], b"with options for one program")):
            ended = run([*words, *options])
            assert ended.status == 2 and word in ended.err and ended.err.count(b"\n") == 1, ended


@check("quiet says nothing at all; the program's output is its own")
def quiet():
    with Folder() as folder:
        ended = record(folder, ["sh", "-c", "echo out; echo err >&2"], ["--quiet"])
        assert (ended.out, ended.err) == (b"out\n", b"err\n"), ended
        ended = record(folder, ["sh", "-c", "echo out; echo err >&2"])
        assert ended.out == b"out\n" and b"err\n" in ended.err, ended


@check("in a pipe there are no colours and no progress")
def pipe():
    with Folder() as folder:
        ended = record(folder, [example("ratio"), "--rounds=3000"], bursts=10)
        text = run([nlens.NUMALENS, "report", ended.trace])
        for stream in (ended.err, text.out, text.err):
            assert b"\x1b" not in stream and b"\r" not in stream, stream


@check("report --json has every field that is promised")
def promised_fields():
    with Folder() as folder:
        ended = record(folder, [example("handover"), "--rounds=2000"], ["--topology", "numa:2 core:1"], bursts=20)
        result = report(ended.trace)
        for key in ("version command exit_status duration_s source period topology samples attributed remote_ratio dropped "
                    "threads objects").split():
            assert key in result, key
        for key in "nodes cpus simulated assign homes".split():
            assert key in result["topology"], key
        assert result["version"] == 3 and result["topology"]["simulated"] is True
        for key in ("id kind name site file line size count pid alloc_tid start_s end_s samples share reads writes remote "
                    "remote_share latency_mean latency_p95 threads homes").split():
            assert key in result["objects"][0], key
        for key in "tid name samples remote".split():
            assert key in result["objects"][0]["threads"][0], key
        for key in "tid pid name samples reads writes remote latency_mean nodes".split():
            assert key in result["threads"][0], key
        functions = report(ended.trace, "functions")["functions"]
        for key in "function file line module samples share remote remote_share latency_mean".split():
            assert key in functions[0], key
        assert report(ended.trace, "sites")["sites"] and report(ended.trace, "threads")["threads"]
        assert sum(t["samples"] for t in result["threads"]) == result["samples"]
        assert json.dumps(result)


nlens.main()
