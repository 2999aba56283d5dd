#!/usr/bin/env python3
"""record --source faults on programs whose use of pages is known: pages, threads, directions, intervals; the programs are
unharmed under every mechanism that works here, and when the recorder is killed."""
import functools
import json
import os
import random
import signal
import subprocess

import nlens
import page_truth
from nlens import Folder, Skip, check, example, note, record, report, run

OFTEN = ["--source", "faults", "--interval", "20ms", "--budget", "100"]
IDS = {"numa-hint": "numa_hint", "uffd-wp": "uffd_wp", "soft-dirty": "soft_dirty_faults"}


@functools.lru_cache(maxsize=None)
def doctor():
    return {c["id"]: c for c in json.loads(run([nlens.NUMALENS, "doctor", "--json"]).out)["checks"]}


def mechanisms(wanted=("numa-hint", "uffd-wp", "soft-dirty")):
    """Those that doctor says work here."""
    checks = doctor()
    for name, id in IDS.items():
        if checks[id]["status"] == "missing":
            note("%s: %s" % (name, checks[id]["detail"]))
    return [name for name in wanted if checks[IDS[name]]["status"] != "missing"]


@functools.lru_cache(maxsize=None)
def observe(program, mechanism, options=(), arguments=()):
    """What a program says of its use of pages, and the report; recorded once for all checks."""
    with Folder() as folder:
        ended = record(folder, [example("pages_" + program), *arguments], [*OFTEN, "--mechanism", mechanism, *options])
        assert ended.status == 0, ended
        result = report(ended.trace, "pages", "--limit", "0")
        if program == "two_phases":
            result["uses"] = list(uses(ended.trace))
        return page_truth.Truth(ended.out.decode()), result


def uses(trace):
    """(start, end, page) of every page in every interval, in nanoseconds."""
    ended = run([nlens.NUMALENS, "export", "--format", "moca", trace])
    assert ended.status == 0, ended
    for kind, *words in map(str.split, ended.out.decode().splitlines()):
        if kind == "C":
            start, end = int(words[2]), int(words[3])
        elif kind == "A":
            yield start, end, int(words[0], 16)


@check("every written page is there with its thread, in every interval; nothing is that was not touched")
def writes():
    for mechanism in mechanisms(("uffd-wp", "soft-dirty")):
        for program in ("sweep", "two_phases", "halves", "once"):
            truth, found = observe(program, mechanism)
            what = "%s %s" % (mechanism, program)
            complaints = page_truth.wrong(truth, found)
            assert not complaints, "%s: %s" % (what, complaints[:5])
            assert page_truth.recall(truth, found, "writes") == 1.0, what
            threads = page_truth.recall_of_threads(truth, found)
            assert threads == 1.0 or program == "sweep", "%s: threads %s" % (what, threads)
            rows = page_truth.rows_by_page(found)
            for name in truth.arrays:
                if name in ("written", "array", "always"):
                    few = [rows[page]["intervals"] for page in truth.pages(name) if rows[page]["intervals"] < 3]
                    assert not few, "%s %s: written for 300 ms, seen in %s intervals of 20 ms" % (what, name, few[:5])


@check("memory of every kind, shared or of a file, and a child's: every page is there with its process")
def kinds():
    for mechanism in mechanisms(("uffd-wp",)):
        truth, found = observe("kinds", mechanism)
        assert not page_truth.wrong(truth, found), page_truth.wrong(truth, found)[:5]
        for direction in ("writes", "reads"):
            assert page_truth.recall(truth, found, direction) == 1.0, direction
        assert page_truth.recall_of_threads(truth, found) == 1.0
        assert len({row["pid"] for row in found["pages"]}) == 2
    truth, found = observe("kinds", "none")
    assert not page_truth.wrong(truth, found), page_truth.wrong(truth, found)[:5]
    assert page_truth.recall(truth, found, "writes") == 1.0


@check("a page that is used once is there once, and phases come after one another")
def intervals():
    for mechanism in mechanisms(("uffd-wp", "soft-dirty")):
        truth, found = observe("once", mechanism)
        rows = page_truth.rows_by_page(found)
        (once,) = truth.pages("once")
        assert rows[once]["intervals"] == 1 and rows[once]["mechanisms"] == ["first-touch"], rows[once]
        truth, found = observe("two_phases", mechanism)
        pages = sorted(truth.pages("array"))
        first, second = set(pages[:len(pages) // 2]), set(pages[len(pages) // 2:])
        # One interval may have both, however long a busy machine makes it: the first phase is in none behind one of the second.
        last, earliest = max(start for start, _, page in found["uses"] if page in first), min(end for _, end, page in found["uses"] if page in second)
        assert last < earliest, "the first phase is in an interval from %d ns, the second in one until %d ns" % (last, earliest)


@check("a writer and its readers are distinguished")
def readers():
    for mechanism in mechanisms(("uffd-wp", "soft-dirty")):
        truth, found = observe("writer_readers", mechanism)
        assert not page_truth.wrong(truth, found), page_truth.wrong(truth, found)[:5]
        assert page_truth.recall(truth, found, "writes") == 1.0


@check("without a mechanism every page is there once, with the thread that touched it first")
def first_touches():
    for program in ("sweep", "halves"):
        truth, found = observe(program, "none")
        assert not page_truth.wrong(truth, found), page_truth.wrong(truth, found)[:5]
        assert page_truth.recall(truth, found, "any") == 1.0
        rows = page_truth.rows_by_page(found)
        for name in truth.arrays:
            for page in truth.pages(name):
                assert page not in rows or rows[page]["mechanisms"] == ["first-touch"], rows[page]


@check("of a program that has ended before its faults are looked at, threads and directions are known")
def ended():
    truth, found = observe("halves", "none", arguments=("--ms=1",))
    assert not page_truth.wrong(truth, found), page_truth.wrong(truth, found)[:5]
    assert page_truth.recall_of_threads(truth, found) == 1.0, page_truth.recall_of_threads(truth, found)


@check("huge pages are reported as such")
def huge():
    with open("/sys/kernel/mm/transparent_hugepage/enabled") as stream:
        if "[never]" in stream.read():
            raise Skip("there are none here")
    truth, found = observe("sweep", "none", arguments=("--pages=1024", "--huge", "--ms=1500"))
    rows = page_truth.rows_by_page(found)
    sizes = {rows[page]["size"] for page in truth.pages("written") if page in rows}
    assert truth.pages("written") <= set(rows), "pages are missing"
    if sizes == {4096}:
        raise Skip("the kernel had no huge page to give")
    assert max(sizes) > 4096, sizes


@check("half a gigabyte's first touches in a row: all are there, or it is said how many are not")
def burst():
    truth, found = observe("sweep", "none", arguments=("--pages=65536", "--ms=1"))
    missing = (truth.pages("written") | truth.pages("read")) - set(page_truth.rows_by_page(found))
    lost = (found.get("dropped") or {}).get("perf_lost", 0)
    note("%d missing, %d said to be lost" % (len(missing), lost))
    assert len(missing) <= lost


@check("what the profiler itself touches is not reported, but counted")
def own():
    with Folder() as folder:
        ended = record(folder, [example("pages_halves")], [*OFTEN, "--mechanism", "none"])
        names = [row["name"] or "" for row in report(ended.trace, "pages", "--limit", "0")["pages"]]
        said = run([nlens.NUMALENS, "report", "-v", ended.trace]).out.decode()
    symbols = run(["nm", "--defined-only", os.path.join(nlens.BUILD, "src", "agent", "libnumalens-agent.so")]).out.decode()
    variables = {line.split()[2] for line in symbols.splitlines() if line.split()[1] in "bBdD"}
    ours = [name for name in names if "numalens" in name or name.split(" ")[0] in variables]
    assert not ours, ours
    assert "faults of the profiler itself are not counted" in said, said[-1500:]


@check("small chunks lose nothing")
def chunks():
    for mechanism in mechanisms(("uffd-wp",)):
        truth, found = observe("halves", mechanism, ("--chunks", "1", "--chunk-pages", "7", "--memory", "16"))
        assert not page_truth.wrong(truth, found)
        assert page_truth.recall(truth, found, "writes") == 1.0


@check("programs do the same as without, under every mechanism")
def harmless():
    plain = run([example("pages_buffers")])
    assert plain.status == 0, plain
    for mechanism in [*mechanisms(), "none"]:
        with Folder() as folder:
            ended = record(folder, [example("pages_buffers")],
                           ["--source", "faults", "--interval", "3ms", "--budget", "100", "--mechanism", mechanism])
            assert (ended.status, ended.out) == (0, plain.out), "%s: %s" % (mechanism, ended)
            processes = {row["pid"] for row in report(ended.trace, "pages", "--limit", "0")["pages"]}
            assert len(processes) >= 5, "children are not there: %s" % processes


@check("killed at any moment, recorder or program: the other ends well, and the file can be read")
def killed():
    plain = run([example("pages_buffers")]).out
    chance = random.Random(1)
    for mechanism in mechanisms() or ["none"]:
        for whom in ("recorder", "program", "recorder"):
            with Folder() as folder:
                trace, out = os.path.join(folder, "t"), os.path.join(folder, "out")
                with open(out, "wb") as stream:
                    process = subprocess.Popen(
                        [nlens.NUMALENS, "record", "--source", "faults", "--interval", "3ms", "--budget", "100",
                         "--mechanism", mechanism, "-o", trace, "--", "sh", "-c", "echo $$ >&2; exec \"$0\"",
                         example("pages_buffers")], cwd=folder, env=nlens.ENVIRONMENT, stdout=stream,
                        stderr=subprocess.PIPE)
                program = int(process.stderr.readline())
                end = os.pidfd_open(program)
                try:
                    process.wait(chance.random() * 0.5)  # the moment is what chance says, not a time to wait for
                except subprocess.TimeoutExpired:
                    pass
                if whom == "recorder":
                    process.kill()
                    process.communicate()
                    import select
                    assert select.select([end], [], [], nlens.PATIENCE)[0], "the program does not end"
                    with open(out, "rb") as stream:
                        assert stream.read() == plain, "another output after the recorder was killed"
                else:
                    try:
                        os.kill(program, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                    process.communicate(timeout=nlens.PATIENCE)
                os.close(end)
                if os.path.exists(trace):
                    report(trace, "pages")
    done = run([nlens.NUMALENS, "doctor", "--repair"])
    assert done.status == 0, done


@check("faults go together with the sampler: pages and users from faults, shares and latencies from samples")
def together():
    with Folder() as folder:
        ended = record(folder, [example("pages_writer_readers"), "--ms=400"],
                       ["--faults", "--interval", "20ms", "-F", "1000", "--budget", "20"])
        assert ended.status == 0, ended
        assert b" pages in use, from " in ended.err and b" samples, " in ended.err, ended
        truth = page_truth.Truth(ended.out.decode())
        found = report(ended.trace, "pages", "--limit", "0")
        assert found["pages_from"] == "faults"
        assert not page_truth.wrong(truth, found), page_truth.wrong(truth, found)[:5]
        assert page_truth.recall(truth, found, "any") == 1.0
        whole = report(ended.trace)
        assert whole["samples"] > 0
        # What is counted is samples, not pages: each thread's share is what its own bursts made it.
        assert sum(thread["samples"] for thread in whole["threads"]) == whole["samples"]
        start, pages = truth.arrays["array"]
        users = {thread["tid"] for row in found["pages"] if start <= row["page"] < start + pages * 4096
                 for thread in row["threads"]} - {None}
        (writer,) = {tid for _, tid, _, _, _, writes in truth.uses if writes}
        assert writer in users, (writer, users)
        # The same object from both: by faults all its pages, by samples how often and how slowly.
        objects = {row["object"] for row in found["pages"] if row["page"] in truth.pages("array")}
        assert len(objects) == 1, objects
        (row,) = [row for row in whole["objects"] if row["id"] in objects]
        assert row["reads"] > 0 and row["latency_mean"], row
        slow = report(ended.trace, "latency")
        assert slow["latency_mean"] == whole["latency_mean"], (slow["latency_mean"], whole["latency_mean"])


@check("what is not possible is said, with the reason")
def refused():
    for words, needle in ((["--interval", "20ms"], "--source faults or --faults"),
                          (["--source", "faults", "--interval", "20"], "1ms and 100s"),
                          (["--source", "faults", "--mechanism", "magic"], "numa-hint, soft-dirty, uffd-wp, none")):
        ended = run([nlens.NUMALENS, "record", *words, "--", "true"])
        assert ended.status == 2 and needle in ended.err.decode(), ended
    works = mechanisms()
    for mechanism in IDS:
        if mechanism not in works:
            with Folder() as folder:
                ended = record(folder, ["true"], ["--source", "faults", "--mechanism", mechanism])
                assert ended.status == 1 and mechanism in ended.err.decode(), ended
                assert not os.path.exists(ended.trace)


@check("without perf, writes still show where the kernel has asynchronous write protection")
def without_perf():
    if "uffd-wp" not in mechanisms():
        raise Skip("it has not")
    with Folder() as folder:
        ended = record(folder, [example("pages_sweep")], OFTEN + ["--mechanism", "uffd-wp"],
                       prepare=nlens.refuse("perf_event_open"))
        assert ended.status == 0, ended
        truth = page_truth.Truth(ended.out.decode())
        found = report(ended.trace, "pages", "--limit", "0")
        assert not page_truth.wrong(truth, found), page_truth.wrong(truth, found)[:5]
        rows = page_truth.rows_by_page(found)
        missing = [page for page in truth.pages("written") if page not in rows]
        assert not missing, "%d of %d pages are missing" % (len(missing), len(truth.pages("written")))


@check("where userfaultfd is refused, the reason is said and first touches show")
def without_userfaultfd():
    with Folder() as folder:
        ended = record(folder, [example("pages_sweep")], ["--source", "faults"], prepare=nlens.refuse("userfaultfd"))
        assert ended.status == 0, ended
        if mechanisms(("numa-hint", "soft-dirty")):
            raise Skip("another mechanism steps in")
        assert b"userfaultfd" in ended.err and b"only first touches" in ended.err, ended
        truth = page_truth.Truth(ended.out.decode())
        assert page_truth.recall(truth, report(ended.trace, "pages", "--limit", "0"), "any") == 1.0


nlens.main()
