#!/usr/bin/env python3
"""compare: a program under all placements of a simulated machine, and two recordings of programs and their repaired twins."""
import functools
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import nlens
from nlens import check, note

FOUR = ["--topology", "numa:4 core:2"]
PATTERNS = "patterns/%s"


def compare(*words, status=0, **rest):
    ended = nlens.run([nlens.NUMALENS, "compare", *words], **rest)
    assert ended.status == status, ended
    return ended


# Short bursts, so that a thread's ring holds many: a recorder that has to wait for a CPU loses none. The programs below do as
# much work as gives twice the bursts that are needed.
BURST = 8
OFTEN = ["-F", "3000", "--burst", str(BURST), "--budget", "100"]
SAMPLES = 500 * BURST  # of every run, so that five standard deviations of three quarters are a tenth


def placements(program, *options, machine=FOUR, environment=None, **rest):
    """The comparison, with programs that run longer until every recording has enough samples to judge by."""
    longer, answer = 1, {}
    while True:
        answer = json.loads(compare("--json", "-q", *machine, *options, "--", *OFTEN, "--", *program,
                                    environment={**(environment or {}), "EXAMPLE_LONGER": str(longer)}, **rest).out)
        least = min(run["samples"] for row in answer["placements"] for run in row["runs"])
        if least >= SAMPLES:
            break
        assert longer < nlens.LONGEST, "%d samples in a run with %d times the usual work, %d are needed" % (least, longer, SAMPLES)
        note("%d samples of %d: once more, and longer" % (least, SAMPLES))
        longer *= 2
    for row in answer["placements"]:
        note("%-12s %s" % (row["placement"], [round(run["remote_ratio"] or 0, 3) for run in row["runs"]]))
    note(answer["verdict"]["text"])
    note(answer["verdict"]["why"])
    return answer


def pattern(name, *words):
    return [nlens.example(PATTERNS % name), *words]


ROUNDS = {"far_initialised": 4000000, "concurrent_remote": 4000000, "saturated_node": 3000, "false_sharing": 100000000}


def twin(folder, name, mode, *options, bursts=500):
    ended = nlens.record(folder, pattern(name, mode, "--rounds=%d" % ROUNDS[name]),
                         ["-q", *OFTEN, "--topology", "numa:4 core:1", *options], name="%s-%s.data" % (name, mode), bursts=bursts)
    assert ended.status == 0, ended
    return ended.trace


@functools.lru_cache(maxsize=None)
def twins(name):
    """Recordings of a program and of its twin: (folder, bad, good)."""
    folder = tempfile.TemporaryDirectory(prefix="numalens-")
    return folder, *(twin(os.path.realpath(folder.name), name, mode) for mode in ("bad", "good"))


def difference(before, after, *options):
    return json.loads(compare("--json", *options, before, after).out)


@check("placements: remote ratios as each of them implies; the best is named, and why")
def ratios():
    answer = placements(pattern("far_initialised", "bad", "--rounds=3500000"), "--repeat", "2", "--same-output")
    ratio = {row["placement"]: row["median"]["remote_ratio"] for row in answer["placements"] if row["possible"]}
    assert "weighted" not in ratio, ratio
    assert ratio["cluster"] == ratio["mem0-cpu0"] == 0, ratio
    assert ratio["mem0-cpu1"] == 1, ratio
    assert abs(ratio["interleave"] - 0.75) < 0.12, ratio
    # Main fills the array alone, on its node; then three workers of four are elsewhere.
    assert 0.45 < ratio["distributed"] < 0.85 and 0.45 < ratio["local"] < 0.85, ratio
    verdict = answer["verdict"]
    assert verdict["differ"] and verdict["best"] == ["cluster", "mem0-cpu0"], verdict
    assert verdict["by"] == "remote accesses" and verdict["problem"] == "distance", verdict
    assert answer["same_output"] is True and answer["simulated"] is True


@check("placements: sharing, imbalance and none explain what they explain")
def problems():
    two = ["--topology", "numa:2 core:8"]
    for program, options, machine, wanted in (
            (pattern("concurrent_remote", "bad", "--rounds=2500000"), "cluster,distributed", FOUR, "sharing"),
            (pattern("problems", "imbalance", "--rounds=7000000"), "cluster,local", two, "imbalance"),
            (pattern("problems", "none", "--rounds=7000000"), "cluster,distributed", two, "none")):
        verdict = placements(program, "--repeat", "2", "--placements", options, machine=machine)["verdict"]
        assert verdict["problem"] == wanted, verdict
        assert verdict["differ"] == (wanted != "none"), verdict


@check("placements: each round begins elsewhere; text, --plain and --keep; nothing is left behind otherwise")
def order():
    with nlens.Folder() as folder:
        kept = os.path.join(folder, "kept")
        program = pattern("far_initialised", "good", "--threads=2", "--rounds=400000")
        ended = compare("--placements", "cluster,mem0-cpu1,local", "--repeat", "3", "--plain", "--keep", kept, *FOUR,
                        "--thresholds", "50,200", "--", *program, environment={"TMPDIR": folder})
        runs = [line.split()[-1] for line in ended.err.decode().splitlines() if "run " in line]
        assert runs == ["cluster", "mem0-cpu1", "local", "local", "cluster", "mem0-cpu1", "mem0-cpu1", "local", "cluster"], runs
        text = ended.out.decode()
        assert "time is without recording" in text and ">50" in text and ">200" in text, text
        names = ["%s-%d.data" % (name, run) for name in ("cluster", "local", "mem0-cpu1") for run in (1, 2, 3)]
        assert sorted(os.listdir(kept)) == names
        assert all(os.stat(os.path.join(kept, name)).st_mode & 0o777 == 0o600 for name in names)
        assert os.stat(kept).st_mode & 0o777 == 0o700
        shutil.rmtree(kept)
        answer = placements(pattern("far_initialised", "good", "--threads=2", "--rounds=8000000"), "--repeat", "1", "--plain",
                            "--placements", "local", environment={"TMPDIR": folder})
        assert answer["placements"][0]["runs"][0]["plain_s"] > 0
        assert "one run" in answer["verdict"]["text"].lower() or "only local" in answer["verdict"]["text"].lower()
        assert os.listdir(folder) == [], os.listdir(folder)


@check("placements: a program that fails, is killed, is missing, or prints something else: said, with the right status")
def failures():
    with nlens.Folder() as folder:
        here = {"environment": {"TMPDIR": folder}}
        for status, text, words in (
                (3, b"cluster, run 1: the program ended with status 3", ["--", "sh", "-c", "exit 3"]),
                (128 + 11, b"killed by signal 11", ["--", "sh", "-c", "kill -SEGV $$"]),
                (127, b"could not be run", ["--", "/no/such/program"]),
                (1, b"printed something else", ["--same-output", "--", "sh", "-c", "echo $$"])):
            ended = compare("-q", *FOUR, *words, status=status, **here)
            assert text in ended.err and ended.out == b"", ended
        # The same as without recording: a program that is never recorded fails the same way.
        ended = compare("-q", "--plain", *FOUR, "--", "/no/such/program", status=1, **here)
        assert b"cannot be run" in ended.err, ended
        assert os.listdir(folder) == []


@check("placements: every run gets the same standard input, from a pipe and from a file")
def standard_input():
    words = ["-q", "--repeat", "2", "--same-output", "--placements", "cluster,local", *FOUR, "--", "cat"]
    program = ["-q", "--repeat", "2", "--placements", "cluster,local", *FOUR, "--", "sh", "-c", "test $(wc -c) = 70000"]
    compare(*words, input=b"0123456" * 10000)
    compare(*program, input=b"0123456" * 10000)
    with nlens.Folder() as folder:
        path = os.path.join(folder, "input")
        with open(path, "wb") as stream:
            stream.write(b"header\n" + b"0123456" * 10000)
        with open(path, "rb") as stream:
            os.lseek(stream.fileno(), 7, os.SEEK_SET)
            done = subprocess.run([nlens.NUMALENS, "compare", *program], stdin=stream, env=nlens.ENVIRONMENT,
                                  capture_output=True, timeout=nlens.PATIENCE)
            assert done.returncode == 0, done.stderr


@check("placements: a signal ends the program, the comparison, and leaves nothing behind")
def interrupted():
    with nlens.Folder() as folder:
        mark = os.path.join(folder, "mark")
        os.mkdir(os.path.join(folder, "tmp"))
        process = subprocess.Popen([nlens.NUMALENS, "compare", "-q", *FOUR, "--", "sh", "-c",
                                    "echo $$ >%s.new; mv %s.new %s; exec sleep 1000" % (mark, mark, mark)],
                                   env={**nlens.ENVIRONMENT, "TMPDIR": os.path.join(folder, "tmp")},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        end = time.monotonic() + nlens.PATIENCE
        while not os.path.exists(mark):
            assert time.monotonic() < end and process.poll() is None, "it did not start"
            time.sleep(0.01)
        with open(mark) as stream:
            program = int(stream.read())
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=nlens.PATIENCE)
        assert process.returncode == -signal.SIGTERM, (process.returncode, err)
        assert not os.path.exists("/proc/%d" % program), "the program goes on"
        assert os.listdir(os.path.join(folder, "tmp")) == []


@check("placements: a plan is followed in recorded and in plain runs; what is wrong with one is said, and nothing is run")
def plans():
    with nlens.Folder() as folder:
        plan, data = os.path.join(folder, "one.plan"), os.path.join(folder, "data.bin")
        with open(data, "wb") as stream:
            stream.truncate(4 << 20)
        with open(plan, "w") as stream:
            stream.write("numalens plan 1\nthread * @ cpus %d\n" % nlens.CPU)
        seen = "sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status >>%s/seen" % folder
        ended = compare("--json", "--plain", "--repeat", "1", "--placements", "local,plan:" + plan, "--", "sh", "-c", seen)
        rows = {row["placement"]: row for row in json.loads(ended.out)["placements"]}
        assert set(rows) == {"local", "plan:one.plan"} and all(len(row["runs"]) == 1 for row in rows.values()), rows
        with open(os.path.join(folder, "seen")) as stream:
            cpus = stream.read().split()
        assert cpus[2:] == [str(nlens.CPU)] * 2 and (cpus[0] != str(nlens.CPU) or len(os.sched_getaffinity(0)) == 1), cpus
        bad = os.path.join(folder, "bad.plan")
        with open(bad, "w") as stream:
            stream.write("numalens plan 1\nsite f @ bind 77\n")
        ended = compare("--placements", "local,plan:" + bad, "--", "sh", "-c", "echo ran >%s/ran" % folder, status=1)
        assert b"line 2: there is no node 77" in ended.err and not os.path.exists(os.path.join(folder, "ran")), ended
        ended = compare("--placements", "cluster,local,plan:" + plan, "-q", "--repeat", "1", *FOUR, "--", "true")
        assert b"plan:one.plan is skipped: it is for real nodes" in ended.err, ended
        compare("--placements", "local,plan:", "--", "true", status=2)
        compare("--placements", "local,plan:" + os.path.join(folder, "none"), "--", "true", status=1)


# A file in the place of the kernel's, in a mount namespace: nothing is switched on this machine.
HELD = "mount --bind %s /proc/sys/kernel/numa_balancing && exec %s"


@check("placements: NUMA balancing is as each wants it while it runs, and as it was afterwards, also after Ctrl-C and SIGKILL")
def balancing():
    around = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() != 0 else []), "sh", "-c"]
    path = "/proc/sys/kernel/numa_balancing"
    with nlens.Folder() as folder:
        file, seen = os.path.join(folder, "value"), os.path.join(folder, "seen")
        with open(file, "w") as stream:
            stream.write("1\n")
        if not os.path.exists(path):
            raise nlens.Skip("this kernel does not balance")
        if nlens.run([*around, HELD % (file, "true")]).status != 0:
            raise nlens.Skip("no file of the kernel's can be replaced in a namespace here")
        words = "%s compare -q --repeat 1 --placements balancing-off,balancing-on,local -- sh -c " % nlens.NUMALENS
        ended = nlens.run([*around, HELD % (file, words + "'cat %s >>%s'" % (path, seen))])
        with open(seen) as stream:
            assert ended.status == 0 and stream.read().split() == ["0", "1", "1"], ended

        for number in (signal.SIGINT, signal.SIGKILL):
            mark = os.path.join(folder, "mark%d" % number)
            process = subprocess.Popen([*around, HELD % (file, words + "'cat %s >%s.new; mv %s.new %s; exec sleep 1000'" % (path, mark, mark, mark))],
                                       env=nlens.ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            end = time.monotonic() + nlens.PATIENCE
            while not os.path.exists(mark):
                assert time.monotonic() < end and process.poll() is None, "it did not start"
                time.sleep(0.01)
            with open(mark) as stream:
                assert stream.read() == "0\n"
            os.killpg(process.pid, number)
            process.wait(timeout=nlens.PATIENCE)
            value = "0\n"
            while value != "1\n":  # by a process that outlives it
                assert time.monotonic() < end, "it was not set back"
                with open(file) as stream:
                    value = stream.read()


@check("placements: a machine of one node has none to compare; record says so too")
def one_node():
    program = pattern("far_initialised", "good", "--rounds=100000")
    ended = compare("--topology", "numa:1 core:4", "--", *program, status=1)
    assert b"cluster is skipped" in ended.err and b"no two placements" in ended.err, ended
    with nlens.Folder() as folder:
        ended = nlens.record(folder, program, ["--topology", "numa:1 core:4", "--placement", "cluster"])
        assert ended.status == 1 and b"--placement cluster" in ended.err, ended
        ended = nlens.record(folder, program, ["--placement", "everywhere"])
        assert ended.status == 2 and b"there are cluster" in ended.err, ended
        ended = nlens.record(folder, program, ["--topology", "numa:2 core:4", "--placement", "mem0-cpu1", "-q"])
        assert ended.status == 0, ended
        assert nlens.report(ended.trace)["topology"]["assign"] == "node:1"


def register(name, what, pattern_before):
    @check("recordings of %s and its twin: what changed, and that the finding went away" % name)
    def proof():
        _, bad, good = twins(name)
        answer = difference(bad, good)
        note(answer["what"])
        note(answer["proof"])
        # Where as much is remote after as before. Threads that have the same work do not have the same time for it: a few points
        # may come of that, and then they are what is said.
        if what is None:
            assert all(row["significant"] for row in answer["whole"]["homes"]), answer["whole"]
            assert answer["whole"]["remote"]["significant"] or "they go to other nodes" in answer["what"], answer["what"]
        else:
            assert what in answer["what"], answer["what"]
        fates = {(row["pattern"], row["fate"]) for row in answer["findings"]}
        assert (pattern_before, "gone") in fates, fates
        # A busy recorder may lose samples: then that is said, and no more.
        assert answer["comparable"] and (answer["note"] is None or "of the samples were lost" in answer["note"]), answer["note"]
        text = compare(bad, good).out.decode()
        assert text.lstrip().startswith(answer["what"].split()[0]) and "gone" in text, text


register("far_initialised", "mostly grid (far_initialised.c:", "far-initialised")
register("concurrent_remote", "mostly table (concurrent_remote.c:", "concurrent-remote")
register("saturated_node", None, "saturated-node")
register("false_sharing", "mostly counters (false_sharing.c:", "false-sharing")


@check("recordings of one program, three in all pairs: nothing is called real, no finding new or lost")
def noise():
    # Samples are shared out by CPU time. Threads with equal work differ in that, by a tenth on a busy machine, which so many
    # bursts would show; these have equal time. From that a thread's share has a standard deviation of 0.35 points with 3,000
    # bursts, or less, and no difference below 3 points is called real. Main, which fills the grid, is not sampled.
    with nlens.Folder() as folder:
        traces = [nlens.record(folder, pattern("far_initialised", "bad", "--cpu-ms=220"),
                               ["-q", "-F", "2000", "--burst", "4", "--budget", "50", "--no-traffic", "--threads", "9", "--topology", "numa:4 core:1"],
                               name=name, bursts=3000).trace
                  for name in ("a.data", "b.data", "c.data")]
        for pair in itertools.combinations(traces, 2):
            answer = difference(*pair)
            real = [(table, row) for table in ("objects", "sites", "functions", "threads")
                    for row in answer[table]["rows"] if row["significant"]]
            whole = answer["whole"]
            assert not real, (pair, real)
            assert not whole["remote"]["significant"] and not whole["latency"]["significant"], whole
            assert not any(row["significant"] for row in whole["homes"]), whole
            fates = {(row["pattern"], row["fate"]) for row in answer["findings"]}
            assert ("far-initialised", "remains") in fates, answer["findings"]
            assert not {fate for _, fate in fates} & {"new", "gone"}, answer["findings"]


@check("recordings: tables, limits and filters")
def rows():
    _, *pair = twins("far_initialised")
    answer = difference(*pair, "--table", "threads", "--limit", "2")
    assert "objects" not in answer and len(answer["threads"]["rows"]) == 2 < answer["threads"]["matching"]
    answer = difference(*pair, "--filter", "kind=heap", "--filter", "min-share=10%")
    assert [row["name"] for row in answer["objects"]["rows"]] == ["grid"], answer["objects"]
    assert answer["functions"]["rows"] == []
    row = answer["objects"]["rows"][0]
    assert row["before"]["remote_share"] > 0.5 and row["after"]["remote_share"] < 0.05, row
    assert row["remote"]["significant"] and not row["share"]["significant"], row
    everything = compare("--all", "--limit", "0", *pair).out.decode()
    assert everything.count("worker ") == 8, everything
    # The same on a machine that is simulated afterwards, and a file with itself.
    assert difference(*pair, "--topology", "numa:2 core:4")["before"]["nodes"] == 2
    same = difference(pair[0], pair[0])
    assert "did not change" in same["what"], same["what"]
    assert {row["fate"] for row in same["findings"]} == {"remains"}


@check("bad input: files that are none, wrong usage")
def bad_input():
    with nlens.Folder() as folder:
        good = twin(folder, "far_initialised", "good", "--stop-after", "1ns", bursts=0)
        junk, short = os.path.join(folder, "junk"), os.path.join(folder, "short.data")
        with open(junk, "wb") as stream:
            stream.write(b"\x1b[2Jnot a trace" * 100)
        with open(good, "rb") as whole, open(short, "wb") as stream:
            stream.write(whole.read()[:-300])
        for pair in ((junk, good), (good, junk), (os.path.join(folder, "none"), good), (folder, good)):
            ended = compare(*pair, status=1)
            assert ended.err and ended.out == b"" and b"\x1b" not in ended.err, ended
        ended = compare("--json", short, good)
        assert b"short.data" in ended.err and json.loads(ended.out)["damaged"] == short, ended
        assert "too few" in difference(good, good)["note"]
        for words in ([], [good], [good, good, good], ["--"], ["--repeat", "2", good, good], [good, good, "--", "true"],
                      ["--repeat", "0", "--", "true"], ["--placements", "nowhere", "--", "true"],
                      ["--placements", "local,local", "--", "true"], ["--grain", "bit", "--", "true"],
                      ["--thresholds", "3,2", "--", "true"], ["--limit", "2", "--", "true"], ["--table", "x", good, good],
                      ["--filter", "pid=3", good, good], ["--assign", "packed", good, good],
                      ["--topology", "nonsense", good, good], ["--", "-o", "x", "--", "true"],
                      ["--", "--topology", "numa:2", "--", "true"]):
            ended = compare(*words, status=2)
            assert ended.err and ended.out == b"", (words, ended)


nlens.main()
