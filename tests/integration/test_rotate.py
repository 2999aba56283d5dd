#!/usr/bin/env python3
"""record --rotate: each file is whole by itself and knows what was allocated before it; together they are the run; --keep bounds
them; what happens to the recorder or the folder costs no older file. report --since, merge."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import nlens
import page_data
from nlens import NUMALENS, PATIENCE, Folder, check, note, run

PROGRAM = os.path.join(nlens.BUILD, "tests", "integration", "rotating")
SOURCE = os.path.join(nlens.SOURCE, "tests", "integration", "rotating.c")
NODES = ("--topology", "numa:2 core:1")
STATUS = 7  # of the program
LIMIT = 40000  # bytes of a file, where they are limited


def line_of(name):
    with open(SOURCE) as stream:
        return next(number for number, line in enumerate(stream, 1) if "site: %s " % name in line)


def wait_for(what, ready):
    """Until something is so, however long that takes on this machine."""
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end, "still waiting for " + what
        time.sleep(0.02)


def whole_files(folder):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if re.fullmatch(r"it\.\d{6}\.data", name))


def samples_at(reported, name):
    return sum(row["samples"] for row in reported["objects"] if row["line"] == line_of(name) and row["kind"] == "heap")


def objects(*arguments):
    ended = run([NUMALENS, "report", "objects", "--json", *arguments])
    assert ended.status == 0, ended
    return json.loads(ended.out)


class Service:
    """The program under record --rotate."""

    def __init__(self, folder, *options, program=(PROGRAM,), prepare=None):
        self.folder = folder
        self.process = subprocess.Popen(
            [NUMALENS, "record", "--rotate", "200ms", *options, "-o", os.path.join(folder, "it.data"), "--", *program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=nlens.ENVIRONMENT,
            start_new_session=True, preexec_fn=prepare)

    def say(self, letter):
        self.process.stdin.write(letter)
        self.process.stdin.flush()

    def ask(self, letter):
        self.say(letter)
        assert self.process.stdout.readline() == letter + b"\n"

    def number(self):
        """Of the latest file that was begun."""
        return max([int(name[3:9]) for name in os.listdir(self.folder) if re.match(r"it\.\d{6}\.data", name)], default=0)

    def next_file(self):
        """Until what happens from now on is in another file than what happened before: a file gets its first samples when all that
        it repeats is in it."""
        before = self.number()
        wait_for("two more files", lambda: self.number() >= before + 2)

    def work(self, times):
        """Some 50 bursts in one file at least, and so on: so many files with samples of what the thread uses."""
        for _ in range(times):
            self.ask(b"w")
            self.next_file()

    def end(self):
        out, err = self.process.communicate(timeout=PATIENCE)
        return nlens.Ended(self.process.returncode, out, err)

    def run_through(self):
        """early in three files, nothing of it in one, late in two."""
        self.work(3)
        self.ask(b"s")
        self.work(1)
        self.ask(b"f")
        self.work(2)
        return self.end()


@check("each file is whole by itself, and together they are the run")
def _():
    with Folder() as folder:
        service = Service(folder, *NODES)
        ended = service.run_through()
        assert ended.status == STATUS and ended.out == b"done\n", ended
        files = whole_files(folder)
        assert not [name for name in os.listdir(folder) if name.endswith((".part", ".new"))], os.listdir(folder)
        assert all(os.stat(path).st_mode & 0o777 == 0o600 for path in files), files
        parts = [objects(path) for path in files]
        merged = os.path.join(folder, "merged.data")
        done = run([NUMALENS, "merge", "-o", merged, *reversed(files)])
        assert done.status == 0 and b"which ended with the last" in done.err, done
        together = objects(merged)
        assert objects(*files) == together and objects(folder) == together
        faults = nlens.report(merged)["session"]["first_touch"] == "faults"
        note("%d files, %d samples" % (len(files), together["samples"]))

        for part in parts + [together]:
            assert part["damage"] is None, part
        for key in ("samples", "attributed", "home_known"):
            assert sum(part[key] for part in parts) == together[key], (key, [part[key] for part in parts], together[key])
        assert re.search(rb"record: %d samples" % together["samples"], ended.err), ended
        for name in ("table", "early", "late"):
            row = nlens.row_at(together["objects"], "rotating.c", line_of(name))
            assert row["samples"] == sum(samples_at(part, name) for part in parts), (name, row)
            rows = [row for part in parts for row in part["objects"] if row["line"] == line_of(name)]
            assert len(rows) >= (3 if name == "early" else 2) and all(row["variable"] == name for row in rows), rows
            # The worker is on the other node than main, which touched them all first; each file knows that. A tick may meet main there.
            if faults and not together["dropped"].get("perf_lost"):
                assert row["remote"] == sum(part["remote"] for part in rows) > 0.9 * row["samples"], (row, rows)
        assert together["exit_status"] == STATUS and all(part["exit_status"] is None for part in parts[:-1]), parts
        assert "span" not in together and parts[1]["span"]["first_file"] == 2 and parts[1]["span"]["goes_on"], parts[1]

        text = run([NUMALENS, "report", "--width", "0", files[2]]).out.decode()
        assert "; file 3 of the recording; those before and behind are not in this report." in text, text
        text = run([NUMALENS, "report", *files]).out.decode()
        assert "of the recording" not in text and "it.*.data" in text, text

        gap = run([NUMALENS, "report", files[0], files[2]])
        assert gap.status == 1 and b"file 2 of the run is missing between" in gap.err, gap
        tail = run([NUMALENS, "report", "--width", "0", *files[1:]]).out.decode()
        assert re.search(r"files 2 to %d of the recording; the one before is not in this report\." % len(files), tail), tail


@check("--since and --until split a recording without loss")
def _():
    with Folder() as folder:
        service = Service(folder)
        service.work(3)
        service.end()
        files = whole_files(folder)
        whole = os.path.join(folder, "whole.data")
        assert run([NUMALENS, "merge", "-q", "-o", whole, *files]).status == 0
        everything = nlens.report(whole)
        assert everything["samples"] > 0 and "span" not in everything
        half = "%.3fs" % (everything["duration_s"] / 2)
        first, second = nlens.report(whole, "--until", half), nlens.report(whole, "--since", half)
        assert first["samples"] + second["samples"] == everything["samples"], (half, first["samples"], second["samples"])
        assert abs(first["span"]["end_s"] - second["span"]["start_s"]) < 1e-6, (first["span"], second["span"])
        for part in (first, second):
            assert abs(part["duration_s"] - (part["span"]["end_s"] - part["span"]["start_s"])) < 1e-4, (part["duration_s"], part["span"])
        # Seconds before the end, the date, and the time of day are the same moment, said in three ways.
        session = everything["session"]
        begun, clock = int(session["start_wall_ns"]), int(session["start_clock_ns"])
        moment = begun + int(session["part_start_ns"]) - clock + int(everything["duration_s"] * 0.4e9)
        zone = session["start_time"][-6:]
        offset = (int(zone[1:3]) * 60 + int(zone[4:6])) * 60 * (-1 if zone[0] == "-" else 1)
        local = moment // 10**9 + offset
        fraction = "%06d" % (moment % 10**9 // 1000)
        utc = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(local - offset)) + "." + fraction + "Z"
        date = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(local)) + "." + fraction
        found = [nlens.report(whole, "--since", text)["samples"] for text in (utc, date, date[11:])]
        assert len(set(found)) == 1 and 0 < found[0] <= everything["samples"], (found, utc, date)
        assert nlens.report(whole, "--since", "-1h")["samples"] == everything["samples"]
        assert nlens.report(whole, "--since", "2001-01-01")["samples"] == everything["samples"]
        for bound, words in ((("--since", "2h"), b"nothing was recorded since 2h: the recording lasts from "),
                             (("--until", "2001-01-01"), b"nothing was recorded until 2001-01-01"),
                             (("--since", "2ms", "--until", "1ms"), b"--since 2ms is not before --until 1ms")):
            ended = run([NUMALENS, "report", *bound, whole])
            assert ended.status == 1 and words in ended.err, ended
        # Tables and the page are of the same samples.
        assert objects("--since", half, whole)["samples"] == second["samples"]
        assert run([NUMALENS, "report", "map", "--since", half, whole]).status == 0
        # Of one file of the run, times are its own.
        part = nlens.report(files[1])
        assert part["samples"] == nlens.report(files[1], "--since", "0s")["samples"]
        assert nlens.report(files[1], "--since", "-1h")["samples"] == part["samples"]


@check("--keep bounds the files, and reports say what is missing")
def _():
    with Folder() as folder:
        other = os.path.join(folder, "other.000001.data")
        with open(other, "w") as stream:
            stream.write("another's")
        service = Service(folder, "--keep", "2")
        wait_for("file 6", lambda: service.number() >= 6)
        ended = service.end()
        assert ended.status == STATUS, ended
        with open(other) as stream:
            assert stream.read() == "another's"
        os.unlink(other)
        files = whole_files(folder)
        assert len(files) == 2 and len(os.listdir(folder)) == 2, os.listdir(folder)
        last = int(files[1][-11:-5])
        assert last >= 5 and files[0].endswith("%06d.data" % (last - 1)), files
        assert re.search(rb"in %d files, of which the last 2 are kept" % last, ended.err), ended
        text = run([NUMALENS, "report", "--width", "0", folder]).out.decode()
        assert "files %d to %d of the recording; those before are not in this report." % (last - 1, last) in text, text
        span = nlens.report(folder)["span"]
        assert span["first_file"] == last - 1 and span["last_file"] == last and not span["goes_on"], span
        merged = run([NUMALENS, "merge", "-o", os.path.join(folder, "m.data"), folder])
        assert merged.status == 0 and b"; those before are missing" in merged.err, merged


@check("kill -9 of the recorder leaves whole files, and the program goes on")
def _():
    with Folder() as folder:
        answers = os.path.join(folder, "answers")
        service = Service(folder, program=(PROGRAM, answers))
        wait_for("two whole files", lambda: len(whole_files(folder)) >= 2)
        service.process.send_signal(signal.SIGKILL)
        service.process.wait()
        files = whole_files(folder)
        assert len(files) >= 2, files
        for path in files:
            reported = objects(path)
            assert reported["damage"] is None, reported["damage"]
        left = sorted(name for name in os.listdir(folder) if name.endswith(".part"))
        assert left, os.listdir(folder)
        service.say(b"s")
        wait_for("the program's answer", lambda: open(answers).read() == "s\n")
        service.process.stdin.close()
        wait_for("the program's end", lambda: open(answers).read() == "s\ndone\n")
        # What was being written can be read up to its last whole block, and says that it has no end; unless that was its end, and it
        # was about to get its name.
        path = os.path.join(folder, left[0])
        ended = run([NUMALENS, "report", path])
        assert ended.status == 0 and (b"the recording has no end" in ended.err) == (objects(path)["damage"] is not None), ended


@check("a folder that is removed is reported and does not disturb the program")
def _():
    with Folder() as folder:
        inside = os.path.join(folder, "inside")
        os.mkdir(inside)
        service = Service(inside)
        service.work(1)
        renamed = os.path.join(folder, "renamed")
        os.rename(inside, renamed)
        before = len(whole_files(renamed))
        service.ask(b"w")
        service.ask(b"s")
        ended = service.end()
        assert ended.status == STATUS and ended.out == b"done\n", ended
        assert re.search(rb"record: .*it\.data is not whole: .*No such file or directory", ended.err), ended
        for path in whole_files(renamed)[:before]:
            assert objects(path)["damage"] is None


@check("files that cannot be written to their end are reported, and are within what the disk allows")
def _():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    script = ("import os\nblocks = []\nwhile not os.path.exists('stop'):\n"
              "    blocks = [bytearray(600 + i % 5000) for i in range(20000)]\n    print('w', flush=True)\nprint('done')")
    with Folder() as folder:
        service = Service(folder, program=(sys.executable, "-c", script), prepare=limit)
        assert service.process.stdout.readline() == b"w\n"
        service.next_file()  # which repeats 20000 blocks: more than it may hold
        service.next_file()
        open(os.path.join(folder, "stop"), "w").close()
        ended = service.end()
        assert ended.status == 0 and ended.out.endswith(b"w\ndone\n"), ended
        assert re.search(rb"record: .*it\.data is not whole: .*File too large", ended.err), ended
        assert b" events lost" in ended.err, ended
        names = [name for name in os.listdir(folder) if name.startswith("it.")]
        assert len(names) >= 4, names
        for name in names:
            path = os.path.join(folder, name)
            assert os.path.getsize(path) <= LIMIT, name
            if name.endswith(".part"):
                assert b"the recording has no end" in run([NUMALENS, "report", path]).err, name


@check("a child that was forked has its parent's objects in every file")
def _():
    script = ("import os,sys\nblock = bytearray(b'x' * 4000000)\npid = os.fork()\n"
              "if pid == 0:\n    n = 0\n    while not os.path.exists('stop'): n += sum(block[:100000])\n    os._exit(0)\n"
              "del block\nos.waitpid(pid, 0)\nprint('done')\n")
    with Folder() as folder:
        service = Service(folder, program=(sys.executable, "-c", script))
        service.next_file()
        service.next_file()
        open(os.path.join(folder, "stop"), "w").close()
        ended = service.end()
        assert ended.status == 0 and ended.out == b"done\n", ended
        files = whole_files(folder)
        together = objects(*files)
        parts = [objects(path) for path in files]
        assert sum(part["samples"] for part in parts) == together["samples"], (parts, together)
        processes = json.loads(run([NUMALENS, "report", "processes", "--json", *files]).out)["processes"]
        assert len(processes) == 2, processes


# Its pages are new again and again.
TOUCHING = """
import mmap
import time
while True:
    time.sleep(0.001)
    with mmap.mmap(-1, 1 << 20) as memory:
        for page in range(0, 1 << 20, 4096):
            memory[page] = 1
"""


@check("a process that runs already, and the whole machine: files that are whole, and together the run")
def _():
    if os.geteuid() != 0:
        raise nlens.Skip("needs root to see other processes' pages")
    with Folder() as program_folder, open(os.path.join(program_folder, "touching.py"), "w+") as stream:
        stream.write(TOUCHING)
        stream.flush()
        target = subprocess.Popen(["python3", stream.name], stdin=subprocess.DEVNULL)
        try:
            for whom in (["-p", str(target.pid)], ["-a"]):
                with Folder() as folder:
                    recorder = subprocess.Popen([NUMALENS, "record", *whom, "--source", "faults", "--rotate", "200ms", "-o",
                                                 os.path.join(folder, "it.data")], stderr=subprocess.PIPE, env=nlens.ENVIRONMENT)
                    wait_for("three files", lambda: recorder.poll() is not None or len(whole_files(folder)) >= 3)
                    recorder.send_signal(signal.SIGINT)
                    said = recorder.communicate(timeout=PATIENCE)[1]
                    if b"perf_event_open" in said:
                        raise nlens.Skip(said.decode().strip())
                    files = whole_files(folder)
                    assert recorder.returncode == 0 and b"samples are page faults" in said, said
                    assert len(files) >= 3 and sorted(os.listdir(folder)) == [os.path.basename(path) for path in files], said
                    together, parts = objects(*files), [objects(path) for path in files]
                    assert sum(part["samples"] for part in parts) == together["samples"] > 0, (parts, together)
                    merged = os.path.join(folder, "merged.data")
                    assert run([NUMALENS, "merge", "-q", "-o", merged, *files]).status == 0
                    assert objects(merged)["samples"] == together["samples"]
                    # Each file knows the program by itself, which began before all of them.
                    for path in files:
                        seen = json.loads(run([NUMALENS, "report", "processes", "--json", "--limit", "0", path]).out)["processes"]
                        assert whom == ["-a"] or [row["pid"] for row in seen] == [target.pid], (path, seen)
                    pids = {row["pid"] for row in json.loads(run([NUMALENS, "report", "processes", "--json", "--limit", "0", merged]).out)["processes"]}
                    assert target.pid in pids, pids
                    assert target.poll() is None
        finally:
            target.kill()
            target.wait()


# What reads a recording, with %s for its files; every one prints something that depends on all of them.
READERS = ("report objects --json %s", "report object 1 --json %s", "report --json -i %s", "report map --json %s", "export -f text %s",
           "export -f csv -i %s", "check --max-remote 99%% --json %s", "predict --json %s", "script remote %s",
           "compare --json plain.data %s", "compare --json %s plain.data", "check --json --no-new-findings %s plain.data")


def read_all(command, files, folder):
    """What a command prints of the recording, with its name taken out."""
    option = re.search(r"(\S+) %s", command)[1]
    if len(files) > 1 and option in ("-i", "--no-new-findings"):  # of one word: given again
        words = command.replace("%s", (" %s " % option).join(files)).replace("%%", "%").split()
    else:
        words = (command % " ".join(files)).split()
    ended = run([NUMALENS, *words], folder=folder)
    assert ended.status in (0, 1) and ended.out and not ended.err, (words, ended)
    return re.sub(rb"whole\.data|parts/it\.\*\.data", b"NAME", ended.out)


def record_twice(folder, longer=1):
    """In several files and in one, until both have the long bursts that predict needs."""
    parts = os.path.join(folder, "parts")
    shutil.rmtree(parts, ignore_errors=True)
    os.mkdir(parts)
    for options in (["--rotate", "200ms", "-o", "parts/it.data"], ["-o", "plain.data"]):
        ended = run([NUMALENS, "record", "-q", "-F", "200", "--budget", "50", "--machine", "generic-2", *options, "--", nlens.example("demo"), "--steps=100"],
                    folder=folder, environment=nlens.work(longer))
        assert ended.status == 0, ended
    predicted = [run([NUMALENS, "predict", "--json", name], folder=folder) for name in ("parts", "plain.data")]
    if all(ended.status == 0 for ended in predicted) and len(os.listdir(parts)) > 1:
        return parts
    assert longer < nlens.LONGEST, predicted[0]
    return record_twice(folder, 2 * longer)


@check("every command that reads a recording takes its files, or their folder")
def _():
    with Folder() as folder:
        parts = record_twice(folder)
        files = [os.path.join("parts", name) for name in sorted(os.listdir(parts))]
        assert len(files) > 1, files
        assert run([NUMALENS, "merge", "-q", "-o", "whole.data", "parts"], folder=folder).status == 0
        for command in READERS:
            whole = read_all(command, ["whole.data"], folder)
            # One function puts names together, for all of them.
            for named in (["parts"], files[::-1], *((["parts/"], files) if command == READERS[0] else ())):
                assert read_all(command, named, folder) == whole, (command, named)
        # A page, and what view serves of the whole trace.
        page = os.path.join(folder, "page.html")
        against = [word for file in files for word in ("--against", file)]
        for named in (["parts", "--against", "whole.data"], ["whole.data", *against]):
            ended = page_data.write(named[0], page, *named[1:], folder=folder)
            assert ended.status == 0, ended
            with open(page, "rb") as stream:
                first, second = page_data.elements(stream.read())
            assert first.tables["totals"] == second.tables["totals"] and first.columns == second.columns, named
        for named in (["parts"], files):
            viewer = subprocess.Popen([NUMALENS, "view", "--no-open", *named], stdout=subprocess.PIPE, cwd=folder, env=nlens.ENVIRONMENT)
            address = viewer.stdout.readline().decode().strip()
            with urllib.request.urlopen(address + "window?run=0") as answer:
                window = page_data.Data(answer.read())
            viewer.terminate()
            viewer.communicate(timeout=PATIENCE)
            assert window.tables["maps"][0]["shown"] == first.tables["totals"]["samples"], named
        # What is in the way: nothing is written over a file of the recording, and no merged file is left.
        ended = run([NUMALENS, "export", "-f", "csv", "-o", files[1], "parts"], folder=folder)
        assert ended.status == 1 and b"is the recording itself" in ended.err, ended
        temporary = os.path.join(folder, "temporary")
        os.mkdir(temporary)
        ended = run([NUMALENS, "script", "remote", "parts"], folder=folder, environment={"TMPDIR": temporary})
        assert ended.status == 0 and os.listdir(temporary) == [], (ended, os.listdir(temporary))


@check("what is no recording in one piece is refused with what is wrong")
def _():
    with Folder() as folder:
        os.mkdir(os.path.join(folder, "empty"))
        os.mkdir(os.path.join(folder, "job"))
        for options in (["-o", "one.data"], ["-o", "two.data"], ["--rotate", "60s", "-o", "it.data"]):
            assert run([NUMALENS, "record", "-q", *options, "--", "true"], folder=folder).status == 0
        rank = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}
        ended = run([NUMALENS, "record", "-q", "-o", "job/rank-%r.data", "--", "true"], folder=folder, environment=rank)
        assert ended.status == 0, ended
        for command in ("report objects", "report --html page.html", "export -f text", "export -f moca", "check --no-findings",
                        "predict", "view --no-open", "script remote", "compare one.data", "check --no-findings --no-new-findings",
                        "report --html page.html one.data --against"):
            for named, why in (("empty", b"empty"), ("job", b"job"), ("-", b"name a file"), ("it.000001.data none.data", b"none.data"),
                               ("one.data two.data", b"one.data is a recording of its own")):
                if " " in named and command.split()[-1] in ("one.data", "--no-new-findings", "--against"):
                    continue
                ended = run([NUMALENS, *command.split(), *named.split()], folder=folder)
                assert ended.status in (1, 2) and why in ended.err and ended.err.count(b"\n") == 1 and not ended.out, (command, named, ended)
        for command in ("export -f text job", "merge -o m.data job"):
            ended = run([NUMALENS, *command.split()], folder=folder)
            assert ended.status == 1 and b"a job's ranks: name one of its files" in ended.err, ended
        ended = run([NUMALENS, "compare", "one.data", "two.data", "it.000001.data"], folder=folder)
        assert ended.status == 2 and b"'it.000001.data' is of a third recording" in ended.err, ended
        ended = run([NUMALENS, "script", "remote", "one.data", "10"], folder=folder)
        assert ended.status == 1 and b"arguments of the script come after '--'" in ended.err, ended
        assert sorted(os.listdir(folder)) == ["empty", "it.000001.data", "job", "one.data", "two.data"], os.listdir(folder)


@check("what is wrong is refused with one line and status 2")
def _():
    with Folder() as folder:
        for options, words in ((("--rotate", "0"), b"--rotate '0': a time of 100ms or more is wanted"),
                               (("--rotate", "60"), b"--rotate '60': a time of 100ms or more is wanted"),
                               (("--rotate", "-5s"), b"--rotate '-5s': a time of 100ms or more is wanted"),
                               (("--rotate", "1s", "--keep", "0"), b"--keep '0': a number from 1 to 1000000000 is wanted"),
                               (("--keep", "3"), b"--keep without --rotate: there is one file then"),
                               (("--rotate", "1s", "-o", "-"), b"-o '-': a recording has an index and is no stream"),
                               (("--rotate", "1s", "-o", "/dev/full"), b"-o '/dev/full': files of --rotate are named after it")):
            ended = run([NUMALENS, "record", *options, "--", "echo", "it"], folder=folder)
            assert ended.status == 2 and ended.out == b"" and words in ended.err, (options, ended)
            assert ended.err.count(b"\n") == 1, ended
        assert os.listdir(folder) == []
        for text in ("yesterday", "12", "25:99", "2026-13-40", "", "-", "5 s", "15:30x"):
            ended = run([NUMALENS, "report", "--since", text, "nothing.data"])
            assert ended.status == 2 and b"is no time: 90s is after the start" in ended.err, (text, ended)
        ended = run([NUMALENS, "record", "-o", "one.data", "--", "true"], folder=folder)
        assert ended.status == 0, ended
        one = os.path.join(folder, "one.data")
        for command in (["merge", "-o", os.path.join(folder, "m.data"), one], ["report", one, one]):
            ended = run([NUMALENS, *command])
            assert ended.status == 1 and b"one.data is a recording of its own: only files of one 'numalens record --rotate'" in ended.err, ended
        assert run([NUMALENS, "merge"]).status == 2 and run([NUMALENS, "merge", "-o", "-", one]).status == 2
        assert sorted(os.listdir(folder)) == ["one.data"], os.listdir(folder)
        ended = run([NUMALENS, "record", "--rotate", "1s", "--", "./not-there"], folder=folder)
        assert ended.status == 127 and sorted(os.listdir(folder)) == ["one.data"], (ended, os.listdir(folder))


nlens.main()
