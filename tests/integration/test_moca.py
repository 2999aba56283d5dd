#!/usr/bin/env python3
"""MOCA's recordings in and out: no access is lost on the way, and what is no such recording is refused by line."""
import json
import os
import random

import nlens
from nlens import Folder, check, run

# As MOCA writes it: addresses as the kernel prints pointers, masks with the highest CPU first.
LINES = """T 0 1234 4096
C 0 2 100 150 00011
A 0x00007f0000001000 0x0000000012345000 3 0 00001
A 0x00007f0000002000 0x0000000012346000 0 2 00010
C 1 1 150 200 00001
A 0x00007f0000001000 0x0000000012345000 1 1 00001
T 1 1235
C 0 1 100 150 10000
A 0x00007f0000001000 0x0000000012345000 0 0 10000
C 1 1 200 250 10000
A 0x0000555500000000 0x0000000000000000 7 0 10000
"""


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def import_moca(folder, *paths, trace="moca.data"):
    trace = os.path.join(folder, trace)
    return run([nlens.NUMALENS, "import", "--format", "moca", "-o", trace, *paths]), trace


def export(trace):
    ended = run([nlens.NUMALENS, "export", "--format", "moca", trace])
    assert ended.status == 0, ended
    return ended.out.decode()


def there_and_back(text):
    with Folder() as folder:
        ended, trace = import_moca(folder, write(folder, "in", text))
        assert ended.status == 0, ended
        first = export(trace)
        ended, again = import_moca(folder, write(folder, "out", first), trace="again.data")
        assert ended.status == 0, ended
        assert export(again) == first, first
        return first


@check("lines: in and out again they are the same bytes")
def lines():
    assert there_and_back(LINES) == LINES


@check("one file for each task, as MOCA leaves them")
def many_files():
    with Folder() as folder:
        first, second = LINES.split("T 1 ")
        ended, trace = import_moca(folder, write(folder, "Moca-task0", first), write(folder, "Moca-task1", "T 1 " + second))
        assert ended.status == 0, ended
        assert b"5 page uses of 2 tasks" in ended.out, ended
        assert export(trace) == LINES


def made_up(seed):
    """Tasks and chunks as wild as the format allows: ids with gaps, chunks out of order in time, empty ones, two with the
    same times, masks of chunks that are not those of their accesses, CPUs far above 64."""
    dice = random.Random(seed)
    width = dice.choice([1, 5, 64, 65, 200, 1000])
    lines = []
    pids = dice.sample(range(1, 50000), 5)
    if seed % 4 == 0:
        pids[1] = pids[0]  # a number that came again
    if seed % 5 == 0:
        pids[2] = 0  # not reported
    for task in range(dice.randint(1, 5)):
        lines.append(f"T {task} {pids[task]}" + (" 4096" if task == 0 and seed % 3 else ""))
        chunk = 0
        for _ in range(dice.randint(0, 12)):
            chunk += dice.choice([0 if not chunk else 1, 1, 1, 5])
            start = dice.choice([1000, 2000, dice.randint(0, 2**63)])
            end = start + dice.choice([0, 50, dice.randint(0, 2**40)])
            masks = [dice.getrandbits(width) & dice.getrandbits(width) for _ in range(dice.choice([0, 1, 2, 7]))]
            union = 0
            for mask in masks:
                union |= mask
            if dice.random() < 0.2:
                union ^= 1
            lines.append(f"C {chunk} {len(masks)} {start} {end} {union:0{width}b}")
            chunk += 0
            for mask in masks:
                page = dice.choice([dice.getrandbits(47) & ~4095, dice.getrandbits(64)])
                lines.append(f"A 0x{page:016x} 0x{dice.getrandbits(40):016x} {dice.randint(0, 2**32 - 1)} "
                             f"{dice.choice([0, 1, 2**32 - 1])} {mask:0{width}b}")
            chunk += 1
    return "\n".join(lines) + "\n"


def accesses(text):
    """By task, as its place among those that have any: start, end, addresses, reads, writes, CPUs."""
    tasks = []
    for line in text.splitlines():
        kind, *fields = line.split()
        if kind == "T":
            tasks.append([])
        elif kind == "C":
            times = fields[2], fields[3]
        else:
            tasks[-1].append((*times, *fields[:4], int(fields[4], 2)))
    return sorted(sorted(task) for task in tasks if task)


@check("made-up recordings as wild as the format allows lose no access")
def wild():
    for seed in range(30):
        text = made_up(seed)
        if accesses(text):
            assert accesses(there_and_back(text)) == accesses(text), f"seed {seed}"


@check("a page size of its own, short addresses, hexadecimal masks")
def styles():
    text = "T 0 7 65536\nC 0 1 5 9 0x1f\nA 7f0000 0x10000 1 0 0x1f\n"
    assert there_and_back(text) == f"T 0 7 65536\nC 0 1 5 9 11111\nA 0x{0x7f0000:016x} 0x{0x10000:016x} 1 0 11111\n"


@check("an imported recording is a trace like any other")
def reports():
    with Folder() as folder:
        ended, trace = import_moca(folder, write(folder, "in", LINES))
        assert ended.status == 0, ended
        ended = run([nlens.NUMALENS, "report", "pages", "--json", trace])
        assert ended.status == 0, ended
        reported = json.loads(ended.out)
        assert reported["pages_from"] == "faults"
        rows = {row["page"]: row for row in reported["pages"]}
        assert sorted(rows) == [0x555500000000, 0x7F0000001000, 0x7F0000002000]
        shared = rows[0x7F0000001000]
        assert shared["pid"] == 1234 and shared["size"] == 4096 and shared["physical"] == 0x12345000
        assert shared["threads"] == [{"tid": 1234, "reads": 4, "writes": 1, "unknown": 0},
                                     {"tid": 1235, "reads": 0, "writes": 0, "unknown": 1}], shared
        assert shared["intervals"] == 2 and shared["mechanisms"] == ["imported"]
        for table in ("threads", "objects", "sharing", "balance"):
            assert run([nlens.NUMALENS, "report", table, trace]).status == 0
        assert run([nlens.NUMALENS, "report", trace]).status == 0


WRONG = [
    ("", "no task"),
    ("T 0\n", ":1: "),
    ("T 0 1 4095\n", ":1: the page size"),
    ("T x 1\n", ":1: "),
    ("C 0 0 1 2 1\n", ":1: a chunk before the first task"),
    ("T 0 1\nT 0 2\n", ":2: task 0 is there twice"),
    ("T 0 1\nC 0 1 1 2 1\n", ":2: it ends in the middle of a chunk: 1"),
    ("T 0 1\nC 0 2 1 2 1\nA 0 0 1 1 1\nT 1 2\n", ":4: accesses of the chunk before are missing"),
    ("T 0 1\nC 0 0 1 2 1\nA 0 0 1 1 1\n", ":3: an access that no chunk announced"),
    ("T 0 1\nC 0 1 2 1 1\nA 0 0 1 1 1\n", ":2: it ends before it starts"),
    ("T 0 1\nC 0 1 1 2 12\nA 0 0 1 1 1\n", ":2: a CPU mask is binary"),
    ("T 0 1\nC 0 1 1 2 1\nA 0xg 0 1 1 1\n", ":3: "),
    ("T 0 1\nC 0 1 1 2 1\nA 11112222333344445 0 1 1 1\n", ":3: "),
    ("T 0 1\nC 0 1 1 2 1\nA 0 0 4294967296 1 1\n", ":3: the number of reads"),
    ("T 0 1\nC 0 1 1 2 1\nA 0 0 -1 1 1\n", ":3: "),
    ("T 0 1\nC 0 1 1 2 1\nA 0 0 1 1\n", ":3: no CPU mask"),
    ("T 0 1\nC 0 1 1 2 1\nA 0 0 1 1 1 1\n", ":3: the line goes on"),
    ("T 0 1\nC 0 1 1 2 " + "1" * 65537 + "\nA 0 0 1 1 1\n", ":2: "),
    ("T 0 1\nhello\n", ":2: this is no line of MOCA's"),
    (b"\x7fELF\x00\x00\n", ":1: "),
]


@check("what is no recording is refused with its line, and leaves no file")
def refused():
    for text, expected in WRONG:
        with Folder() as folder:
            ended, trace = import_moca(folder, write(folder, "in", text))
            assert ended.status == 1, (text[:60], ended)
            assert expected.encode() in ended.err, (text[:60], expected, ended.err)
            assert len(ended.err.splitlines()) == 1, ended.err
            assert not os.path.exists(trace), text[:60]


@check("a bad import leaves alone what was there; a trace without pages exports nothing")
def nothing_left():
    with Folder() as folder:
        ended, trace = import_moca(folder, write(folder, "in", LINES))
        with open(trace, "rb") as file:
            before = file.read()
        ended, _ = import_moca(folder, write(folder, "bad", "T 0\n"))
        assert ended.status == 1
        with open(trace, "rb") as file:
            assert file.read() == before
        recorded = os.path.join(folder, "soft.data")
        assert run([nlens.NUMALENS, "record", "--source", "none", "-o", recorded, "--", "/bin/true"]).status == 0
        out = os.path.join(folder, "out")
        ended = run([nlens.NUMALENS, "export", "--format", "moca", "-o", out, recorded])
        assert ended.status == 1 and b"no pages" in ended.err, ended
        assert not os.path.exists(out)
        assert run([nlens.NUMALENS, "export", recorded]).status == 2
        assert run([nlens.NUMALENS, "export", "--format", "pdf", recorded]).status == 2
        assert run([nlens.NUMALENS, "import", "--format", "moca"]).status == 2


@check("out into a file is the same as to standard output; the recording itself is refused and stays")
def to_file():
    with Folder() as folder:
        _, trace = import_moca(folder, write(folder, "in", LINES))
        out = os.path.join(folder, "out")
        ended = run([nlens.NUMALENS, "export", "--format", "moca", "-o", out, trace])
        assert ended.status == 0 and b"5 pages of 2 tasks" in ended.out, ended
        with open(out) as file:
            assert file.read() == LINES
        with open(trace, "rb") as file:
            before = file.read()
        ended = run([nlens.NUMALENS, "export", "--format", "moca", "-o", trace, trace])
        assert ended.status == 1 and b"is the recording itself; name another file with -o" in ended.err, ended
        with open(trace, "rb") as file:
            assert file.read() == before
        full = run([nlens.NUMALENS, "export", "--format", "moca", "-o", "/dev/full", trace])
        assert full.status == 1, full
        assert os.path.exists("/dev/full")


nlens.main()
