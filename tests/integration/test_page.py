#!/usr/bin/env python3
"""The page of `report --html` carries what `report --json` prints, and is written whole or not at all."""
import json
import os
import re
import resource
import signal

import nlens
import page_data
from nlens import check, example, Folder

MACHINE = ["--topology", "numa:4 core:2"]
TOTALS = ("samples", "reads", "writes", "remote", "home_known", "latency_sum", "latency_count")
made = {}


def recording():
    """One recording of several threads on several nodes, for all checks."""
    if "data" not in made:
        made["folder"] = Folder()
        folder = made["folder"].__enter__()
        ended = nlens.record(folder, [example("demo")], [*MACHINE, "-F", "1000", "--budget", "100"], bursts=100, longer=1 / 8)
        assert ended.status == 0, ended
        made["page"] = os.path.join(folder, "page.html")
        data, = page_data.of(ended.trace, made["page"])
        made.update(trace=ended.trace, data=data)
    return made["trace"], made["data"]


def total(columns, *names):
    return [sum(columns[name]) for name in names]


@check("totals, matrix and tables are those of --json")
def tables():
    trace, data = recording()
    reported = nlens.report(trace)
    for key in ("samples", "reads", "writes", "remote", "home_known"):
        assert data.tables["totals"][key] == reported[key], key
    nodes = [node["os_index"] for node in data.tables["nodes"]]
    matrix = {(nodes[i], nodes[j]): count for i, row in enumerate(data.tables["matrix"]) for j, count in enumerate(row) if count}
    assert matrix == {(row["from"], row["home"]): row["samples"] for row in reported["traffic"]}, matrix
    assert data.tables["run"]["command"] == reported["command"]
    assert abs(data.tables["run"]["duration_s"] - reported["duration_s"]) < 1e-6
    functions = nlens.report(trace, "functions")["functions"]
    assert [(f["function"], f["samples"], f["remote"]) for f in data.tables["functions"]] == \
        [(f["function"], f["samples"], f["remote"]) for f in functions]
    by_tid = {thread["tid"]: thread for thread in data.tables["threads"]}
    for row in reported["threads"]:
        assert [by_tid[row["tid"]][key] for key in TOTALS[:4]] == [row[key] for key in TOTALS[:4]], row
        assert {str(nodes[i]): n for i, n in enumerate(by_tid[row["tid"]]["homes"]) if n} == row["nodes"], row
    by_number = {thing["number"]: thing for thing in data.tables["objects"]}
    objects = [row for row in nlens.report(trace, "objects")["objects"] if row["kind"] != "stack"]
    assert len(objects) > 2
    for row in objects:
        thing = by_number[row["id"]]
        assert [thing[key] for key in TOTALS[:4]] == [row[key] for key in TOTALS[:4]], row
        assert (thing["name"], thing["kind"], thing["size"]) == (row["name"], row["kind"], row["size"]), row
        assert {str(nodes[i]): n for i, n in enumerate(thing["homes"]) if n} == row["homes"], row
    sites = [row for row in nlens.report(trace, "sites")["sites"] if row["site"]]
    assert sorted((s["function"], s["line"], s["samples"]) for s in data.tables["sites"]) == \
        sorted((row["site"].split(" ")[0], row["line"], row["samples"]) for row in sites)


@check("findings are those of report patterns, and point at their objects")
def findings():
    trace, data = recording()
    reported = nlens.report(trace, "patterns")
    assert data.tables["verdict"]["text"] == reported["verdict"]["text"]
    assert [(f["pattern"], f["name"], f["remote_samples"]) for f in data.tables["findings"]] == \
        [(f["pattern"], f["name"], f["remote"]) for f in reported["patterns"]]
    assert reported["patterns"], "the demo has findings"
    for finding, row in zip(data.tables["findings"], reported["patterns"]):
        assert 0 <= finding["from_s"] < finding["to_s"] <= data.tables["run"]["duration_s"] + 0.1, finding
        if row["object"] is not None:
            assert data.tables["objects"][finding["object"]]["number"] == row["object"], finding
        assert [a["action"] for a in finding["advice"]] == [a["action"] for a in row["advice"]]


@check("cells, series and call chains add up to the totals")
def sums():
    _, data = recording()
    totals = data.tables["totals"]
    virtual = data.tables["maps"][0]
    assert (virtual["space"], virtual["prefix"]) == ("virtual", "v")
    assert virtual["shown"] + virtual["outside"] == totals["samples"]
    assert total(data, "v.cell.samples", "v.cell.reads", "v.cell.writes", "v.cell.remote", "v.cell.timed") == \
        [totals[key] for key in ("samples", "reads", "writes", "remote", "latency_count")]
    assert abs(sum(data["v.cell.latency"]) - totals["latency_sum"]) < 1
    for index, thing in enumerate(data.tables["objects"]):
        rows = [i for i, of in enumerate(data["s.object"]) if of == index]
        for column, key in (("samples", "samples"), ("reads", "reads"), ("writes", "writes"), ("remote", "remote"), ("timed", "latency_count")):
            assert sum(data["s." + column][i] for i in rows) == thing[key], (thing, key)
    assert total(data, "c.samples", "c.reads", "c.writes", "c.remote", "c.known", "c.timed") == \
        [totals[key] for key in ("samples", "reads", "writes", "remote", "home_known", "latency_count")]
    for index, function in enumerate(data.tables["functions"]):
        rows = [i for i, of in enumerate(data["c.function"]) if of == index]
        assert sum(data["c.remote"][i] for i in rows) == function["remote"], function
        assert sum(data["c.timed"][i] for i in rows) == function["latency_count"], function
    own = list(data["f.samples"])
    for i in range(1, len(own)):
        own[data["f.parent"][i]] -= data["f.samples"][i]
    for node, samples in enumerate(own):
        rows = [i for i, of in enumerate(data["c.node"]) if of == node]
        assert sum(data["c.samples"][i] for i in rows) == samples, node
    assert (data["f.samples"][0], data["f.remote"][0]) == (totals["samples"], totals["remote"])
    latency = data.tables["latency"]
    assert sum(map(sum, (latency["local"], latency["remote"], latency["unknown"]))) == totals["latency_count"]


@check("the flame graph's stall time is the report's, in all and of each finding's objects")
def stall_time():
    with Folder() as folder:
        for name in ("before", "traffic"):
            trace = nlens.committed(name)
            data, = page_data.of(trace, os.path.join(folder, "page.html"))
            reported = nlens.report(trace, "patterns")["patterns"]
            # All that is remote is on node 0 in both.
            whole, = [row["lost_time_share"] for row in reported if row["pattern"] == "saturated-node"]
            assert whole > 0.005 and abs(data["f.stall"][0] - whole) < 1e-6, (whole, data["f.stall"][0])
            assert abs(sum(data["c.stall"]) - whole) < 1e-6, whole
            parts = [(finding, row) for finding, row in zip(data.tables["findings"], reported) if row["pattern"] == "far-initialised"]
            assert parts, reported
            for finding, row in parts:
                own = sum(stall for of, stall in zip(data["c.object"], data["c.stall"])
                          if of != page_data.NONE and data.tables["objects"][of]["site"] == finding["site"])
                assert abs(own - row["lost_time_share"]) < 1e-6, (own, row)


@check("no percentage of the page's data is below 0 or above 100, and parts make no more than their whole")
def percentages():
    page_data.check_totals(recording()[1].tables)


@check("columns are in order and refer to what is there")
def order():
    _, data = recording()
    leaves, threads, objects = len(data["v.leaf.addr"]), len(data.tables["threads"]), len(data.tables["objects"])
    cells = list(zip(data["v.cell.leaf"], data["v.cell.slice"], data["v.cell.thread"]))
    assert cells == sorted(set(cells))
    assert all(leaf < leaves and slice < data.tables["maps"][0]["slices"] and thread < threads for leaf, slice, thread in cells)
    for prefix in ("v.node", "f"):
        parents = data[prefix + ".parent"]
        assert parents[0] == page_data.NONE and all(parent < i for i, parent in enumerate(parents) if i), prefix
    assert all(of < objects or of == page_data.NONE for of in data["v.leaf.object"])
    assert all(frame < len(data.tables["frames"]) for frame in data["f.frame"][1:])
    for first, count in zip(data["v.node.first"], data["v.node.leaves"]):
        assert first + count <= leaves
    for thing in data.tables["objects"]:
        span = range(thing["leaf_first"], thing["leaf_first"] + thing["leaf_count"])
        assert all(data["v.leaf.addr"][leaf] < thing["addr"] + thing["size"] and
                   data["v.leaf.addr"][leaf] + data["v.leaf.bytes"][leaf] > thing["addr"] for leaf in span), thing
        assert all(frame < len(data.tables["frames"]) for frame in data.tables["stacks"][thing["stack"]])


@check("the page is one file that asks nothing of any network")
def alone():
    recording()
    with open(made["page"], "rb") as stream:
        page = page_data.ELEMENT.sub(b"", stream.read())
    assert b"numalens-data-->" not in page
    assert not re.search(rb'(?:src|href)\s*=\s*["\']?(?:https?:)?//', page)
    assert b"@import" not in page


@check("a run takes its place and time in the virtual map")
def place_and_time():
    trace, data = recording()
    seconds = data.tables["maps"][0]["slice_s"] * data.tables["maps"][0]["slices"]
    assert abs(seconds - (data.tables["maps"][0]["end_s"] - data.tables["maps"][0]["start_s"])) < 1e-3
    assert seconds >= max(t["end_s"] or 0 for t in data.tables["threads"]) - 0.1


@check("two recordings share a page, A before B")
def two_runs():
    trace, data = recording()
    with Folder() as folder:
        other = nlens.record(folder, [example("ratio")], MACHINE)
        assert other.status == 0, other
        both = page_data.of(trace, os.path.join(folder, "both.html"), "--against", other.trace)
        assert [run.tables["run"]["label"] for run in both] == ["A", "B"]
        assert both[0].tables["totals"] == data.tables["totals"]
        assert both[1].tables["totals"]["samples"] == nlens.report(other.trace)["samples"]
        ended = nlens.run([nlens.NUMALENS, "report", "--html", os.path.join(folder, "i.html"), "-i", other.trace])
        assert ended.status == 0, ended


def side_of(row):
    return row and {key: row[key] for key in ("name", "file", "line", "samples", "share", "remote_share", "latency_mean")}


@check("a page of two recordings has what compare says of them, and leads to the rows and findings of both")
def comparison():
    pair = nlens.committed("before"), nlens.committed("after")
    symfs = ["--symfs", os.path.dirname(pair[0])]
    said = json.loads(nlens.run([nlens.NUMALENS, "compare", "--json", *symfs, *pair]).out)
    with Folder() as folder:
        runs = [run.tables for run in page_data.of(pair[0], os.path.join(folder, "both.html"), *symfs, "--against", pair[1])]
    assert "comparison" not in runs[0]
    shown = runs[1]["comparison"]
    assert said["what"] == shown["verdict"] + (" " + shown["more"] if shown["more"] else "") and said["proof"] == shown["proof"]
    assert re.fullmatch(r"Remote accesses fell from [\d.]+% to [\d.]+%; mostly .+\.", shown["verdict"]), shown["verdict"]
    assert shown["remote_significant"] and shown["comparable"] and not shown["latency_significant"], shown
    assert [(row["pattern"], row["name"], row["fate"], row["why"]) for row in shown["findings"]] == \
        [(row["pattern"], row["name"], row["fate"], row["why"]) for row in said["findings"]]
    assert {row["fate"] for row in shown["findings"]} == {"gone"}, shown["findings"]
    for row in shown["findings"]:
        assert runs[0]["findings"][row["before"]]["name"] == row["name"] and row["after"] == -1, row
    for table in ("objects", "sites", "functions", "threads"):
        rows = said[table]["rows"]
        assert len(shown[table]) == len(rows) > 0, table
        for row, other in zip(shown[table], rows):
            for key in ("share", "remote", "latency"):
                assert row[key + "_significant"] == other[key]["significant"], (row, other)
            for run, key in zip(runs, ("before", "after")):
                assert side_of(row[key]) == (other[key] and side_of({**other[key], "name": row[key]["name"]})), (row, other)
                if row[key]:
                    thing = run[table][row[key]["row"]]
                    assert (thing["samples"], thing["remote"]) == (other[key]["samples"], other[key]["remote"]), (thing, other)


@check("what cannot be written leaves what was there, and says why")
def not_written():
    trace, _ = recording()

    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))

    with Folder() as folder:
        out = os.path.join(folder, "page.html")
        with open(out, "w") as stream:
            stream.write("old")
        ended = page_data.write(trace, out, prepare=little_room)
        assert ended.status == 1 and b"cannot write" in ended.err, ended
        assert open(out).read() == "old" and os.listdir(folder) == ["page.html"], os.listdir(folder)
        for place, words in ((folder, b"it is a folder"), (os.path.join(folder, "none", "p.html"), b"No such file")):
            ended = page_data.write(trace, place)
            assert ended.status == 1 and words in ended.err, ended
        ended = page_data.write(os.path.join(folder, "no.data"), out)
        assert ended.status == 1 and b"cannot open" in ended.err, ended
        assert open(out).read() == "old" and os.listdir(folder) == ["page.html"], os.listdir(folder)
        ended = nlens.run([nlens.NUMALENS, "report", "objects", "--html", out, trace])
        assert ended.status == 2 and b"--html writes everything" in ended.err, ended


@check("a damaged recording gives a page that says so")
def damaged():
    trace, _ = recording()
    with Folder() as folder:
        cut = os.path.join(folder, "cut.data")
        with open(trace, "rb") as stream:
            content = stream.read()
        with open(cut, "wb") as stream:
            stream.write(content[:len(content) * 2 // 3])
        data, = page_data.of(cut, os.path.join(folder, "page.html"))
        assert data.tables["run"]["damage"], data.tables["run"]


@check("a program without a single sample gives a page")
def nothing():
    recording()
    with Folder() as folder:
        ended = nlens.record(folder, ["/bin/true"], MACHINE)
        assert ended.status == 0, ended
        data, = page_data.of(ended.trace, os.path.join(folder, "page.html"))
        assert data.tables["totals"]["samples"] < 100
        assert len(data["v.cell.leaf"]) <= data.tables["totals"]["samples"]


nlens.main()
