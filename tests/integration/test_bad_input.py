#!/usr/bin/env python3
"""What cannot work is met with one clear line on stderr, the right exit status, and no file that looks whole."""
import os
import random
import stat

import nlens
from nlens import Folder, check, example, record, report, run, tool

FAILED, USAGE = 1, 2


def one_line(ended, status, *words):
    text = ended.err.decode()
    assert ended.status in (status if isinstance(status, tuple) else (status,)), "status: %s" % ended
    assert text.count("\n") == 1 and text.endswith("\n"), "not one line: %s" % ended
    assert text.startswith("numalens"), text
    for word in words:
        assert word.lower() in text.lower(), "%r is not in: %s" % (word, text)
    assert ended.out == b"", ended


def no_trace(ended):
    assert not os.path.exists(ended.trace), "%s is left" % ended.trace


@check("record: no such program")
def no_program():
    with Folder() as folder:
        ended = record(folder, ["./there-is-none"])
        one_line(ended, (FAILED, 127), "there-is-none")
        no_trace(ended)


@check("record: a program that is not executable, a folder")
def not_executable():
    with Folder() as folder:
        path = os.path.join(folder, "plain.txt")
        with open(path, "w") as stream:
            stream.write("text\n")
        for program in (path, folder):
            ended = record(folder, [program])
            one_line(ended, (FAILED, 126), os.path.basename(program))
            no_trace(ended)


@check("record: a static program cannot carry the agent, and that is said")
def static_program():
    with Folder() as folder:
        ended = record(folder, [example("ratio_static"), "--rounds=10"], ["--source", "soft"])
        one_line(ended, (FAILED, 126), "static")
        no_trace(ended)


@check("record: a setuid program drops the agent, and that is said; root samples it from outside")
def setuid_program():
    with Folder() as folder:
        path = os.path.join(folder, "ratio")
        with open(example("ratio"), "rb") as source, open(path, "wb") as copy:
            copy.write(source.read())
        if os.getuid() == 0:
            os.chown(path, 65534, 65534)
        os.chmod(path, 0o755 | stat.S_ISUID)
        if not os.stat(path).st_mode & stat.S_ISUID:
            raise nlens.Skip("the bit cannot be set here")
        ended = record(folder, [path, "--rounds=10"])
        if os.getuid() == 0:
            assert ended.status == 0 and b"is setuid: sampled from outside" in ended.err, ended
        else:
            one_line(ended, (FAILED, 126), "setuid")
            no_trace(ended)


@check("record: a place that cannot be written to")
def unwritable():
    with Folder() as folder:
        ended = run([nlens.NUMALENS, "record", "-o", "no/such/folder/x.data", "--", "true"], folder=folder)
        one_line(ended, FAILED, "no/such/folder/x.data")


@check("record: impossible options")
def impossible_options():
    with Folder() as folder:
        for options in (["--frequency", "0"], ["--frequency", "many"], ["--burst", "0"], ["--burst", "-3"],
                        ["--budget", "x"], ["--topology", "nonsense:4"], ["--topology", ""], ["--topology", "numa:0"],
                        ["--no-such-option"]):
            ended = record(folder, ["true"], options)
            assert ended.status in (FAILED, USAGE), "%s: %s" % (options, ended)
            complaint, *hint = ended.err.decode().splitlines()
            assert not hint or hint[0].startswith("Try "), "%s: %s" % (options, ended)
            assert complaint.startswith("numalens record: "), "%s: %s" % (options, ended)
            no_trace(ended)


@check("record without a program, an unknown command, no command")
def usage():
    with Folder() as folder:
        for arguments in (["record"], ["record", "--"], ["no-such-command"], [], ["report", "--sort", "nonsense"],
                          ["report", "nonsense"]):
            ended = run([nlens.NUMALENS, *arguments], folder=folder)
            assert ended.status in (FAILED, USAGE), "%s: %s" % (arguments, ended)
            assert ended.err and not ended.out, "%s: %s" % (arguments, ended)
            assert not os.listdir(folder), os.listdir(folder)


@check("report: no file, a folder, an empty file, someone else's file")
def no_trace_file():
    with Folder() as folder:
        one_line(run([nlens.NUMALENS, "report"], folder=folder), FAILED, "numalens.data")
        one_line(run([nlens.NUMALENS, "report", "none.data"], folder=folder), FAILED, "none.data")
        one_line(run([nlens.NUMALENS, "report", folder]), FAILED, folder)
        for name, content in (("empty", b""), ("short", b"\x00"), ("text", b"hello\n" * 1000), ("elf", None)):
            path = os.path.join(folder, name)
            with open(path, "wb") as stream:
                stream.write(open(nlens.NUMALENS, "rb").read() if content is None else content)
            one_line(run([nlens.NUMALENS, "report", path]), FAILED, name)
        unreadable = os.path.join(folder, "text")
        os.chmod(unreadable, 0)
        if os.getuid() != 0:
            one_line(run([nlens.NUMALENS, "report", unreadable]), FAILED, "permission")


@check("report: a file cut at any place, or with bytes turned over, ends with a report or one clear line")
def damaged():
    chance = random.Random(11)
    with Folder() as folder:
        ended = record(folder, [example("ratio"), "--rounds=3000"])
        assert ended.status == 0, ended
        with open(ended.trace, "rb") as stream:
            whole = stream.read()
        path = os.path.join(folder, "damaged.data")
        for number in range(60):
            content = bytearray(whole)
            if number % 2:
                del content[chance.randrange(len(whole)):]
            else:
                for _ in range(chance.randrange(1, 8)):
                    content[chance.randrange(len(content))] = chance.randrange(256)
            with open(path, "wb") as stream:
                stream.write(content)
            ended = run([nlens.NUMALENS, "report", "--json", path])
            assert ended.status in (0, FAILED), "%d: %s" % (number, ended)
            if ended.status == FAILED:
                one_line(ended, FAILED)


nlens.main()
