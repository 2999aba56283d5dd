#!/usr/bin/env python3
"""Programs times ways of running: does recording leave a program as it is, and is it recorded, or is the reason given?

  tests/soak/matrix.py [--programs A,B] [--ways A,B] [--jobs N] [--results FILE] [--write docs/reliability.md]

Each pair is run plain and recorded, in a folder of its own: the same output, the same status, the same signal. Then the
recording must open and name the program; where none was made, or the program is not in it, numalens must have said why. The
exit status is 1 when any pair fails. With --results, pairs are kept in FILE, and those in it are not run again. `make soak` runs
all of it; tests/integration/test_matrix.py a part.
"""
import argparse
import functools
import json
import multiprocessing
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]
import nlens  # noqa: E402
import programs as all_programs  # noqa: E402
import ways as all_ways  # noqa: E402

RECORDED, INCOMPLETE, UNFOLLOWED, REASON, FAILED, SKIPPED = (
    "recorded", "incomplete", "not followed", "refused", "failed", "skipped")
# Often, so that much can go wrong.
OPTIONS = ["-F", "1000", "--budget", "20"]
# Sites that most programs have: libc's copies of texts and buffers of files.
LIBC = next(line.split()[-1] for line in open("/proc/self/maps") if re.search(r"/libc[.-]", line))
PLAN = ("numalens plan 1\nprogram %s\nsite main @ local\nsite strdup @ local\nsite _IO_file_doallocate @ local\nstack * @ local\n"
        "thread * @ distribute\n" % LIBC)


def fill(words, folder, port):
    return [word.replace("{folder}", folder).replace("{port}", str(port)).replace("{{", "{").replace("}}", "}")
            for word in words]


def run(name, way, command, folder, numalens=(), port=0):
    os.chmod(folder, 0o777)
    prepare = functools.partial(way.prepare, name) if way.prepare else None
    inside = [*fill(way.outer, folder, port), *numalens, *fill(way.inner, folder, port), *fill(command, folder, port)]
    return nlens.run(inside, folder=folder, prepare=prepare)


def said(ended):
    lines = [line for line in ended.err.decode(errors="replace").splitlines() if line.startswith("numalens ")]
    return lines, [line for line in ended.err.decode(errors="replace").splitlines() if not line.startswith("numalens ")]


def look(trace, name, ended):
    """What became of the recording: (verdict, text)."""
    lines, _ = said(ended)
    if not os.path.exists(trace):
        reason = [line for line in lines if ":" in line]
        return (REASON, reason[0]) if reason else (FAILED, "no recording, and not a word about it")
    opened = nlens.run([nlens.NUMALENS, "report", "--json", trace])
    if opened.status != 0:
        return FAILED, "the recording cannot be read: %s" % opened.err.decode(errors="replace").strip()[:200]
    result = json.loads(opened.out)
    notes = [line for line in lines if "note:" in line or "not whole" in line]
    if any("not whole" in line for line in notes):
        return INCOMPLETE, notes[0]
    known = all_programs.KNOWN_AS.get(name, name.split("-")[0])
    # What a thread's process became in the end: a sandbox may be the same program.
    last = {thread["tid"]: thread for thread in sorted(result["threads"], key=lambda thread: thread["start_s"])}
    threads = [thread for thread in last.values()
               if thread["name"].startswith(known) or os.path.basename(thread["binary"] or "").startswith(known)]
    samples = sum(thread["samples"] for thread in threads)
    missing = [line for line in notes if "without the agent" in line or "not recorded" in line]
    # The kernel reports programs without the agent, too.
    if missing and not samples:
        return UNFOLLOWED, missing[-1]
    if not threads:
        return FAILED, "the program is not in the recording, and no reason was given"
    return RECORDED, "%d samples%s" % (samples, "; " + notes[0] if notes else "")


def look_at_result(way, path, ended):
    """Of a command that records nothing, or beside the program."""
    if not os.path.exists(path):
        text = (ended.err + ended.out).decode(errors="replace").strip()
        return (UNFOLLOWED, text.splitlines()[-1]) if text else (FAILED, "nothing came of it, and not a word about it")
    with open(path) as stream:
        good, text = way.judge(stream.read())
    return RECORDED if good else UNFOLLOWED, text


def pair(name, command, way):
    """One cell: (verdict, text)."""
    with tempfile.TemporaryDirectory(prefix="numalens-") as top:
        os.chmod(top, 0o755)
        plain_folder, folder = os.path.join(top, "run"), os.path.join(top, "out")
        os.mkdir(plain_folder)
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        trace = os.path.join(folder, "x.data")
        target = "disk/x.data" if way.disk else trace
        own = nlens.copied(os.path.join(top, "numalens")) if way.root else nlens.NUMALENS
        try:
            plain = run(name, way, command, plain_folder, port=all_programs.free_port())
        except AssertionError:
            return SKIPPED, "it does not end here without numalens either"
        if plain.status not in all_programs.WORKED.get(name, (0,)):
            return SKIPPED, "it does not run so without numalens either: status %d" % plain.status
        for entry in os.listdir(plain_folder):
            nlens.run(["rm", "-rf", os.path.join(plain_folder, entry)])
        # What the program prints must not depend on the folder: both runs are in one of the same name.
        if way.disk:
            keep = "\"$0\" \"$@\"; status=$?; cp %s/disk/x.data %s 2> /dev/null; exit $status" % (plain_folder, trace)
            numalens = ["sh", "-c", keep, own, *way.command, *OPTIONS, "-o", target, "--"]
        else:
            numalens = [own, *way.command, *OPTIONS, "-o", target, "--"]
        if way.whole:
            plan = os.path.join(folder, "it.plan")
            with open(plan, "w") as stream:
                stream.write(PLAN)
            numalens = [word.format(numalens=own, plan=plan, result=trace) for word in way.whole]
        try:
            ended = run(name, way, command, plain_folder, numalens, port=all_programs.free_port())
        except AssertionError:
            return FAILED, "recorded, it does not end"
        return judge(name, way, plain, ended, trace)


def judge(name, way, plain, ended, trace):
    lines, others = said(ended)
    refused = ended.status == 1 and not os.path.exists(trace) and lines and ended.out == b""
    if refused:
        return REASON, lines[0]
    if way.disk and ended.status == 1 and "space" in " ".join(lines):
        return REASON, lines[0]
    shell = {plain.status, 128 - plain.status if plain.status < 0 else plain.status}
    if ended.status not in shell:
        return FAILED, "status %d instead of %d; %s" % (ended.status, plain.status, " ".join(others)[-200:] or "nothing was said")
    if not (way.silent or way.hides) and ended.out != plain.out:
        return FAILED, "another output: %r instead of %r" % (ended.out[-200:], plain.out[-200:])
    strange = [line for line in others if line not in plain.err.decode(errors="replace").splitlines()]
    if any("ld.so" in line for line in strange):
        return FAILED, "the dynamic linker complains: %s" % strange[0]
    if way.silent and not os.path.exists(trace):
        return REASON, "nothing can be said: the streams are closed"
    return look_at_result(way, trace, ended) if way.whole else look(trace, name, ended)


def choose(names, wanted):
    if not wanted:
        return list(names)
    chosen = wanted.split(",")
    unknown = [name for name in chosen if name not in names]
    if unknown:
        sys.exit("matrix: there is no %s; there are: %s" % (unknown[0], ", ".join(names)))
    return chosen


def cell(job):
    """(program, way, verdict, text)"""
    name, command, way_name = job
    way = all_ways.make()[way_name]
    missing = command if isinstance(command, str) else way.missing()
    try:
        return (name, way_name, *((SKIPPED, missing) if missing else pair(name, command, way)))
    except nlens.Skip as reason:
        return name, way_name, SKIPPED, str(reason)


def cells(programs, wanted_programs, wanted_ways, jobs, kept):
    """Yields what cell() returns, in order; of those that are kept already, that."""
    yield from kept
    work = [(name, programs[name], way) for way in wanted_ways for name in wanted_programs
            if not any(result[:2] == (name, way) for result in kept)]
    if jobs == 1:
        yield from map(cell, work)
        return
    with multiprocessing.Pool(jobs) as pool:
        yield from pool.imap(cell, work)


MARKS = {RECORDED: "recorded", INCOMPLETE: "incomplete", UNFOLLOWED: "not followed", REASON: "refused", FAILED: "**failed**", SKIPPED: "-"}


def shortened(text):
    """Its last line, without what differs from run to run."""
    line = (text.strip().splitlines() or [""])[-1]
    line = re.sub(r"/tmp/\S+/", "", re.sub(r"\b\d+ programs? ", "N programs ", re.sub(r"\b\d+ processes: ", "N processes: ", line)))
    return re.sub("numalens (record|migrate): |note: ", "", line)[:220]


HEAD = """# Reliability

Says what became of programs that were recorded: servers, runtimes, compilers and sandboxes, with kills, full disks, hostile inputs and load.

    make soak    # all of it, in hours; make test has a part

```
$ tests/soak/matrix.py --write docs/reliability.md
%s
```

Programs times ways of running, each plain and recorded at 1,000 bursts a second: the same output, the same status, the same
signal. Then the recording must open and have the program in it; where none was made, or the program is not in it, numalens must
have given the reason: `not followed` are those that ran unharmed but unrecorded. The ways `no samples`, `faults`, `timers` and
`migrate`, `outside`, `top beside`, `apply` and `optimize` are other sources and commands; elsewhere `record` chose. With the last three
`recorded` means that they had samples, placed something or came to a result. Debian has no .NET. The page up to *Kills and pauses* is written so.

"""
KEPT = "\n## Kills and pauses"


def kept_part(path):
    """What is not written here."""
    try:
        with open(path) as stream:
            text = stream.read()
    except OSError:
        return ""
    return text[text.index(KEPT):] if KEPT in text else ""


def write(path, results):
    kept_text = kept_part(path)
    names, ways = list(dict.fromkeys(r[0] for r in results)), list(dict.fromkeys(r[1] for r in results))
    table = {(r[0], r[1]): r for r in results}
    counts = {verdict: sum(r[2] == verdict for r in results) for verdict in MARKS}
    with open(path, "w") as out:
        out.write(HEAD % ("%d pairs, %d failed" % (len(results), counts[FAILED])))
        out.write("%d pairs: %d recorded, %d recorded as far as the disk had room, with a message, %d in which the program ran outside of the\n"
                  "agent's reach and the reason was given, %d refused with the reason, %d failed, %d not run here. %s %s, kernel %s.\n\n" % (
                      len(results), *(counts[v] for v in (RECORDED, INCOMPLETE, UNFOLLOWED, REASON, FAILED, SKIPPED)),
                      os.uname().sysname, os.uname().machine, os.uname().release.split("-")[0]))
        out.write("| program | " + " | ".join(ways) + " |\n")
        out.write("| --- |" + " --- |" * len(ways) + "\n")
        for name in names:
            out.write("| %s | %s |\n" % (name.replace("|", "\\|"), " | ".join(MARKS[table[name, way][2]] for way in ways)))
        for title, verdict in (("Incomplete, and why", INCOMPLETE), ("Refused, and why", REASON), ("Not followed, and why", UNFOLLOWED),
                               ("Failed", FAILED), ("Not run here", SKIPPED)):
            kept = {}
            for name, way, found, text in results:
                if found == verdict:
                    kept.setdefault(shortened(text), []).append((name, way))
            if kept:
                out.write("\n## %s\n\n" % title)
            for text, pairs in kept.items():
                which = sorted({way for _, way in pairs}) if verdict in (INCOMPLETE, REASON, UNFOLLOWED) else sorted({"%s, %s" % p for p in pairs})
                out.write("- %s: %s\n" % ("; ".join(which[:6]) + (" and %d more" % (len(which) - 6) if len(which) > 6 else ""),
                                          text.replace("|", "\\|")))
        out.write(kept_text)


def read_results(path):
    try:
        with open(path) as stream:
            return [tuple(json.loads(line)) for line in stream]
    except OSError:
        return []


def main():
    ways = all_ways.make()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs")
    parser.add_argument("--ways")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", metavar="FILE", default=os.devnull)
    parser.add_argument("--write", metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="numalens-") as folder:
        os.chmod(folder, 0o755)
        programs, kept, results = all_programs.make(folder), read_results(arguments.results), []
        with open(arguments.results, "a") as stream:
            for result in cells(programs, choose(programs, arguments.programs), choose(ways, arguments.ways), arguments.jobs, kept):
                results.append(result)
                print("%-16s %-22s %-12s %s" % (*result[:3], result[3].replace("\n", " ")[:160]), flush=True)
                if len(results) > len(kept):
                    print(json.dumps(result), file=stream, flush=True)
        if arguments.write:
            done = {result[:2]: result for result in results}
            write(arguments.write, [done.get((name, way), (name, way, SKIPPED, "not run this time")) for name in programs for way in ways])
    failed = sum(result[2] == FAILED for result in results)
    print("%d pairs, %d failed" % (len(results), failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
