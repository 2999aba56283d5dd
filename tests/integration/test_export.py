#!/usr/bin/env python3
"""Exports: each format is read by what reads it elsewhere, and has the report's totals in it."""
import atexit
import csv
import functools
import io
import os
import re
import shutil
import sys
import tempfile

import export_readers as readers
import nlens
from nlens import Folder, Skip, check, example, note, run
from traffic_truth import recorded

HOME = tempfile.mkdtemp(prefix="numalens-")
atexit.register(shutil.rmtree, HOME)
MACHINE = ["--topology", "numa:4 core:2", "-F", "1000", "--budget", "20"]
BINARY = ["pprof", "perfetto", "sqlite"]


@functools.lru_cache(maxsize=None)
def recording():
    """A recording with several threads and remote accesses, its report, and the report's sum of latencies."""
    ended = nlens.record(HOME, [example("handover")], [*MACHINE, "--no-traffic"], bursts=50)
    assert ended.status == 0, ended
    reported = nlens.report(ended.trace)
    assert reported["samples"] > 0 and reported["remote"] > 0, reported
    return ended.trace, reported


def export(format, *options, trace=None, status=0):
    ended = run([nlens.NUMALENS, "export", "--format", format, *options, trace or recording()[0]])
    assert ended.status == status, ended
    return ended.out


def holds(reported, samples, remote, latency=None, timed=None, known=None):
    """The totals of an export against the report's."""
    assert samples == reported["samples"], (samples, reported["samples"])
    assert remote == reported["remote"], (remote, reported["remote"])
    if known is not None:
        assert known == reported["home_known"], (known, reported["home_known"])
    if latency is not None:
        assert timed > 0 and abs(latency / timed - reported["latency_mean"]) < 0.06, (latency, timed, reported["latency_mean"])


def folded(text):
    """{stack: value}"""
    result = {}
    for line in text.decode().splitlines():
        stack, value = line.rsplit(" ", 1)
        assert stack not in result and int(value) > 0, line
        result[stack] = int(value)
    return result


@check("folded stacks have the report's totals")
def folded_stacks():
    reported = recording()[1]
    sums = [sum(folded(export("folded", "--value", value)).values()) for value in
            ("samples", "remote", "latency", "timed", "home_known")]
    holds(reported, *sums)
    stacks = folded(export("folded"))
    assert sum(stacks.values()) == reported["samples"]
    by_thread = {}
    for stack, value in stacks.items():
        frames = stack.split(";")
        assert len(frames) >= 4 and frames[0] == "handover" and frames[-1][0] == "[" and frames[-1][-1] == "]", stack
        by_thread[frames[1]] = by_thread.get(frames[1], 0) + value
    threads = {}
    for row in reported["threads"]:
        threads[row["name"]] = threads.get(row["name"], 0) + row["samples"]
    assert by_thread == {name: samples for name, samples in threads.items() if samples}, (by_thread, threads)


def rows(text):
    return list(csv.DictReader(io.StringIO(text.decode(), newline="")))


@check("CSV has every sample once, and no number for what is not known")
def csv_rows():
    reported = recording()[1]
    table = rows(export("csv"))
    timed = [int(row["latency"]) for row in table if row["latency"]]
    holds(reported, len(table), sum(row["remote"] == "1" for row in table), sum(timed), len(timed),
          sum(row["remote"] != "" for row in table))
    assert sum(row["op"] in ("read", "update") for row in table) == reported["reads"]
    assert sum(row["op"] in ("write", "update") for row in table) == reported["writes"]
    assert sum(row["object"] != "" for row in table) == reported["attributed"]
    times = [float(row["time"]) for row in table]
    assert times == sorted(times) and 0 <= times[0] and times[-1] <= reported["duration_s"] + 1
    traffic = {}
    for row in table:
        if row["node"] and row["home"]:
            pair = (int(row["node"]), int(row["home"]))
            traffic[pair] = traffic.get(pair, 0) + 1
    assert traffic == {(row["from"], row["home"]): row["samples"] for row in reported["traffic"] if row["samples"]}, traffic
    chosen = rows(export("csv", "-F", "latency,tid"))
    assert list(chosen[0]) == ["latency", "tid"] and len(chosen) == len(table)
    assert [row["latency"] for row in chosen] == [row["latency"] for row in table]


@check("text has what CSV has, with - for what is not known")
def text():
    trace, reported = recording()
    head, *lines = export("text").decode().splitlines()
    table = rows(export("csv"))
    assert head == "# " + "\t".join(table[0])
    assert [[cell or "-" for cell in row.values()] for row in table] == [line.split("\t") for line in lines]
    every = [field.strip(" ,") for field in
             ("comm pid tid time cpu node home remote op addr phys_addr size latency level source first object kind name site "
              "offset ip sym dso srcline stack").split()]
    shown = export("text", "--no-header", "-F", ",".join(every)).decode()
    lines = [dict(zip(every, line.split("\t"))) for line in shown.splitlines()]
    assert export("csv", "--no-header").decode().splitlines() == export("csv").decode().splitlines()[1:]
    assert len(lines) == reported["samples"] and all(len(line) == len(every) for line in lines)
    assert {line["source"] for line in lines} == {"soft"} and {line["phys_addr"] for line in lines} == {"-"}
    for line in lines:
        assert line["stack"] == "-" or line["sym"] in ("-", line["stack"].split(";")[-1]), line
    with Folder() as folder:
        path = os.path.join(folder, "lines")
        assert b"samples into" in export("text", "-o", path) and os.listdir(folder) == ["lines"]


@check("events are all there, a line each, in order of time")
def events():
    trace, reported = recording()
    lines = export("events").decode().splitlines()
    kinds = [line.split(" ", 1)[0] for line in lines]
    times = [int(re.search(r" time=(\d+) ", line).group(1)) for line in lines]
    assert times == sorted(times) and kinds.count("sample") == reported["samples"], (len(lines), reported["samples"])
    assert {"process", "thread", "module", "map", "stack", "alloc"} <= set(kinds), set(kinds)
    assert re.search(r"^process .* exe=\S*/handover command=", "\n".join(lines), re.M), lines[:3]
    with Folder() as folder:
        ended = run([nlens.NUMALENS, "export", "--format", "events", "-o", "events.txt", trace], folder=folder)
        assert ended.status == 0 and b" events into events.txt" in ended.out, ended
        with open(os.path.join(folder, "events.txt")) as stream:
            assert stream.read().splitlines() == lines


@check("speedscope's JSON is what its schema asks for, with the report's totals")
def speedscope():
    reported = recording()[1]
    profile = readers.speedscope(export("speedscope"))
    sums = {one["name"]: sum(one["weights"]) for one in profile["profiles"]}
    timed = sum(folded(export("folded", "--value", "timed")).values())
    holds(reported, sums["samples"], sums["remote accesses"], sums["latency"], timed)
    units = {one["name"]: one["unit"] for one in profile["profiles"]}
    assert units == {"samples": "none", "remote accesses": "none", "latency": "nanoseconds"}, units
    frames = [frame["name"] for frame in profile["shared"]["frames"]]
    stacks = {}
    for sample, weight in zip(profile["profiles"][0]["samples"], profile["profiles"][0]["weights"]):
        stack = ";".join(frames[frame] for frame in sample)
        stacks[stack] = stacks.get(stack, 0) + weight
    assert stacks == folded(export("folded"))


@check("callgrind_annotate reads the callgrind file, and its totals are the report's")
def callgrind():
    reported = recording()[1]
    with Folder() as folder:
        path = os.path.join(folder, "callgrind.out")
        export("callgrind", "-o", path)
        totals, functions = readers.callgrind(path)
        holds(reported, totals["Samples"], totals["Remote"], totals["Latency"], totals["Timed"])
        with open(path) as stream:
            own = readers.callgrind_own_costs(stream.read())
        assert own == [totals[event] for event in ("Samples", "Remote", "Latency", "Timed")], (own, totals)
        leaves = {}
        for stack, value in folded(export("folded")).items():
            leaf = stack.split(";")[-2]
            leaves[leaf] = leaves.get(leaf, 0) + value
        biggest = max(leaves, key=leaves.get)
        assert functions[biggest] == leaves[biggest], (functions, leaves)


@check("pprof reads the profile, and its totals are the report's")
def pprof():
    reported = recording()[1]
    with Folder() as folder:
        path = os.path.join(folder, "profile.pb")
        export("pprof", "-o", path)
        types, sums, labels = readers.pprof(path, folder)
        assert types == ["samples/count", "remote/count", "latency/nanoseconds", "timed/count", "home_known/count"], types
        holds(reported, *sums)
        objects = {re.sub(r"^\[|\]$", "", stack.split(";")[-1]) for stack in folded(export("folded"))}
        assert labels["object"] <= objects | {"[unknown]"}, (labels["object"], objects)
        assert labels["thread"] == {row["name"] for row in reported["threads"] if row["samples"]}, labels["thread"]


@check("the profile has pprof's fields, as protoc decodes them")
def pprof_decoded():
    reported = recording()[1]
    profile = readers.protobuf(export("pprof"), "profile.proto", "Profile")
    texts = profile["string_table"]
    assert texts[0] == "" and len(set(texts)) == len(texts)
    types = [texts[int(one["type"][0])] for one in profile["sample_type"]]
    sums = [sum(int(one["value"][column]) for one in profile["sample"]) for column in range(len(types))]
    assert types == ["samples", "remote", "latency", "timed", "home_known"], types
    holds(reported, *sums)
    locations = {int(one["id"][0]): one for one in profile["location"]}
    functions = {int(one["id"][0]): one for one in profile["function"]}
    mappings = {int(one["id"][0]) for one in profile["mapping"]}
    assert len(locations) == len(profile["location"]) and len(functions) == len(profile["function"])
    for one in profile["sample"]:
        assert all(int(number) in locations for number in one["location_id"]), one
    for one in locations.values():
        assert int(one["mapping_id"][0]) in mappings and int(one["line"][0]["function_id"][0]) in functions, one
    nodes = {}
    for one in profile["sample"]:
        label = {texts[int(label["key"][0])]: label for label in one["label"]}
        if "node" in label and "home" in label:
            pair = tuple(int(texts[int(label[key]["str"][0])]) for key in ("node", "home"))
            nodes[pair] = nodes.get(pair, 0) + int(one["value"][0])
    assert nodes == {(row["from"], row["home"]): row["samples"] for row in reported["traffic"] if row["samples"]}, nodes


@check("the Firefox Profiler's tables fit together, with the report's totals")
def firefox():
    reported = recording()[1]
    profile = readers.firefox(export("firefox"))
    counts, stacks = {"Local": 0, "Remote": 0, "Home not known": 0, "Other": 0}, {}
    names = [category["name"] for category in profile["meta"]["categories"]]
    for thread in profile["threads"]:
        for stack in thread["samples"]["stack"]:
            counts[names[thread["stackTable"]["category"][stack]]] += 1
            text = ";".join([thread["processName"], thread["name"], *readers.firefox_stack(thread, stack)])
            stacks[text] = stacks.get(text, 0) + 1
    assert counts["Other"] == 0
    # What has no call chain has one frame fewer here.
    assert stacks == {stack.replace(";[unknown];", ";"): value for stack, value in folded(export("folded")).items()}, stacks
    sums = {value: sum(weight for thread in readers.firefox(export("firefox", "--value", value))["threads"]
                       for weight in thread["samples"]["weight"]) for value in ("remote", "latency", "timed", "home_known")}
    holds(reported, sum(counts.values()), counts["Remote"], sums["latency"] * 1e6, sums["timed"], counts["Local"] + counts["Remote"])
    holds(reported, sum(counts.values()), sums["remote"], known=sums["home_known"])
    assert {thread["tid"]: thread["samples"]["length"] for thread in profile["threads"]} == {
        row["tid"]: row["samples"] for row in reported["threads"] if row["samples"]}


@check("the Perfetto trace has every sample, objects and nodes, as protoc decodes it")
def perfetto():
    reported = recording()[1]
    trace = readers.perfetto(export("perfetto"))
    assert trace.stacks == folded(export("folded"))
    assert trace.tids == {row["tid"]: row["samples"] for row in reported["threads"] if row["samples"]}
    totals = {key: sum(int(slice[key]) for slice in trace.slices.values()) for key in
              ("samples", "remote", "latency", "timed", "home_known")}
    holds(reported, *totals.values())
    for thing, slice in trace.slices.items():
        assert int(slice["remote"]) == trace.remote[thing], slice
        assert 0 <= slice["from"] <= slice["to"] <= (reported["duration_s"] + 1) * 1e9, slice
    nodes = {row["from"] for row in reported["traffic"] if row["samples"]}
    for node in nodes:
        shares = trace.counters["node %d: remote share of its threads' accesses" % node]
        assert shares and all(0 <= share <= 100 for share in shares.values())
    assert not any("bandwidth" in name for name in trace.counters)


def same_rates(left, right):
    """Rows that end in a rate, which the report has rounded."""
    assert [row[:-1] for row in left] == [row[:-1] for row in right], (left, right)
    assert all(a[-1] == b[-1] or abs(a[-1] - b[-1]) <= 1 for a, b in zip(left, right)), (left, right)


def bytes_of_formats(trace):
    """The sums of formats that are summed up by call chain, {} where they have no bytes; and {what was accessed: its bytes}."""
    things = {}
    ended = run([nlens.NUMALENS, "export", "--format", "folded", "--value", "bytes", trace])
    for stack, value in (folded(ended.out) if ended.status == 0 else {}).items():
        things[stack.split(";")[-1]] = things.get(stack.split(";")[-1], 0) + value
    assert ended.status == 0 or b"--no-traffic" in ended.err, ended
    sums = {"folded": sum(things.values())} if things else {}
    for one in readers.speedscope(export("speedscope", trace=trace))["profiles"]:
        if one["name"] == "bytes":
            assert one["unit"] == "bytes", one["unit"]
            sums["speedscope"] = sum(one["weights"])
    with Folder() as folder:
        path = os.path.join(folder, "callgrind.out")
        export("callgrind", "-o", path, trace=trace)
        totals, _ = readers.callgrind(path)
        if "Bytes" in totals:
            sums["callgrind"] = totals["Bytes"]
        path = os.path.join(folder, "profile.pb")
        export("pprof", "-o", path, trace=trace)
        types, values, _ = readers.pprof(path, folder)
        if "bytes/bytes" in types:
            sums["pprof"] = values[types.index("bytes/bytes")]
    return sums, things


@check("traffic, where it was recorded, is in every format that sums up, with the report's totals")
def traffic_of_chains():
    trace = traffic_recording()
    reported = nlens.report(trace, "traffic")
    sums, things = bytes_of_formats(trace)
    total = sum(row["bytes_s"] or 0 for row in reported["threads"]) * reported["seconds"]  # what samples share out
    note("%.1f GB" % (total / 1e9))
    assert sorted(sums) == ["callgrind", "folded", "pprof", "speedscope"], sums
    assert max(sums.values()) - min(sums.values()) <= 2 and abs(sums["folded"] - total) <= 1e-5 * total + 2, (sums, total)
    # By what was accessed: all of an object's, however many call chains it has.
    known = sorted(row["bytes_s"] * reported["seconds"] for row in reported["objects"] if row["bytes_s"] and row["bytes_s"] > 1e8)
    for bytes in known[-3:]:
        assert any(abs(bytes - value) <= 1e-5 * bytes + 2 for value in things.values()), (bytes, things)


@check("bytes are refused where no traffic was recorded, and for single samples")
def no_bytes():
    ended = run([nlens.NUMALENS, "export", "--format", "folded", "--value", "bytes", recording()[0]])
    assert ended.status == 1 and b"--no-traffic" in ended.err and not ended.out, ended
    ended = run([nlens.NUMALENS, "export", "--format", "firefox", "--value", "bytes", recording()[0]])
    assert ended.status == 2 and b"--format folded" in ended.err, ended
    assert bytes_of_formats(recording()[0]) == ({}, {})


@functools.lru_cache(maxsize=None)
def traffic_recording():
    folder = os.path.join(HOME, "traffic")
    os.mkdir(folder)
    return recorded(folder, "triad", "256", "2")[0].trace


@check("traffic, where it was recorded, is in the database and the Perfetto trace")
def traffic():
    has_sqlite()
    trace = traffic_recording()
    reported = nlens.report(trace, "traffic")
    with Folder() as folder:
        path = os.path.join(folder, "samples.db")
        export("sqlite", "-o", path, trace=trace)
        pairs = readers.sqlite(path, "SELECT node, home, bytes_s FROM traffic ORDER BY 1, 2")
        threads = readers.sqlite(path, "SELECT tid, bytes_s FROM threads WHERE bytes_s IS NOT NULL")
        things = readers.sqlite(path, "SELECT bytes_s FROM things WHERE bytes_s IS NOT NULL ORDER BY 1")
        duration, = readers.sqlite(path, "SELECT value FROM meta WHERE key = 'duration_ns'")
    bandwidth = {name: values for name, values in readers.perfetto(export("perfetto", trace=trace)).counters.items()
                 if "bandwidth" in name}
    same_rates([(row["node"], row["home"], row["bytes_s"]) for row in pairs],
               [(row["from"], row["to"], row["bytes_s"]) for row in reported["pairs"]])
    same_rates(sorted((row["tid"], row["bytes_s"]) for row in threads),
               sorted((row["tid"], row["bytes_s"]) for row in reported["threads"] if row["bytes_s"] is not None))
    same_rates([(row["bytes_s"],) for row in things],
               sorted((row["bytes_s"],) for row in reported["objects"] if row["bytes_s"] is not None))
    bin_s = max(1e6, int(duration["value"]) // 1000 + 1) / 1e9
    for row in reported["nodes"]:
        whole = sum(bandwidth["node %d: bandwidth of its memory" % row["node"]].values()) * bin_s / reported["seconds"]
        note("node %d: %.3f GB/s" % (row["node"], whole / 1e9))
        assert abs(whole - row["read_bytes_s"] - row["write_bytes_s"]) <= 1e-3 * whole + 2, (whole, row)


def has_sqlite():
    if b"not in this build" in [line for line in export("list").splitlines() if line.startswith(b"sqlite")][0]:
        raise Skip("numalens was built without SQLite")


@check("the database holds every sample, and its five example queries give what the report has")
def sqlite():
    has_sqlite()
    trace, reported = recording()
    with open(os.path.join(nlens.SOURCE, "docs", "export.md")) as stream:
        queries = re.findall(r"```sql\n(.*?)```", stream.read(), re.DOTALL)
    assert len(queries) == 5
    with Folder() as folder:
        path = os.path.join(folder, "samples.db")
        export("sqlite", "-o", path)
        assert os.listdir(folder) == ["samples.db"]
        assert readers.sqlite(path, "PRAGMA integrity_check; PRAGMA foreign_key_check;") == [{"integrity_check": "ok"}]
        total, = readers.sqlite(path, "SELECT count(*) AS a, sum(remote) AS b, sum(latency) AS c, count(latency) AS d, "
                                "count(remote) AS e, count(object) AS f FROM samples")
        holds(reported, *list(total.values())[:5])
        assert total["f"] == reported["attributed"]
        meta = {row["key"]: row["value"] for row in readers.sqlite(path, "SELECT * FROM meta")}
        assert [int(meta[key]) for key in ("samples", "remote", "latency_sum", "timed", "home_known")] == list(total.values())[:5]
        objects, nodes, threads, functions, tenths = [readers.sqlite(path, query) for query in queries]
        rows_reported = nlens.report(trace, "sites", "--limit", "0")["sites"]
        assert objects[0]["remote"] == max(row["remote"] for row in rows_reported), (objects, rows_reported)
        assert {(row["node"], row["home"]): row["samples"] for row in nodes} == {
            (row["from"], row["home"]): row["samples"] for row in reported["traffic"] if row["samples"]}
        means = {row["tid"]: row["latency_mean"] for row in reported["threads"]}
        for row in threads:
            assert row["timed"] == 0 or abs(row["mean"] - means[row["tid"]]) < 0.06, (row, means)
        assert 0 < sum(row["remote"] for row in functions) <= reported["remote"]
        assert sum(row["samples"] for row in tenths) == reported["samples"]
        assert readers.sqlite(path, "SELECT count(*) AS n FROM traffic") == [{"n": 0}]


@check("what does not exist is refused with what does")
def refused():
    trace = recording()[0]
    for command, words in ((["export", "-f", "text", "-F", "time,when", trace], ["'when'", "comm, pid, tid", "stack"]),
                           (["export", "-f", "text", "-F", "", trace], ["the fields are"]),
                           (["export", "-f", "csv", "-F", "when", trace], ["'when'", "the fields are"]),
                           (["export", trace], ["--format is missing", "folded", "moca"]),
                           (["export", "-f", "xls", trace], ["'xls'", "folded", "csv", "moca"]),
                           (["export", "-f", "folded", "--value", "cost", trace], ["'cost'", "samples, remote, latency"]),
                           (["export", "-f", "csv", "--value", "remote", trace], ["--value"]),
                           (["export", "-f", "folded", "-F", "time", trace], ["--fields"]),
                           (["export", "-f", "folded", "--no-header", trace], ["--no-header", "text and csv"]),
                           (["dump", trace], ["no command 'dump'", "numalens export --format text"]),
                           (["script"], ["a script is missing", "numalens export --format text"])):
        ended = run([nlens.NUMALENS, *command])
        assert ended.status == 2 and not ended.out, "%s: %s" % (command, ended)
        for word in words:
            assert word in ended.err.decode(), "%s: no %s: %s" % (command, word, ended)
    listed = export("list").decode()
    assert "folded" in listed and "csv" in listed and "moca" in listed, listed


@check("a failure leaves the file as it was, and no other beside it")
def failures():
    trace = recording()[0]
    with Folder() as folder:
        path = os.path.join(folder, "out")
        with open(path, "w") as stream:
            stream.write("old")
        for command in (["export", "-f", "csv", "-o", path, os.path.join(folder, "none")],
                        ["export", "-f", "text", "-o", path, os.path.join(folder, "none")]):
            ended = run([nlens.NUMALENS, *command])
            assert ended.status == 1 and b"none" in ended.err, ended
        # A limit on the size of files fails as a full disk does.
        ended = run(["sh", "-c", 'ulimit -f 1; trap "" XFSZ; exec "$@"', "sh", nlens.NUMALENS, "export", "-f", "csv", "-o", path, trace])
        assert ended.status == 1 and b"cannot write" in ended.err, ended
        assert os.listdir(folder) == ["out"]
        with open(path) as stream:
            assert stream.read() == "old"
        ended = run([nlens.NUMALENS, "export", "-f", "csv", "-o", os.path.join(folder, "no", "out"), trace])
        assert ended.status == 1 and b"cannot write" in ended.err, ended
        for form in ("csv", "text", "events"):
            ended = run([nlens.NUMALENS, "export", "-f", form, "-o", trace, trace])
            assert ended.status == 1 and b"is the recording itself" in ended.err, ended
        nlens.report(trace)
        if os.path.exists("/dev/full"):
            ended = run(["sh", "-c", '"$@" > /dev/full', "sh", nlens.NUMALENS, "export", "-f", "csv", trace])
            assert ended.status == 1 and b"standard output" in ended.err, ended


@check("-o - is standard output; that a file was written is said, unless with -q")
def outputs():
    with Folder() as folder:
        path = os.path.join(folder, "out")
        text = export("csv")
        assert export("csv", "-o", "-") == text
        assert b"samples into" in export("csv", "-o", path)
        with open(path, "rb") as stream:
            assert stream.read() == text
        assert export("csv", "-q", "-o", path) == b""
        ended = run([nlens.NUMALENS, "export", "-f", "csv", "-o", "-", "-i", recording()[0]], folder=folder)
        assert ended.out == text and os.listdir(folder) == ["out"], ended


@check("a recording without samples gives empty exports, and no failure")
def empty():
    ended = nlens.record(HOME, ["true"], ["--source", "none"], name="true.data")
    assert ended.status == 0, ended
    assert rows(export("csv", trace=ended.trace)) == []
    assert export("folded", trace=ended.trace) == b""
    assert [one["weights"] for one in readers.speedscope(export("speedscope", trace=ended.trace))["profiles"]] == [[], [], []]
    assert b"summary: 0 0 0 0" in export("callgrind", trace=ended.trace)
    assert export("pprof", trace=ended.trace)
    assert readers.firefox(export("firefox", trace=ended.trace))["threads"] == []
    trace = readers.perfetto(export("perfetto", trace=ended.trace))
    assert trace.stacks == {} and trace.slices == {}


def totals_everywhere(trace, *options):
    """Every format that can be read without other programs, against the report with the same options."""
    reported = nlens.report(trace, *options)
    assert reported["samples"] > 0, reported
    reported["remote"] = reported["remote"] or 0 # null where no home is known; exports have sums
    table = rows(export("csv", *options, trace=trace))
    assert len(table) == reported["samples"] and sum(row["remote"] == "1" for row in table) == reported["remote"]
    for value in ("samples", "remote", "home_known"):
        assert sum(folded(export("folded", "--value", value, *options, trace=trace)).values()) == reported[value], value
    scope = readers.speedscope(export("speedscope", *options, trace=trace))
    assert [sum(one["weights"]) for one in scope["profiles"]][:2] == [reported["samples"], reported["remote"]]
    profile = readers.firefox(export("firefox", *options, trace=trace))
    assert sum(thread["samples"]["length"] for thread in profile["threads"]) == reported["samples"]
    assert readers.callgrind_own_costs(export("callgrind", *options, trace=trace).decode())[:2] == [reported["samples"], reported["remote"]]
    return reported, table


@check("every sample of several processes is exported once")
def processes():
    ended = nlens.record(HOME, [example("child"), "--exec", "--rounds=12000"], [*MACHINE], name="child.data", bursts=20)
    assert ended.status == 0, ended
    reported, table = totals_everywhere(ended.trace)
    processes = nlens.report(ended.trace, "processes", "--limit", "0")["processes"]
    by_pid = {}
    for row in processes:
        by_pid[row["pid"]] = by_pid.get(row["pid"], 0) + row["samples"]
    for pid, samples in by_pid.items():
        assert sum(row["pid"] == str(pid) for row in table) == samples, (pid, by_pid)


@check("a topology can be simulated afterwards, as in the report")
def simulated():
    trace = recording()[0]
    reported, table = totals_everywhere(trace, "--topology", "numa:2 core:1", "--homes", "bind:1")
    assert {row["home"] for row in table if row["home"]} == {"1"}
    assert reported["remote"] == sum(row["node"] == "0" for row in table if row["home"])
    for command in (["export", "-f", "csv"], ["export", "-f", "text"]):
        ended = run([nlens.NUMALENS, *command, "--homes", "bind:1", trace])
        assert ended.status == 2 and b"add --topology" in ended.err, ended
        ended = run([nlens.NUMALENS, *command, "--topology", "nonsense", trace])
        assert ended.status == 2 and ended.err, ended


@check("of a file that is not whole, what is there is exported, and that it is not whole is said")
def damaged():
    with Folder() as folder:
        path = os.path.join(folder, "cut.data")
        with open(recording()[0], "rb") as whole, open(path, "wb") as cut:
            data = whole.read()
            cut.write(data[:len(data) - 20])
        totals_everywhere(path)
        for command in (["export", "-f", "csv"], ["export", "-f", "text"]):
            ended = run([nlens.NUMALENS, *command, path])
            assert ended.status == 0 and b"cut.data: " in ended.err, ended
        for size in (0, 4, 100):
            with open(path, "wb") as cut:
                cut.write(data[:size])
            ended = run([nlens.NUMALENS, "export", "-f", "csv", "-o", os.path.join(folder, "out"), path])
            assert ended.status == 1 and ended.err and os.listdir(folder) == ["cut.data"], ended


@check("binary formats are not written to a terminal")
def terminal():
    for format in BINARY:
        if format == "sqlite":
            has_sqlite()
        ended = run([sys.executable, "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)", nlens.NUMALENS, "export",
                     "-f", format, recording()[0]])
        assert ended.status == 1 and b"not for a terminal" in ended.out, ended


nlens.main()
