#!/usr/bin/env python3
"""Names come from programs, and a program may have any: functions, source files, variables, threads, mapped files, its own
path and its arguments are recorded here with control characters, escape sequences, markup, quotes, no UTF-8, reversed
writing, and 10,000 characters. Nothing of it may steer a terminal, break a table or break JSON.

A compiler refuses such names. So the program is compiled with names of the same length, and its file is changed."""
import csv
import io
import json
import os
import re
import shlex
import unicodedata
import xml.etree.ElementTree

import export_readers
import nlens
import page_data
from nlens import check

TEXTS = [
    b"\x1b]0;owned\x07\x1b[31mred\x1b[2J",
    b"line one\nline two\rback\ttab\b\b",
    b"bad \xff\xfe\xc0\xaf\xed\xa0\x80 utf-8",
    "c1 \u009b31m\u0085 next\u0090".encode(),
    "\u202egnp.elif\u202c \u2066x\u2069 \u200f\u200bhidden\ufeff".encode(),
    b"<script>alert(1)</script>&amp;<!--",
    b'","x":{"a":[1,2],"b":"\\u0041\\',
    ("e" + "\u0301" * 60).encode(),
    b"%s%n%s%n%p%1$*2$d" + b"%n" * 8,
    ("\u6e2c\u8a66" * 30).encode(),
    b"   blanks   around   ",
    b"L" * 10000,
    b"_ZN" + b"1a" * 2000,
    b"_Z1f" + b"P" * 9000 + b"i",
    b"$(reboot)`reboot`;&'\"*?",
]
ROUNDS = 400000
# No table may be wider than was asked for; a name that stands alone has 1,000 columns at most, and a title.
ALONE = 1040
COLORS = re.compile(rb"\x1b\[(?:0|1|2|1;3[0-9])m")


def placeholder(kind, index):
    return "%s%d_" % (kind, index) + "A" * (len(TEXTS[index]) - len("%s%d_" % (kind, index)))


def source():
    parts = ["""#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
static char **paths;
static void *map_file(const char *path)
{
    int file = open(path, O_RDWR);
    void *map = file < 0 ? MAP_FAILED : mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED)
        _exit(9);
    close(file);
    return map;
}
"""]
    for i in range(len(TEXTS)):
        parts.append('#line 10 "%s"\n' % placeholder("s", i))
        parts.append("""static volatile long %(variable)s[64];
__attribute__((noinline)) void %(function)s(long rounds)
{
    volatile long *heap = malloc(4096);
    volatile long *file = map_file(paths[%(i)d]);
    for (long i = 0; i < rounds; i++)
        for (int j = 0; j < 64; j++)
            heap[j] += %(variable)s[j] += file[j];
}
""" % {"variable": placeholder("v", i), "function": placeholder("f", i), "i": i})
    parts.append("typedef void (*worker)(long);\nstatic const worker workers[] = {%s};\n"
                 % ", ".join(placeholder("f", i) for i in range(len(TEXTS))))
    parts.append("""static void *run(void *number)
{
    size_t i = (size_t)number;
    const char *name = strrchr(paths[i], '/') + 1;
    prctl(PR_SET_NAME, name);
    workers[i](%d);
    return 0;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    paths = argv + 1;
    for (size_t i = 0; i < sizeof workers / sizeof *workers && (int)i + 1 < argc; i++) {
        pthread_create(&thread, 0, run, (void *)i);
        pthread_join(thread, 0);
    }
    return 0;
}
""" % ROUNDS)
    return "".join(parts)


def build(folder, debug):
    """The program under a hostile name of its own."""
    path = os.path.join(folder, "hostile.c")
    plain = os.path.join(folder, "plain")
    with open(path, "w") as stream:
        stream.write(source())
    ended = nlens.run([nlens.tool("cc"), "-O2", *(["-g", "-gz=none"] if debug else ["-g0"]), "-pthread", "-o", plain, path])
    assert ended.status == 0, ended
    with open(plain, "rb") as stream:
        binary = stream.read()
    for i, text in enumerate(TEXTS):
        for kind in "fv" + ("s" if debug else ""):
            old = placeholder(kind, i).encode()
            assert old in binary, "no %s in the binary" % old[:40]
            binary = binary.replace(old, text)
    hostile = os.path.join(os.fsencode(folder), b"pro\x1b[31mgram \xff\n\"'<b>")
    with open(hostile, "wb") as stream:
        stream.write(binary)
    os.chmod(hostile, 0o755)
    return hostile


def mapped_files(folder):
    files = []
    for i, text in enumerate(TEXTS):
        path = os.path.join(os.fsencode(folder), b"%d" % i + text.replace(b"/", b"|")[:200])
        with open(path, "wb") as stream:
            stream.write(bytes(4096))
        files.append(path)
    return files


def columns(text):
    return len(text) if text.isascii() else sum(0 if unicodedata.combining(c) or c in "\u200c\u200d" else
               2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def harmless(data, where, width=ALONE):
    """No control character but the newline, nothing that is no UTF-8, nothing that reverses or hides text, no long line."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise AssertionError("%s: not UTF-8: %s" % (where, error))
    for line in text.split("\n"):
        for c in set(line):
            assert unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp", "Cs"), "%s: %r in %r" % (where, c, line[:300])
        assert columns(line) <= width, "%s: %d columns, not %d: %s" % (where, columns(line), width, line[:300])


def readable(text):
    """What JSON has of a text: U+FFFD for each byte that is no UTF-8."""
    return re.sub("[\udc80-\udcff]", "\ufffd", text.decode(errors="surrogateescape"))


def shown(trace, *arguments):
    ended = nlens.run([nlens.NUMALENS, "report", *arguments, trace])
    assert ended.status == 0, "%s: %s" % (arguments, ended)
    harmless(ended.err, "stderr of report %s" % " ".join(arguments))
    return ended.out


def in_page(trace):
    """Names travel in base64: nothing of them is markup, and inside is JSON with the names as they are."""
    page = trace + b".html"
    ended = nlens.run([nlens.NUMALENS, "report", "--html", page, trace])
    if b"built without the page" in ended.err:
        return
    assert ended.status == 0, ended
    harmless(ended.out, "stdout of report --html")
    with open(page, "rb") as stream:
        content = stream.read()
    data, = page_data.elements(content)
    assert b"alert(1)" not in page_data.ELEMENT.sub(b"", content)
    names = {row["function"] for row in data.tables["functions"]} | {row["name"] for row in data.tables["objects"]}
    reported = json.loads(shown(trace, "functions", "--json"))["functions"]
    assert {row["function"] for row in reported} <= names
    assert any("<script>alert(1)</script>" in name for name in names), "the test has lost its teeth"


def look_at_everything(trace, files, debug):
    for table in ("objects", "sites", "threads", "functions", "processes"):
        for width in (80, 120):
            harmless(shown(trace, table, "-n", "0", "--width", str(width)), table, width)
        harmless(COLORS.sub(b"", shown(trace, table, "--color", "always", "--width", "100")), table + " in colour", 100)
    for width in (80, 200):
        harmless(shown(trace, "--width", str(width)), "report")
        for problem in ("patterns", "sharing", "latency", "balance"):
            harmless(shown(trace, problem, "--width", str(width)), problem)
            json.loads(shown(trace, problem, "--json"))

    in_page(trace)
    objects = json.loads(shown(trace, "objects", "--json"))["objects"]
    # Without debug information only variables have other names than with it.
    for row in objects if debug else [row for row in objects if row["kind"] == "static"]:
        harmless(shown(trace, "object", str(row["id"])), "object %s" % row["id"])
        one = json.loads(shown(trace, "object", str(row["id"]), "--json"))
        assert row["name"] in json.dumps(one, ensure_ascii=False) or json.dumps(row["name"])[1:-1] in json.dumps(one)
    functions = {row["function"] for row in json.loads(shown(trace, "functions", "--json"))["functions"]}
    threads = {row["name"] for row in json.loads(shown(trace, "threads", "--json"))["threads"]}
    names = {row["name"] for row in objects}
    sources = {row["file"] for row in objects}
    # A command is kept as a shell takes it.
    typed = shlex.split(json.loads(shown(trace, "--json"))["command"])
    for i, text in enumerate(TEXTS):
        if debug or not text.startswith(b"_Z"):
            assert readable(text) in functions, "function %d is not in %s" % (i, sorted(functions)[:5])
            assert readable(text) in names, "variable %d is not in the objects" % i
        if debug:
            assert any(file and file.endswith(readable(text)) for file in sources), "source file %d" % i
        assert readable(files[i]) in names, "mapped file %d is not in the objects" % i
        assert readable(os.path.basename(files[i])[:15]) in threads, "thread %d is not in %s" % (i, threads)
        assert readable(files[i]) in typed, "argument %d is not in the command" % i


def checked(trace):
    """Names of the trace and its objects in what CI servers and code-review tools read."""
    for option in ("--junit", "--sarif", "--json"):
        ended = nlens.run([nlens.NUMALENS, "check", "--no-findings", "--max-remote", "1%", option, *(["-"] if option != "--json" else []),
                           trace])
        assert ended.status in (0, 1), ended
        harmless(ended.err, "stderr of check")
        if option == "--junit":
            assert xml.etree.ElementTree.fromstring(ended.out).find("testsuite/testcase") is not None
        else:
            json.loads(ended.out)
    harmless(nlens.run([nlens.NUMALENS, "check", "--no-findings", "--width", "80", trace]).out, "check")


def run_scripts(trace):
    for name in sorted(os.listdir(os.path.join(nlens.SOURCE, "examples", "scripts"))):
        if not name.endswith(".c"):
            continue
        ended = nlens.run([nlens.NUMALENS, "script", name[:-2], trace])
        assert ended.status == 0, "%s: %s" % (name, ended)
        harmless(ended.out, "script " + name, 10 * len(TEXTS[11]) if name == "csv.c" else ALONE)
        harmless(ended.err, "stderr of script " + name)
    ended = nlens.run([nlens.NUMALENS, "script", "remote", trace + b"no"])
    assert ended.status == 1, ended
    harmless(ended.err, "stderr of a script without a trace")


def exported(trace, *arguments):
    ended = nlens.run([nlens.NUMALENS, "export", "--format", *arguments, trace])
    assert ended.status == 0, "%s: %s" % (arguments, ended)
    harmless(ended.err, "stderr of export %s" % (arguments,))
    return ended.out


def escaped(text):
    """As folded stacks and callgrind have it, of texts that neither deceive nor have too many marks."""
    return "".join(c if " " <= c < "\x7f" or c > "\x9f" and not "\udc80" <= c <= "\udcff" else
                   "".join("\\x%02x" % byte for byte in c.encode(errors="surrogateescape"))
                   for c in text.decode(errors="surrogateescape"))


def in_exports(trace, folder):
    """Each format has as many names as there are, each as one name."""
    whole = json.loads(shown(trace, "--json"))
    functions = {row["function"] for row in json.loads(shown(trace, "functions", "--json"))["functions"]}
    simple = [text for text in TEXTS if len(text) < 100 and text != TEXTS[4] and text != TEXTS[7]]

    lines = exported(trace, "folded").decode().splitlines()
    harmless("\n".join(line[:900] for line in lines).encode(), "folded stacks")
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == whole["samples"]
    frames = {frame for line in lines for frame in line.rsplit(" ", 1)[0].split(";")}
    for text in simple:
        assert escaped(text).replace(";", ":") in frames, "function %r is in no folded stack" % text

    rows = list(csv.DictReader(io.StringIO(exported(trace, "csv").decode(), newline="")))
    assert len(rows) == whole["samples"]
    assert {row["sym"] for row in rows if row["sym"]} >= {readable(text) for text in TEXTS if readable(text) in functions}
    ended = nlens.run([nlens.NUMALENS, "export", "--format", "text", trace])
    assert ended.status == 0 and len(ended.out.splitlines()) == whole["samples"] + 1, "text: %s" % ended
    assert {line.count(b"\t") for line in ended.out.splitlines()} == {17}
    cells = {cell for line in ended.out.splitlines() for cell in line.split(b"\t")}
    harmless(b"\n".join(cells), "text", 100000)

    scope = export_readers.speedscope(exported(trace, "speedscope"))
    assert {frame["name"] for frame in scope["shared"]["frames"]} >= functions
    profile = export_readers.firefox(exported(trace, "firefox"))
    assert {text for thread in profile["threads"] for text in thread["stringArray"]} >= functions
    assert sum(thread["samples"]["length"] for thread in profile["threads"]) == whole["samples"]
    with_consumers(trace, folder, whole, functions)


def with_consumers(trace, folder, whole, functions):
    """What other programs read; each is looked at where it is installed."""
    for command, look in (("callgrind_annotate", callgrind_names), ("go", pprof_names), ("sqlite3", database_names),
                          ("protoc", decoded_names)):
        try:
            nlens.tool(command)
        except nlens.Skip as reason:
            nlens.note("not looked at: %s" % reason)
            continue
        look(trace, folder, whole, functions)


def export_file(trace, folder, format):
    path = os.path.join(folder, "export." + format)
    exported(trace, format, "-q", "-o", path)
    return path


def callgrind_names(trace, folder, whole, functions):
    totals, names = export_readers.callgrind(export_file(trace, folder, "callgrind"))
    assert totals["Samples"] == whole["samples"] and totals["Remote"] == whole["remote"]


def pprof_names(trace, folder, whole, functions):
    _, sums, _ = export_readers.pprof(export_file(trace, folder, "pprof"), folder)
    assert sums[:2] == [whole["samples"], whole["remote"]], sums


def database_names(trace, folder, whole, functions):
    if b"sqlite      a database of samples, objects, threads and call chains\n" not in nlens.run(
            [nlens.NUMALENS, "export", "--format", "list"]).out:
        nlens.note("not looked at: numalens was built without SQLite")
        return
    path = export_file(trace, folder, "sqlite")
    assert export_readers.sqlite(path, "SELECT count(*) AS n FROM samples") == [{"n": whole["samples"]}]
    assert {row["function"] for row in export_readers.sqlite(path, "SELECT function FROM frames")} >= functions


def decoded_names(trace, folder, whole, functions):
    profile = export_readers.protobuf(exported(trace, "pprof"), "profile.proto", "Profile")
    assert set(profile["string_table"]) >= functions
    perfetto = export_readers.perfetto(exported(trace, "perfetto"))
    assert sum(perfetto.stacks.values()) == whole["samples"]
    assert set(perfetto.functions.values()) >= functions


def record_and_look(debug):
    with nlens.Folder() as folder:
        program = build(folder, debug)
        files = mapped_files(folder)
        trace = os.path.join(os.fsencode(folder), b"trace \x1b[2J\n\xff<b>\"")
        ended = nlens.run([nlens.NUMALENS, "record", "-v", "-F", "1000", "--budget", "20", "--topology", "numa:4 core:2",
                           "-o", trace, "--",
                           program, *files])
        assert ended.status == 0, ended
        harmless(ended.err, "what record says")
        look_at_everything(trace, files, debug)
        in_exports(trace, folder)
        checked(trace)
        if debug:
            run_scripts(trace)


@check("hostile names with debug information are harmless in every view, and whole in JSON")
def with_debug_information():
    record_and_look(True)


@check("hostile names without debug information are harmless in every view, and whole in JSON")
def without_debug_information():
    record_and_look(False)


@check("what commands complain about cannot steer the terminal")
def complaints():
    with nlens.Folder() as folder:
        for text in TEXTS + [b"x" * 100000]:
            name = text.replace(b"\0", b"")
            for command in ([name], ["record", "--", name], ["record", "--" + name.decode("latin-1")],
                            ["record", "-o", name + b"/none", "--", "true"], ["record", "-F", name, "--", "true"],
                            ["record", "--topology", name, "--", "true"], ["report", name], ["report", "objects", name],
                            ["report", "-s", name], ["report", "-f", name + b"=", "none"], ["report", "object", name],
                            ["report", b"--" + name], ["doctor", name], ["doctor", b"--" + name]):
                ended = nlens.run([nlens.NUMALENS, *command], folder=folder)
                where = "%s: " % command
                assert ended.status > 0, where + str(ended)
                harmless(ended.err, where[:200], 2000)
                harmless(ended.out, where[:200], 2000)
                assert ended.err, where + "nothing was said"


@check("doctor repeats nothing harmful from its environment")
def doctor():
    with nlens.Folder() as folder:
        evil = os.path.join(os.fsencode(folder), b"\x1b[31m\n\xff")
        os.mkdir(evil)
        ended = nlens.run([nlens.NUMALENS, "doctor"], folder=evil, environment={"TMPDIR": evil, "LD_PRELOAD": evil})
        harmless(ended.out, "doctor")
        ended = nlens.run([nlens.NUMALENS, "doctor", "--json"], folder=evil, environment={"TMPDIR": evil})
        json.loads(ended.out)


nlens.main()
