#!/usr/bin/env python3
"""Code that findings advise does what it says, on four real nodes: in programs of the kind that it is for, what is far of that what threads
use, without it and with it. Each program counts the home nodes of the pages that its threads use against where they use them from. What is
compiled and run is what `report patterns` prints (tests/analysis/test_advice.c prints it). `numalens migrate` is in guest-migrate."""
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import textwrap

import guest_build
import guest_case
import guest_machine

KIND = guest_machine.X86_64 if platform.machine() == "x86_64" else guest_machine.Kind("arm64")
PRINTER = "tests/analysis/test_analysis_advice"
PROGRAMS = guest_machine.PROJECT / "tests/guest/programs"
HERE = re.compile(r"( *)@(\w+) (\w+) (\S+?)((?: [\w=]+)*?)(?: \| (\w+))?@")  # @CODE THREADS NAME WORD... | PART@
PARTS = {"template": (0, "/* with std::vector"), "rest": (1, "/* with std::vector"), "made": (0, "/* in each thread"),
         "thread": (1, "/* in each thread"), "call": (0, "! before it is written; with"), "subroutine": (1, "! before it is written; with"),
         "first": (0, "\n/* here"), "last": (1, "numa_set_interleave_mask(numa_no")}  # of code for two places: up to a border, or from it
C = ["-std=gnu17", "-Wall", "-Wno-unused", "-Werror", "-D_GNU_SOURCE"]
LANGUAGES = {"c": ["cc", *C, "-x", "c"], "cxx": ["c++", *C[1:], "-std=gnu++17", "-x", "c++"], "fortran": ["gfortran", "-x", "f95-cpp-input"]}
SOURCES = [("advised.c.in", "c"), ("advised.c.in", "cxx"), ("advised_openmp.c.in", "c"), ("advised_openmp.c.in", "cxx"),
           ("advised.f90.in", "fortran")]
FALLS = {"far": (0, 50, 5), "homes": (1, 70, 30)}  # which figure of a case, at least so many percent before, at most so many after
SPREADS = ("interleave", "interleave_container", "interleave_all")  # as much is far after them, from all nodes evenly
# A command as it is printed: (code, threads, more words), the program it is for, without it, and its case.
COMMANDS = {"interleave_all": (("interleave_all", "own", "it"), "advised_openmp-c-without whole", "", "whole"),
            "pin_all": (("pin_all", "own", "it", "pin=2"), "advised_openmp-c-without whole", "", "whole"),
            "pin_evenly_openmp": (("pin_evenly", "openmp", "it"), "advised_openmp-c-without evenly", "OMP_PROC_BIND=close", "evenly"),
            "allocator_mixed": (("allocator", "own", "it"), "advised-c-without", "", "arena"),
            "allocator_recycled": (("allocator", "own", "it"), "advised-c-without", "", "recycled")}


def printed(code, language, threads, *words):
    return subprocess.run([guest_build.NATIVE / PRINTER, "--print", code, language, threads, *words], text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def code_at(match, language):
    indent, name, threads, variable, more, part = match.groups()
    text = printed(name, language, threads, variable, *more.split())
    if part:
        behind, border = PARTS[part]
        at = text.index(border)
        text = text[at:] if behind else text[:at]
    return textwrap.indent(text, indent)


def compiled(folder, source, language, advised):
    kind = "with" if advised else "without"
    path = folder / f"{source.split('.')[0]}-{language}-{kind}.{source.split('.')[1]}"
    path.write_text(HERE.sub(lambda match: code_at(match, language) if advised else "", (PROGRAMS / source).read_text()))
    subprocess.run([*LANGUAGES[language], "-O2", "-fopenmp", f"-I{PROGRAMS}", *(["-DADVISED"] if advised else []), "-o",
                    path.with_suffix(""), path, "-x", "none", folder / "pages.o", "-lnuma", "-pthread"], check=True, cwd=folder)
    return path.with_suffix("")


def counted(results, name):
    """{case: (percent far, percent on one node)}"""
    lines = [line.split() for line in results.text(f"{name}.out").splitlines()] if results.status(name) == 0 else []
    return {case: (int(far), int(most)) for case, far, most in lines}


def judge(tap, name, before, after, which):
    column, least, most = FALLS[which]
    tap.check(f"{name}: {'what is far' if which == 'far' else 'what is on one node'} falls from {before and before[column]}% to "
              f"{after and after[column]}%", before and after and before[column] >= least and after[column] <= most, f"at least {least}, at most {most}")


def judge_source(tap, results, source, language):
    name = f"{source.split('.')[0]}-{language}"
    before, after = (counted(results, f"{name}-{kind}") for kind in ("without", "with"))
    whole = set(re.findall(r'(?:show_used|team)\("(\w+)"', (PROGRAMS / source).read_text())) - {"recycled"}
    if language != "cxx":
        whole = {case for case in whole if "container" not in case}
    if not tap.check(f"{name}: every case runs", whole and whole <= set(before) and whole <= set(after),
                     *results.notes(f"{name}-without", f"{name}-with")):
        return
    for case in sorted(whole):
        judge(tap, f"{name} {case}", before[case], after[case], "homes" if case in SPREADS else "far")


def command_lines(folder, name):
    code, program, before, _ = COMMANDS[name]
    words = f"{folder}/{program}"
    with_it = printed(code[0], "fortran", *code[1:], f"app={words}").strip()
    assert words in with_it, with_it
    return [line for kind, command in (("without", f"{before} {words}"), ("with", with_it))
            for line in guest_case.run_lines(f"{name}-{kind}", "sh", "-c", command)]


def libraries():
    """What the commands need: numactl, and jemalloc where it is looked for by name."""
    numactl = guest_machine.fetch(KIND, "numactl", "numactl") / "usr/bin/numactl"
    known = subprocess.run(["cc", "-print-file-name=libjemalloc.so.2"], text=True, stdout=subprocess.PIPE).stdout.strip()
    jemalloc = pathlib.Path(known).resolve()
    if not jemalloc.is_absolute() or not jemalloc.exists():
        raise guest_machine.Unavailable("libjemalloc.so.2 is not installed (Debian: libjemalloc2)")
    if not shutil.which("gfortran"):
        raise guest_machine.Unavailable("gfortran is not installed")
    return ["--put", f"{numactl}:/bin/numactl", "--put", f"{jemalloc}:/usr/lib/libjemalloc.so.2"]


def judge_all(tap, _, folder):
    folder = pathlib.Path(folder)
    lines = ["cd /tmp", "echo 0 >/proc/sys/kernel/numa_balancing", "export OMP_WAIT_POLICY=passive"]
    puts = libraries()
    subprocess.run(["cc", *C, "-O2", "-g", "-c", "-o", folder / "pages.o", PROGRAMS / "advised_pages.c"], check=True)
    for source, language in SOURCES:
        for advised in (False, True):
            program = compiled(folder, source, language, advised)
            puts += ["--put", f"{program}:{program}"]
            lines += guest_case.run_lines(program.name, program)
    lines.append("export OMP_PLACES=cores OMP_PROC_BIND=spread")  # threads of the commands' programs: one a node
    for name in COMMANDS:
        lines += command_lines(folder, name)
    lines.append("cut -d' ' -f1 /proc/uptime >>/root/out/uptime")
    results = guest_case.boot(tap, folder, "\n".join(lines) + "\nexit 0\n", "--arch", KIND.arch, *puts)
    for source, language in SOURCES:
        judge_source(tap, results, source, language)
    for name, (*_, case) in COMMANDS.items():
        before, after = (counted(results, f"{name}-{kind}").get(case) for kind in ("without", "with"))
        tap.note("\n".join(results.notes(f"{name}-without", f"{name}-with"))) if not before or not after else None
        judge(tap, name, before, after, "homes" if name in SPREADS else "far")


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all, KIND, ("tests/analysis",)))
