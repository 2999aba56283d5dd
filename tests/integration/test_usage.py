#!/usr/bin/env python3
"""What is typed by those who do not know numalens yet: misspelt words, habits of perf, questions. Each has an answer of one line,
or does what was meant."""
import os
import re
import struct
import subprocess
import tempfile

import nlens
from nlens import check, run

COMMANDS = re.findall(r"^  ([a-z]+) ", run([nlens.NUMALENS, "--help"]).out.decode(), re.MULTILINE)


def answer(*words, status=2, **rest):
    """What a command that is not understood answers: one line on stderr."""
    ended = run([nlens.NUMALENS, *words], **rest)
    assert ended.status == status and ended.out == b"", (words, ended)
    lines = ended.err.decode().splitlines()
    assert len(lines) == 1 and lines[0].startswith("numalens"), (words, ended)
    return lines[0]


def listing(command):
    """[(short, long, argument, text)] of the options of a command."""
    ended = run([nlens.NUMALENS, command, "--list-options"])
    assert ended.status == 0 and ended.err == b"", ended
    return [line.split("\t") for line in ended.out.decode().splitlines()]


@check("a misspelt command is answered with the nearest one")
def commands():
    for wrong, right in (("recrod", "record"), ("reprot", "report"), ("compair", "compare"), ("exprot", "export"), ("stats", "stat"),
                         ("Report", "report"), ("doc", "doctor"), ("migrat", "migrate")):
        assert answer(wrong).endswith("there is no command '%s'; did you mean %s?" % (wrong, right)), answer(wrong)
    for wrong in ("zzzz", "x", "frobnicate", "", "-", "y" * 1000):
        assert "did you mean" not in answer(wrong) and "numalens --help" in answer(wrong), answer(wrong)


@check("a misspelt option of any command is answered with the nearest one, an unknown one with where they are listed")
def options():
    assert len(COMMANDS) > 10, COMMANDS
    for command, wrong, right in (("report", "--josn", "--json"), ("record", "--frequncy=3", "--frequency"),
                                  ("compare", "--palcements", "--placements"), ("check", "--no-new-fidnings", "--no-new-findings")):
        assert answer(command, wrong).endswith("did you mean %s?" % right), answer(command, wrong)
    for command in COMMANDS:
        for _, name, argument, _ in listing(command):
            if len(name) < 8:
                continue
            wrong = name[:-2] + name[-1] + name[-2] if name[-1] != name[-2] else name + "x"
            words = [wrong + "=1"] if argument else [wrong]
            said = answer(command, *words)
            assert said.startswith("numalens %s: there is no option %s; did you mean --" % (command, wrong)), said
        said = answer(command, "--zzzzzzzz")
        assert said == "numalens %s: there is no option --zzzzzzzz; 'numalens %s --help' lists them" % (command, command), said
        assert "there is no option -~;" in answer(command, "-~"), command


@check("options as getopt has them are taken: beginnings, clusters, values that look like options")
def understood():
    with nlens.Folder() as folder:
        for words in (["--freq=100", "-q"], ["--freq", "100", "--qui"], ["-qF", "100"], ["-qF100"], ["-q", "-F", "100"]):
            ended = run([nlens.NUMALENS, "record", *words, "--", "true", "--josn", "-~"], folder=folder)
            assert ended.status == 0 and ended.err == b"", (words, ended)
        ended = run([nlens.NUMALENS, "record", "-q", "echo", "--josn", "-~"], folder=folder)  # the program's, without --
        assert ended.status == 0 and ended.out == b"--josn -~\n", ended
        ended = run([nlens.NUMALENS, "report", "objects", "--filter", "--josn", "numalens.data"], folder=folder)
        assert ended.status == 0, ended
        ended = run([nlens.NUMALENS, "report", "numalens.data", "--json"], folder=folder)
        assert ended.status == 0 and ended.out.startswith(b"{"), ended


@check("help, help COMMAND, help TERM, --version")
def helping():
    for words in (["--help"], ["help"], ["-h"]):
        assert run([nlens.NUMALENS, *words]).out.startswith(b"usage: numalens COMMAND"), words
    for command in COMMANDS:
        ended = run([nlens.NUMALENS, "help", command])
        assert ended.status == 0 and ended.out == run([nlens.NUMALENS, command, "--help"]).out, ended
        assert ended.out.startswith(b"Usage: numalens %s" % command.encode()), ended
    every = run([nlens.NUMALENS, "help", "glossary"]).out.decode()
    with open(os.path.join(nlens.SOURCE, "docs", "glossary.md"), encoding="utf-8") as stream:
        terms = re.findall(r"^\| (?!term |---)([^|]+?) \|", stream.read(), re.MULTILINE)
    assert len(terms) > 40, terms
    for term in terms:
        assert re.search("^%s$" % re.escape(term), every, re.MULTILINE), term
        for word in re.sub(r" \(.*\)", "", term).split(", "):
            ended = run([nlens.NUMALENS, "help", *word.split()])
            if word in COMMANDS:  # which help of that name is about
                continue
            assert ended.status == 0 and ended.out.decode().startswith(term + "\n    "), ended
            assert "`" not in ended.out.decode() and "](" not in ended.out.decode(), ended
    assert answer("help", "brust").endswith("did you mean burst?")
    assert answer("help", "frist", "touch").endswith("did you mean first touch?")
    assert "numalens help glossary" in answer("help", "zzzz")
    version = run([nlens.NUMALENS, "--version"]).out
    assert re.fullmatch(rb"numalens \d+\.\d+\.\d+\n", version), version
    for words in (["-V"], ["version"], *([command, "--version"] for command in COMMANDS)):
        ended = run([nlens.NUMALENS, *words])
        assert ended.status == 0 and ended.out == version and ended.err == b"", (words, ended)


@check("habits of perf: what is meant happens, or one line says what to use instead")
def perf():
    with nlens.Folder() as folder:
        for words in (["-g"], ["-qg"], ["--call-graph", "dwarf"], ["--call-graph=dwarf,16384"]):
            ended = run([nlens.NUMALENS, "record", "-q", *words, "-o", "numalens.data", "--", "true"], folder=folder)
            assert ended.status == 0 and ended.err == b"", (words, ended)
        plain = run([nlens.NUMALENS, "report"], folder=folder)
        for words in (["-i", "numalens.data"], ["--stdio"], ["--stdio", "-i", "numalens.data"]):
            ended = run([nlens.NUMALENS, "report", *words], folder=folder)
            assert ended.status == 0 and ended.out == plain.out, (words, ended)
        rows = run([nlens.NUMALENS, "report", "objects", "--sort", "samples"], folder=folder)
        ended = run([nlens.NUMALENS, "report", "objects", "--sort", "overhead"], folder=folder)
        assert ended.status == 0 and ended.out == rows.out, ended
        os.unlink(os.path.join(folder, "numalens.data"))
        for words, instead in (
                (["record", "--call-graph", "fp", "--", "true"], "--frames"),
                (["record", "-e", "cycles", "--", "true"], "mem-loads"),
                (["record", "-e", "mem-loads,cycles", "--", "true"], "mem-loads"),
                (["record", "-e", "cpu/mem-loads,ldlat=30/P", "--", "true"], "--latency NS"),
                (["record", "-e", "mem-loads,page-faults", "--", "true"], "--source"),
                (["record", "-o", "-", "--", "true"], "name a file"),
                (["stat", "-e", "cycles", "--", "true"], "perf stat"),
                (["report", "--tui"], "numalens view"), (["report", "--gtk"], "numalens view"),
                (["report", "-g"], "report sites"), (["report", "--call-graph=caller"], "report sites"),
                (["report", "--no-children"], "report functions"), (["report", "-i", "-"], "name a file"),
                (["report", "--sort", "symbol"], "numalens report functions"), (["report", "--sort", "sym,dso"], "numalens report functions"),
                (["report", "--sort", "comm"], "numalens report processes"), (["report", "--sort", "mem"], "numalens report latency"),
                (["report", "--sort", "zzzz"], "the keys are samples"),
                (["report", "-F", "overhead"], "numalens export --format text -F"), (["report", "-o", "x"], "numalens report > FILE"),
                (["report", "--percent-limit", "5"], "min-share=5%"), (["report", "--comms", "x"], "--filter"),
                (["script", "-F", "comm"], "numalens export --format text -F"), (["record", "--delay=5", "--", "true"], "--start-after TIME"),
                (["record", "--switch-output", "--", "true"], "--rotate TIME"), (["record", "-d", "--", "true"], "drop it"),
                (["diff", "a", "b"], "numalens compare"), (["mem", "record", "true"], "numalens record"), (["c2c"], "numalens record"),
                (["annotate"], "numalens report annotate"), (["help", "diff"], "numalens compare")):
            assert instead in answer(*words, folder=folder), (words, answer(*words, folder=folder))
        assert os.listdir(folder) == [], os.listdir(folder)


@check("memory events of perf choose the source of samples")
def events():
    with nlens.Folder() as folder:
        ended = run([nlens.NUMALENS, "record", "-q", "-e", "page-faults", "-o", "faults.data", "--", "true"], folder=folder)
        assert ended.status == 0, ended
        assert nlens.report(os.path.join(folder, "faults.data"))["source"] == "faults"
        # The processor's own, where it has one; else what --source says there.
        for event, source in (("mem-loads", "pebs"), ("cpu/mem-stores/P", "pebs"), ("ibs_op//", "ibs"), ("arm_spe_0/ts_enable=1/", "spe")):
            by_event = run([nlens.NUMALENS, "record", "-q", "-e", event, "-o", "event.data", "--", "true"], folder=folder)
            by_source = run([nlens.NUMALENS, "record", "-q", "--source", source, "-o", "source.data", "--", "true"], folder=folder)
            assert (by_event.status, by_event.err) == (by_source.status, by_source.err), (by_event, by_source)


@check("a recording of perf is not a numalens recording: import turns it into one")
def perf_data():
    with nlens.Folder() as folder:
        for name, magic in (("perf.data", b"PERFILE2"), ("other.data", b"2ELIFREP")):
            with open(os.path.join(folder, name), "wb") as stream:
                stream.write(magic + struct.pack("<Q", 104) + bytes(200))
            for words in (["report", name], ["report", "-i", name], ["check", "--no-findings", name], ["compare", name, name]):
                assert "numalens import %s" % name in answer(*words, status=1, folder=folder), words


def on_terminal(words, out=None, delay=0, folder=None):
    """Runs numalens with stderr on a terminal, and stdout too unless `out` is a file. What arrives there, and the status."""
    ours, theirs = os.openpty()
    process = subprocess.Popen([nlens.NUMALENS, *words], stdin=subprocess.DEVNULL, stdout=out or theirs, stderr=theirs, cwd=folder,
                               env={**nlens.ENVIRONMENT, "TERM": "dumb", "COLUMNS": "100", "NUMALENS_PROGRESS_MS": str(delay)})
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # EIO: nobody has it open any more
            part = b""
        if not part:
            break
        seen += part
    os.close(ours)
    return seen, process.wait(timeout=nlens.PATIENCE)


def screen(seen):
    """What a terminal shows in the end."""
    lines = []
    for line in seen.decode().replace("\r\n", "\n").split("\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part):]
        lines.append(shown.rstrip())
    return "\n".join(lines)


@check("progress: on a terminal, erased before anything else is printed; nowhere else")
def progress():
    with nlens.Folder() as folder:
        assert run([nlens.NUMALENS, "record", "-q", "--", "true"], folder=folder).status == 0
        for command, words in (("report", ["objects", "--width", "100"]), ("check", ["--no-findings", "--width", "100"]),
                               ("compare", ["numalens.data", "numalens.data", "--width", "100"])):
            plain = run([nlens.NUMALENS, command, *words], folder=folder)
            assert plain.err == b"", plain
            seen, status = on_terminal([command, *words], folder=folder)
            assert status == plain.status and seen.startswith(b"\rnumalens %s: opening, " % command.encode()), seen
            assert screen(seen) == "\n".join(line.rstrip() for line in plain.out.decode().split("\n")), seen
            # Not before its time.
            assert on_terminal([command, *words], delay=10 ** 9, folder=folder)[0] == plain.out.replace(b"\n", b"\r\n")
            with tempfile.TemporaryFile() as out:
                seen, status = on_terminal([command, *words], out=out, folder=folder)
                out.seek(0)
                assert out.read() == plain.out and seen and screen(seen) == "", seen
            # Not with JSON on the same terminal.
            seen, status = on_terminal([command, *words, "--json"], folder=folder)
            assert seen.startswith(b"{") and seen.endswith(b"}\r\n"), seen
        assert on_terminal(["compare", "-q", "numalens.data", "numalens.data"], folder=folder)[0].count(b"opening") == 0
        seen, status = on_terminal(["report", "none.data"], folder=folder)
        assert status == 1 and screen(seen).startswith("numalens report: cannot open none.data"), seen
        seen, status = on_terminal(["import", "numalens.data"], folder=folder)
        assert status == 1 and b"numalens import: opening" in seen and screen(seen).count("\n") == 1, seen
        for command in ("export --format text", "export --format folded", "export --format csv"):
            plain, (seen, status) = run([nlens.NUMALENS, *command.split()], folder=folder), on_terminal(command.split(), folder=folder)
            assert plain.status == status == 0 and b"numalens %s: opening, " % command.split()[0].encode() in seen, seen
            assert screen(seen).split("\n") == [line.rstrip() for line in plain.out.decode().split("\n")], seen
        assert run([nlens.NUMALENS, "record", "-q", "--rotate", "60s", "-o", "it.data", "--", "true"], folder=folder).status == 0
        seen, status = on_terminal(["merge", "-o", "all.data", "it.000001.data"], folder=folder)
        assert status == 0 and b"numalens merge: opening" in seen and screen(seen).startswith("numalens merge: files 1 to 1 of"), seen
        assert on_terminal(["merge", "-q", "-o", "all.data", "it.000001.data"], folder=folder)[0] == b""
        # The script's own line, while it reads, after that of the command, while the compiler runs.
        plain = run([nlens.NUMALENS, "script", "switches"], folder=folder)
        seen, status = on_terminal(["script", "switches"], folder=folder)
        assert plain.status == status == 0 and b"numalens script: opening" in seen and b"\rswitches: reading" in seen, seen
        assert screen(seen).split("\n") == [line.rstrip() for line in plain.out.decode().split("\n")], seen
        assert on_terminal(["script", "switches"], delay=10 ** 9, folder=folder)[0] == plain.out.replace(b"\n", b"\r\n")
        with open(os.path.join(folder, "wrong.c"), "w") as stream:
            stream.write("#error not yet\n")
        seen, status = on_terminal(["script", "wrong.c"], folder=folder)
        assert status == 1 and "\nwrong.c:1" in "\n" + screen(seen) and "numalens script: wrong.c does not compile" in screen(seen), seen
        seen, status = on_terminal(["predict", "--machine", "generic-4"], folder=folder)
        assert status == 1 and b"numalens predict: opening" in seen and screen(seen).count("\n") == 1, seen
        assert on_terminal(["import", "-q", "none"], folder=folder)[0].count(b"opening") == 0


nlens.main()
