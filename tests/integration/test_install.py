#!/usr/bin/env python3
"""What is installed for shells, as they use it; make install and make uninstall; building as distributions do."""
import json
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


def found_in(file, pattern):
    with open(os.path.join(nlens.SOURCE, file)) as stream:
        return re.search(pattern, stream.read(), re.MULTILINE)[1]


@check("what make demo builds is all that the demo needs")
def demo():
    targets = found_in("Makefile", r"^demo:.*\n\t@ninja -C \$\(BUILD\) (.*)").split()
    machine = found_in("scripts/demo", r"--machine ([\w-]+)")
    ended = run([tool("ninja"), "-C", nlens.BUILD, "-t", "inputs", *targets])
    assert ended.status == 0 and "share/machines/%s.machine" % machine in ended.out.decode().split(), ended


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
            # Only shown: a build folder's prefix stays, and other tests use this one.
            ended = run([*make, "-n", "install", "PREFIX=/opt/numalens"], environment=plain)
            assert ended.status == 0 and b"-Dprefix=/opt/numalens" in ended.out, ended
            ended = run([*make, "install", "DESTDIR=" + root], environment=plain)
            assert ended.status == 0, ended
            files = {name for _, _, names in os.walk(root) for name in names}
            assert {"numalens", "libnumalens-agent.so", "numalens-check.1"} <= files, sorted(files)
            if os.path.exists(COMPLETION):
                assert {"_numalens", "numalens.fish"} <= files, sorted(files)
            for path in (os.path.join(place, name) for place, _, names in os.walk(root) for name in names):
                with open(path, "rb") as stream:
                    if stream.read(4) != b"\x7fELF":
                        continue
                ended = run([tool("readelf"), "-d", path])
                assert ended.status == 0 and not re.search(rb"\((RPATH|RUNPATH)\)", ended.out), ended
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


def copy_of_sources(folder):
    """The source tree as a tarball has it: no build folders, nothing that npm has put there."""
    def left_out(place, names):
        top = place == nlens.SOURCE
        return [name for name in names if name in ("node_modules", "dist", "gallery", "data", "__pycache__", ".git", ".cache") or top and re.match("build|out$", name)]
    copy = os.path.join(folder, "numalens")
    shutil.copytree(nlens.SOURCE, copy, symlinks=True, ignore=left_out)
    return copy


def files_in(folder):
    return sorted(os.path.join(path, name) for path, _, names in os.walk(folder) for name in names)


@check("a source tarball is configured without tests, npm and network, and nothing is written into it")
def tarball():
    meson = tool("meson")
    with nlens.Folder() as folder:
        copy = copy_of_sources(folder)
        os.mkdir(os.path.join(copy, "web", "dist"))
        with open(os.path.join(copy, "web", "dist", "page.html"), "w") as stream:
            stream.write("<!--numalens-data-->")
        before = files_in(copy)
        tools = os.path.join(folder, "tools")
        os.mkdir(tools)
        called = os.path.join(folder, "npm-was-called")
        with open(os.path.join(tools, "npm"), "w") as stream:
            stream.write("#!/bin/sh\n: >'%s'\nexit 1\n" % called)
        os.chmod(os.path.join(tools, "npm"), 0o755)
        made = os.path.join(folder, "made")
        ended = run([meson, "setup", made, copy, "-Dtests=false", "-Dpage=enabled"], environment={"PATH": tools + ":" + os.environ["PATH"]})
        assert ended.status == 0, ended
        assert not os.path.exists(called) and files_in(copy) == before, set(files_in(copy)) ^ set(before)
        ended = run([meson, "introspect", "--tests", made])
        assert ended.status == 0 and json.loads(ended.out) == [], ended
        ended = run([meson, "introspect", "--targets", made])
        assert ended.status == 0 and os.path.join(copy, "tests", "").encode() not in ended.out, ended
        ended = run([meson, "introspect", "--dependencies", made])
        assert ended.status == 0 and "cmocka" not in [found["name"] for found in json.loads(ended.out)], ended


@check("without the page and without a network, configuring says what to do, and nothing is written into the source tree")
def no_network():
    node = tool("node")
    tool("npm")
    with nlens.Folder() as folder:
        copy = copy_of_sources(folder)
        before = files_in(copy)
        # The registry is a port at which nobody listens, as is any proxy.
        nobody = {name: "http://127.0.0.1:9/" for name in ("npm_config_registry", "npm_config_proxy", "npm_config_https_proxy", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
        ended = run([node, os.path.join(copy, "web", "packages.mjs"), os.path.join(folder, "packages")],
                    environment={**nobody, "npm_config_cache": os.path.join(folder, "cache")})
        assert ended.status == 1 and b"-Dpage=disabled" in ended.err and b"tarball" in ended.err, ended
        assert files_in(copy) == before, set(files_in(copy)) ^ set(before)


@check("for a processor that numalens does not know, configuring ends with its name and those that it knows")
def unknown_processor():
    with nlens.Folder() as folder:
        settings = os.path.join(folder, "cross.ini")
        with open(settings, "w") as stream:
            stream.write("[binaries]\nc = 'cc'\n[host_machine]\nsystem = 'linux'\ncpu_family = 'riscv64'\ncpu = 'riscv64'\nendian = 'little'\n")
        ended = run([tool("meson"), "setup", "--cross-file", settings, os.path.join(folder, "made"), nlens.SOURCE])
        assert ended.status == 1 and b"processor riscv64; it knows x86_64 and aarch64" in ended.out, ended


nlens.main()
