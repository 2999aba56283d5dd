#!/usr/bin/env python3
"""numalens script: the ready analyses on programs whose right answer is known, and scripts of one's own."""
import atexit
import csv
import io
import os
import re
import signal
import stat

import nlens
from nlens import NUMALENS, SOURCE, Folder, check, example, note, record, run, site_line

SCRIPTS = os.path.join(SOURCE, "examples", "scripts")
ACCESSES = os.path.join(SOURCE, "tests", "guest", "programs", "accesses.c")
OWN_MAIN = """
#include <numalens/flow.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    printf("%d arguments:", argc);
    for (int i = 0; i < argc; i++)
        printf(" [%s]", argv[i]);
    puts("");
    fflush(stdout);
    if (argc > 2 && strcmp(argv[2], "die") == 0)
        raise(SIGUSR1);
    return 7;
}
"""
home = Folder()
HOME = home.__enter__()
atexit.register(home.cleanup)
recorded = {}


def trace_of(name, *arguments, topology="numa:4 core:1"):
    """The recording of an example, made once."""
    key = " ".join((name,) + arguments)
    if key not in recorded:
        options = ["--topology", topology, "-F", "1000", "--budget", "20"]  # short stretches of time must show
        ended = record(HOME, [example(name), *arguments], options, name="%d.data" % len(recorded))
        assert ended.status == 0, "record failed: %s" % ended
        recorded[key] = ended.trace
    return recorded[key]


def handover():
    return trace_of("handover")


def turns():
    """Four threads, two turns of 100 ms each, on an array that the main thread made; worker 4 runs on its home node."""
    return trace_of("patterns/alternate_remote", "bad", "--threads=4", "--rounds=100")


def script(name, trace, *arguments, options=(), **rest):
    return run([NUMALENS, "script", *options, name, trace, *(("--",) + arguments if arguments else ())], **rest)


def lines(name, trace, *arguments, **rest):
    ended = script(name, trace, *arguments, **rest)
    assert ended.status == 0, "%s: %s" % (name, ended)
    return ended.out.decode().splitlines()


def one(found, pattern):
    matches = [m for m in (re.search(pattern, line) for line in found) if m]
    assert len(matches) == 1, "%d lines like '%s' in:\n%s" % (len(matches), pattern, "\n".join(found))
    return matches[0]


def accesses(trace):
    return list(csv.DictReader(io.StringIO("\n".join(lines(ACCESSES, trace)))))


def buffer_label():
    return r"make \(handover\.c:%d\)" % site_line("handover.c", "buffer")


@check("switches (the paper's Figure 3): one change when one thread makes and one uses, eight turns are counted")
def switches():
    found = lines("switches", handover())
    m = one(found, r"(?:Avg time: (\d+) ns \((\d+) switches\)|one thread only)  " + buffer_label())
    assert m[2] in (None, "1"), m[0]
    trace = turns()
    line = site_line("patterns/alternate_remote.c", "array")
    m = one(lines("switches", trace), r"Avg time: (\d+) ns \((\d+) switches\).*\(alternate_remote\.c:%d\)" % line)
    assert int(m[2]) in (7, 8), m[0]  # one more when the main thread's filling was sampled
    times = [int(row["time"]) for row in accesses(trace) if "(alternate_remote.c:" in row["object"]]
    covered = int(m[1]) * int(m[2]) / (times[-1] - times[0])
    note("%s: %.2f of the time between the first and the last access" % (m[0], covered))
    assert 0.5 < covered <= 1, "all turns but the last, which are equally long"


@check("remote: the user's accesses are remote, from its node to the maker's")
def remote():
    found = lines("remote", handover(), "kind=heap")  # of a thread's descriptor the main thread is the first to touch
    share = float(one(found, r"accesses are remote: ([\d.]+)%")[1])
    user = one(found, r"(\d+) +(\d+) +([\d.]+)%  user \(")
    assert share > 95 and float(user[3]) > 99, "\n".join(found)
    row = one(found, r"^ +2 +(\d+) +(\d+) +(\d+) +(\d+)$")  # main is assigned to node 0, maker 1, user 2
    assert int(row[2]) == int(user[2]), "\n".join(found)


@check("conditions restrict every script: by thread, kind, access, time")
def conditions():
    everything = int(one(lines("remote", handover()), r"^(\d+) of (\d+)")[2])
    parts = [int(one(lines("remote", handover(), c), r"^\d+ of (\d+)")[1]) for c in ("thread=user", "thread!=user")]
    assert sum(parts) == everything and parts[0] > parts[1], (parts, everything)
    none = one(lines("remote", handover(), "thread=user", "access=local"), r"^(\d+) of (\d+)")
    assert int(none[2]) < 0.01 * everything, none[0]
    middle = int(accesses(handover())[everything // 2]["time"]) / 1e9
    halves = [int(one(lines("remote", handover(), c % middle), r"^\d+ of (\d+)")[1]) for c in ("time=..%f", "time=%f..")]
    assert sum(halves) == everything and min(halves) > 0, halves
    ended = script("remote", handover(), "colour=red")
    assert ended.status == 2 and b"colour" in ended.err and ended.err.count(b"\n") == 1, ended


@check("pattern: turns do not overlap in time, and the ones on the array's own node are local")
def pattern():
    line = site_line("patterns/alternate_remote.c", "array")
    found = lines("pattern", turns(), "site=*(alternate_remote.c:%d)" % line, "240")
    rows = {m[2]: m[1] for m in (re.match(r"\|(.*)\| (.*) \(\d+\)$", text) for text in found) if m}
    workers = [rows["worker %d" % i] for i in range(1, 5)]
    shared = sum(1 for column in zip(*workers) if sum(c != " " for c in column) > 1)
    used = sum(1 for column in zip(*workers) if any(c != " " for c in column))
    note("\n".join(workers))
    assert used > 100 and shared <= 12, "%d of %d columns are shared" % (shared, used)
    for number, row in enumerate(workers, 1):
        assert (row.count("R") + row.count("W") > 10) == (number != 4), "worker %d: %s" % (number, row)


@check("migration: long turns pay, and not when moving is dear")
def migration():
    label = r"array_new \(alternate_remote\.c:%d\)" % site_line("patterns/alternate_remote.c", "array")
    m = one(lines("migration", turns(), "100"), r"([\d.]+)% +(\d+) .* (yes|no) +(\S+) +" + label)
    assert m[4] in {found["pattern"] for found in nlens.report(turns(), "patterns")["patterns"]}, m[0]
    assert int(m[2]) in (7, 8) and m[3] == "yes" and 50 < float(m[1]) < 90, m[0]
    m = one(lines("migration", turns(), "1000000"), r" (yes|no) +\S+ +" + label)
    assert m[1] == "no", m[0]


@check("ownership and handovers: who made it, who writes it")
def ownership():
    found = lines("ownership", handover())
    letters = {m[2]: m[1] for m in (re.match(r"(\w) = (.*) \(", text) for text in found) if m}
    header = next(text for text in found if text.endswith("object"))
    row = one(found, r"^(.*)" + buffer_label())[1]
    at = header.index(letters["user"])
    assert re.match(r"\d+%w ", row[at - 2:at + 3].strip() + " "), row
    assert int(re.search(r"(\d+)%w", row)[1]) >= 95, row
    m = one(lines("handovers", handover()), r"(\d+) +([\d.]+)% +\S+ \w+  " + buffer_label() + ": maker -> user$")
    assert float(m[2]) > 95, m[0]
    assert "none" in lines("handovers", handover(), "kind=static")[-1]


@check("lifetimes: two hundred short-lived objects of two types")
def lifetimes():
    trace = trace_of("reuse")
    found = lines("lifetimes", trace)
    assert int(one(found, r"^(\d+) sampled objects ended")[1]) > 50, found[0]
    for name in ("cold", "hot"):
        m = one(found, r" +(\S+ \w+) +(\d+) +\d+  \S.*\(reuse\.c:%d\)" % site_line("reuse.c", name))
        assert int(m[2]) == 100 and m[1].endswith((" ms", " us")), m[0]


@check("every access once, in order of time, through the API")
def comma_separated():
    rows = accesses(handover())
    result = nlens.report(handover())
    assert len(rows) == sum(t["samples"] for t in result["threads"]), len(rows)
    times = [int(row["time"]) for row in rows]
    assert times == sorted(times)
    buffer = [row for row in rows if "(handover.c:" in row["object"]]
    assert len(buffer) > 0.95 * len(rows)
    assert all(0 <= int(row["offset"]) < (1 << 18) * 8 for row in buffer)
    writes = sum(int(row["write"]) for row in buffer)
    assert abs(writes / len(buffer) - 0.2) < 0.05
    assert {row["function"] for row in buffer if row["thread"] == "user"} == {"use"}


@check("another machine can be simulated afterwards")
def simulated():
    found = lines("remote", handover(), options=["--topology", "numa:1 core:4"])
    assert one(found, r"^(\d+) of")[1] == "0", "\n".join(found)
    ended = script("remote", handover(), options=["--topology", "nonsense"])
    assert ended.status == 1 and ended.err.count(b"\n") == 1, ended


@check("--list has every ready script with a line of its own, --show its source")
def listed():
    out = run([NUMALENS, "script", "--list"]).out.decode()
    names = sorted(name[:-2] for name in os.listdir(SCRIPTS) if name.endswith(".c"))
    assert len(names) >= 7
    for name in names:
        m = re.search(r"^  %s +(\S.*)$" % re.escape(name), out, re.MULTILINE)
        assert m and len(m[1]) > 15, "%s in:\n%s" % (name, out)
    with open(os.path.join(SCRIPTS, "switches.c"), "rb") as stream:
        assert run([NUMALENS, "script", "--show", "switches"]).out == stream.read()
    for words in (["--show", "nothing"], ["nothing"], ["--show", "../scripts/switches"]):
        ended = run([NUMALENS, "script", *words])
        assert ended.status == 1 and b"--list" in ended.err and ended.err.count(b"\n") == 1, ended


@check("every ready script bears it when no access fits")
def nothing():
    for name in sorted(name[:-2] for name in os.listdir(SCRIPTS) if name.endswith(".c")):
        lines(name, handover(), "thread=nobody")


def own(folder, text, name="mine.c"):
    path = os.path.join(folder, name)
    with open(path, "w") as stream:
        stream.write(text)
    return path


@check("a script of one's own: arguments, exit status and signal are its own")
def own_script():
    with Folder() as folder:
        mine = own(folder, OWN_MAIN)
        ended = run([NUMALENS, "script", "mine.c", "x.data", "--", "a b", "--list", "--"], folder=folder)
        assert ended.status == 7, ended
        assert ended.out == b"5 arguments: [mine] [x.data] [a b] [--list] [--]\n", ended
        assert run([NUMALENS, "script", mine]).out == b"2 arguments: [mine] [numalens.data]\n"
        assert run([NUMALENS, "script", mine, "x", "--", "die"]).status == -signal.SIGUSR1
        cxx = own(folder, '#include <numalens/flow.h>\n#include <iostream>\n'
                          'int main() { std::cout << nlens_version(); return 3; }\n', "mine.cc")
        ended = run([NUMALENS, "script", cxx])
        assert ended.status == 3 and re.match(rb"\d+\.\d+", ended.out), ended
        ended = run([NUMALENS, "script", "--flags", "-DX=9 -Dmain=main", own(folder, "int main(void) { return X; }")])
        assert ended.status == 9, ended


VARIABLES = """
#include <numalens/script.h>
static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    (void)argc, (void)argv;
    nlens_foreach_object(trace, o)
        if (nlens_group_object_totals(group, o)->samples)
            printf("object %u [%s]\\n", o->id, o->variable);
    nlens_foreach_site(trace, s)
        printf("site %u %s [%s]\\n", s->id, s->file, s->variable);
    return 0;
}
"""


@check("rows have the name that the source gives: work->buffer, as report shows it; conditions match it")
def variables():
    with Folder() as folder:
        mine = own(folder, VARIABLES)
        found = lines(mine, handover())
        expected = {str(row["id"]): row["variable"] or "" for row in nlens.report(handover(), "objects")["objects"]
                    if row["kind"] == "heap"}
        named = {m[1]: m[2] for m in (re.match(r"object (\d+) \[(.*)\]$", line) for line in found) if m}
        assert "work->buffer" in expected.values(), expected
        assert {number: named.get(number) for number in expected} == expected, (named, expected)
        assert one(found, r"site \d+ \S*handover\.c \[(.+)\]$")[1] == "work->buffer"
        for condition in ("object=work->buffer", "site=work->b*"):
            assert "work->buffer" in one(lines(mine, handover(), condition), r"^object (.*)$")[1], condition


@check("mistakes are explained: no script, no file, no trace, wrong C, no compiler")
def mistakes():
    with Folder() as folder:
        assert run([NUMALENS, "script"]).status == 2
        for words, status, says in ((["./missing.c"], 1, b"missing.c"), ([folder + "/"], 1, b"no file"),
                                    (["remote", "/nonexistent.data"], 1, b"/nonexistent.data"), (["remote", "b", "c"], 1, b"come after '--'")):
            ended = run([NUMALENS, "script", *words], folder=folder)
            assert ended.status == status and says in ended.err and ended.err.count(b"\n") == 1, ended
        wrong = own(folder, "int main(void) { return undeclared_thing; }\n", "wrong.c")
        ended = run([NUMALENS, "script", wrong])
        assert ended.status == 1 and b"undeclared_thing" in ended.err and b"does not compile" in ended.err, ended
        ended = run([NUMALENS, "script", "remote"], environment={"PATH": folder})
        assert ended.status == 1 and b"compiler" in ended.err and b"install" in ended.err, ended
        ended = run([NUMALENS, "script", "remote"], environment={"CC": "no-such-cc"})
        assert ended.status == 1 and b"no-such-cc" in ended.err and b"$CC" in ended.err, ended
        ended = run([NUMALENS, "script", "remote"], environment={"TMPDIR": folder + "/no/such"})
        assert ended.status == 1 and b"$TMPDIR" in ended.err, ended


@check("what is compiled is private and removed, also when numalens is ended meanwhile")
def leaves_nothing():
    with Folder() as folder:
        mine = own(folder, OWN_MAIN)
        work = os.path.join(folder, "work")
        os.mkdir(work)
        compiler = own(folder, '#!/bin/sh\nls -ld "$TMPDIR"/* > "%s/seen"\n[ -z "$END" ] || kill -TERM "$PPID"\n'
                               'exec cc "$@"\n' % folder, "compiler")
        os.chmod(compiler, stat.S_IRWXU)
        for end, status in (("", 7), ("1", -signal.SIGTERM)):
            ended = run([NUMALENS, "script", mine], environment={"TMPDIR": work, "CC": compiler, "END": end})
            assert ended.status == status, ended
            with open(os.path.join(folder, "seen")) as stream:
                seen = stream.read()
            assert seen.startswith("drwx------ ") and seen.count("\n") == 1, seen
            assert os.listdir(work) == [], os.listdir(work)
        ended = run([NUMALENS, "script", own(folder, "no C\n", "wrong.c")], environment={"TMPDIR": work})
        assert ended.status == 1 and os.listdir(work) == [], ended


nlens.main()
