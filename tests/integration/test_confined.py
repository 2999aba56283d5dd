#!/usr/bin/env python3
"""Where the kernel refuses: perf_event_open forbidden (perf_event_paranoid 3, containers), then more. Recording goes on
with timers; the first sampled access stands for the first touch, and the report says so. And where programs are put apart:
PID namespaces, sandboxes, no /proc."""
import os
import resource
import sys
import time

import nlens
from nlens import Folder, Skip, check, example, note, record, refuse, report, row_at, run, site_line, tool


def record_confined(folder, *refused, error=1):
    ended = record(folder, [example("handover")], ["--topology", "numa:4 core:1"], prepare=refuse(*refused, error=error))
    assert ended.status == 0, ended
    return ended


def check_answer(ended):
    result = report(ended.trace)
    buffer = row_at(result["objects"], "handover.c", site_line("handover.c", "buffer"))
    note("%d samples, buffer %.3f" % (result["samples"], buffer["share"]))
    assert result["samples"] > 100
    assert buffer["share"] > 0.95
    return result


@check("without perf_event_open (EACCES, as perf_event_paranoid 3) the answer is the same, and it is said")
def paranoid():
    with Folder() as folder:
        ended = record_confined(folder, "perf_event_open", error=13)
        check_answer(ended)
        text = run([nlens.NUMALENS, "report", "--width", "0", ended.trace]).out.decode()
        assert "first touch" in text and "tick timer" in text, text


@check("without perf_event_open, move_pages, ptrace, process_vm_readv (EPERM, as in containers) the answer is the same")
def container():
    with Folder() as folder:
        check_answer(record_confined(folder, "perf_event_open", "move_pages", "ptrace", "process_vm_readv"))


@check("a kernel without these system calls (ENOSYS) changes nothing either")
def old_kernel():
    with Folder() as folder:
        check_answer(record_confined(folder, "perf_event_open", "userfaultfd", error=38))


# handover has its first thread and two more.
def check_no_ticks(ended, threads):
    result = report(ended.trace)
    assert result["samples"] == 0 and result["dropped"].get("no_tick") == threads, (result["samples"], result["dropped"])
    text = run([nlens.NUMALENS, "report", "-v", "--width", "0", ended.trace]).out.decode()
    assert "%d  threads not sampled: no ticks (seccomp, ulimit -i)" % threads in text, text
    assert "%d threads were not sampled: no ticks (seccomp, ulimit -i)" % threads in ended.err.decode(), ended


@check("without perf_event_open and timers (a filter, at either call) nothing is sampled, and it is said of each thread")
def no_ticks():
    for call in ("timer_create", "timer_settime"):
        with Folder() as folder:
            check_no_ticks(record_confined(folder, "perf_event_open", call), 3)


@check("the same where no more signals may be pending (ulimit -i), which timers need")
def no_pending():
    refused = refuse("perf_event_open")

    def prepare():
        resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, 0))
        refused()
    with Folder() as folder:
        check_no_ticks(record(folder, [example("handover")], ["--topology", "numa:4 core:1"], prepare=prepare), 3)


@check("doctor says that perf_event_open is refused, and what would enable it")
def doctor():
    ended = run([nlens.NUMALENS, "doctor"], prepare=refuse("perf_event_open", error=13))
    text = ended.out.decode()
    assert ended.status == 0, ended
    assert "perf_event_paranoid" in text or "seccomp" in text, text


# In PID namespaces: how programs are put there. bwrap's own /proc shows the namespace, the bound one the machine.
APART = {
    "unshare -p": ["unshare", "-p", "-f"],
    "unshare -p with its own /proc": ["unshare", "-p", "-f", "--mount-proc"],
    "bwrap --unshare-pid": ["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--die-with-parent"],
    "bwrap --unshare-pid --proc": ["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--die-with-parent"],
    "bwrap without /proc": ["bwrap", "--ro-bind", "/", "/", "--tmpfs", "/proc"],
}
# Says who it is where it is, then keeps two threads busy with allocations: more than their rings hold.
THREADS = """
import os, sys, threading
def work():
    kept = [b""] * 64
    for turn in range(20000):
        kept[turn % 64] = bytearray(600 + turn * 37 % 5000)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
proc = lambda name: os.readlink("/proc/" + name) if os.path.lexists("/proc/" + name) else "none"
print(os.getpid(), proc("self"), flush=True)
"""


def around(how):
    command = [tool(APART[how][0]), *APART[how][1:]]
    if run([*command, "true"]).status != 0:
        raise Skip("%s is not allowed here" % how)
    return command


def in_namespace(how):
    def body():
        with Folder() as folder:
            # Other programs run there before: all of them are recorded.
            script = "%s; %s; exec \"$0\" \"$@\"" % (tool("true"), tool("true"))
            ended = record(folder, [*around(how), tool("sh"), "-c", script, sys.executable, "-c", THREADS])
            assert ended.status == 0, ended
            inner, shown = ended.out.split()
            result = report(ended.trace, "threads")
            pids = {row["pid"] for row in result["threads"]}
            workers = [row for row in result["threads"] if row["pid"] != row["tid"]]
            note("%s, %d threads, pid %s there, %s by /proc, %s recorded" % (
                result["dropped"], len(result["threads"]), inner.decode(), shown.decode(), sorted(pids)))
            for cause in ("ring_full", "no_ring", "child_untracked", "unreachable"):
                assert cause not in result["dropped"], result["dropped"]
            if "-p" in how:  # numbers are the recorder's: 1 to 9 are the namespace's first ones
                assert int(inner) < 10 and int(inner) not in pids, pids
            if shown != inner and shown != b"none":
                assert int(shown) in pids, pids
            assert len(workers) == 2, result["threads"]
    return body


for _how in APART:
    check("threads under %s: recorded to their end, under the numbers that the recorder has for them" % _how)(
        in_namespace(_how))


@check("a time namespace: what the kernel reports has the program's times")
def other_clock():
    for offset in ("100000", "-%d" % min(1000, time.monotonic() // 2)):  # no clock goes below 0: a machine may have started just now
        around = [tool("unshare"), "--time", "--fork", "--monotonic", offset]
        if os.geteuid() != 0:
            around.append("--map-root-user")
        if run(around + ["true"]).status != 0:
            raise Skip("time namespaces are not allowed here")
        with Folder() as folder:
            trace = os.path.join(folder, "x.data")
            ended = run([*around, nlens.NUMALENS, "record", "-o", trace, "--", example("handover")], folder=folder)
            assert ended.status == 0, ended
            times = {}
            for line in run([nlens.NUMALENS, "export", "--format", "events", trace]).out.decode().splitlines():
                kind, at = line.split(" ", 2)[:2]
                times.setdefault(kind, []).append(int(at.split("=")[1]))
            assert "touch" in times, "no first touch, %s" % ended
            begin, end = times["process"][0] - 10 ** 9, times["process_exit"][-1] + 10 ** 9
            assert begin < min(times["touch"]) and max(times["touch"]) < end, (offset, begin, min(times["touch"]), max(times["touch"]), end)


@check("bwrap --unshare-all: what cannot reach the recorder is counted, with the reason")
def unreachable():
    with Folder() as folder:
        command = [tool("bwrap"), "--ro-bind", "/", "/", "--unshare-all", "--proc", "/proc"]
        if run([*command, "true"]).status != 0:
            raise Skip("namespaces are not allowed here")
        ended = record(folder, [*command, example("handover")])
        assert ended.status == 0 and ended.out.startswith(b"total"), ended
        result = report(ended.trace)
        note(result["dropped"])
        assert result["dropped"].get("unreachable", 0) >= 1 and "child_untracked" not in result["dropped"], ended
        assert b"network namespace" in ended.err and b"network namespace" in run([nlens.NUMALENS, "report", "-v", "--width", "0", ended.trace]).out


nlens.main()
