#!/usr/bin/env python3
"""report pages: which pages were used by whom and when, from faults and from samples; virtual and physical."""
import json
import os

import nlens
from nlens import Folder, check, run

PAGE = 4096
BASE = 0x7F0000000000


def recording():
    """Three tasks as MOCA would report them. The first writes 100 pages in ten intervals, ten in each: a sweep. The second and
    third read the first 50 of them in each of five intervals after that. The third has one page of its own."""
    tasks = {0: [], 1: [], 2: []}
    for interval in range(10):
        tasks[0].append((interval, [(interval * 10 + i, 0, 1) for i in range(10)]))
    for interval in range(10, 15):
        for task in (1, 2):
            tasks[task].append((interval, [(i, 2, 0) for i in range(50)]))
    tasks[2][2][1].append((5000, 1, 1))
    lines = []
    for task, chunks in tasks.items():
        lines.append(f"T {task} {100 + task}" + (" 4096" if task == 0 else ""))
        for number, (interval, pages) in enumerate(chunks):
            lines.append(f"C {number} {len(pages)} {interval * 50000000} {(interval + 1) * 50000000} {1 << task:03b}")
            lines += [f"A 0x{BASE + page * PAGE:016x} 0x{(0x1000 + page) * PAGE:016x} {reads} {writes} {1 << task:03b}"
                      for page, reads, writes in pages]
    return "\n".join(lines) + "\n"


class Imported(Folder):
    def __enter__(self):
        folder = super().__enter__()
        self.trace = os.path.join(folder, "pages.data")
        source = os.path.join(folder, "in")
        with open(source, "w") as file:
            file.write(recording())
        ended = run([nlens.NUMALENS, "import", "--format", "moca", "-o", self.trace, source])
        assert ended.status == 0, ended
        return self

    def json(self, *options):
        ended = run([nlens.NUMALENS, "report", "pages", "--json", *options, self.trace])
        assert ended.status == 0, ended
        return json.loads(ended.out)

    def text(self, *options):
        ended = run([nlens.NUMALENS, "report", "pages", "--width", "0", *options, self.trace])
        assert ended.status == 0, ended
        return ended.out.decode()


@check("every page with its threads, times and intervals")
def rows():
    with Imported() as traced:
        reported = traced.json()
        assert reported["matching"] == len(reported["pages"]) == 101
        assert [row["page"] for row in reported["pages"]] == [BASE + i * PAGE for i in [*range(100), 5000]]
        for number, row in enumerate(reported["pages"][:100]):
            shared = number < 50
            assert row["pid"] == 100 and row["size"] == PAGE and row["node"] == 0 and row["object"] is None
            assert [thread["tid"] for thread in row["threads"]] == ([100, 101, 102] if shared else [100]), row
            assert row["threads"][0]["writes"] == 1 and row["threads"][0]["reads"] == 0
            if shared:
                assert row["threads"][1]["reads"] == 10 and row["threads"][1]["writes"] == 0
            assert row["intervals"] == (6 if shared else 1), row
            assert abs(row["first_s"] - number // 10 * 0.05) < 1e-9, row
            assert abs(row["last_s"] - (0.75 if shared else (number // 10 + 1) * 0.05)) < 1e-9, row
        alone = reported["pages"][100]
        assert alone["threads"] == [{"tid": 102, "reads": 1, "writes": 1, "unknown": 0}], alone
        assert abs(alone["first_s"] - 0.6) < 1e-9 and alone["intervals"] == 1


@check("for people, neighbours that are used alike are one line")
def folded():
    with Imported() as traced:
        lines = [line.split() for line in traced.text().splitlines() if f"{BASE:x}"[:5] in line]
        assert [line[0] for line in lines] == ["50", "50", "1"], lines
        assert lines[0][1:3] == [f"{BASE:x}", f"{BASE + 50 * PAGE:x}"], lines[0]
        assert lines[1][1:3] == [f"{BASE + 50 * PAGE:x}", f"{BASE + 100 * PAGE:x}"], lines[1]
        text = traced.text()
        assert "task 0 (100) w, task 1 (101) r, task 2 (102) r" in text, text
        assert "101 pages (404 KiB)" in text and "page faults recorded" in text, text


@check("sorted, limited, filtered")
def chosen():
    with Imported() as traced:
        assert [row["page"] for row in traced.json("--sort", "first", "--limit", "3")["pages"]] == \
            [BASE, BASE + PAGE, BASE + 2 * PAGE]
        assert traced.json("--sort", "reads", "--limit", "1")["pages"][0]["threads"][1]["reads"] == 10
        assert traced.json("--sort", "threads", "--limit", "1")["pages"][0]["page"] == BASE
        assert traced.json("--sort", "last", "--limit", "1")["pages"][0]["page"] == BASE
        assert traced.json("--filter", "min-samples=3")["matching"] == 50
        assert traced.json("--filter", "pid=100")["matching"] == 101
        assert traced.json("--filter", "kind=heap")["matching"] == 0
        assert traced.json("--limit", "7")["matching"] == 101
        ended = run([nlens.NUMALENS, "report", "pages", "--sort", "colour", traced.trace])
        assert ended.status == 2 and b"address, first" in ended.err, ended
        ended = run([nlens.NUMALENS, "report", "objects", "--physical", traced.trace])
        assert ended.status == 2, ended


@check("physical memory: frames by node, in order")
def physical():
    with Imported() as traced:
        reported = traced.json("--physical")
        assert reported["pages_with_frame"] == 101
        assert [row["physical"] for row in reported["pages"]] == [(0x1000 + i) * PAGE for i in [*range(100), 5000]]
        text = traced.text("--physical")
        assert "Frames by node" in text and f"{0x1000 * PAGE:x}" in text, text


@check("pages that samples touched: said so, and of the objects that were used")
def sampled():
    with Folder() as folder:
        trace = os.path.join(folder, "soft.data")
        ended = run([nlens.NUMALENS, "record", "--frequency", "2000", "-o", trace, "--", nlens.example("matmul")])
        assert ended.status == 0, ended
        ended = run([nlens.NUMALENS, "report", "pages", "--json", trace])
        reported = json.loads(ended.out)
        assert reported["pages_from"] == "samples"
        assert sum(user["reads"] + user["writes"] + user["unknown"] for row in reported["pages"] for user in row["threads"]) \
            >= reported["samples"]
        names = {row["name"] for row in reported["pages"]}
        assert any(name and "matmul.c" in name for name in names), names
        text = run([nlens.NUMALENS, "report", "pages", trace]).out.decode()
        assert "as samples touched them" in text, text
        whole = json.loads(run([nlens.NUMALENS, "report", "--json", trace]).out)
        frames = whole["session"]["frames"]
        ended = run([nlens.NUMALENS, "report", "pages", "--physical", trace])
        if frames == "kernel":
            assert reported["pages_with_frame"] > 0
            assert b"Frames by node" in ended.out, ended
            assert all(row["physical"] is None or row["physical"] % PAGE == 0 for row in reported["pages"])
        else:
            assert reported["pages_with_frame"] == 0
            assert b"CAP_SYS_ADMIN" in ended.out, ended


nlens.main()
