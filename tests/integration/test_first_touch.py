#!/usr/bin/env python3
"""Recording moves no memory of the program: each page of its stacks, heap, static data and thread-local variables is first
touched by the same thread as without, and everything has the same place in its page."""
import os
import re
import subprocess

import nlens
from nlens import BUILD, NUMALENS, Folder, Skip, check, example, note, run, tool

PAGE = 4096
DEEPEST = 64  # pages of a stack that are looked at; the programs use 20
OFTEN = ["--frequency", "2000", "--budget", "50"]


def watch(folder, command, name):
    """What the program says of itself, and the first toucher of each page of its areas: {(area, page from its end): thread}."""
    file = os.path.join(folder, name)
    result = run([os.path.join(BUILD, "tests/integration/page_faults"), file] + command)
    if result.status == 77:
        raise Skip("no page faults from perf: " + result.err.decode().strip())
    assert result.status == 0, result
    said, text = {}, result.out.decode()
    for word, key, value, size in re.findall(r"^(area|place|thread) (\w+) (\w+) ?(\d*)$", text, re.M):
        said.setdefault(word, {})[key] = (int(value, 0), int(size)) if size else int(value, 0)
    with open(file) as stream:
        lines = stream.read().split("\n")
    assert "lost" not in lines, "perf has lost page faults"
    faults = sorted(tuple(int(word) for word in line.split()) for line in lines if line)
    return said, touchers(said, faults)


def touchers(said, faults):
    """Pages are counted from the area's end: stacks grow down from there. Whatever was touched before the mark is not it:
    another program before exec, or the agent's own memory at its start."""
    threads = {tid: number for number, tid in said["thread"].items()}
    pid = next(process for _, process, tid, _ in faults if tid in threads)
    begins = next(time for time, process, _, address in faults
                  if process == pid and address // PAGE == said["area"]["mark"][0] // PAGE)
    found = {}
    for name, (start, size) in said["area"].items():
        end = start + size
        start = max(start, end - DEEPEST * PAGE)
        for time, process, tid, address in faults:
            if process == pid and time >= begins and start <= address < end:
                found.setdefault((name, end // PAGE - address // PAGE), threads.get(tid, "main" if tid == pid else "another"))
    return found


def compare(program):
    with Folder() as folder:
        plain_said, plain = watch(folder, [example(program)], "plain")
        said, recorded = watch(folder, [NUMALENS, "record", "--quiet", "-o", os.path.join(folder, "trace")] + OFTEN +
                            ["--", example(program)], "recorded")
        trace = nlens.report(os.path.join(folder, "trace"))
    assert said["place"] == plain_said["place"], "places of things in their pages: %s, without record %s" % (
        said["place"], plain_said["place"])
    both = set(plain) & set(recorded)
    note("%s: %d pages without record, %d with, %d samples" % (program, len(plain), len(recorded), trace["samples"]))
    assert len(both) >= 10 * 16, "of %d and %d pages only %d are touched by both" % (len(plain), len(recorded), len(both))
    others = ["%s, page %d from its end: %s, without record %s" % (key + (recorded[key], plain[key]))
              for key in sorted(both) if recorded[key] != plain[key]]
    assert not others, "\n".join(others)
    # what the agent adds below a thread's frames, that thread touches itself
    strangers = ["%s, page %d from its end: %s" % (key + (recorded[key],)) for key in sorted(set(recorded) - both)
                 if key[0] != "stack" + recorded[key]]
    assert not strangers, "touched under record only:\n" + "\n".join(strangers)


for _program in "pages", "pages_openmp", "pages_iostream":
    check(_program + ": the same first touchers and the same places in pages")(lambda p=_program: compare(p))


@check("the agent has no thread-local variables")
def no_tls():
    headers = subprocess.run([tool("readelf"), "-lW", os.path.join(BUILD, "src/agent/libnumalens-agent.so")],
                             capture_output=True, text=True, check=True).stdout
    assert "LOAD" in headers and not re.search(r"^\s*TLS\s", headers, re.M), headers


nlens.main()
