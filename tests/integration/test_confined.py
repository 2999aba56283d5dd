#!/usr/bin/env python3
"""Where the kernel refuses: perf_event_open forbidden (perf_event_paranoid 3, containers), then more. Recording goes on
with timers; the first sampled access stands for the first touch, and the report says so."""
import nlens
from nlens import Folder, check, example, note, record, refuse, report, row_at, run, site_line


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
        text = run([nlens.NUMALENS, "report", ended.trace]).out.decode()
        assert "first touch" in text and "tick timer" in text, text


@check("without perf_event_open, move_pages, ptrace, process_vm_readv (EPERM, as in containers) the answer is the same")
def container():
    with Folder() as folder:
        check_answer(record_confined(folder, "perf_event_open", "move_pages", "ptrace", "process_vm_readv"))


@check("a kernel without these system calls (ENOSYS) changes nothing either")
def old_kernel():
    with Folder() as folder:
        check_answer(record_confined(folder, "perf_event_open", "userfaultfd", error=38))


@check("doctor says that perf_event_open is refused, and what would enable it")
def doctor():
    ended = run([nlens.NUMALENS, "doctor"], prepare=refuse("perf_event_open", error=13))
    text = ended.out.decode()
    assert ended.status == 0, ended
    assert "perf_event_paranoid" in text or "seccomp" in text, text


nlens.main()
