#!/usr/bin/env python3
"""libnumalens from outside: headers alone, exported symbols, an installation used through pkg-config, manual pages.

usage: test_library.py WRITE_TRACE    (the program that writes the made-up trace)
"""
import json
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ["NUMALENS_BUILD"]
WRITE_TRACE = sys.argv[1]
sys.argv[1:] = []
sys.path.insert(0, os.path.join(SOURCE, "tests", "integration"))
import nlens  # noqa: E402
from nlens import Folder, Skip, check, note, run, tool  # noqa: E402

HEADERS = ("capture.h", "flow.h", "findings.h", "pages.h")
STRICT = ["-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-fsyntax-only", "-I" + SOURCE + "/include"]


def must(command, **rest):
    ended = run(command, **rest)
    assert ended.status == 0, "%s\n%s" % (" ".join(command), ended)
    return ended.out.decode()


def symbols_of(path, *options):
    lines = must([tool("nm"), "--defined-only", *options, path]).splitlines()
    return {re.sub("@.*", "", line.split()[2]) for line in lines if re.match(r"^[0-9a-f]+ [TDBRVW] ", line)}


def promised():
    with open(os.path.join(HERE, "symbols.txt")) as stream:
        return set(stream.read().split())


@check("each header compiles by itself as C99, C11 and C++")
def headers():
    with Folder() as folder:
        for header in HEADERS:
            for language, standards in (("c", ("c99", "c11", "c2x")), ("c++", ("c++98", "c++11", "c++20"))):
                path = os.path.join(folder, "alone.c")
                with open(path, "w") as stream:
                    stream.write("#include <numalens/%s>\nint alone;\n" % header)
                for standard in standards:
                    extra = ["-Wno-long-long"] if standard == "c++98" else []
                    must([tool("cc" if language == "c" else "c++"), "-x", language, "-std=" + standard, *STRICT, *extra,
                          path])


@check("all headers together, in any order, with C and C++: none takes another's names")
def together():
    with Folder() as folder:
        path = os.path.join(folder, "together.c")
        use = "struct nlens_policy_node a; struct nlens_policy_access b; struct nlens_policy_page c;\n"
        old = "struct nlens_node d; struct nlens_access e; struct nlens_page f;\n" \
              "unsigned long count(void);\nunsigned long count(void) { return (unsigned long)nlens_accesses(&e); }\n"
        new = "nlens_node *d; nlens_access *e; nlens_page *f;\n" \
              "nlens_iter *all(nlens_trace *t);\nnlens_iter *all(nlens_trace *t) { return nlens_accesses(t); }\n"
        others = ("capture.h", "findings.h", "flow.h", "pages.h")
        for headers, body in ((("policy.h",), use + old), (("policy.h", *others), use + new), ((*others, "policy.h"), use + new),
                              (("pages.h", "policy.h", "capture.h"), use + new)):
            with open(path, "w") as stream:
                stream.write("".join("#include <numalens/%s>\n" % header for header in headers) + body)
            must([tool("cc"), "-x", "c", "-std=c11", *STRICT, path])
            # nlens_policy is a struct and the function that returns it.
            must([tool("c++"), "-x", "c++", "-std=c++11", *STRICT, "-Wno-shadow", path])


@check("libnumap exports numap's names and the paper's, and none that others have too")
def numap_symbols():
    path = os.path.join(BUILD, "src/lib/libnumap.so")
    if not os.path.exists(path):
        raise Skip("libnumap was not built here")
    exported = symbols_of(path, "-D")
    assert "numap_init" in exported and "numap_get_count" in exported and "samp_read_start" in exported, exported
    known = {"concat", "get_data_src_opcode", "get_data_src_level", "init_samp_session", "init_count_session", "print_rd", "print_wr"}
    others = {name for name in exported if not re.match("numap_|is_served_by_|samp_|count_read_|count_write_", name)} - known
    assert not others, others


@check("the clients and the ready scripts compile without a warning")
def sources():
    must([tool("cc"), "-std=c99", *STRICT, os.path.join(HERE, "client.c")])
    must([tool("c++"), "-std=c++11", *STRICT, os.path.join(HERE, "client.cc")])
    scripts = os.path.join(SOURCE, "examples", "scripts")
    for name in sorted(os.listdir(scripts)):
        if name.endswith(".c"):
            must([tool("cc"), "-std=c99", *STRICT, os.path.join(scripts, name)])


@check("every function in the headers is exported, and nothing else is")
def symbols():
    declared = set()
    for header in HEADERS:
        with open(os.path.join(SOURCE, "include", "numalens", header)) as stream:
            declared |= set(re.findall(r"NLENS_API [^;]*?\b(nlens_\w+)\(", stream.read()))
    shared = symbols_of(os.path.join(BUILD, "src/lib/libnumalens.so"), "-D")
    assert shared == declared, "only exported: %s; only declared: %s" % (shared - declared, declared - shared)
    static = symbols_of(os.path.join(BUILD, "src/lib/libnumalens.a"), "-g")
    assert static == declared, "the archive: %s" % (static ^ declared)


@check("no function that a program may use is missing (tests/api/symbols.txt)")
def kept():
    shared = symbols_of(os.path.join(BUILD, "src/lib/libnumalens.so"), "-D")
    assert not promised() - shared, "missing: %s; that is another soname" % (promised() - shared)
    assert not shared - promised(), "new: add to tests/api/symbols.txt: %s" % (shared - promised())


@check("the library has a versioned soname and versioned symbols")
def soname():
    text = must([tool("readelf"), "-dV", os.path.join(BUILD, "src/lib/libnumalens.so")])
    assert "soname: [libnumalens.so.0]" in text, text[:2000]
    assert "NUMALENS_0" in text


class Installation:
    """`meson install` into a folder, with environment to use it from there."""

    def __init__(self, folder):
        self.root = os.path.join(folder, "root")
        must([tool("meson"), "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.root])
        found = [os.path.join(where, name) for where, _, names in os.walk(self.root) for name in names]
        self.files = {os.path.basename(path): path for path in found}
        assert "numalens.pc" in self.files, "no numalens.pc among %s" % sorted(self.files)
        self.libdir = os.path.dirname(self.files["libnumalens.a"])
        self.environment = {"PKG_CONFIG_PATH": os.path.dirname(self.files["numalens.pc"]),
                            "PKG_CONFIG_SYSROOT_DIR": "", "LD_LIBRARY_PATH": self.libdir}
        self.prefix = os.path.dirname(os.path.dirname(self.files["numalens"]))

    def flags(self, *options):
        # The prefix is the installation's own here: as if it had been configured for this place.
        return must([tool("pkg-config"), "--define-variable=prefix=" + self.prefix, *options, "numalens"],
                    environment=self.environment).split()


def judge_verdict(client, trace, environment):
    """What the library says of a recording is what the report says: undecided is not "not", and what is not known is no number."""
    there = json.loads(must([nlens.NUMALENS, "report", "--json", trace]))["verdict"]
    words = {True: "matters", False: "not", None: "undecided"}

    def rate(name):
        return "%.0f" % (-1 if there[name] is None else there[name])

    def share(name):
        return "%.4f" % (-1 if there[name] is None else there[name])

    wanted = "%s grade=%s bottleneck=%s machine=%s against=%s asked=%s low=%s high=%s can=%s then=%s bytes=%s remote=%s " % (
        words[there["matters"]], *[there[name] or "" for name in ("grade", "bottleneck", "machine", "against")],
        *map(rate, ("asked_bytes_s", "low", "high", "can_bytes_s", "then_asked_bytes_s", "bytes_s")), share("remote_bytes_share"))
    lines = must([client, trace], environment=environment).splitlines()
    line, = [line for line in lines if " grade=" in line]
    assert line.startswith(wanted) and line.endswith(" bursts=%d bound=%d" % (there["evidence_bursts"], there["numa_bound"])), (line, wanted)
    assert there["text"] in lines, (there, lines)


@check("an installation is used through pkg-config: shared, static, C++, script, manual")
def installed():
    with Folder() as folder:
        place = Installation(folder)
        for name in ("flow.h", "findings.h", "pages.h", "script.h", "libnumalens.so.0", "switches.c"):
            assert name in place.files, "%s is not installed" % name
        for name in ("numalens-flow.3", "numalens-findings.3", "numalens-policy.3", "numalens-script.1"):
            assert name in place.files or name + ".gz" in place.files, "%s is not installed" % name
        trace = os.path.join(folder, "made.data")
        must([WRITE_TRACE, trace])
        flags = place.flags("--cflags", "--libs")
        note("flags: " + " ".join(flags).replace(folder, "..."))

        shared = os.path.join(folder, "shared")
        must([tool("cc"), "-std=c99", "-o", shared, os.path.join(HERE, "client.c"), *flags])
        reported = must([shared, trace], environment=place.environment)
        assert "heap: 149 switches" in reported, reported
        for name in ("traffic", "after", "facerec", "faults"):
            judge_verdict(shared, os.path.join(SOURCE, "docs", "recordings", name + ".data"), place.environment)
        missing = run([shared, "/nonexistent"], environment=place.environment)
        assert missing.status == 1 and b"/nonexistent" in missing.err, missing

        static = os.path.join(folder, "static")
        # Not `pkg-config --static`: that wants static libraries of everything below, which few distributions have.
        needs = must([tool("pkg-config"), "--print-requires-private", "numalens"], environment=place.environment).split()
        with open(place.files["numalens.pc"]) as stream:
            private = re.search("^Libs.private: (.*)$", stream.read(), re.MULTILINE)[1].split()
        flags = [*place.flags("--cflags", "--libs-only-L"), "-l:libnumalens.a",
                 *must([tool("pkg-config"), "--libs", *needs]).split(), *private]
        must([tool("cc"), "-std=c99", "-o", static, os.path.join(HERE, "client.c"), *flags])
        assert "libnumalens" not in must([tool("readelf"), "-d", static])
        assert must([static, trace], environment={"LD_LIBRARY_PATH": ""}) == reported

        # The line for static linking names all that is needed. Other packages' own private libraries may not be here.
        line = place.flags("--static", "--libs")
        absent = {flag for flag in line if flag.startswith("-l") and flag != "-lnumalens" and
                  "/" not in must([tool("cc"), "-print-file-name=lib%s.so" % flag[2:]]).strip()} - set(private)
        line = ["-l:libnumalens.a" if flag == "-lnumalens" else flag for flag in line if flag not in absent]
        must([tool("cc"), "-std=c99", "-o", static, os.path.join(HERE, "client.c"), *place.flags("--cflags"), *line])
        assert must([static, trace], environment={"LD_LIBRARY_PATH": ""}) == reported
        if "numap.pc" in place.files:
            assert "-lpfm" in line, line

        cxx = os.path.join(folder, "cxx")
        must([tool("c++"), "-o", cxx, os.path.join(HERE, "client.cc"), *place.flags("--cflags", "--libs")])
        assert "60 writes of 60" in must([cxx, trace], environment=place.environment)

        numalens = place.files["numalens"]
        bare = {"LD_LIBRARY_PATH": ""}
        # Scripts need nothing that distributions have in a package for developers.
        os.unlink(place.files["libnumalens.so"])
        shutil.rmtree(os.path.join(place.prefix, "include"))
        assert "switches" in must([numalens, "script", "--list"], environment=bare)
        assert "switches)" in must([numalens, "script", "switches", trace], environment=bare)


@check("manual pages are in order")
def manual():
    pages = [os.path.join(SOURCE, "man", name) for name in sorted(os.listdir(os.path.join(SOURCE, "man")))
             if re.search(r"\.[13]$", name)]
    assert pages
    if shutil.which("mandoc"):
        must(["mandoc", "-T", "lint", "-W", "warning", *pages])
    elif shutil.which("groff"):
        for page in pages:
            ended = run(["groff", "-mdoc", "-Tascii", "-ww", "-z", page])
            assert ended.status == 0 and not ended.err, ended
    else:
        raise Skip("neither mandoc nor groff is installed")
    reported = set()
    for page in pages:
        with open(page) as stream:
            reported |= set(re.findall(r"^\.(?:Fn|Pq Fn) (nlens_\w+)", stream.read(), re.MULTILINE))
    inline = {"nlens_move", "nlens_move_around", "nlens_note", "nlens_policy", "nlens_policy_accesses"}
    assert not reported - promised() - inline, "the manual names what there is not: %s" % (reported - promised() - inline)
    assert not promised() - reported, "the manual has nothing of %s" % (promised() - reported)


@check("the manual pages of the headers are those of the headers")
def manual_of_headers():
    assert must([os.path.join(SOURCE, "scripts", "man-headers"), "--check"]) == ""


nlens.main()
