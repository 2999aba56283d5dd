#!/usr/bin/env python3
"""What the scripts behind make promise: packages that arrive after a build folder was configured are found, nothing is asked, and nothing
is skipped that tests/skips.py does not allow."""
import fnmatch
import glob
import importlib.machinery
import importlib.util
import os
import re

import nlens
from nlens import Folder, check, run, tool

# Of a project that a check makes.
ONE, TWO, HEADER = ("src" + name for name in ("/one.c", "/two.c", "/one.h"))
CONFIGURE = os.path.join(nlens.SOURCE, "scripts", "configure")
PROJECT = """project('tiny', 'c')
cc = meson.get_compiler('c')
message('found:', cc.find_library('later', required: false).found(), cc.has_header('later.h'), dependency('later', required: false).found(),
        find_program('later', required: false).found(), 'werror', get_option('werror'), 'prefix', get_option('prefix'))
"""


class Machine:
    """A project to configure on a machine whose packages are what `packages` says, with their files in lib/."""

    def __init__(self, folder):
        self.folder, self.lib = folder, os.path.join(folder, "lib")
        os.mkdir(self.lib)
        self.write("meson.build", PROJECT)
        self.write("lib/dpkg-query", "#!/bin/sh\ncat '%s/packages'\n" % folder, 0o755)
        self.packages("installed gcc amd64 1")
        self.environment = {"LIBRARY_PATH": self.lib, "CPATH": self.lib, "PKG_CONFIG_PATH": self.lib,
                            "PATH": self.lib + ":" + os.environ["PATH"]}

    def write(self, name, text, mode=0o644):
        with open(os.path.join(self.folder, name), "w") as stream:
            stream.write(text)
        os.chmod(os.path.join(self.folder, name), mode)

    def packages(self, *lines):
        self.write("packages", "".join(line + "\n" for line in lines))

    def later(self):
        """The files of a package."""
        self.write("later.c", "int later;\n")
        assert run([tool("cc"), "-shared", "-o", os.path.join(self.lib, "liblater.so"), "later.c"], folder=self.folder).status == 0
        self.write("lib/later.h", "")
        self.write("lib/later.pc", "Name: later\nDescription: later\nVersion: 1\n")
        self.write("lib/later", "#!/bin/sh\n", 0o755)

    def configure(self, *options):
        """What Meson found; None when it did not search."""
        tool("meson")
        ended = run([CONFIGURE, "build", *options], folder=self.folder, environment=self.environment)
        assert ended.status == 0, ended
        found = re.search(r"Message: found: (.*)", ended.out.decode())
        return found and found[1].split()


@check("a package that arrives later is found: library, header, pkg-config, program; without a change nothing is searched")
def arrives():
    with Folder() as folder:
        machine = Machine(folder)
        assert machine.configure()[:4] == ["false"] * 4
        assert machine.configure() is None
        machine.packages("installed gcc amd64 1", "not-installed later amd64 ")
        assert machine.configure() is None
        machine.later()
        machine.packages("installed gcc amd64 1", "installed later amd64 1")
        assert machine.configure()[:4] == ["true"] * 4
        assert machine.configure() is None
        machine.packages("installed gcc amd64 1", "installed later amd64 2")
        assert machine.configure()[:4] == ["true"] * 4


@check("options of earlier calls stay, in any order of make's targets")
def options_stay():
    with Folder() as folder:
        machine = Machine(folder)
        assert machine.configure()[4:] == ["werror", "false", "prefix", "/usr/local"]
        assert machine.configure("-Dwerror=true")[4:] == ["werror", "true", "prefix", "/usr/local"]
        assert machine.configure() is None and machine.configure("-Dwerror=true") is None
        assert machine.configure("--prefix=/opt")[4:] == ["werror", "true", "prefix", "/opt"]
        machine.packages("installed gcc amd64 2")
        assert machine.configure()[4:] == ["werror", "true", "prefix", "/opt"]


@check("a folder configured by hand keeps its options")
def by_hand():
    with Folder() as folder:
        machine = Machine(folder)
        assert run([tool("meson"), "setup", "-Dwerror=true", "build"], folder=folder, environment=machine.environment).status == 0
        assert machine.configure()[4:6] == ["werror", "true"]
        assert machine.configure() is None


@check("installing names what it is about to install, in one line, before it does, and asks nothing")
def names_packages():
    with Folder() as folder:
        log = os.path.join(folder, "log")
        for name, body in {"dpkg-query": "", "dpkg": "echo amd64", "id": "echo 0",
                           "apt-get": 'echo "$(head -c1 | wc -c) $DEBIAN_FRONTEND $*" >>%s' % log}.items():
            with open(os.path.join(folder, name), "w") as stream:
                stream.write("#!/bin/sh\n%s\n" % body)
            os.chmod(stream.name, 0o755)
        path = {"PATH": folder + ":" + os.environ["PATH"]}
        ended = run([os.path.join(nlens.SOURCE, "scripts", "install-deps")], b"answer", environment=path)
        said = ended.err.decode().splitlines()
        assert ended.status == 0 and len(said) == 1, ended
        about, _, names = said[0].partition(": about to install ")
        assert about == "install-deps" and re.match(r"\d+ Debian packages: .*\bmeson\b", names), said
        with open(log) as stream:
            calls = stream.read().splitlines()
        assert len(calls) == 1 and calls[0].startswith("0 noninteractive ") and " install -y " in calls[0], calls
        assert calls[0].split()[-len(names.split()) + 3:] == names.split()[3:], (calls, names)

        # Neither root nor sudo without a password: the command for root is printed, and nothing waits.
        for name, body in {"id": "echo 1000", "sudo": '[ "$1" = -n ] && exit 1; cat'}.items():
            with open(os.path.join(folder, name), "w") as stream:
                stream.write("#!/bin/sh\n%s\n" % body)
            os.chmod(stream.name, 0o755)
        ended = run([os.path.join(nlens.SOURCE, "scripts", "install-deps")], b"answer", environment=path)
        assert ended.status == 1 and b"\n  apt-get install " in ended.err, ended


@check("a mirror without backports: the release's own package is fetched")
def no_backports():
    with Folder() as folder:
        sources = os.path.join(folder, "cache", "apt-backports", "etc", "all.sources")
        for name, body in {"apt-get": 'case "$*" in *update) ! grep backports %s;; *) touch kernel.deb; esac' % sources, "dpkg": 'mkdir -p "$3/boot"',
                           "apt-cache": r"printf 'Version: 1\nDepends: linux-image-1\n'"}.items():
            with open(os.path.join(folder, name), "w") as stream:
                stream.write("#!/bin/sh\n%s\n" % body)
            os.chmod(stream.name, 0o755)
        ended = run([os.path.join(nlens.SOURCE, "scripts", "cross-fetch"), "--backports", "--cache", folder + "/cache", "--into", folder + "/into", "linux-image"],
                    environment={"PATH": folder + ":" + os.environ["PATH"]})
        assert ended.status == 0 and os.path.isdir(os.path.join(folder, "into", "boot")), ended


@check("a skipped unit test is one to Meson as well, with its reason")
def unit_skips():
    with Folder() as folder:
        with open(os.path.join(folder, "skips.c"), "w") as stream:
            stream.write('#include "%s/tests/skip.h"\n' % nlens.SOURCE +
                         'static void skips(void **state) { (void)state; skip_test("for %d reasons", 2); }\n'
                         'static void passes(void **state) { (void)state; print_message("# a note\\n"); }\n'
                         "int main(void) {\n"
                         "const struct CMUnitTest tests[] = {cmocka_unit_test(passes), cmocka_unit_test(skips), cmocka_unit_test(passes)};\n"
                         "return cmocka_run_group_tests(tests, NULL, NULL); }\n")
        built = run([tool("cc"), "-D_GNU_SOURCE", "-Wall", "-Werror", "-o", "skips", "skips.c", "-lcmocka"], folder=folder)
        assert built.status == 0, built
        ended = run([os.path.join(folder, "skips")], environment={"CMOCKA_MESSAGE_OUTPUT": "TAP"})
        lines = ended.out.decode().splitlines()
        assert ended.status == 0, ended
        assert [line for line in lines if line.startswith(("ok", "not"))] == ["ok 1 - passes", "ok 2 - skips # SKIP for 2 reasons", "ok 3 - passes"], lines
        assert lines.count("# a note") == 2, lines
        ended = run([os.path.join(folder, "skips")])
        assert b"SKIPPED" in ended.err + ended.out and b"for 2 reasons" in ended.out + ended.err, ended


def test_script():
    loader = importlib.machinery.SourceFileLoader("suite", os.path.join(nlens.SOURCE, "scripts", "test"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("suite", loader))
    loader.exec_module(module)
    return module


@check("a skip that is not in the list fails the tests, by its name; one that is, only where its condition holds")
def skips_are_listed():
    suite = test_script()
    here, elsewhere = (lambda: True), (lambda: False)
    here.__doc__, elsewhere.__doc__ = "here", "on the moon"
    allowed, suite.skips.ALLOWED = suite.skips.ALLOWED, [("room: good", "no rocket*", here), ("room: bad", "no rocket*", elsewhere), ("whole", "*", here)]
    tally = suite.Tally()
    tally.add_tap("room", "1..4\nok 1 - good # SKIP no rocket at all\nok 2 - bad # SKIP no rocket\nok 3 - other # SKIP no rocket\nok 4 - good\n", True)
    tally.add_tap("whole", "1..0 # SKIP because\n", True)
    tally.add_meson("", {"name": "part", "duration": 0, "result": "SKIP", "stdout": "no rocket\n"})
    tally.add_meson("", {"name": "project:suite / whole", "duration": 0, "result": "SKIP", "stdout": "1..0 # SKIP because\n"})
    suite.skips.ALLOWED = allowed  # the checks behind this one want the list itself
    assert tally.passed == 1 and tally.skipped == [("room: good", "no rocket at all"), *[("whole", "because")] * 2], tally.skipped
    assert [name for name, _ in tally.failed] == ["room: bad", "room: other", "part"], tally.failed
    assert "on the moon" in tally.failed[0][1][0] and "tests/skips.py" in tally.failed[1][1][0], tally.failed


@check("each skip that a test may say has a row for it in the list, or is one that no machine has")
def rows_for_skips():
    skips, lacking, found = test_script().skips, [], 0
    text = re.compile(r"""(?:\bSkip|\bskip_test|\bskip_all|\bskipAll|\bskip)\((?:\w+, )?[fr]?(["'`])((?:\\.|(?!\1).)*[a-z]{3}(?:\\.|(?!\1).)*)\1""")
    for path in glob.glob(os.path.join(nlens.SOURCE, "tests", "**", "*.*"), recursive=True):
        if not path.endswith((".c", ".py", ".mjs")) or path == os.path.abspath(__file__):
            continue
        name = re.match(r"test_(\w+)\.", os.path.basename(path))
        with open(path, encoding="utf-8") as stream:
            reasons = [re.sub(r"%\w|\$?\{[^}]*\}", "WORD", reason) for _, reason in text.findall(stream.read()) if " " in reason]
        found += len(reasons)
        rows = [row for row in skips.ALLOWED if not name or row[2] is skips.is_guest or fnmatch.fnmatchcase(name[1], row[0].split(":")[0].split(" ")[-1])]
        patterns = [*(row[1] for row in rows), *skips.NOWHERE]
        lacking += [(path, reason) for reason in reasons if not any(fnmatch.fnmatchcase(reason, pattern) for pattern in patterns)]
    assert found > 80 and not lacking, (found, lacking)


@check("each row of the list has a condition that can be asked here, and says what it is")
def conditions():
    skips = test_script().skips
    for titles, reasons, where in skips.ALLOWED:
        assert where.__doc__ and where() in (True, False), (titles, reasons)


@check("clang-tidy looks at what changed since it was clean: a file, its header, the command, the settings; and at what was not clean")
def tidy():
    with Folder() as folder:
        def write(name, text, mode=0o644):
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as stream:
                stream.write(text)
            os.chmod(path, mode)

        def look(status=0):
            """The files that were looked at."""
            for command in (["ninja", "-C", "build"], ["scripts/tidy", "build"]):
                ended = run(command, folder=folder, environment={"PATH": folder + "/bin:" + os.environ["PATH"]})
            assert ended.status == status, ended
            log = os.path.join(folder, "log")
            with open(log, "a+") as stream:
                stream.seek(0)
                looked = sorted(stream.read().split())
            os.unlink(log)
            return looked

        with open(os.path.join(nlens.SOURCE, "scripts", "tidy")) as stream:
            write("scripts/tidy", stream.read(), 0o755)
        write("bin/clang-tidy", '#!/bin/sh\n[ "$1" = --version ] && echo 1 && exit\nfor file; do :; done\n'
                                'echo "$file" >>%s/log; ! grep -H BAD "$file"\n' % folder, 0o755)
        write(".clang-tidy", "Checks: one\n")
        write("meson.build", "project('tiny', 'c')\nstatic_library('tiny', '%s', '%s', 'other.c')\n" % (ONE, TWO))
        write(ONE, '#include "one.h"\nint one = ONE;\n')
        write(HEADER, "#define ONE 1\n")
        write(TWO, "int two = 2;\n")
        write("other.c", "int other = 3;\n")
        assert run([tool("meson"), "setup", "build"], folder=folder).status == 0
        both = [ONE, TWO]
        assert look() == both and look() == []
        write(TWO, "int two = 3;\n")
        assert look() == [TWO] and look() == []
        write(HEADER, "#define ONE 11\n")
        assert look() == [ONE] and look() == []
        write(TWO, "int two = 4; /* BAD */\n")
        assert look(1) == [TWO] and look(1) == [TWO]
        write(TWO, "int two = 4;\n")
        assert look() == [TWO] and look() == []
        os.unlink(os.path.join(folder, HEADER))
        ended = run(["scripts/tidy", "build"], folder=folder, environment={"PATH": folder + "/bin:" + os.environ["PATH"]})
        assert ended.status == 0, ended  # not built since
        write(HEADER, "#define ONE 11\n")
        assert look() == [ONE, ONE] and look() == []
        write(".clang-tidy", "Checks: two\n")
        assert look() == both and look() == []
        assert run([tool("meson"), "configure", "build", "-Dc_args=-DX"], folder=folder).status == 0
        assert look() == both and look() == []


nlens.main()
