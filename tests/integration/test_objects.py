#!/usr/bin/env python3
"""Objects of every kind, and processes: what each is called, how much of the traffic it gets, whose it is."""
import json
import os

import nlens
from nlens import Folder, Skip, check, describe, example, note, record, record_and_report, report, row_at, row_named, run
from nlens import site_line

WITHIN = 0.05       # a share may be off by so much
ELSEWHERE = 0.1     # likewise, of threads of which one may be on a CPU that others slow down: its time is longer for the same work
ATTRIBUTED = 0.98   # of the samples of every bundled program
# Many short bursts: what one burst sees is one array, so it is their number that shares are counted by. With so many the bound
# is five standard deviations of a half.
BURST = 4
BURSTS = 2500
# Without long bursts: at such a budget they take a tenth of the time, of whichever thread has one.
OFTEN = ["-F", "10000", "--burst", str(BURST), "--budget", "50", "--no-traffic"]


def shares(title, found, within=WITHIN):
    """found: [(name, share reported, true share)]"""
    for name, reported, true in found:
        note("%s: %s %.3f, truly %.3f" % (title, name, reported, true))
    for name, reported, true in found:
        assert abs(reported - true) <= within, "%s: share %.3f, truly %.3f" % (name, reported, true)


def static_row(rows, file, name):
    row = row_at(rows, file, site_line("objects/" + file, name))
    assert row["kind"] == "static", row
    return row


STATICS = [("statics.c", "everyone", 1), ("statics.c", "table", 1), ("statics_other.c", "table", 1), ("statics.c", "inner", 1),
           ("statics_library.c", "library_table", 1), ("statics_plugin.c", "plugin_table", 1), ("statics.c", "mine", 2)]


def check_statics(program):
    result = record_and_report([example("objects/" + program)], OFTEN, tables=["sites", "objects"], bursts=BURSTS, longer=1 / 2)
    found = []
    for file, name, eighths in STATICS:
        row = static_row(result["sites"], file, name)
        assert row["name"] == name, row["name"]
        assert row["size"] == 4096 * 8, row
        found.append(("%s of %s" % (name, file), row["share"], eighths / 8))
    # Half of the thread-local data is another thread's.
    shares(program, [each for each in found if not each[0].startswith("mine")])
    shares(program, [each for each in found if each[0].startswith("mine")], within=ELSEWHERE)
    mine = [row for row in result["objects"] if row["name"] == "mine"]
    assert len(mine) == 2, "one for each thread: %s" % describe(mine)
    for row in mine:
        assert [t["tid"] for t in row["threads"]] == [row["alloc_tid"]], "used by its owner alone: %s" % row
    return result


@check("static objects of all sorts have their names, in a program that may lie anywhere")
def statics():
    check_statics("statics")


@check("static objects of all sorts have their names, in a program at a fixed address")
def statics_fixed():
    check_statics("statics_fixed")


@check("without symbols static objects are what their sections are")
def statics_stripped():
    result = record_and_report([example("objects/statics_stripped")], OFTEN, tables=["sites"], bursts=BURSTS, longer=1 / 2)
    rows = result["sites"]
    names = {row["name"]: row for row in rows}
    shares("stripped", [(name, names["statics_stripped " + name]["share"] if "statics_stripped " + name in names else 0, true)
                        for name, true in ((".bss", 3 / 8), (".data", 1 / 8), ("thread-local data", 2 / 8))])
    assert all(names["statics_stripped " + name]["kind"] == "section" for name in (".bss", ".data", "thread-local data"))
    static_row(rows, "statics_plugin.c", "plugin_table")


@check("C++ names: namespaces, members, anonymous namespaces, locals of functions")
def cxx_statics():
    result = record_and_report([example("objects/cxx_statics")], OFTEN, tables=["sites"], bursts=BURSTS, longer=1 / 4)
    found = []
    for name, full in (("prices", "shop::prices"), ("hidden", "(anonymous namespace)::hidden"), ("shelves", "shop::Stock::shelves"),
                       ("seen", "shop::Stock::count()::seen")):
        row = static_row(result["sites"], "cxx_statics.cc", name)
        assert row["name"] == full, row["name"]
        found.append((full, row["share"], 1 / 4))
    shares("C++", found)


@check("what no variable names is reported by section: .text, .rodata, .got, .plt")
def sections():
    for program, option, wanted in (("sections", "--text", [".text"]), ("sections", "--literal", [".rodata"]),
                                    ("sections", "--calls", [".got", ".got.plt"]),
                                    ("sections_fixed", "--calls", [".got", ".got.plt"]),
                                    ("sections_fixed", "--stubs", [".plt", ".plt.sec"])):
        result = record_and_report([example("objects/" + program), option], OFTEN, tables=["objects"], bursts=BURSTS)
        names = ["%s %s" % (program, name) for name in wanted]  # which of them, the linker decides
        # On x86-64 a call writes its return address to the stack, and the return reads it: accesses of their own.
        stack = sum(row["share"] for row in result["objects"] if row["kind"] == "stack")
        assert stack < (0.8 if option == "--calls" else 0.1), describe(result["objects"])
        top = [row for row in result["objects"] if row["kind"] != "stack"][0]
        assert top["name"] in names and top["kind"] == "section", "%s: %s" % (option, describe(result["objects"]))
        shares("%s %s" % (program, option), [(top["name"], top["share"] / (1 - stack), 1.0)])


@check("stacks are one object in tables, each thread's in detail, with what others do to it; a coroutine's is a map")
def stacks():
    with Folder() as folder:
        ended = record(folder, [example("objects/stacks")], OFTEN, bursts=BURSTS, longer=1 / 4)
        assert ended.status == 0, ended
        objects, sites = (report(ended.trace, table)[table] for table in ("objects", "sites"))
        threads = {row["tid"]: row["name"] for row in report(ended.trace, "threads")["threads"]}
        for rows in (objects, sites):
            found = [row for row in rows if row["kind"] == "stack"]
            assert len(found) == 1, "one for the process: %s" % describe(rows)
            shares("stacks", [("stacks", found[0]["share"], 4 / 5)], within=ELSEWHERE)
        stack = [row for row in objects if row["kind"] == "stack"][0]
        # Worker 3 reads main's stack; its own has what calls in its loop leave there, which few samples show.
        assert stack["count"] in (4, 5) and stack["alloc_tid"] is None, stack
        coroutine = [row for row in objects if row["kind"] == "map" and row["share"] > 0.01]  # not what the linker does at the end
        assert len(coroutine) == 1, describe(objects)
        shares("stacks", [("the coroutine's", coroutine[0]["share"], 1 / 5)], within=ELSEWHERE)

        detail = report(ended.trace, "object", str(stack["id"]))["objects"][0]
        assert sum(each["samples"] for each in detail["stacks"]) == stack["samples"]
        owners = {each["name"]: each for each in detail["stacks"]}
        few = owners.pop("worker 3", {"samples": 0})
        assert few["samples"] < 0.01 * stack["samples"], few
        assert set(owners) == {"stacks", "worker 0", "worker 1", "worker 2"}, owners
        for name, each in owners.items():
            part, others = each["samples"] / stack["samples"], each["by_others"] / each["samples"]
            note("stack of %s: %.3f, by others %.3f" % (name, part, others))
            assert abs(part - 1 / 4) < 0.08
            assert others > 0.98 if name == "stacks" else others < 0.02, "worker 3 reads main's stack, nobody else's"
        for each in detail["stacks"]:
            same = report(ended.trace, "object", str(each["id"]))["objects"][0]
            assert same["id"] == stack["id"], "each of them shows all"
        text = run([nlens.NUMALENS, "report", "object", str(stack["id"]), ended.trace]).out.decode()
        assert "stacks of process" in text and "by other threads" in text, text
        assert "worker 3" in threads.values()


@check("mapped files are reported by path and offset, and mapping one again makes another object")
def files():
    with Folder() as folder:
        path = os.path.join(folder, "mapped.bin")
        ended = record(folder, [example("objects/files"), path], OFTEN, bursts=BURSTS, longer=1 / 4)
        assert ended.status == 0, ended
        objects, sites = (report(ended.trace, table)[table] for table in ("objects", "sites"))
        lines = {name: site_line("objects/files.c", name) for name in ("front", "back", "again", "memory")}
        offsets = {"front": 0, "back": 3 << 20, "again": 1 << 20, "memory": 0}
        for name, line in lines.items():
            site = row_at(sites, "files.c", line)
            assert site["kind"] == "file" and site["offset"] == offsets[name], site
            assert site["name"] == path if name != "memory" else site["name"].startswith("/memfd:shared"), site["name"]
            shares("files", [(name, site["share"], 1 / 4)])
            each = [row for row in objects if row["line"] == line]
            assert len(each) == (2 if name == "again" else 1), describe(objects)
            assert all(row["offset"] == offsets[name] and row["size"] == 1 << 20 for row in each)
            if name == "again":
                first, second = sorted(each, key=lambda row: row["start_s"])
                assert first["end_s"] <= second["start_s"], (first["end_s"], second["start_s"])
            if name == "back":
                text = run([nlens.NUMALENS, "report", "object", str(each[0]["id"]), ended.trace]).out.decode()
                assert "bytes 0x300000 to 0x400000 of the file" in text, text


@check("a malloc'd block, an own map, the break and a thread's arena are distinguished")
def memory():
    result = record_and_report([example("objects/memory")], OFTEN, tables=["sites"], bursts=BURSTS, longer=1 / 2)
    rows = result["sites"]
    for name, kind in (("own_map", "map"), ("block", "heap"), ("arena_block", "heap")):
        row = row_at(rows, "memory.c", site_line("objects/memory.c", name))
        assert row["kind"] == kind, row
        shares("memory", [(name, row["share"], 1 / 4)])
    heap = row_named(rows, "[heap]")
    assert heap["kind"] == "map"
    shares("memory", [("[heap]", heap["share"], 1 / 4)])


@check("the kernel's clock page has a name")
def clock():
    result = record_and_report([example("objects/memory"), "--clock"], OFTEN, tables=["objects"])
    names = [row["name"] for row in result["objects"] if row["name"].startswith("[v")]
    if not names and not result["unattributed"]:
        raise Skip("the clock is read by a system call here: %s" % describe(result["objects"]))
    assert names and all(name.startswith(("[vvar", "[vdso")) for name in names), describe(result["objects"])


def processes_of(trace):
    reported = report(trace, "processes")
    return reported["processes"], reported["groups"]


def check_group(trace, sites, parent_command):
    processes, groups = processes_of(trace)
    group = [g for g in groups if g["processes"] == 4]
    assert len(group) == 1, groups
    workers = [p for p in processes if p["group"] == group[0]["group"]]
    parent = [p for p in processes if p["command"].endswith(parent_command) and p not in workers]
    assert len(workers) == 4 and len(parent) == 1, processes
    assert all(p["parent"] == parent[0]["pid"] and p["threads"] == 1 for p in workers), workers
    assert parent[0]["exit_status"] == 0
    assert sorted(p["exit_status"] for p in workers) == [0, 1, 2, 3], "each ends with its number: %s" % workers
    # A process that shares its core needs more time for the same work, and time is what samples are taken by.
    shares("processes", [(p["command"], p["share"], 1 / 4) for p in workers], within=0.15)
    assert sum(p["samples"] for p in workers) == group[0]["samples"]
    private = row_at(sites, "workers.c", site_line("objects/workers.c", "private"))
    shared = row_at(sites, "workers.c", site_line("objects/workers.c", "shared"))
    assert private["count"] == 4 and private["kind"] == "heap", private
    shares("processes", [("private", private["share"], 1 / 2), ("shared", shared["share"], 1 / 2)])
    return workers, shared


@check("forked workers are a group; each can be counted by itself in every table")
def forked():
    with Folder() as folder:
        ended = record(folder, [example("objects/workers"), "--fork"], OFTEN, bursts=BURSTS, longer=1 / 2)
        assert ended.status == 0, ended
        sites = report(ended.trace, "sites")["sites"]
        workers, shared = check_group(ended.trace, sites, "--fork")
        assert shared["kind"] == "map" and shared["count"] == 1, "one map that all inherit: %s" % shared
        text = run([nlens.NUMALENS, "report", "processes", ended.trace]).out.decode()
        assert "4 x " in text, text

        worker = workers[0]
        only = ["--filter", "pid=%d" % worker["pid"]]
        whole = report(ended.trace, *only)
        assert whole["samples"] == worker["samples"], (whole["samples"], worker)
        assert {t["pid"] for t in whole["threads"]} == {worker["pid"]}
        for table in ("objects", "sites", "functions", "threads", "processes"):
            rows = report(ended.trace, table, *only)[table]
            assert rows and sum(row["samples"] for row in rows) == worker["samples"], "%s: %s" % (table, describe(rows))
        everything = {row["id"]: row for row in report(ended.trace, "objects")["objects"]}
        for row in report(ended.trace, "objects", *only)["objects"]:
            same = everything[row["id"]]
            assert (same["pid"], same["samples"], same["name"]) == (row["pid"], row["samples"], row["name"]), "ids stay"
        private = row_at(report(ended.trace, "sites", *only)["sites"], "workers.c", site_line("objects/workers.c", "private"))
        assert private["count"] == 1, private
        text = run([nlens.NUMALENS, "report", *only, ended.trace]).out.decode()
        assert "Only process %d" % worker["pid"] in text
        missing = run([nlens.NUMALENS, "report", "--filter", "pid=1", ended.trace])
        assert missing.status == 1 and b"no process 1" in missing.err, missing


@check("executed programs are a group, and memory that they share has one name")
def executed():
    with Folder() as folder:
        ended = record(folder, [example("objects/workers"), "--exec"], OFTEN, bursts=BURSTS, longer=1 / 2)
        assert ended.status == 0, ended
        sites = report(ended.trace, "sites")["sites"]
        workers, shared = check_group(ended.trace, sites, "--exec")
        assert shared["kind"] == "file" and shared["name"].startswith("/dev/shm/numalens-workers-"), shared
        assert shared["count"] == 4, shared
        assert sorted(p["command"].split()[1] for p in workers) == ["--rank=%d" % i for i in range(4)]
        processes, _ = processes_of(ended.trace)
        assert [p for p in processes if p["exe"].endswith("/true")], "the other program has a row: %s" % processes


@check("a shell's children are sampled, and their signal masks are what they would be without numalens")
def shell():
    result = record_and_report(["sh", "-c", '"$0" --rounds=5000; true', example("ratio")], OFTEN, tables=["processes", "sites"], bursts=100)
    ratio = [p for p in result["processes"] if p["exe"].endswith("/ratio")]
    assert len(ratio) == 1 and ratio[0]["samples"] > 100, result["processes"]
    row_at(result["sites"], "ratio.c", site_line("ratio.c", "often"))
    command = ["sh", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status; true"]
    with Folder() as folder:
        assert record(folder, command).out == run(command).out


@check("a mapped file's path cannot harm a terminal or a JSON reader")
def hostile_paths():
    with Folder() as folder:
        path = os.path.join(folder.encode(), b"evil\x1b]0;title\x07\x1b[31m\xff\xfe\"\\<b>&\n%s%n\xe2\x80\xae" + b"x" * 120)
        ended = record(folder, [example("objects/files"), path, "--rounds=200"], OFTEN, bursts=100)
        assert ended.status == 0, ended
        rows = report(ended.trace, "objects")["objects"]
        mapped = [row for row in rows if "evil" in row["name"]]
        assert mapped and all(row["kind"] == "file" for row in mapped), describe(rows)
        for arguments in ([], ["objects"], ["sites"], ["object", str(mapped[0]["id"])]):
            out = run([nlens.NUMALENS, "report", *arguments, "--width", "0", ended.trace]).out
            assert b"evil" in out or arguments == [], out
            bad = [byte for byte in out if byte < 0x20 and byte != 0x0a or byte == 0x7f]
            assert not bad, "control characters %s in %s" % (bad, out)
            out.decode()
            assert b"\xe2\x80\xae" not in out, "text direction is changed"


def bundled():
    """Every example that runs by itself: [(name, [program, arguments])]."""
    skipped = {
        "ratio_static": "cannot carry the agent",
        "endings": "wants to know how to end",
        "nas_noise": "ends when it is killed",
        "libstatics_plugin.so": "no program", "libstatics_library.so": "no program", "libsections_library.so": "no program",
    }
    shorter = {"fortran_arrays": ["3000"], "fortran_fields": ["400"], "sequences": ["--rounds=25"]}  # an eighth, as of others
    found = []
    for folder, folders, names in os.walk(os.path.join(nlens.BUILD, "examples")):
        folders[:] = sorted(f for f in folders if not f.endswith(".p"))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK) and name not in skipped and ".so" not in name:
                found.append((os.path.relpath(path, os.path.join(nlens.BUILD, "examples")), [path, *shorter.get(name, ())]))
    return found


BURST = 28  # accesses of one, by default


@check("of every bundled program's samples, at least 98 of 100 have an object; the rest have a reason")
def attributed():
    all_samples = all_attributed = 0
    found = []
    for name, program in bundled():
        with Folder() as folder:
            ended = record(folder, program, ["-F", "1000", "--budget", "50"], longer=1 / 8)
            if not os.path.exists(ended.trace):
                note("%s was not recorded: %s" % (name, ended.err.decode(errors="replace").strip()))
                continue
            reported = report(ended.trace)
        samples, known = reported["samples"], reported["attributed"]
        assert samples - known == sum(reported["unattributed"].values()), "%s: each has a reason: %s" % (name, reported["unattributed"])
        all_samples += samples
        all_attributed += known
        if samples:
            found.append((known / samples, samples, name, reported["unattributed"]))
    found.sort(key=lambda each: each[0])
    for share, samples, name, reasons in found[:5]:
        note("%s: %.4f of %d, %s" % (name, share, samples, json.dumps(reasons)))
    note("all %d programs: %.5f of %d" % (len(found), all_attributed / all_samples, all_samples))
    assert len(found) > 20, found
    for share, samples, name, reasons in found:
        # A burst is one observation: what 2 of 100 are, fewer than 50 do not show. They count in the sum.
        assert share >= ATTRIBUTED or samples < 50 * BURST, "%s: %.4f of %d, %s" % (name, share, samples, reasons)
    assert all_attributed / all_samples >= ATTRIBUTED


nlens.main()
