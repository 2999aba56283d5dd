#!/usr/bin/env python3
"""numalens for x86-64 at work on four real nodes: programs with known answers, and programs that a profiler could break.
One recording is reported inside the guest as well, the others here, where all are judged. Shares are judged where the clock counts
instructions, on one CPU. On a machine of another kind there is a second boot, which asks nothing of time: for programs that need no nodes, and
that tests/integration (known_answers, custom, harmless) runs on a machine of this kind."""
import json
import math
import pathlib
import platform
import re
import subprocess
import sys

import guest_build
import guest_case
import guest_machine

WITHIN = 0.05
ALIKE = platform.machine() == guest_machine.X86_64.machine

# A signal is dear in the guest; without leave to spend more there would be too few samples to judge. A burst is in one
# loop: it is the number of bursts by which shares are known, so they are short.
BURST = 4
OFTEN = ["--frequency=1000", f"--burst={BURST}", "--budget=90"]
# name, program, arguments, options of record
ANSWERS = [
    ("nodes", "tests/guest/nodes", ["250"], OFTEN),
    ("nodes-timer", "tests/guest/nodes", ["200"], [*OFTEN, "--tick=timer"]),
    ("stores", "tests/guest/nodes", ["50"], [*OFTEN, "--stores"]),
]
ELSEWHERE = [
    ("ratio", "examples/ratio", ["--rounds=250"], OFTEN),
    ("cxx", "examples/cxx_new", ["--rounds=3000"], OFTEN),
    ("child", "examples/child", ["--exec", "--rounds=600"], OFTEN),
    ("simulated", "examples/handover", ["--rounds=75"], [*OFTEN, "--topology", "numa:2 core:2", "--assign=round-robin"]),
]
TABLES = [[], ["objects"], ["threads"]]  # of the recording that is reported inside the guest
LIBRARIES = ["lib/x86_64-linux-gnu/libc.so.6", "lib64/ld-linux-x86-64.so.2"]  # of that program
# Functions that the user names, as the programs' first comments say.
NAMED = re.compile(r"(--\w+-fn) (\S+)")
POOL_ROUNDS = 40
NODES = "tests/guest/programs/nodes.c"
POOL, HOOKED = "examples/pool.c", "examples/harmless/hooked.cc"
HOOKED_ROUNDS = 100
SHORTEST_STEP = 3000000000  # seconds, of the wall clock
# Sampled far more often than by default: these are to break if anything can.
HARMLESS = [
    ("own SIGTRAP, SIGALRM and real-time signals", "own_signals", []),
    ("own SIGSEGV handler", "segv_barrier", ["--rounds=60"]),
    ("all signals blocked", "block_signals", []),
    ("alternate stack and overflows", "altstack", ["--rounds=3000"]),
    ("forks from threads", "fork_threads", []),
    ("raw system calls on heap buffers", "raw_syscalls", []),
    ("allocates before constructors and after destructors", "early_late", []),
    ("threads that come and go", "thread_churn", ["--rounds=60"]),
    ("coroutines and longjmp", "coroutines", []),
    ("looks at itself", "self_inspect", []),
    ("C++ that throws", "cxx_new", ["--rounds=500"]),
    ("a child with spawn", "child", ["--spawn", "--rounds=300"]),
]


def named_in(source):
    comment = (guest_machine.PROJECT / source).read_text().split("*/")[0]
    return [word for option in NAMED.findall(comment) for word in option]


def runner(lines):
    def run(name, *words):
        lines.extend(guest_case.run_lines(name, *words))
    return run


def shares_script(build):
    """For a guest whose clock counts instructions. Samples are shared out by time; where the clock is this machine's, an
    emulated loop takes longer whenever others work here, and its share shows them and not the program."""
    numalens, lines = build / "src/cli/numalens", ["cd /tmp"]
    run = runner(lines)
    step = "cut -d' ' -f1 /proc/uptime >>/root/out/uptime"
    lines.append(step)
    for name, program, arguments, options in ANSWERS if ALIKE else [*ANSWERS, *ELSEWHERE]:
        run(name, numalens, "record", *options, "-o", f"/root/out/{name}.data", "--", build / program, *arguments)
        lines.append(step)
    if not ALIKE:
        run("pool", numalens, "record", *OFTEN, *named_in(POOL), "-o", "/root/out/pool.data", "--",
            build / "examples/pool", f"--rounds={POOL_ROUNDS}", "--passes=20")
    for words in TABLES:
        run("-".join(["there", *words]), numalens, "report", *words, "--json", "/root/out/nodes.data")
        lines.append(step)
    run("stat", numalens, "stat", "--json", "-I", "200", "-s", "numastat", "-o", "/root/out/stat.json", "--",
        build / "tests/guest/nodes", "1")
    run("stat-auto", numalens, "stat", "--json", "-d", "0.1")
    run("stat-table", numalens, "stat", "-s", "numastat", "-d", "0.1")
    lines.append(step)
    # The wall clock is set back and ahead by decades, all the time.
    lines.append("while :; do date -s @1000000000; date -s @4000000000; done >/dev/null 2>&1 & stepping=$!")
    run("clock", numalens, "record", *OFTEN, "-o", "/root/out/clock.data", "--", build / "examples/ratio", "--rounds=60")
    lines.append("kill $stepping")
    lines.append(step)
    return "\n".join(lines) + "\nexit 0\n"


def harmless_script(build):
    numalens = build / "src/cli/numalens"
    lines = ["cd /tmp"]
    run = runner(lines)
    hooked = [build / "examples/hooked", str(HOOKED_ROUNDS), build / "examples/hooked_plugin.so"]
    run("hooked-plain", *hooked)
    run("hooked", numalens, "record", *named_in(HOOKED), "-o", "hooked.data", "--", *hooked)
    run("hooked.count", build / "tests/trace/trace_dump", "--count", "hooked.data")
    for number, (_, program, arguments) in enumerate(HARMLESS):
        run(f"plain{number}", build / "examples" / program, *arguments)
        run(f"harmless{number}", numalens, "record", *OFTEN, "-o", "harmless.data", "--",
            build / "examples" / program, *arguments)
        lines.append("cut -d' ' -f1 /proc/uptime >>/root/out/uptime")
    return "\n".join(lines) + "\nexit 0\n"


def site_line(source, name):
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if re.search(rf"site: .*\b{name}\b", line):
            return number
    raise AssertionError(f"no site {name} in {source}")


class Judge:
    """Asks a recording for the objects that a source's lines allocate."""

    def __init__(self, tap, results, name, source):
        self.tap, self.name = tap, name
        self.source = guest_machine.PROJECT / source
        self.report = guest_case.reported(results, name) or {}
        table = guest_case.reported(results, name, "objects") or {}
        self.objects = table.get("objects", []) if isinstance(table, dict) else table
        self.good = tap.check(f"{name}: is recorded and reported",
                              results.status(name) == 0 and self.report.get("samples", 0) > 0 and self.objects,
                              *results.notes(name), *results.notes(f"{name}.report"))

    def row(self, site):
        line = site_line(self.source, site)
        rows = [row for row in self.objects if row.get("line") == line]
        return rows[0] if rows else {"share": -1, "remote_share": -1, "homes": {}, "kind": None, "reads": 0, "writes": 0}

    def near(self, what, got, wanted, within=WITHIN):
        """Five standard deviations of a share of so many bursts are allowed: one in 1.7 million is further off by chance."""
        chance = 5 * math.sqrt(wanted * (1 - wanted) * BURST / self.report["samples"])
        within = max(within, chance)
        self.tap.check(f"{self.name}: {what} is {wanted:g}", got is not None and abs(got - wanted) <= within, f"got {got}")


def judge_nodes(tap, results, name):
    reported = results.text(f"{name}.out")
    tap.check(f"{name}: the program's pages are where it put them",
              "far 0 256 0 0\nnear 256 0 0 0\nspread 64 64 64 64\n" in reported, reported)
    judge = Judge(tap, results, name, NODES)
    if not judge.good:
        return
    tap.is_equal(f"{name}: four real nodes", [judge.report["topology"].get(key) for key in ("nodes", "simulated")],
                 [4, False])
    for site, share, remote in (("far", 0.5, 1.0), ("near", 0.25, 0.0), ("spread", 0.25, 0.75)):
        row = judge.row(site)
        judge.near(f"share of {site}", row["share"], share)
        judge.near(f"remote share of {site}", row["remote_share"], remote, 0.15 if site == "spread" else 0.02)
    tap.is_equal(f"{name}: far lies on node 1", list(judge.row("far")["homes"]), ["1"])
    tap.is_equal(f"{name}: near lies on node 0", list(judge.row("near")["homes"]), ["0"])
    tap.is_equal(f"{name}: spread lies on all four", sorted(judge.row("spread")["homes"]), ["0", "1", "2", "3"])
    judge.near("remote ratio of all", judge.report["remote_ratio"], 0.6875, 0.08)
    tap.note(f"{name}: {judge.report['samples']} samples")


def differences(there, here):
    return [f"{key}: {there.get(key)}, here {here.get(key)}" for key in {**there, **here} if there.get(key) != here.get(key)]


def judge_report(tap, results):
    """What the guest's own report says is what is said here."""
    for words in TABLES:
        there, here = results.json("-".join(["there", *words])), guest_case.reported(results, "nodes", *words)
        tap.check("nodes: the guest's report%s is the same as here" % "".join(f" {word}" for word in words),
                  here is not None and there == here, *differences(there or {}, here or {}))


def judge_elsewhere(tap, results):
    judge = Judge(tap, results, "ratio", "examples/ratio.c")
    if judge.good:
        tap.note(f"ratio: {judge.report['samples']} samples")
        judge.near("share of often", judge.row("often")["share"], 0.75)
        judge.near("share of seldom", judge.row("seldom")["share"], 0.25)
        tap.check("ratio: few writes", judge.row("often")["reads"] > 10 * judge.row("often")["writes"])
        latency = judge.row("often").get("latency_mean")
        tap.check("ratio: latencies are measured", latency is not None and latency >= 0, f"got {latency}")

    judge = Judge(tap, results, "cxx", "examples/cxx_new.cc")
    if judge.good:
        array, numbers = (judge.row(site)["share"] for site in ("array", "numbers"))
        judge.near("of array and numbers, array's part", array / (array + numbers), 2 / 3, 0.08)

    judge = Judge(tap, results, "child", "examples/child.c")
    if judge.good:
        tap.check("child: the child's array has most", judge.row("array")["share"] > 0.7, judge.row("array"))

    judge = Judge(tap, results, "simulated", "examples/handover.c")
    if judge.good:
        tap.is_equal("simulated: two simulated nodes",
                     [judge.report["topology"].get(key) for key in ("nodes", "simulated")], [2, True])
        tap.check("simulated: the buffer has most", judge.row("buffer")["share"] > 0.7, judge.row("buffer"))


def judge_pool(tap, results):
    judge = Judge(tap, results, "pool", POOL)
    if judge.good:
        rows = (guest_case.reported(results, "pool", "sites") or {}).get("sites", [])
        tap.note(f"pool: {judge.report['samples']} samples")
        for site, share, via, count in (("table", 0.4, "pool_zero", 1), ("header", 0.3, "pool_alloc", POOL_ROUNDS),
                                        ("body", 0.2, "pool_zero", POOL_ROUNDS), ("trailer", 0.1, "pool_zero", POOL_ROUNDS)):
            line = site_line(judge.source, site)
            row = next((row for row in rows if row["line"] == line), {"share": -1, "via": None, "count": 0})
            # A burst is in one loop: only bursts, some hundreds, are independent of each other.
            judge.near(f"share of {site}", row["share"], share, 0.06)
            tap.is_equal(f"pool: {site} comes through its function, so often", [row["via"], row["count"]], [via, count])


def judge_hooked(tap, results):
    tap.check("hooked functions used in every way: same status and output",
              results.status("hooked") == results.status("hooked-plain") == 0
              and results.text("hooked.out") == results.text("hooked-plain.out"), *results.notes("hooked"))
    # Six kinds of calls and own_throw, own_look; own_alloc eight times and the child's one; the plugin's twice.
    tap.check("hooked functions: every object is reported", f"count 18={18 * HOOKED_ROUNDS + 1}\n" in
              results.text("hooked.count.out"), *results.notes("hooked.count"), *results.notes("hooked"))


def judge_stat(tap, results):
    """The program runs on node 0 and lays 256 pages on nodes 0 and 1 each, then 64 on each of the four."""
    tap.check("stat: same status and output", results.status("stat") == 0 and "far 0 256 0 0\n" in results.text("stat.out"),
              *results.notes("stat"))
    reported = json.loads(results.text("stat.json") or "{}")
    rows = reported.get("total", {}).get("nodes", [])
    if tap.is_equal("stat: a row for each node", [row["nodes"] for row in rows], [[0], [1], [2], [3]]):
        for row, least in zip(rows, (320, 320, 64, 64)):
            tap.check(f"stat: node {row['nodes'][0]} hands out {least} pages at least", row["hit"] >= least, row)
        for row, pages in zip(rows[1:], (320, 64, 64)):
            tap.check(f"stat: node {row['nodes'][0]}: of them {pages} to the CPU of node 0, and hardly more",
                      pages <= row["by_other_cpus"] < pages + 60, row)
    automatic = results.json("stat-auto") or {}
    tap.is_equal("stat: without counters of the hardware, the kernel's",
                 [automatic.get("source"), [row["source"] for row in automatic.get("refused", [])]],
                 ["numastat", ["uncore", "resctrl"]])
    table = results.text("stat-table.out")
    tap.check("stat: nodes and their sum in the table",
              [line.split()[0] for line in table.splitlines()[-5:]] == ["0", "1", "2", "3", "all"], table)


def judge_stores(tap, results):
    report = guest_case.reported(results, "stores") or {}
    objects = guest_case.reported(results, "stores", "objects") or {}
    rows = objects.get("objects", []) if isinstance(objects, dict) else objects
    tap.check("stores only: no reads are kept but of read-modify-writes",
              results.status("stores") == 0 and all(row["writes"] == row["samples"] for row in rows),
              report, *results.notes("stores"))


def judge_clock(tap, results):
    report, events = guest_case.reported(results, "clock") or {}, results.text("clock.err")
    tap.check("a wall clock that is set all the time: whole, nothing lost, and no time is the wall clock's",
              results.status("clock") == 0 and report.get("samples", 0) > 0 and report.get("damage") is None
              and "lost" not in events and 0 < report["duration_s"] < SHORTEST_STEP, report, *results.notes("clock"))


def judge_harmless(tap, results):
    for number, (title, *_) in enumerate(HARMLESS):
        plain, recorded = f"plain{number}", f"harmless{number}"
        tap.check(f"{title}: same status and output",
                  results.status(plain) == results.status(recorded) and results.status(plain) not in (-1, 143, 124)
                  and results.text(f"{plain}.out") == results.text(f"{recorded}.out"),
                  "plain:", *results.notes(plain), "recorded:", *results.notes(recorded))


def debug_files():
    """--put arguments for what this machine has of the libraries' debug information: a report made in the guest knows as much then
    as one made here, when a sample happens to be in a library."""
    words = []
    for library in [root / name for root in guest_machine.library_roots() for name in LIBRARIES]:
        notes = subprocess.run(["readelf", "-n", library], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        build_id = re.search(r"Build ID: (\w\w)(\w+)", notes)
        path = build_id and pathlib.Path(f"/usr/lib/debug/.build-id/{build_id[1]}/{build_id[2]}.debug")
        if path and path.exists():
            words += ["--put", f"{path}:{path}"]
    return words


def judge_all(tap, build, folder):
    programs = ("examples/ratio", "tests/guest/nodes") if ALIKE else ("examples", "tests/guest", "tests/trace")
    puts = guest_build.puts(build, "src/agent", "src/cli", *programs)
    source = guest_machine.PROJECT / NODES   # names of objects are taken from it
    # One CPU: QEMU runs several one after the other, in slices of many ticks. The nodes are there without.
    counted = guest_case.boot(tap, folder, shares_script(build), "--count", "2", "--memory-only", "1,2,3", *puts, *debug_files(), "--put",
                              f"{source}:{source}", name="guest that counts instructions")
    for name in ("nodes", "nodes-timer"):
        judge_nodes(tap, counted, name)
    judge_report(tap, counted)
    judge_stat(tap, counted)
    judge_stores(tap, counted)
    judge_clock(tap, counted)
    if ALIKE:
        return
    judge_elsewhere(tap, counted)
    judge_pool(tap, counted)
    results = guest_case.boot(tap, folder, harmless_script(build), *puts)
    judge_hooked(tap, results)
    judge_harmless(tap, results)


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all))
