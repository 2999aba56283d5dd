#!/usr/bin/env python3
"""numalens top: right figures of programs whose answer is known, as tables, JSON, metrics and on a screen in tmux; the program notices
nothing and is let go in whatever way top ends."""
import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time

import nlens
from nlens import ENVIRONMENT, Folder, NUMALENS, PATIENCE, check, example, note, run

OFTEN = ["-F", "8000", "--budget", "100", "-d", "0.2"]
BURSTS, BURST = 200, 28
ELSEWHERE = {"TMPDIR": tempfile.gettempdir()}  # than /dev/shm, where other tests look for what is left behind
TWO_NODES = ["--topology", "numa:2 core:1", "--homes", "bind:0"]


@contextlib.contextmanager
def running(program, threads=1):
    """An example that works until it is no longer needed; once it has its threads. Its command is short, wherever it is: columns fit the screen."""
    process = subprocess.Popen([os.path.basename(program)], executable=program, stdout=subprocess.DEVNULL, env={**ENVIRONMENT, "EXAMPLE_LONGER": "100000"})
    try:
        while len(os.listdir("/proc/%d/task" % process.pid)) < threads:
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.wait()


def status_of(pid):
    with open("/proc/%d/status" % pid) as stream:
        return dict(re.findall(r"^(\w+):\t(\S+)", stream.read(), re.MULTILINE))


def assert_unharmed(process):
    status = status_of(process.pid)
    assert process.poll() is None and status["TracerPid"] == "0" and status["State"] not in ("t", "T"), status


@contextlib.contextmanager
def top(*options, **rest):
    process = subprocess.Popen([NUMALENS, "top", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**ENVIRONMENT, **ELSEWHERE, **rest})
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def refreshes(process, bursts):
    """JSON lines until there are so many bursts; then it is ended."""
    lines, samples = [], 0
    for line in process.stdout:
        lines.append(json.loads(line))
        samples += lines[-1]["samples"]
        if samples >= bursts * BURST:
            break
    process.terminate()
    assert process.wait(timeout=PATIENCE) == 0, process.stderr.read()
    assert samples >= bursts * BURST, "%d samples in %d intervals: %s" % (samples, len(lines), process.stderr.read())
    note("%d samples in %d intervals" % (samples, len(lines)))
    return lines


@check("two arrays read 3:1 have those shares, line by line of JSON; SIGTERM ends it")
def two_arrays():
    with running(example("ratio")) as target:
        with top("-p", str(target.pid), *OFTEN, "--batch", "--json") as process:
            lines = refreshes(process, BURSTS)
        assert_unharmed(target)
    seen = collections.Counter()
    for line in lines:
        assert line["pid"] == target.pid and line["name"] == "ratio" and line["bytes_s"] is None, line
        assert abs(line["time"] - time.time()) < 3600 and len(line["nodes"]) >= 1, line
        for row in line["objects"]:
            seen[next((count for count in (1, 3) if count * 65536 * 8 <= row["size"] < count * 65536 * 8 + 8192), 0)] += row["samples"]
    often, seldom = (seen[count] / sum(seen.values()) for count in (3, 1))
    note("often %.4f, seldom %.4f" % (often, seldom))
    assert abs(often - 0.75) <= 0.02 and abs(seldom - 0.25) <= 0.02, seen


@check("on a simulated topology threads of the one node have local accesses only, those of the other remote ones")
def simulated():
    with running(example("demo"), threads=9) as target, top("-p", str(target.pid), *OFTEN, *TWO_NODES, "--batch", "--json") as process:
        lines = refreshes(process, BURSTS)
    for line in lines:
        assert all(row["remote_share"] in (0, 1) for row in line["threads"]), line["threads"]
        assert all(re.fullmatch(r"worker \d|demo", row["name"]) for row in line["threads"]), line["threads"]
        for key in ("threads", "objects", "processes"):
            assert sum(row["remote"] for row in line[key]) == sum(pair["samples"] for pair in line["traffic"] if pair["from"] != pair["home"]), key
        if line["samples"]:
            assert abs(line["remote_share"] - line["nodes"][1]["from"] / line["samples"]) < 1e-5, line
            assert line["nodes"][0]["home"] == line["samples"] and line["nodes"][1]["home"] == 0, line["nodes"]
    assert {row["remote_share"] for line in lines for row in line["threads"]} == {0, 1}


@check("tables for logs: objects, threads, nodes")
def tables():
    with running(example("demo"), threads=9) as target:
        ended = run([NUMALENS, "top", "-p", str(target.pid), *OFTEN, *TWO_NODES, "--batch", "-n", "2"])
        assert_unharmed(target)
    text = ended.out.decode()
    assert ended.status == 0 and not ended.err, ended
    assert len(re.findall(r"^\d\d:\d\d:\d\d  demo \(%d\): [\d,]+ samples, .* 9 threads \(simulated topology\)$" % target.pid, text, re.MULTILINE)) == 2, text
    assert "malloc of 32.0 MiB" in text and "worker" in text and "from \\ to" in text, text


@check("a page for Prometheus is whole at every moment, and its shares add up")
def metrics():
    with Folder() as folder, running(example("demo"), threads=9) as target:
        page = os.path.join(folder, "numalens.prom")
        with top("-p", str(target.pid), *OFTEN, *TWO_NODES, "--batch", "--openmetrics=" + page) as process:
            versions = set()
            while len(versions) < 3:
                assert process.poll() is None, process.stderr.read()
                if os.path.exists(page):
                    with open(page) as stream:
                        versions.add(stream.read())
            process.terminate()  # killed, it could leave the next page, half written
            assert process.wait(timeout=PATIENCE) == 0, process.stderr.read()
        assert os.listdir(folder) == ["numalens.prom"], os.listdir(folder)
    for text in versions:
        *lines, end, rest = text.split("\n")
        assert end == "# EOF" and rest == "", text
        found = collections.defaultdict(list)
        for line in lines:
            sample = re.fullmatch(r'(numalens_\w+)\{(\w+="(?:[^"\\]|\\.)*",?)+\} (\d\.\d+)', line)
            assert sample or re.match("# (TYPE|UNIT|HELP) numalens_", line), line
            if sample:
                assert line.rsplit(" ", 1)[0] not in found, line
                found[sample[1]].append(float(sample[3]))
                found[line.rsplit(" ", 1)[0]] = []
        for name in ("node_access", "object_access", "thread_access"):
            values = found["numalens_%s_ratio" % name]
            assert not values or abs(sum(values) - 1) < 1e-4, (name, values)


def cpu_ns(pid):
    with open("/proc/%d/schedstat" % pid) as stream:
        return int(stream.read().split()[0])


@check("processes by name, the busiest first; by cgroup; what is not there is refused in one line")
def chosen():
    with Folder() as folder:
        program = os.path.join(folder, "lens-%d" % os.getpid())
        with open(example("ratio"), "rb") as source, open(program, "wb") as copy:
            copy.write(source.read())
        os.chmod(program, 0o755)
        with running(program) as idle, running(program) as busy:
            idle.send_signal(signal.SIGSTOP)
            while status_of(idle.pid)["State"] != "T":
                time.sleep(0.01)  # it is busier than another that gets no CPU, as long as it has not seen the signal
            while cpu_ns(busy.pid) <= cpu_ns(idle.pid):
                time.sleep(0.01)  # what decides when neither gets a CPU meanwhile
            ended = run([NUMALENS, "top", "--name", os.path.basename(program), "--batch", "--json", "-n", "1", *OFTEN])
            line = json.loads(ended.out)
            assert line["pid"] == busy.pid, (line["pid"], busy.pid, idle.pid)
            assert_unharmed(busy)
            with open("/proc/%d/cgroup" % busy.pid) as stream:
                path = stream.readline().rstrip("\n").split(":", 2)[2]
            for group, status in ((path, 0), ("/", 0), (path.rstrip("/") + "/no-such", 1)):
                ended = run([NUMALENS, "top", "--cgroup", group, "--name", os.path.basename(program), "--batch", "-n", "1", *OFTEN])
                assert ended.status == status, (group, ended)
    for options, words in ((["--name", "no-such-name"], b"no process is called 'no-such-name'"), (["-p", "4194305"], b"there is no process 4194305"),
                           (["--cgroup", "/no/such"], b"no process here is in cgroup /no/such"), (["--container", "0123456789abcdef"], b"no process here is in a container")):
        ended = run([NUMALENS, "top", "--batch", "-n", "1", *options])
        assert ended.status == 1 and words in ended.err and ended.err.count(b"\n") == 1, ended
    for options, words in ((["--json"], b"--batch"), (["-p", "1", "--name", "x"], b"one of"), (["--container", "12"], b"12 or more"), (["-d", "0"], b"a number from 0.1"),
                           (["--source", "soft"], b"outside"), (["--topology", "x"], b"topology"), (["--", "prog"], b"-p PID")):
        ended = run([NUMALENS, "top", *options])
        assert ended.status == 2 and words in ended.err and ended.err.count(b"\n") == 1, ended
    ended = run([NUMALENS, "top", "-p", "1"])
    assert ended.status == 1 and b"use --batch" in ended.err, ended


@check("a process whose files only its own mount namespace has: as of a container, code has its names")
def apart():
    if os.geteuid() != 0:
        raise nlens.Skip("only root can mount")
    with Folder() as folder:
        program = os.path.join(folder, "hidden")
        script = "mount -t tmpfs none %s && cp %s %s && exec %s" % (folder, example("demo"), program, program)
        target = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdout=subprocess.DEVNULL, env={**ENVIRONMENT, "EXAMPLE_LONGER": "100000"})
        try:
            while len(os.listdir("/proc/%d/task" % target.pid)) < 9:
                assert target.poll() is None
                time.sleep(0.01)
            assert not os.path.exists(program)
            with Terminal(folder, 100, 30) as terminal:
                terminal.type("%s top --name hidden %s" % (NUMALENS, " ".join(OFTEN)), "Enter")
                terminal.until("malloc of 32")
                terminal.type("6")
                terminal.until(r"demo\.c:\d+ spread_row")
                terminal.type("q")
                terminal.until("^ready>")
        finally:
            target.kill()
            target.wait()


@check("kill -9 of top: the program runs on, the recorder ends, no file is left; it ends with the program, too")
def killed():
    with Folder() as folder, running(example("demo"), threads=9) as target:
        with top("-p", str(target.pid), *OFTEN, "--batch", TMPDIR=folder) as process:
            process.stdout.readline()
            children = run(["ps", "-o", "pid=", "--ppid", str(process.pid)]).out.split()
            assert len(children) == 1 and len(os.listdir(folder)) == 1, (children, os.listdir(folder))
            assert os.stat(os.path.join(folder, os.listdir(folder)[0])).st_mode & 0o777 == 0o700
            process.kill()
            process.wait()
        while os.path.exists("/proc/%d" % int(children[0])) or os.listdir(folder):
            time.sleep(0.01)
        assert_unharmed(target)
        with top("-p", str(target.pid), *OFTEN, "--batch", TMPDIR=folder) as process:
            process.stdout.readline()
            target.kill()
            target.wait()
            process.communicate(timeout=PATIENCE)
            assert process.returncode == 0 and not os.listdir(folder), (process.returncode, os.listdir(folder))


@check("a file that the recorder removes before it is read ends nothing")
def removed():
    with Folder() as folder, running(example("demo"), threads=9) as target:
        with top("-p", str(target.pid), *OFTEN, "--batch", "--json", TMPDIR=folder) as process:
            process.stdout.readline()
            link = os.path.join(folder, os.listdir(folder)[0], "top.000000.data")
            os.symlink("nothing", link)
            assert any(not os.path.lexists(link) for _ in process.stdout), "it was not looked at"
            assert process.stdout.readline() and process.poll() is None, process.stderr.read()


class Terminal:
    """A shell in a terminal of tmux."""

    def __init__(self, folder, width, height, **environment):
        self.tmux = [nlens.tool("tmux"), "-S", os.path.join(folder, "tmux"), "-f", "/dev/null"]
        self.call("new-session", "-d", "-x", str(width), "-y", str(height), "env", "-u", "NO_COLOR", "PS1=ready> ",
                  *("%s=%s" % item for item in {**ELSEWHERE, **environment}.items()), "sh")
        self.until("ready>")

    def call(self, *words):
        ended = run([*self.tmux, *words], environment={"LC_ALL": "C.UTF-8"})
        assert ended.status == 0, ended
        return ended.out.decode()

    def text(self, *options):
        return self.call("capture-pane", "-p", *options)

    def type(self, *keys):
        self.call("send-keys", *keys)

    def until(self, *patterns, colours=()):
        """The screen, once it has them all; colours=["-e"]: with its colours."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            text = self.text(*colours)
            if all(re.search(pattern, text, re.MULTILINE) for pattern in patterns):
                return text
            time.sleep(0.02)
        raise AssertionError("no %s on the screen:\n%s" % (patterns, text))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        run([*self.tmux, "kill-server"])


@check("the screen: every view, drill down and back, sort, filter, pause, help, resize; q restores the terminal")
def screen():
    with Folder() as folder, running(example("demo"), threads=9) as target, Terminal(folder, 100, 30) as terminal:
        terminal.type("%s top -p %d %s; echo status $?" % (NUMALENS, target.pid, " ".join("'%s'" % word for word in OFTEN + TWO_NODES)), "Enter")
        head = r"^demo \(%d\)  remote [\d.]+%%  samples \d+  threads 9  nodes 2 \(simulated\)" % target.pid
        terminal.until(head, r"object +history$", r"malloc of 32\.0 MiB", r"^remote, 0 to .*[▁-█]{2}")
        for key, pattern in (("1", r"command +history$"), ("2", r"worker \d"), ("4", r"allocated at +history$"), ("5", r"spread_row"), ("6", r"demo\.c:\d+ spread_row"),
                             ("7", r"node 1 +[\d.]+%"), ("?", r"^call chains of allocations, lifetimes .* from memory$"), ("BSpace", r"from \\ to")):
            terminal.type(key)
            terminal.until(pattern)
        terminal.type("1")
        terminal.until(r"command +history$", r" 9 +[\d.]+ m?s .*demo .*[▁-█]$")
        terminal.type("Enter")
        terminal.until(r"malloc of 32\.0 MiB")
        terminal.type("/", "32.0", "Enter")
        text = terminal.until(r"filter: 32\.0", r"malloc of 32\.0 MiB")
        terminal.type("p")
        terminal.until(r"paused")
        terminal.type("Enter")
        terminal.until(r"^Object \d+: malloc of 32\.0 MiB")
        terminal.call("resize-window", "-x", "100", "-y", "60")  # how long it is depends on how many samples there are
        terminal.until(r"demo\.c:\d+ \w+_row")
        terminal.call("resize-window", "-x", "100", "-y", "30")
        terminal.type("BSpace")
        text = terminal.until(r"filter: 32\.0")
        assert "16.0 MiB" not in text, text
        terminal.type("s", "s")
        terminal.until(r"^sort: remote")
        terminal.type("p", "2")
        terminal.until(r"worker \d")
        terminal.type("Home", "Enter")
        terminal.until(r"  only thread \d+", r"malloc of 32\.0 MiB")
        terminal.type("2")
        text = terminal.until(r"only thread", r"^ *100% .*worker \d")
        assert re.search(r"only thread (\d+)", text)[1] == re.search(r"^ *100% .* (\d+) .*worker \d", text, re.MULTILINE)[1], text
        terminal.type("BSpace")
        terminal.until(r"only process", r"(?s)(worker \d.*){2}")
        terminal.type("5")
        terminal.until(r"spread_row")
        terminal.type("Enter")
        terminal.until(r"Backspace: back", r"demo\.c")
        terminal.type("3")
        terminal.call("resize-window", "-x", "80", "-y", "24")
        terminal.until(r"\A.*\n.*\n1 processes.*\n.*object$", r"\A(.{0,80}\n){23}.{1,80}\n*\Z")
        terminal.type("7")
        terminal.until(r"node 1 +[\d.]+%")
        terminal.until(r"\033\[(1m\033\[)?31", colours=["-e"])  # the threads of node 1 use what the first one has filled on node 0
        terminal.type("q")
        text = terminal.until(r"^status 0")
        assert "1 processes" not in text, text
        terminal.type("stty -a", "Enter")
        terminal.until(r"(?<!-)\bicanon", r"(?<!-)\becho\b")
        assert_unharmed(target)


@check("the screen without colours, and its end by Ctrl-C and with the program")
def no_colour():
    with Folder() as folder, running(example("demo"), threads=9) as target, Terminal(folder, 80, 24, NO_COLOR=1) as terminal:
        command = "%s top -p %d %s; echo status $?" % (NUMALENS, target.pid, " ".join("'%s'" % word for word in OFTEN + TWO_NODES))
        terminal.type(command, "Enter")
        terminal.until(r"malloc of 32\.0 MiB")
        assert not re.search("\033\\[[0-9;]*3[0-7]", terminal.text("-e")), terminal.text("-e")
        terminal.type("C-c")
        terminal.until(r"^status 0")
        assert_unharmed(target)
        terminal.type("clear", "Enter")
        terminal.type(command, "Enter")
        terminal.until(r"malloc of 32\.0 MiB")
        target.kill()
        target.wait()
        terminal.until(r"\A.*ended")
        terminal.type("q")
        terminal.until(r"^status 0")


nlens.main()
