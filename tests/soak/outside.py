#!/usr/bin/env python3
"""usage: tests/soak/outside.py [CYCLES [KILLS [NAME...]]]

Servers under load and programs that work, each attached to and let go CYCLES (1000) times, then kill -9 of the recorder at KILLS (200) random
moments: no error reply, no crash, no descriptor more than before, nobody left stopped or traced. A program that counts them has no call
that failed with EINTR but by a kill, and no signal lost. The first failure ends it. Prints a row of docs/reliability.md for each; NAME: only these."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
from nlens import BUILD, ENVIRONMENT, NUMALENS  # noqa: E402

cycles, kills = (int(sys.argv[i]) if len(sys.argv) > i else usual for i, usual in ((1, 1000), (2, 200)))
chance = random.Random()
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
PORT = "16379"
SLOW = ("PostgreSQL", "node", "JVM")  # until the first stop: many processes, large binaries
NODE = "const m = new Map(); for (let i = 0; ; i++) { m.set(i % 100000, 'x' + i); if (i % 1e6 == 0) console.log(i) }"
PYTHON = """import threading
def work():
    m, i = {}, 0
    while True:
        m[i % 100000] = "x%d" % i
        i += 1
        if i % 1000000 == 0:
            print(i, flush=True)
for _ in range(2):
    threading.Thread(target=work).start()"""
JAVA = """class Busy { public static void main(String[] a) throws Exception { for (int t = 0; t < 2; t++) new Thread(() -> {
  java.util.HashMap<Integer, String> m = new java.util.HashMap<>(); for (int i = 0; ; i++) { m.put(i % 100000, "x" + i);
  if (i % 1000000 == 0) System.out.println(i); } }).start(); } }"""
GO = """package main
import "fmt"
func main() { done := make(chan int); for t := 0; t < 2; t++ { go func() { m := map[int]string{}
  for i := 0; ; i++ { m[i%100000] = fmt.Sprint("x", i); if i%1000000 == 0 { fmt.Println(i) } } }() }; <-done }"""
CXX = """#include <map>
#include <string>
#include <thread>
#include <vector>
#include <cstdio>
int main() { std::vector<std::thread> all; for (int t = 0; t < 2; t++) all.emplace_back([] { std::map<int, std::string> m;
  for (int i = 0;; i++) { m[i % 100000] = "x" + std::to_string(i); if (i % 1000000 == 0) { printf("%d\\n", i); fflush(stdout); } } });
  for (auto &one : all) one.join(); }"""


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as stream:
        stream.write(text)
    return path


def build(folder, tool, name, text, *words):
    if not shutil.which(tool):
        return None
    source = write(folder, name, text)
    subprocess.run([tool, *(word.replace("SOURCE", source).replace("FOLDER", folder) for word in words)], check=True, cwd=folder)
    return os.path.join(folder, "busy")


def database(folder):
    """PostgreSQL's server, and a load of two clients."""
    home = os.path.join(folder, "data")
    os.mkdir(home)
    if NOBODY:
        os.chmod(folder, 0o755)
        os.chown(home, 65534, 65534)
    subprocess.run([*NOBODY, "initdb", "-D", home, "-A", "trust", "-U", "postgres", "--no-sync"], check=True, cwd=home, stdout=subprocess.DEVNULL)
    reached = ["-h", home, "-U", "postgres"]
    load = "until pgbench -i -q %s postgres 2> /dev/null; do sleep 0.2; done; exec pgbench -n -c 2 -T 100000 -P 1 %s postgres" % (" ".join(reached), " ".join(reached))
    return [*NOBODY, "postgres", "-D", home, "-k", home, "-c", "listen_addresses=", "-c", "fsync=off"], ["sh", "-c", load]


def programs(folder):
    """name -> (command, load or None)"""
    if shutil.which("redis-server"):
        yield "redis", ["redis-server", "--port", PORT, "--save", "", "--dir", folder], \
            ["redis-benchmark", "-p", PORT, "-l", "-q", "-t", "set,get,lpush,lrange_100", "-n", "20000", "-r", "100000"]
    if shutil.which("initdb") and shutil.which("pgbench"):
        yield "PostgreSQL", *database(folder)
    yield "calls", [os.path.join(BUILD, "tests", "integration", "outside_target"), "1000000"], None
    cxx = build(folder, "g++", "busy.cc", CXX, "-O2", "-pthread", "-o", "busy", "SOURCE")
    if cxx:
        yield "C++ threads", [cxx], None
    go = build(folder, "go", "busy.go", GO, "build", "-o", "busy", "SOURCE")
    if go:
        yield "Go", [go], None
    if shutil.which("node"):
        yield "node", ["node", "-e", NODE], None
    if shutil.which("python3"):
        yield "Python, two threads", ["python3", "-c", PYTHON], None
    if shutil.which("java"):
        yield "JVM", ["java", write(folder, "Busy.java", JAVA)], None


def facts(pid):
    with open("/proc/%d/status" % pid) as stream:
        status = dict(line.split(":\t", 1) for line in stream if ":\t" in line)
    return {"descriptors": len(os.listdir("/proc/%d/fd" % pid)), "tracer": int(status["TracerPid"]), "state": status["State"][0]}


def threads_stopped(pid):
    states = []
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/stat" % (pid, tid)) as stream:
                states.append(stream.read().rsplit(")", 1)[1].split()[0])
        except OSError:
            pass
    return [state for state in states if state in "tT"]


def family(pid):
    """The process and its children, as -p wants them."""
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], stdout=subprocess.PIPE, check=False).stdout.split()
    return [pid, *map(int, children)][-16:]


def attach(pids, folder, seconds):
    return subprocess.Popen([NUMALENS, "record", "-p", ",".join(map(str, pids)), "-F", "4000", "--budget", "100", "--stop-after", "%dms" % (seconds * 1000),
                             "-o", os.path.join(folder, "x.data")], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)


def check(name, process, pids):
    assert process.poll() is None, "%s ended with %s" % (name, process.returncode)
    for pid in pids:
        now = facts(pid)
        assert now["tracer"] == 0 and not threads_stopped(pid), (name, pid, now, threads_stopped(pid))


def check_load(name, client, error):
    assert client.poll() is None, "%s: the client ended with %s" % (name, client.returncode)
    with open(error) as stream:
        complaints = [line for line in stream if not re.search(r"^progress: .* 0 failed", line)]
    assert not complaints, (name, complaints)


def end_calls(process, killed):
    """What outside_target counted."""
    out = process.communicate(timeout=60)[0]
    found = {words[0]: [int(word) for word in words[1:]] for words in map(str.split, out.splitlines()) if len(words) > 1}
    assert process.returncode == 0 and found["failed"] == [0] and found["signals"][0] == found["signals"][1] and found["interrupted"][0] <= killed, found
    return "; EINTR %d, signals %d of %d" % (found["interrupted"][0], found["signals"][1], found["signals"][0])


def torment(name, command, load, folder):
    log, error = open(os.path.join(folder, "log"), "wb"), open(os.path.join(folder, "error"), "wb")
    counts = name == "calls"
    process = subprocess.Popen(["nice", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE if counts else log, stderr=log, env=ENVIRONMENT, text=True)
    client, began, samples, more = None, time.monotonic(), 0, ""
    try:
        time.sleep(1)
        while not load and not counts and os.path.getsize(log.name) == 0:
            time.sleep(0.05)  # a runtime opens its own descriptors when it first uses them
        before = facts(process.pid)
        if load:
            client = subprocess.Popen(["nice", *load], stdout=log, stderr=error, env=ENVIRONMENT)
            time.sleep(4)
        while name == "PostgreSQL" and os.path.getsize(error.name) == 0:
            time.sleep(0.05)  # its clients have no processes before
        if name == "PostgreSQL":
            before = facts(process.pid)  # it opens some when it is ready; its clients have theirs in processes of their own
        pids = family(process.pid)
        for number in range(cycles):
            recorder = attach(pids, folder, (0.02 + chance.random() / 10) * (2 if name in SLOW else 1))
            said = recorder.communicate()[1]
            assert recorder.returncode == 0, "%s, cycle %d: %s" % (name, number, said)
            samples += int(re.search(r"(\d+) samples", said)[1])
            check(name, process, pids)
        for number in range(kills):
            recorder = attach(pids, folder, 10)
            time.sleep(0.02 + chance.random() / 5)
            recorder.kill()
            recorder.communicate()
            time.sleep(0.02)
            check(name, process, pids)
        if load:
            check_load(name, client, error.name)
        size, limit = os.path.getsize(log.name) + os.path.getsize(error.name), time.monotonic() + 120
        while not counts and os.path.getsize(log.name) + os.path.getsize(error.name) == size:
            assert time.monotonic() < limit, "%s does nothing any more" % name
            time.sleep(0.05)
        if load:
            client.kill()
        while facts(process.pid)["descriptors"] > before["descriptors"] + (4 if name == "Go" else 1):  # it opens three when it first has a timer
            assert time.monotonic() < limit, (name, before, facts(process.pid))
            time.sleep(0.05)
        with open(log.name, errors="replace") as stream:
            complaints = [line for line in stream if re.search(r"\b(ERROR|FATAL|PANIC|Error from server)\b|terminated by signal", line)]
        assert not complaints, (name, complaints)
        more = end_calls(process, kills) if counts else ""
        print("| %s | %d | %d | %d | %.0f s%s |" % (name, cycles, kills, samples, time.monotonic() - began, more), flush=True)
    finally:
        for one in (client, process):
            if one:
                one.terminate() if name == "PostgreSQL" and one is process else one.kill()
                one.wait()


with tempfile.TemporaryDirectory(prefix="numalens-") as place:
    for title, words, worked_with in programs(place):
        if title in sys.argv[3:] or len(sys.argv) < 4:
            torment(title, words, worked_with, place)
