#!/usr/bin/env python3
"""What numalens says of a recording is true when something is unusual: files that cannot hold one, disks that are full,
children that stay, wrappers that empty LD_PRELOAD, systems without /proc, threads that switch context all the time."""
import itertools
import os
import re
import signal
import stat
import subprocess
import sys
import time

import nlens
sys.path.insert(0, os.path.join(nlens.SOURCE, "tests"))
import skips  # noqa: E402
from nlens import ENVIRONMENT, Folder, PATIENCE, Skip, check, example, note, record, report, run, tool

DUMP = os.path.join(nlens.BUILD, "tests", "trace", "trace_dump")


def keys_of(trace):
    ended = run([DUMP, "--count", trace])
    assert ended.status == 0, ended
    keys = {}
    for line in ended.out.decode(errors="replace").splitlines():
        kind, _, rest = line.partition(" ")
        if kind in ("session", "ending"):
            key, _, value = rest.partition("=")
            keys[kind + "." + key] = value
    return keys


def text_of(trace):
    ended = run([nlens.NUMALENS, "report", "-v", "--width", "0", trace])
    assert ended.status == 0, ended
    return ended.out.decode()


@check("a command line of more than a megabyte is recorded, and the trace can be read")
def long_command():
    words = ["x" * 8000] * 160  # 1.28 MB; the kernel allows a quarter of the stack's limit, 2 MiB as a rule
    with Folder() as folder:
        try:
            ended = record(folder, ["true", *words])
        except OSError as error:
            raise Skip("the system allows no such command line: %s" % error)
        assert ended.status == 0, ended
        kept = keys_of(ended.trace)["session.command"]
        assert kept.startswith("true xxx") and "bytes more" in kept, kept[-200:]
        assert "Nothing was lost" in text_of(ended.trace)


@check("a FIFO, a directory or a socket for -o: one line that says so, and the program is not run")
def special_files():
    with Folder() as folder:
        fifo, directory = os.path.join(folder, "fifo"), os.path.join(folder, "directory")
        os.mkfifo(fifo)
        os.mkdir(directory)
        for path, word in ((fifo, b"FIFO"), (directory, b"directory")):
            ended = run([nlens.NUMALENS, "record", "-o", path, "--", "echo", "ran"])
            assert ended.status == 1 and ended.out == b"", ended
            assert ended.err.count(b"\n") == 1 and word in ended.err and path.encode() in ended.err, ended
        assert stat.S_ISFIFO(os.stat(fifo).st_mode)


@check("another user's symbolic link in a shared directory is not followed, by -o and --html")
def foreign_link():
    if os.geteuid() != 0:
        raise Skip("only root can make a link that is another's")
    with Folder() as folder:
        shared, mine = os.path.join(folder, "shared"), os.path.join(folder, "mine")
        os.mkdir(shared)
        os.chmod(shared, 0o1777)
        with open(mine, "w") as stream:
            stream.write("precious")
        link = os.path.join(shared, "numalens.data")
        os.symlink(mine, link)
        os.lchown(link, 65534, 65534)
        ended = run([nlens.NUMALENS, "record", "-o", link, "--", "echo", "ran"])
        assert ended.status == 1 and ended.out == b"" and b"symbolic link of user 65534" in ended.err, ended
        trace = record(folder, ["true"]).trace
        ended = run([nlens.NUMALENS, "report", "--html", link, trace])
        assert ended.status == 1 and b"symbolic link of user 65534" in ended.err, ended
        with open(mine) as stream:
            assert stream.read() == "precious"
        os.lchown(link, 0, 0)  # one's own is followed
        assert record(shared, ["true"]).status == 0
        assert os.path.islink(link) and os.path.getsize(mine) > 100


@check("events that could not be written: the report does not say that nothing was lost")
def unwritten():
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    load = "kept = [b''] * 64\nfor turn in range(100000):\n    kept[turn % 64] = bytearray(600 + turn * 37 % 5000)\n"
    with Folder() as folder:
        ended = record(folder, [tool("python3"), "-c", load], prepare=limit)
        assert ended.status == 0 and b"not whole" in ended.err, ended
        text = text_of(ended.trace)
        # Where not even the end of the recording finds room, that is said instead.
        assert "events could not be written" in text or "The file is incomplete" in text, text
        assert "Nothing was lost" not in text, text


@check("a limit of address space: it records with less, or says what it needs; it never ends by a signal")
def limited_memory():
    import resource
    ends = []
    with Folder() as folder:
        for limit in range(40, 112, 8):
            ended = record(folder, [nlens.example("many_small")], ["-F", "5000"], longer=1 / 8,
                           prepare=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit << 20, limit << 20)))
            words = b"(ulimit -v)" if ended.status == 0 else b"ulimit -v, %d MiB) is too low" % limit
            assert ended.status in (0, 1) and words in ended.err, (limit, ended)
            ends.append(ended.status)
    assert ends[0] == 1 and ends[-1] == 0 and ends == sorted(ends, reverse=True), ends


@check("a report without samples says why: none were requested, the file is incomplete, or the run may have been too short")
def no_samples():
    with Folder() as folder:
        text = text_of(record(folder, [tool("true")], ["--source", "none"]).trace)
        assert "as requested (--source none)" in text and "too short" not in text and "doctor" not in text, text
        ended = record(folder, [tool("true")], ["--start-after", "1000s"])
        assert "too short" in text_of(ended.trace)
        os.truncate(ended.trace, os.path.getsize(ended.trace) - 1)
        text = text_of(ended.trace)
        assert 0 < text.index("file is incomplete") < text.index("No memory access was sampled") and "too short" not in text, text


# The parent ends as soon as its child has used half a second of CPU time; the child stays until nobody holds the pipe.
OUTLIVE = """
import os, select, signal, time
child = os.fork()
if child == 0:
    os.close(1)
    try:
        os.setsid()
        signal.alarm(60)
        while True:
            sum(range(1000))
    finally:
        os._exit(0)
ticks = os.sysconf("SC_CLK_TCK")
while True:
    fields = open("/proc/%d/stat" % child).read().rsplit(")")[1].split()
    if (int(fields[11]) + int(fields[12])) / ticks > 0.5:
        break
    time.sleep(0.01)
print(child, flush=True)
os._exit(0)
"""


@check("a child that outlives the program: its CPU time is in the sum that sampling is compared with")
def outliving():
    with Folder() as folder:
        process = subprocess.Popen([nlens.NUMALENS, "record", "-F", "1000", "-o", "numalens.data", "--", tool("python3"),
                                    "-c", OUTLIVE], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        child = int(process.stdout.readline())
        try:
            assert process.wait(timeout=PATIENCE) == 0
        finally:
            os.kill(child, signal.SIGKILL)
        err = process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        keys = keys_of(os.path.join(folder, "numalens.data"))
        cpu, sampling = int(keys["ending.cpu_ns"]), int(keys["ending.handler_ns"])
        note("%.2f s of CPU time, sampling %.4f s: %s" % (cpu / 1e9, sampling / 1e9, err.decode().strip()))
        assert cpu > 0.5e9, keys


@check("without /proc, the cause is named")
def no_proc():
    around = [tool("unshare"), "--mount", "--map-root-user", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"]
    if run(around + ["true"]).status != 0:
        raise Skip("nothing can be mounted over /proc here")
    with Folder() as folder:
        ended = run(around + [nlens.NUMALENS, "record", "-o", "x.data", "--", "echo", "ran"], folder=folder)
        assert ended.status == 1 and ended.out == b"", ended
        assert ended.err.count(b"\n") == 1 and b"/proc is not mounted" in ended.err, ended


@check("record -p --source faults: the report does not credit the processor")
def faults_of_process():
    with Folder() as folder:
        work = "import sys\nprint(flush=True)\nfor line in sys.stdin: pass\nbytearray(1 << 22)"
        target = subprocess.Popen([tool("python3"), "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        target.stdout.readline()
        try:
            trace = os.path.join(folder, "x.data")
            ended = run([nlens.NUMALENS, "record", "-p", str(target.pid), "--source", "faults", "--stop-after", "100ms",
                         "-o", trace])
        finally:
            target.communicate()
        if ended.status != 0:
            raise Skip("page faults cannot be recorded here: %s" % ended.err.decode().strip())
        text = text_of(trace)
        assert "The samples are page faults" in text and "The processor took" not in text, text


@check("a wrapper that sets LD_PRELOAD: the agent is put back before another library; an empty one is respected and named")
def wrapper():
    loop = "%s --rounds=2000" % example("handover")
    with Folder() as folder:
        ended = record(folder, ["sh", "-c", "LD_PRELOAD=libm.so.6 %s" % loop])
        assert ended.status == 0 and b"without the agent" not in ended.err, ended
        commands = [row["command"] for row in report(ended.trace, "processes")["processes"]]
        assert any("handover" in command for command in commands), commands
        assert "LD_PRELOAD was emptied" not in text_of(ended.trace)
        plain = run(["sh", "-c", "LD_PRELOAD=libm.so.6 sh -c 'echo $LD_PRELOAD'"])
        assert plain.out == b"libm.so.6\n", plain
        for empty in ("LD_PRELOAD= %s" % loop, "unset LD_PRELOAD; %s; :" % loop):
            ended = record(folder, ["sh", "-c", empty])
            assert ended.status == 0, ended
            assert b"1 child program started without the agent: LD_PRELOAD was emptied for it; record it" in ended.err, ended
            text = text_of(ended.trace)
            assert re.search(r" 1  child program started without the agent: LD_PRELOAD", text), text
            assert "could not be followed" not in text, text


SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
pid_t fork(void)
{
    pid_t (*next)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
    int now = getenv("SIGNAL_AT_FORK") != NULL;
    unsetenv("SIGNAL_AT_FORK");
    pid_t pid = next();
    if (now && pid > 0)
        kill(getpid(), SIGTERM);
    return pid;
}
"""


@check("compare: a signal right after the program was started reaches it")
def signal_at_fork():
    with Folder() as folder:
        shim = os.path.join(folder, "shim.so")
        built = run([tool("cc"), "-shared", "-fPIC", "-x", "c", "-o", shim, "-", "-ldl"], SHIM.encode())
        assert built.status == 0, built
        ended = run([nlens.NUMALENS, "compare", "--topology", "numa:2 core:1", "--", "sleep", "1000"], folder=folder,
                    environment={"LD_PRELOAD": shim, "SIGNAL_AT_FORK": "1"})
        assert ended.status == -signal.SIGTERM, ended


ENDING = """
#include <pthread.h>
#include <stdlib.h>
static pthread_key_t key;
static __thread int rounds;
static void end(void *value)
{
    free(value);
    if (++rounds < 4)
        pthread_setspecific(key, malloc(10));
}
static void *work(void *argument)
{
    pthread_setspecific(key, malloc(10));
    return argument;
}
int main(void)
{
    pthread_t threads[18];
    pthread_key_create(&key, end);
    for (int i = 0; i < 18; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 18; i++)
        pthread_join(threads[i], NULL);
}
"""


@check("what threads release while they end is counted as that, not as a lack of rings")
def ending_threads():
    with Folder() as folder:
        program = os.path.join(folder, "ending")
        built = run([tool("cc"), "-pthread", "-x", "c", "-o", program, "-"], ENDING.encode())
        assert built.status == 0, built
        ended = record(folder, [program])
        assert ended.status == 0, ended
        text = text_of(ended.trace)
        assert "no free ring" not in text and "threads that were ending" in text, text


# Maps a file that is old, again and again; then files that follow one another in the same place on the disk.
MAPS = """
import mmap, os, sys
with open(sys.argv[1], "rb") as stream:
    for _ in range(500):
        mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ).close()
for number in range(20):
    name = "file%d" % number
    with open(name, "w+b") as stream:
        stream.write(bytes(8192))
        stream.flush()
        kept = mmap.mmap(stream.fileno(), 8192, prot=mmap.PROT_READ)
    kept.close()
    os.unlink(name)
"""


def old_file():
    """A file of a page with a single name that was not changed just now."""
    for path in ("/etc/passwd", "/etc/services", nlens.NUMALENS, os.path.join(nlens.SOURCE, "README.md")):
        if os.access(path, os.R_OK):
            status = os.stat(path)
            if status.st_nlink == 1 and time.time() - status.st_ctime > 60 and status.st_size:
                return path
    raise Skip("no file here is old and has a single name")


@check("mapped files have their names, also when one takes the place of another")
def names_of_maps():
    with Folder() as folder:
        ended = record(folder, [tool("python3"), "-c", MAPS, old_file()])
        assert ended.status == 0, ended
        events = run([DUMP, ended.trace]).out.decode(errors="replace")
        for number in range(20):
            assert re.search(r"/file%d\b" % number, events), "file%d is missing" % number


@check("a file that is mapped again and again costs one system call each time")
def calls_of_maps():
    strace = tool("strace")
    with Folder() as folder:
        log = os.path.join(folder, "log")
        ended = run([strace, "-f", "-o", log, "-e", "trace=readlink,readlinkat", nlens.NUMALENS, "record", "-o", "x.data", "--",
                     tool("python3"), "-c", MAPS, old_file()], folder=folder)
        if ended.status != 0:
            raise Skip("strace cannot trace here: %s" % ended.err[-200:].decode(errors="replace"))
        with open(log) as stream:
            asked = sum("/proc/self/fd/" in line for line in stream)
        note("%d names asked for" % asked)
        assert asked < 200, asked


CHURN = "kept = [b''] * 64\nfor turn in range(200000):\n    kept[turn % 64] = bytearray(600 + turn * 37 % 5000)\n"


@check("the closing line and the report distinguish sampling and tracking")
def tracking():
    with Folder() as folder:
        python = tool("python3")
        ended = record(folder, [python, "-c", CHURN])
        assert ended.status == 0 and re.search(rb"sampling took [0-9.]+% of the program's CPU time, tracking its objects [0-9.]+%",
                                               ended.err), ended
        much = int(keys_of(ended.trace)["ending.tracking_ns"])
        assert "tracking its objects" in text_of(ended.trace)
        note("%.2f ms for 200,000 blocks" % (much / 1e6))
        # Two calls a block, and no call in less than a nanosecond.
        assert much > 400000, much


# A thread as servers have them: it leaves the signals of its own faults open and blocks the others, or begins with them blocked.
# Half a second of CPU time.
SERVER = """
import signal, sys, threading, time
faults = {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP, signal.SIGABRT, signal.SIGSYS}
wanted = signal.valid_signals() - faults - {signal.SIGKILL, signal.SIGSTOP}
def block(who):
    if sys.argv[1] == who:
        signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
def serve():
    block("itself")
    while time.thread_time() < 0.5:
        sum(range(1000))
    print(signal.pthread_sigmask(signal.SIG_BLOCK, []) == wanted)
thread = threading.Thread(target=serve)
block("creator")
thread.start()
thread.join()
"""


@check("threads that block all signals but those of their faults are sampled, with ticks from perf and from timers")
def servers():
    for tick, blocks in itertools.product(("auto", "timer"), ("itself", "creator")):
        with Folder() as folder:
            ended = record(folder, [sys.executable, "-c", SERVER, blocks], ["--tick", tick])
            assert ended.status == 0 and ended.out == b"True\n", ended
            rows = [row for row in report(ended.trace, "threads")["threads"] if row["tid"] != row["pid"]]
            note("%s, blocked by %s: %s samples" % (tick, blocks, [row["samples"] for row in rows]))
            assert sum(row["samples"] for row in rows) > 0, rows


# The main thread computes until it has a perf event (it may begin with a timer), hands bytes to and fro until it has none any more,
# then computes until it has one again.
HANDING = """
import os, threading
def ticks():
    with open("/proc/self/maps") as maps:
        return maps.read().count("[perf_event]")
(there, to), (here, back) = os.pipe(), os.pipe()
def answer():
    while os.read(there, 1) == b"x":
        os.write(back, b"x")
def hand(times):
    for _ in range(times):
        os.write(to, b"x")
        os.read(here, 1)
def compute():
    while not ticks():
        sum(range(20000))
compute()
thread = threading.Thread(target=answer)
thread.start()
while ticks():
    hand(300)
os.write(to, b".")
thread.join()
compute()
"""


@check("threads that switch context often get their ticks from timers, and from perf again when they compute")
def switching():
    with Folder() as folder:
        if skips.no_perf():
            raise Skip("no ticks from perf here")
        ended = record(folder, [sys.executable, "-c", HANDING])
        assert ended.status == 0, ended
        result = report(ended.trace)
        note("%d samples, %s" % (result["samples"], result["dropped"]))
        assert result["samples"] > 0


nlens.main()
