#!/usr/bin/env python3
"""What is installed for shells, as they use it; make install and make uninstall."""
import os
import re
import shutil

import nlens
from nlens import check, run, tool

COMPLETION = os.path.join(nlens.BUILD, "share", "completion")
COMMANDS = re.findall(r"^  ([a-z]+) ", run([nlens.NUMALENS, "--help"]).out.decode(), re.MULTILINE)
# Calls the function as bash does when TAB is pressed behind the last word.
BASH = r"""
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
function=$(complete -p numalens | sed 's/.*-F \([^ ]*\) .*/\1/')
"$function" numalens "${@: -1}" "${@: -2:1}"
[ "${#COMPREPLY[@]}" -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}"
"""


def script(name):
    path = os.path.join(COMPLETION, name)
    if not os.path.exists(path):
        raise nlens.Skip("completion is written by a program that runs here")
    return path


def options(command):
    ended = run([nlens.NUMALENS, command, "--list-options"])
    assert ended.status == 0, ended
    return {name for line in ended.out.decode().splitlines() for name in line.split("\t")[:2] if name}


def bash(*words, folder=None):
    ended = run([tool("bash"), "--norc", "-c", BASH, "bash", script("numalens"), "numalens", *words], folder=folder)
    assert ended.status == 0 and ended.err == b"", (words, ended)
    return set(ended.out.decode().splitlines())


@check("bash completes commands, every option of every command, values, files, programs")
def in_bash():
    assert bash("") == {*COMMANDS, "help", "--help", "--version"}
    assert bash("re") == {"record", "report"}
    for command in COMMANDS:
        assert bash(command, "-") == options(command) | {"--help"}, command
    assert bash("report", "--so") == {"--sort"}
    assert bash("report", "--color", "") == {"auto", "always", "never"}
    assert bash("report", "--color", "=", "a") == {"auto", "always"}
    assert bash("record", "--source", "p") == {"pebs"}
    assert bash("record", "--homes", "b") == {"bind:"}
    assert bash("record", "--frequency", "") == set()
    assert bash("help", "chec") == {"check"}
    assert bash("no-such-command", "") == set()
    with nlens.Folder() as folder:
        os.mkdir(os.path.join(folder, "pages"))
        for name in ("plain.data", "pair.data", "with blank.data"):
            open(os.path.join(folder, name), "w").close()
        assert bash("report", "pa", folder=folder) == {"patterns", "pages", "pair.data"}
        assert bash("report", "-i", "p", folder=folder) == {"pages", "plain.data", "pair.data"}
        assert bash("report", "w", folder=folder) == {"with blank.data"}
        assert bash("check", "--no-new-findings", "pl", folder=folder) == {"plain.data"}
        assert bash("compare", "--keep", "p", folder=folder) == {"pages"}
        assert "bash" in bash("record", "-F", "100", "--", "bas", folder=folder)
        # The program's options are its own.
        assert bash("record", "--", "cat", "pl", folder=folder) == {"plain.data"}
        assert bash("record", "--", "cat", "--", folder=folder) == set()


@check("fish completes the same")
def in_fish():
    path = script("numalens.fish")
    fish = tool("fish")

    def complete(text):
        with nlens.Folder() as home:
            ended = run([fish, "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", path, "numalens " + text], folder=home,
                        environment={"HOME": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home, "PATH": os.path.dirname(nlens.NUMALENS) + ":" + os.environ["PATH"]})
        assert ended.status == 0, ended
        return {line.split("\t")[0] for line in ended.out.decode().splitlines()}

    assert {"record", "report"} <= complete("re")
    for command in COMMANDS:
        wanted = {name for name in options(command) if name.startswith("--")}
        assert wanted <= complete(command + " --"), (command, wanted - complete(command + " --"))
    assert {"auto", "always", "never"} <= complete("report --color ")
    assert {"patterns", "pages"} <= complete("report pa")


@check("zsh finds the function and can load it")
def in_zsh():
    path, zsh = script("_numalens"), tool("zsh")
    ended = run([zsh, "-n", path])
    assert ended.status == 0 and ended.err == b"", ended
    with nlens.Folder() as folder:
        shutil.copy(path, folder)
        ended = run([zsh, "-f", "-c", "fpath=($1 $fpath); autoload -Uz compinit; compinit -u -d $1/dump; print -r - $_comps[numalens]; "
                     "autoload +X _numalens && whence -w _numalens", "zsh", folder], folder=folder)
        assert ended.status == 0 and ended.out == b"_numalens\n_numalens: function\n", ended
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    for command in COMMANDS:
        for name in options(command):
            assert re.search(r"^        '%s[=+\[]" % re.escape(name), text, re.MULTILINE), (command, name)


@check("make install, then make uninstall: nothing is left, and nothing else is touched")
def uninstall():
    make = [tool("make"), "-C", nlens.SOURCE, "--no-print-directory", "-o", "all", "BUILD=" + nlens.BUILD]
    plain = {"MAKEFLAGS": "", "MFLAGS": "", "MAKELEVEL": ""}  # not those of a make that runs the tests
    tool("meson")
    log = os.path.join(nlens.BUILD, "installed.txt")
    kept = log + ".kept"
    if os.path.exists(log):
        os.rename(log, kept)  # of an installation that is not this one
    try:
        with nlens.Folder() as folder:
            root = os.path.join(folder, "root")
            ended = run([*make, "uninstall", "DESTDIR=" + root], environment=plain)
            assert ended.status != 0 and b"nothing is known to be installed" in ended.err, ended
            ended = run([*make, "install", "DESTDIR=" + root], environment=plain)
            assert ended.status == 0, ended
            files = {name for _, _, names in os.walk(root) for name in names}
            assert {"numalens", "libnumalens-agent.so", "numalens-check.1"} <= files, sorted(files)
            if os.path.exists(COMPLETION):
                assert {"_numalens", "numalens.fish"} <= files, sorted(files)
            other = next(os.path.join(path, "other") for path, _, names in os.walk(root) if "numalens.1" in names)
            with open(other, "w") as stream:
                stream.write("somebody else's")
            ended = run([*make, "uninstall", "DESTDIR=" + root], environment=plain)
            assert ended.status == 0 and b" files removed" in ended.out, ended
            left = [os.path.join(path, name) for path, _, names in os.walk(root) for name in names]
            assert left == [other], left
            assert not os.path.exists(log)
    finally:
        if os.path.exists(kept):
            os.rename(kept, log)


nlens.main()
