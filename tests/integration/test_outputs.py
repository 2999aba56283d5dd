#!/usr/bin/env python3
"""What every output keeps to, on the small recordings of the documentation: nothing is wider than the terminal, no share is below 0 or
above 100%, every word of a table is known to `numalens help`, commands can be typed as they are printed."""
import functools
import glob
import importlib.machinery
import importlib.util
import json
import os
import re
import shlex
import subprocess

import nlens
from nlens import check, run

FOLDER = os.path.join(nlens.SOURCE, "docs", "recordings")
RECORDINGS = sorted(os.path.basename(path) for path in glob.glob(FOLDER + "/*.data"))
TABLES = ["", "-v", "patterns", "objects", "sites", "threads", "functions", "lines", "types", "processes", "sharing", "latency", "balance", "pages", "map",
          "traffic", "object 0"]
WIDTH = 80
COMMANDS = re.findall(r"^  ([a-z]+) ", run([nlens.NUMALENS, "--help"]).out.decode(), re.MULTILINE)


FOLDERS = []


@functools.lru_cache(maxsize=None)
def sources_at_hand():
    """A recording whose program and source are at hand: lines and types of the others are not known."""
    FOLDERS.append(nlens.Folder())
    ended = nlens.record(FOLDERS[-1].name, [nlens.example("demo")], ["-q", "-F", "3000", "--topology", "numa:4 core:2"], longer=1 / 16)
    assert ended.status == 0, ended
    return ended.trace


def printed(*words, **rest):
    ended = run([nlens.NUMALENS, *words], folder=FOLDER, environment={"COLUMNS": str(WIDTH)}, **rest)
    assert ended.status in (0, 1) and not ended.err, (words, ended)
    return ended.out.decode()


def said(*words, status=0, folder=FOLDER):
    """What is printed and said of a command that runs a program, on a terminal of WIDTH."""
    ended = run([nlens.NUMALENS, *words], folder=folder, environment={"COLUMNS": str(WIDTH)})
    assert ended.status == status, (words, str(ended))
    return (ended.out + ended.err).decode(errors="replace")


PLAN = "numalens plan 1\nsite demo.c:1 @ interleave all\nthread * @ distribute\n"


@functools.lru_cache(maxsize=None)
def runs():
    """((what was typed, what was printed and said)...): of what runs a program, or looks at one that runs."""
    folder, found = sources_at_hand()[:-len("/numalens.data")], []
    program = [nlens.example("demo"), "--steps=1", "--side=200"]
    with open(os.path.join(folder, "plan"), "w", encoding="utf-8") as stream:
        stream.write(PLAN)
    for words in (["record", "-v", "-o", "long.data", "--", *program], ["record", "-o", "a/file/that/is/in/no/folder.data", "--", *program],
                  ["apply", "--json", "apply.json", "plan", "--", *program], ["apply", "plan", "--", *program],
                  ["optimize", "--json=optimize.json", "--runs", "4", "--plan", "plan", "--", "sh", "-c", "exit 0"],
                  ["migrate", "--json=migrate.json", "-v", "--interval", "50ms", "--topology", "numa:4 core:2", "--", nlens.example("demo"), "--steps=10"], ["stat", "--", *program],
                  ["stat", "--json", "--", *program],
                  ["compare", "--repeat", "1", "--placements", "cluster,local", "--topology", "numa:2 core:2", "--", *program]):
        status = 1 if words[2] == "a/file/that/is/in/no/folder.data" else 0
        found.append((" ".join(words), said(*words, status=status, folder=folder)))
    process = subprocess.Popen([nlens.example("demo"), "--steps=1000000000"], stdout=subprocess.DEVNULL)
    try:
        for words in (["-n", "2"], ["-n", "1", "--json"], ["-n", "1", "--openmetrics"]):
            found.append(("top --batch " + " ".join(words), said("top", "--batch", "-d", "0.3", "-p", str(process.pid), *words)))
    finally:
        process.kill()
        process.wait()
    return found


def outputs():
    """(what was typed, what was printed): every table of every recording, and what takes two."""
    for table in [*TABLES, "annotate demo.c", "annotate spread_row", "type point"]:
        yield "report " + table, printed("report", *table.split(), sources_at_hand())
    yield from ((typed, text) for typed, text in runs() if "--json --" not in typed and not typed.endswith("--json") and "openmetrics" not in typed)
    for command in COMMANDS:
        yield command + " --help", printed(command, "--help")
    yield "advise", said("advise", "-o", os.devnull, "before.data")
    yield "export --format list", printed("export", "--format", "list")
    for name in RECORDINGS:
        for table in TABLES:
            if name == "pool.data" and table == "traffic":
                continue
            yield "report %s %s" % (table, name), printed("report", *table.split(), name)
    yield "report job", printed("report", "job")
    yield "compare", printed("compare", "--all", "before.data", "after.data")
    yield "check", printed("check", "--max-remote", "20%", "--max-cost", "5%", "before.data")
    yield "predict", printed("predict", "traffic.data")
    for words in (["doctor"], ["--help"], ["help", "glossary"], ["machines"]):
        yield " ".join(words), printed(*words)


def numbers(value, path=""):
    """(path, number) of all numbers of a JSON value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, path + "." + key)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


@check("a command in a finding that is too long for a line goes on behind a backslash, and can be typed")
def long_commands():
    with nlens.Folder() as folder:
        program = [nlens.example("patterns/far_initialised"), "bad", *["--threads=4"] * 9]
        ended = nlens.record(folder, program, ["-q", "-F", "3000", "--burst", "8", "--topology", "numa:4 core:2"], bursts=400)
        assert ended.status == 0, ended
        text = printed("report", "patterns", ended.trace)
        assert all(len(line) <= WIDTH for line in text.splitlines()), text
        commands = [shlex.split(line.strip()) for line in text.replace("\\\n", " ").splitlines() if line.strip().startswith("numalens migrate -- ")]
        assert commands and all(words[3:-1] == program for words in commands), text  # the end of the comment that it stands in


@check("nothing is wider than a terminal of 80 columns; no percentage is below 0 or above 100")
def wide():
    wrong = []
    with nlens.Folder() as folder:  # a command that is longer than a line
        trace = nlens.record(folder, ["true", *("argument%d" % i for i in range(20))], ["-q"]).trace
        long = printed("report", trace)
    assert re.match(r"^true argument0.*….*argument19: .* 1 process", long), long
    for typed, text in [("report", long), *outputs()]:
        for line in text.splitlines():
            if len(line) > WIDTH:
                wrong.append((typed, len(line), line))
        wrong += wrong_shares(typed, text)
    assert not wrong, wrong[:20]


SHARE = re.compile(r"(share|ratio|confidence|separated|overlap|part)(_\w+)?$")


def wrong_shares(typed, text):
    """Numbers of JSON values, of which a text may have several, that are called a share; and percentages in any text."""
    wrong, at = [], 0
    while text[at:at + 1] in ("{", "["):
        value, at = json.JSONDecoder().raw_decode(text, at)
        at += len(text[at:]) - len(text[at:].lstrip())
        wrong += [(typed, path, number) for path, number in numbers(value) if SHARE.search(path) and not 0 <= number <= 1]
    for name, number in re.findall(r"^(\w+)(?:\{[^}]*\})? (-?[\d.]+)$", text, re.MULTILINE):  # OpenMetrics
        if SHARE.search(name) and not 0 <= float(number) <= 1:
            wrong.append((typed, name, number))
    for sign, number in re.findall(r"(?<![\w.%])([-+]?)(\d[\d,]*(?:\.\d+)?)%(?!\w)", text):
        if sign == "-" or float(number.replace(",", "")) > 100:
            wrong.append((typed, sign + number + "%"))
    return wrong


def values_of(folder):
    """(what was typed, what was printed or written) for programs to read."""
    for name in RECORDINGS:
        for table in ("", "patterns", "objects", "threads", "sharing", "latency", "balance"):
            yield name + " " + table, printed("report", *table.split(), "--json", name)
    for table in ("lines", "types", "annotate demo.c", "type point"):
        yield table, printed("report", *table.split(), "--json", sources_at_hand())
    yield "compare", printed("compare", "--json", "before.data", "after.data")
    yield "check", printed("check", "--json", "--max-remote", "20%", "before.data")
    yield "predict", printed("predict", "--json", "traffic.data")
    formats = re.findall(r"^(\w+)  ", printed("export", "--format", "list"), re.MULTILINE)
    assert len(formats) > 8, formats
    for name in set(formats) - {"pprof", "perfetto", "sqlite", "moca"}:  # which are not text, or want pages
        path = os.path.join(folder, name)
        said("export", "--format", name, "-o", path, "before.data")
        with open(path, encoding="utf-8") as stream:
            yield "export " + name, stream.read()
    yield from ((typed, text) for typed, text in runs() if "json" in typed or "openmetrics" in typed)
    for written in ("apply.json", "optimize.json", "migrate.json"):
        with open(os.path.join(os.path.dirname(sources_at_hand()), written), encoding="utf-8") as stream:
            yield written, stream.read()


@check("no share in what programs read is below 0 or above 1, no percentage below 0 or above 100")
def shares():
    assert wrong_shares("", '{"a": {"remote_share": 1.5}}') and wrong_shares("", "a: 101%") and wrong_shares("", "x_ratio{a=\"b\"} -0.1\n")
    with nlens.Folder() as folder:
        wrong = [found for typed, text in values_of(folder) for found in wrong_shares(typed, text)]
    assert not wrong, wrong[:20]


@check("findings are worst first; a node may stand behind the objects that make its traffic")
def worst_first():
    longest, behind = 0, False
    for name in RECORDINGS:
        found = json.loads(printed("report", "patterns", "--json", name))["patterns"]
        order = [(round(1000 * row["lost_time_share"]), row["share_of_remote"]) for row in found if row["pattern"] != "saturated-node"]
        assert order == sorted(order, reverse=True), (name, order)
        longest = max(longest, len(order))
        behind |= found[-1:] != [] and found[-1]["pattern"] == "saturated-node" and round(1000 * found[-1]["lost_time_share"]) > order[0][0]
    assert longest > 1 and behind, "no recording has two findings, and a node behind objects"


def words_of_tables():
    """Every heading and name that the code's tables have."""
    found = set()
    for pattern, files in (
            (r'table_column\(\w+, (?:\w+ \? )?"([^"]+)"', "src/view/**/*.c"),
            (r'(?:HEADING|FIGURE|WORDS|NAME)\("([^"]+)"', "src/view/columns/*.c"),
            (r'PATTERN_ROW\(\w+, "([^"]+)"', "src/analysis/findings/patterns/*.c"),
            (r'\[ACTION_\w+\] = \{"([^"]+)"', "src/analysis/findings/findings.c"),
            (r'FACT\(\w+, \w+, "([^"]+)"', "src/analysis/facts/facts.h"),
            (r'\? "(certain|likely|a hint)"', "src/analysis/facts/claim.c")):
        before = len(found)
        for path in glob.glob(os.path.join(nlens.SOURCE, files), recursive=True):
            with open(path, encoding="utf-8") as stream:
                found |= set(re.findall(pattern, stream.read()))
        assert len(found) > before, pattern
    for path in glob.glob(os.path.join(nlens.SOURCE, "src/view/**/*.c"), recursive=True):
        with open(path, encoding="utf-8") as stream:
            for call in re.findall(r"table_columns\([^;]*;", stream.read()):
                found |= set(re.findall(r'"([^"]+)"', call))
    return sorted(found)


def glossary_terms():
    path = os.path.join(nlens.SOURCE, "scripts", "glossary")
    loader = importlib.machinery.SourceFileLoader("glossary", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("glossary", loader))
    loader.exec_module(module)
    with open(os.path.join(nlens.SOURCE, "docs", "glossary.md"), encoding="utf-8") as stream:
        return {term.lower() for terms, _, _ in module.rows(stream.read()) for term in terms}


@check("numalens help knows every word of the code's tables, and those that a report prints")
def known():
    terms, small = glossary_terms(), set("of the in by its own to from for at and least other first last hottest s on \\\\".split())
    facts = set(re.findall(r'FACT\(\w+, \w+, "([^"]+)"', open(os.path.join(nlens.SOURCE, "src/analysis/facts/facts.h"), encoding="utf-8").read()))
    terms |= set(COMMANDS)
    lacking = []
    for word in words_of_tables():
        parts = [part for part in re.split(r"[ ,\-]+", word.lower()) if part and part not in small]
        if word.lower() not in terms and word not in facts and any(part not in terms and part.rstrip('s') not in terms for part in parts):
            lacking.append(word)
    assert not lacking, lacking
    named = set(re.findall(r'\[ACTION_\w+\] = \{"([\w-]+)"', open(os.path.join(nlens.SOURCE, "src/analysis/findings/findings.c"), encoding="utf-8").read()))
    for path in glob.glob(os.path.join(nlens.SOURCE, "src/analysis/findings/patterns/*.c")):
        with open(path, encoding="utf-8") as stream:
            named |= set(re.findall(r'PATTERN_ROW\(\w+,\s*"([\w-]+)"', stream.read()))
    assert len(named) > 20 and named <= terms, named - terms
    for word in ("far-initialised", "concurrent-remote", "saturated-node", "exposed", "hidden", "soft", "PEBS", "TL", "shared TL", "pages_moved",
                 "pages moved", "certain", "first-touch", "cost"):
        ended = run([nlens.NUMALENS, "help", *word.split()])
        assert ended.status == 0 and len(ended.out.splitlines()) > 1, (word, ended)


@check("-h is --help everywhere, and a program's own where it is that")
def helped():
    assert len(COMMANDS) > 10, COMMANDS
    for command in COMMANDS:
        ended = run([nlens.NUMALENS, command, "-h"])
        assert ended.status == 0 and ended.out == run([nlens.NUMALENS, command, "--help"]).out, (command, ended)
    with nlens.Folder() as folder:
        ended = run([nlens.NUMALENS, "record", "-q", "--", "echo", "-h"], folder=folder)
        assert ended.status == 0 and ended.out == b"-h\n", ended


@check("a table and a file in either order; a misspelt table is answered with the nearest one")
def orders():
    for table in ("objects", "patterns", "sharing,latency", "object 0", "lines", "types", "annotate demo.c", "type point"):
        name = sources_at_hand()
        assert printed("report", name, *table.split()) == printed("report", *table.split(), name), table
    for table in [table for table in TABLES if re.match("[a-z]+$", table)] + ["object", "type", "annotate"]:
        wrong = table[:-2] + "q" + table[-1]
        for words in ([wrong], [wrong, "before.data"], ["before.data", wrong]):
            ended = run([nlens.NUMALENS, "report", *words], folder=FOLDER)
            assert ended.status == 2 and b"did you mean %s?" % table.encode() in ended.err, ended
    for table in ("object", "type", "annotate"):
        ended = run([nlens.NUMALENS, "report", "before.data", table], folder=FOLDER)
        assert ended.status == 2 and b"'%s' wants a" % table.encode() in ended.err, ended
    with nlens.Folder() as folder:  # a file that is named like a table, behind another, is a file
        for name in ("a.data", "objects"):
            os.symlink(os.path.join(FOLDER, "before.data"), os.path.join(folder, name))
        ended = run([nlens.NUMALENS, "report", "a.data", "objects"], folder=folder)
        assert ended.status == 1 and b"recording of its own" in ended.err, ended


@check("commands that are printed can be typed: a file with a blank, a program with quotes")
def quoted():
    with nlens.Folder() as folder:
        program = ["sh", "-c", "echo 'it is'; exit 0", "a b"]
        name = "my trace's.data"
        ended = run([nlens.NUMALENS, "record", "-o", name, "--", *program], folder=folder)
        assert ended.status == 0, ended
        following = ended.err.decode().split("next: ")[1].splitlines()[0]
        assert shlex.split(following) == ["numalens", "report", name], following
        text = run([nlens.NUMALENS, "report", name], folder=folder).out.decode()
        command = [line for line in text.splitlines() if "numalens report -v" in line][0]
        assert shlex.split(re.sub(r"^Next +", "", command.strip()))[:4] == ["numalens", "report", "-v", name], command
        session = json.loads(run([nlens.NUMALENS, "report", "--json", name], folder=folder).out)
        assert shlex.split(session["command"]) == program, session["command"]
        plan = "my plan's"
        ended = run([nlens.NUMALENS, "advise", "-o", plan, os.path.join(FOLDER, "before.data")], folder=folder)
        assert shlex.split(ended.err.decode().split("next: ")[1]) == ["numalens", "apply", plan, "--", "PROGRAM"], ended
        ended = run([nlens.NUMALENS, "migrate", "-o", name, "--topology", "numa:2 core:1", "--", *program], folder=folder)
        assert shlex.split(ended.err.decode().split("next: ")[1]) == ["numalens", "report", name], ended
        with open(os.path.join(folder, "mine"), "w", encoding="utf-8") as stream:
            stream.write("numalens plan 1\nthread * @ cpus %d\n" % nlens.CPU)
        worth = ["sh", "-c", "case $(sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status) in %d) echo worth 200;; *) echo worth 100;; esac" % nlens.CPU, "a b"]
        if len(os.sched_getaffinity(0)) > 1:
            ended = run([nlens.NUMALENS, "optimize", "--runs", "4", "--metric", "worth ([0-9]+)", "--plan", "mine", "-o", plan, "--", *worth], folder=folder)
            assert shlex.split(ended.out.decode().split("Keep it: ")[1]) == ["numalens", "apply", plan, "--", *worth], ended
        ended = run([nlens.NUMALENS, "compare", "-q", "--repeat", "1", "--placements", "cluster,local", "--topology", "numa:2 core:2", "--keep", plan + "s",
                     "--width", "0", "--", *program], folder=folder)
        files = [os.path.join(plan + "s", "%s-1.data" % placement) for placement in ("cluster", "local")]
        assert shlex.split(ended.out.decode().split("next: ")[1])[:4] == ["numalens", "compare", *files], ended


nlens.main()
