#!/usr/bin/env python3
"""record --source faults on four real nodes, with all mechanisms: pages, threads and directions against what the programs
say; programs unharmed, recorder and program killed at any moment; settings of the system put back each time."""
import json
import sys

import guest_build
import guest_case
import guest_machine

sys.path.insert(0, str(guest_machine.PROJECT / "tests/integration"))
import page_truth  # noqa: E402

EVERY = ["sweep", "two_phases", "halves", "writer_readers", "once"]
# What differs by mechanism; auto is one of the others here, and first touches are the same for all.
RUNS = {"numa-hint": EVERY, "uffd-wp": [*EVERY, "kinds"], "soft-dirty": [*EVERY, "kinds"], "none": ["sweep", "halves"], "auto": ["sweep"]}
ARMING = ["numa-hint", "uffd-wp", "soft-dirty"]
# The guest's clocks count instructions, 8 ns each: what runs in a time does not depend on this machine's load.
CLOCK = ["--count", "3"]
SCRIPT = """
cd /tmp; out=/root/out
step() { echo $1 $(cut -d ' ' -f 1 /proc/uptime) >> $out/uptime; }
settings() {
    cat /proc/sys/kernel/numa_balancing
    for one in scan_delay_ms scan_period_min_ms scan_period_max_ms scan_size_mb; do cat /sys/kernel/debug/sched/numa_balancing/$one; done
}
pages() { # MECHANISM PROGRAM [OPTION...]
    name=$1.$2; program=$2; ms=400
    [ $1 = numa-hint ] && ms=1500 # the kernel takes a while before it begins
    [ $2 = writer_readers ] && ms=2000 # the writer has a part of the time only, and is to come to each page often
    [ $2 = kinds ] && ms=100 # of eleven parts
    shift 2
    %(numalens)s record --source faults --interval 50ms --budget 100 "$@" -o $out/$name.data -- %(examples)s/pages_$program --ms=$ms --pages=128 --idle > $out/$name.truth 2> $out/$name.err
    echo $? >> $out/$name.err
}
mount -t debugfs none /sys/kernel/debug 2> /dev/null
echo 0 > /proc/sys/kernel/numa_balancing
settings > $out/settings.before
%(numalens)s doctor --json > $out/doctor
buffers="%(examples)s/pages_buffers --kib=256 --pressure=2"
$buffers > $out/plain.buffers 2>&1
step plain
for run in %(runs)s; do
    pages ${run%%:*} ${run#*:} --mechanism ${run%%:*}
done
step pages
for mechanism in %(arming)s none; do
    %(numalens)s record --source faults --interval 10ms --budget 100 --mechanism $mechanism -o b.data -- $buffers > $out/$mechanism.buffers 2>&1
    settings > $out/settings.$mechanism
done
step buffers
# One thread only: what hints cannot see is said.
%(numalens)s record --source faults --mechanism numa-hint -o t.data -- %(examples)s/pages_once --ms=1 > $out/alone 2>&1
%(numalens)s report pages t.data >> $out/alone
# Balancing is on anyway: now auto may take both.
echo 1 > /proc/sys/kernel/numa_balancing
pages both sweep -v
cat /proc/sys/kernel/numa_balancing > $out/both.after
echo 0 > /proc/sys/kernel/numa_balancing
step both

# Killed at any moment.
RANDOM=1
for mechanism in %(arming)s; do
    for whom in recorder program; do
        name=$mechanism.$whom
        rm -f k.data
        %(numalens)s record --source faults --interval 10ms --budget 100 --mechanism $mechanism -o k.data -- $buffers > $out/kill.$name 2> $out/kill.$name.err &
        recorder=$!
        usleep $((RANDOM * 20))
        if [ $whom = recorder ]; then kill -9 $recorder; else kill -9 $(pidof pages_buffers); fi
        wait $recorder
        while pidof pages_buffers > /dev/null; do usleep 20000; done
        [ $whom = recorder ] && %(numalens)s doctor --repair > /dev/null 2>&1
        settings > $out/settings.$name
        [ ! -e k.data ] || %(numalens)s report pages k.data > /dev/null 2> $out/kill.$name.report; echo $? >> $out/kill.$name.report
    done
done
step killed

# Killed in the midst of it: someone must put the settings back.
for how in repair start; do
    %(numalens)s record --source faults --mechanism numa-hint -o k.data -- %(examples)s/pages_halves --ms=100000 > /dev/null 2>&1 &
    recorder=$!
    until [ "$(cat /proc/sys/kernel/numa_balancing)" = 1 ]; do usleep 50000; done
    kill -9 $recorder; wait $recorder
    settings > $out/settings.killed
    ls -ln /run/numalens/settings > $out/state.$how
    if [ $how = repair ]; then %(numalens)s doctor --repair > $out/repaired 2>&1
    else %(numalens)s record --source none -o n.data -- %(examples)s/pages_once --ms=1 > $out/started 2>&1; fi
    settings > $out/settings.$how
    kill -9 $(pidof pages_halves)
done
%(numalens)s doctor --repair > $out/nothing

# Two at once: the second must not take the first one's values for the system's. The first goes on until it is killed.
%(numalens)s record --source faults --mechanism numa-hint -o k.data -- %(examples)s/pages_halves --ms=100000 > /dev/null 2>&1 &
until [ "$(cat /proc/sys/kernel/numa_balancing)" = 1 ]; do usleep 50000; done
%(numalens)s record --source faults --mechanism numa-hint -o l.data -- %(examples)s/pages_once --ms=1 > $out/second 2>&1; echo $? >> $out/second
kill -9 $(pidof pages_halves)
wait
settings > $out/settings.two
step settings
"""


def run_guest(tap, build, folder):
    words = {"numalens": build / "src/cli/numalens", "examples": build / "examples", "arming": " ".join(ARMING), "runs": " ".join(f"{name}:{program}" for name in RUNS for program in RUNS[name])}
    puts = guest_build.puts(build, "src/agent", "src/cli")
    for name in [*EVERY, "kinds", "buffers"]:
        program = build / f"examples/pages_{name}"
        puts += ["--put", f"{program}:{program}"]
    results = guest_case.boot(tap, folder, SCRIPT % words + "\nexit 0\n", *CLOCK, *puts)
    for trace in [*results.folder.glob("*.data")]:
        guest_case.reported(results, trace.stem, "pages")
    return {file.name: file.read_text(errors="replace") for file in results.folder.glob("*")}


def judge(tap, files, mechanism, program):
    what = f"{mechanism}, {program}"
    err = files.get(f"{mechanism}.{program}.err", "")
    truth = page_truth.Truth(files.get(f"{mechanism}.{program}.truth", ""))
    try:
        report = json.loads(files[f"{mechanism}.{program}.report.out"])
    except (KeyError, ValueError):
        tap.check(f"{what}: there is a report", False, err, files.get(f"{mechanism}.{program}.report.err"))
        return
    tap.is_equal(f"{what}: ends well", err.splitlines()[-1:], ["0"])
    complaints = page_truth.wrong(truth, report)
    tap.check(f"{what}: nothing is said that is not so", not complaints, complaints[:5], err)
    written = page_truth.recall(truth, report, "writes")
    tap.check(f"{what}: every written page is there", written == 1.0, written, err)
    again = page_truth.recall(truth, report, "any", 2) if program != "once" else 1.0
    threads = page_truth.recall_of_threads(truth, report)
    tap.note(f"{what}: {again:.1%} of pages in two intervals or more, {threads:.1%} of threads and directions")
    if mechanism == "numa-hint":
        tap.check(f"{what}: 95% of pages used for long are there in two intervals or more", again >= 0.95, again)
        # Of a writer and readers at the same time, the one whose thread armed a page comes to it first (docs/pages.md).
        if program == "sweep":
            reads = page_truth.recall(truth, report, "reads")
            tap.check(f"{what}: and 95% of pages that are read", reads >= 0.95, reads)
    elif mechanism in ("uffd-wp", "soft-dirty", "auto"):
        tap.check(f"{what}: written pages are there again and again",
                  program in ("sweep", "kinds") or again == 1.0, again)


def judge_all(tap, build, folder):
    files = run_guest(tap, build, folder)
    checks = {check["id"]: check for check in json.loads(files.get("doctor") or '{"checks": []}')["checks"]}
    tap.is_equal("doctor says what works", [checks.get(id, {}).get("status") for id in
                                            ("numa_hint", "uffd_wp", "soft_dirty_faults")], ["limited", "works", "works"])
    plain = files.get("plain.buffers", "no").splitlines()
    for mechanism, programs in RUNS.items():
        for program in programs:
            judge(tap, files, mechanism, program)
    for mechanism in [*ARMING, "none"]:
        lines = [line for line in files.get(f"{mechanism}.buffers", "").splitlines() if not line.startswith("numalens")]
        tap.is_equal(f"{mechanism}: a program with system calls, children, races and exec does the same", lines, plain)
    for mechanism in ARMING:
        lines = files.get(f"kill.{mechanism}.recorder", "no").splitlines()
        tap.check(f"{mechanism}: the recorder killed at any moment, the program does the same", lines in (plain, []), lines,
                  files.get(f"kill.{mechanism}.recorder.err"))
        for whom in ("recorder", "program"):
            reported = files.get(f"kill.{mechanism}.{whom}.report", "no")
            # Killed before the program began, there is nothing to read, and that is said.
            never_began = whom == "recorder" and lines == [] and "nothing can be read from it" in reported
            tap.check(f"{mechanism}: the {whom} killed at any moment, what was recorded can be read",
                      reported.endswith("0\n") or never_began, reported)
    tap.check("what hints cannot see is said, by record and by report", files.get("alone", "").count("one thread only") == 2,
              files.get("alone"))
    judge(tap, files, "both", "sweep")
    tap.check("auto takes hints and write protection where balancing is on",
              "numa-hint and uffd-wp" in files.get("both.sweep.err", ""), files.get("both.sweep.err"))
    tap.is_equal("and leaves it on", files.get("both.after"), "1\n")
    before = files.get("settings.before", "")
    kills = [f"{mechanism}.{whom}" for mechanism in ARMING for whom in ("recorder", "program")]
    for when in [*ARMING, "none", *kills, "repair", "start", "two"]:
        tap.is_equal(f"settings are as before after {when}", files.get(f"settings.{when}"), before)
    tap.check("they were changed when the recorder was killed", files.get("settings.killed") != before)
    tap.check("and what they were is in a file for root only", files.get("state.repair", "").startswith("-rw-------"),
              files.get("state.repair"))
    tap.check("doctor --repair says what it did", "kernel.numa_balancing = 0" in files.get("repaired", ""),
              files.get("repaired"))
    tap.is_equal("and that there is nothing more to do", files.get("nothing"), "Nothing to put back.\n")
    second = files.get("second", "")
    tap.check("a second recording at the same time is refused, with the reason",
              "another recording (process" in second and second.endswith("\n1\n"), second)


if __name__ == "__main__":
    sys.exit(guest_case.main(judge_all))
