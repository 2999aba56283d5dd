"""export_readers - the programs that exports are for, and what they make of a file; skipped where they are not installed."""
import collections
import json
import os
import re

import nlens

HERE = os.path.dirname(os.path.abspath(__file__))


def speedscope(text):
    """The file, checked against speedscope's published schema (file-format-schema.json)."""
    file = json.loads(text)
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(file) <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}, set(file)
    assert isinstance(file["name"], str) and isinstance(file["exporter"], str)
    frames = file["shared"]["frames"]
    for frame in frames:
        assert isinstance(frame["name"], str) and set(frame) <= {"name", "file", "line", "col"}, frame
        assert isinstance(frame.get("file", ""), str) and isinstance(frame.get("line", 1), int), frame
    assert 0 <= file["activeProfileIndex"] < len(file["profiles"])
    for profile in file["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}, set(profile)
        assert profile["type"] == "sampled"
        assert profile["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= frame < len(frames) for sample in profile["samples"] for frame in sample)
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
    return file


def callgrind(path):
    """{event: total} and {function: its own first event} as callgrind_annotate has them."""
    ended = nlens.run([nlens.tool("callgrind_annotate"), "--auto=no", "--threshold=100", "--show-percs=no", path])
    assert ended.status == 0 and not ended.err, ended
    text = ended.out.decode()
    events = re.search(r"^Events recorded: +(.*)$", text, re.MULTILINE)[1].split()
    totals = re.search(r"^(.*)  PROGRAM TOTALS$", text, re.MULTILINE)[1].replace(",", "").split()
    functions = collections.Counter()
    for line in text.split("file:function", 1)[1].splitlines():
        row = re.match(r" *([\d,]+) .*?  .*?:(.*?)(?: \[.*\])?$", line)
        if row:
            functions[row[2]] += int(row[1].replace(",", ""))
    return dict(zip(events, map(int, totals))), functions


def callgrind_own_costs(text):
    """Sums of the lines that are no calls' costs."""
    sums, call = None, False
    for line in text.splitlines():
        if line.startswith("calls="):
            call = True
        elif re.match(r"\d", line):
            costs = [int(word) for word in line.split()[1:]]
            if not call:
                sums = [a + b for a, b in zip(sums or [0] * len(costs), costs)]
            call = False
    return sums


def pprof(path, folder):
    """Names of the values, their sums, and {label: its texts}, as Go's pprof has them."""
    ended = nlens.run([nlens.tool("go"), "tool", "pprof", "-raw", path],
                      environment={"HOME": folder, "PPROF_TMPDIR": folder, "GOFLAGS": "", "GOCACHE": os.path.join(folder, "go")})
    assert ended.status == 0, ended
    text = ended.out.decode()
    head, _, rest = text.partition("Samples:\n")
    samples, _, places = rest.partition("Locations\n")
    lines = samples.splitlines()
    types = [name.replace("[dflt]", "") for name in lines[0].split()]
    sums, labels = [0] * len(types), collections.defaultdict(set)
    for line in lines[1:]:
        values = re.match(r" *(\d[\d ]*): ", line)
        if values:
            sums = [a + int(b) for a, b in zip(sums, values[1].split())]
            continue
        for key, value in re.findall(r"(\w+):\[(.*?)\](?= \w+:\[|$)", line.strip()):
            labels[key].add(value)
    assert "Mappings\n" in places and head
    return types, sums, labels


FIREFOX_TABLES = {  # columns of version 48, and which table each points into
    "samples": {"stack": "stackTable", "time": None, "weight": None},
    "stackTable": {"prefix": "stackTable", "frame": "frameTable", "category": None, "subcategory": None},
    "frameTable": {"address": None, "inlineDepth": None, "category": None, "subcategory": None, "func": "funcTable", "line": None,
                   "column": None, "nativeSymbol": "nativeSymbols", "innerWindowID": None, "implementation": "stringArray"},
    "funcTable": {"name": "stringArray", "isJS": None, "relevantForJS": None, "resource": "resourceTable", "fileName": "stringArray",
                  "lineNumber": None, "columnNumber": None},
    "resourceTable": {"lib": "libs", "name": "stringArray", "host": "stringArray", "type": None},
    "nativeSymbols": {"address": None, "functionSize": None, "libIndex": "libs", "name": "stringArray"},
    "markers": {"category": None, "data": None, "endTime": None, "name": "stringArray", "phase": None, "startTime": None},
}


def firefox(text):
    """A processed profile whose tables fit together: columns as long as their tables, numbers that lead somewhere."""
    profile = json.loads(text)
    assert profile["meta"]["preprocessedProfileVersion"] == 48 and profile["meta"]["symbolicated"] is True
    categories = profile["meta"]["categories"]
    assert sum(category["color"] == "grey" for category in categories) == 1
    for lib in profile["libs"]:
        assert set(lib) == {"arch", "name", "path", "debugName", "debugPath", "breakpadId", "codeId"}
    for thread in profile["threads"]:
        assert isinstance(thread["pid"], str) and isinstance(thread["isMainThread"], bool) and isinstance(thread["name"], str)
        assert {"processType", "processStartupTime", "processShutdownTime", "registerTime", "unregisterTime", "pausedRanges",
                "tid"} <= set(thread)
        rows = {"stringArray": len(thread["stringArray"]), "libs": len(profile["libs"])}
        rows.update((table, thread[table]["length"]) for table in FIREFOX_TABLES)
        assert len(set(thread["stringArray"])) == rows["stringArray"]
        for table, columns in FIREFOX_TABLES.items():
            assert set(thread[table]) - {"length", "weightType"} == set(columns), (table, set(thread[table]))
            for column, target in columns.items():
                values = thread[table][column]
                if values is None and column == "weight":
                    continue
                assert len(values) == rows[table], (table, column)
                if column == "resource":
                    values = [value for value in values if value != -1]
                if target:
                    assert all(value is None or 0 <= value < rows[target] for value in values), (table, column)
                if column == "category":
                    assert all(0 <= value < len(categories) for value in values)
        assert all(prefix is None or prefix < number for number, prefix in enumerate(thread["stackTable"]["prefix"]))
        assert thread["samples"]["time"] == sorted(thread["samples"]["time"])
    return profile


def firefox_stack(thread, stack):
    """Names, outermost first."""
    names = []
    while stack is not None:
        function = thread["frameTable"]["func"][thread["stackTable"]["frame"][stack]]
        names.insert(0, thread["stringArray"][thread["funcTable"]["name"][function]])
        stack = thread["stackTable"]["prefix"][stack]
    return names


def sqlite(path, query):
    """Rows of a query as sqlite3 has them."""
    ended = nlens.run([nlens.tool("sqlite3"), "-json", "-readonly", path, query])
    assert ended.status == 0 and not ended.err, ended
    return json.loads(ended.out) if ended.out.strip() else []


def unquoted(text):
    """A text as protoc prints it."""
    return re.sub(rb"\\([0-7]{3}|.)", lambda match: bytes([int(match[1], 8)]) if len(match[1]) == 3 else
                  {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(match[1], match[1]), text.encode()).decode()


def protobuf(data, schema, message):
    """A message by protoc and the field numbers of tests/integration/SCHEMA: {field: [values]}, texts as they were."""
    ended = nlens.run([nlens.tool("protoc"), "-I", HERE, "--decode", message, schema], input=data, folder=HERE)
    assert ended.status == 0 and not ended.err, ended
    whole = collections.defaultdict(list)
    open_ones = [whole]
    for line in ended.out.decode().splitlines():
        line = line.strip()
        if line.endswith("{") and not line.endswith('"'):
            open_ones.append(collections.defaultdict(list))
            open_ones[-2][line[:-2]].append(open_ones[-1])
        elif line == "}":
            open_ones.pop()
        else:
            field, _, value = line.partition(": ")
            assert not re.fullmatch(r"\d+", field), "a field that the schema does not have: %s" % line
            open_ones[-1][field].append(unquoted(value[1:-1]) if value[0] == '"' else value)
    assert len(open_ones) == 1
    return whole


class perfetto:
    """A trace by protoc: stacks {folded: samples}, tids {tid: samples}, slices {thing: annotations, from, to}, remote
    {thing: accesses}, and counters of nodes {name: {time: value}}. Interned data must be there before what uses them, and tracks exist."""

    def __init__(self, data):
        whole = protobuf(data, "perfetto.proto", "Trace")
        self.stacks, self.tids = collections.Counter(), collections.Counter()
        self.slices, self.remote, self.counters = {}, collections.Counter(), collections.defaultdict(dict)
        self.functions, self.frames, self.callstacks, self.paths, self.mappings = {}, {}, {}, {}, {}
        self.processes, self.threads, self.tracks, self.open = {}, {}, {}, {}
        assert whole["packet"][0]["sequence_flags"] == ["1"]
        for packet in whole["packet"]:
            assert packet["trusted_packet_sequence_id"] == ["1"]
            for kind in ("interned_data", "track_descriptor", "perf_sample", "track_event"):
                for content in packet[kind]:
                    getattr(self, kind)(content, packet)
        assert not self.open, self.open

    def interned_data(self, data, _):
        for texts, field in ((self.functions, "function_names"), (self.paths, "mapping_paths")):
            for one in data[field]:
                assert one["iid"][0] not in texts and one["iid"][0] != "0"
                texts[one["iid"][0]] = one["str"][0]
        for one in data["mappings"]:
            self.mappings[one["iid"][0]] = [self.paths[path] for path in one["path_string_ids"]]
        for one in data["frames"]:
            assert one["iid"][0] not in self.frames and one["mapping_id"][0] in self.mappings and one["rel_pc"]
            self.frames[one["iid"][0]] = self.functions[one["function_name_id"][0]]
        for one in data["callstacks"]:
            assert one["iid"][0] not in self.callstacks
            self.callstacks[one["iid"][0]] = [self.frames[frame] for frame in one["frame_ids"]]

    def track_descriptor(self, track, _):
        uuid = track["uuid"][0]
        assert uuid not in self.tracks
        self.tracks[uuid] = track
        for process in track["process"]:
            self.processes[process["pid"][0]] = process["process_name"][0]
        for thread in track["thread"]:
            assert track["parent_uuid"][0] in self.tracks
            self.threads[thread["tid"][0]] = (thread["pid"][0], thread["thread_name"][0])

    def perf_sample(self, sample, packet):
        assert packet["sequence_flags"] == ["2"] and packet["timestamp"]
        pid, name = self.threads[sample["tid"][0]]
        frames = self.callstacks[sample["callstack_iid"][0]]
        if len(frames) == 1:
            frames = ["[unknown]", *frames]
        assert pid == sample["pid"][0]
        self.stacks[";".join([self.processes[pid], name, *frames])] += 1
        self.tids[int(sample["tid"][0])] += 1

    def track_event(self, event, packet):
        uuid, time = event["track_uuid"][0], int(packet["timestamp"][0])
        track = self.tracks[uuid]
        assert track["parent_uuid"][0] in ("1", "2")
        kind = event["type"][0]
        if kind == "TYPE_COUNTER":
            assert track["counter"]
            if event["counter_value"]:  # of a thing: labels may be the same
                self.remote[int(uuid) - 0x40000000] += int(event["counter_value"][0])
                return
            assert time not in self.counters[track["name"][0]]
            self.counters[track["name"][0]][time] = float(event["double_counter_value"][0])
        elif kind == "TYPE_SLICE_BEGIN":
            notes = {one["name"][0]: (one["uint_value"] or one["string_value"])[0] for one in event["debug_annotations"]}
            self.slices[int(uuid) - 0x30000000] = {**notes, "name": event["name"][0], "from": time}
            self.open[uuid] = int(uuid) - 0x30000000
        else:
            assert kind == "TYPE_SLICE_END"
            self.slices[self.open.pop(uuid)]["to"] = time
