#!/usr/bin/env python3
"""usage: tests/soak/truth.py [--busy 0,4,16] [--threads 1,2,8,64] [--runs N] [--no-verdicts]

Whether recordings are right beside other programs: for each number of busy programs and of threads, the share of an array that is
truly three quarters of all reads (bias: mean of what is recorded less what the program counted; spread: standard deviation of runs),
the mean error of a thread's share against what it counted itself, and the verdicts on programs with a pattern and on their twins.
Prints a table for docs/reliability.md; the exit status is 1 when a verdict is wrong. Busy programs have the same priority as the
recorded one."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
import nlens  # noqa: E402
import verdicts  # noqa: E402

CPU_MS = 1500  # of all threads together
OPTIONS = ["-q", "-F", "2000", "--burst", "8", "--budget", "50", "--no-traffic"]
JUDGED = ("far_initialised", "concurrent_remote", "false_sharing", "saturated_node")


class Busy:
    """So many programs that do nothing but take CPU time."""

    def __init__(self, count):
        self.programs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.kill()
            program.wait()


def measure(program, threads):
    """Of one run: recorded less true share of the first array; error of each thread's share, as a part of it; samples."""
    with nlens.Folder() as folder:
        trace = os.path.join(folder, "it.data")
        ended = nlens.run([nlens.NUMALENS, "record", *OPTIONS, "-o", trace, "--", program, str(threads), str(CPU_MS / threads)])
        assert ended.status == 0, ended
        objects, rows = (json.loads(nlens.run([nlens.NUMALENS, "report", table, "--json", trace]).out) for table in ("objects", "threads"))
    counted = [tuple(map(int, line.split())) for line in ended.out.decode().splitlines()]
    arrays = sorted((row for row in objects["objects"] if row["kind"] == "heap" and row["size"] == 4096 * 8), key=lambda row: row["line"] or 0)
    often, seldom = (row["samples"] for row in arrays[:2])
    true = sum(row[1] for row in counted) / sum(row[1] + row[2] for row in counted)
    return often / (often + seldom) - true, thread_error(counted, rows["threads"]), often + seldom


def thread_error(counted, rows):
    """Threads in order of their start are those in order of their numbers; the first is main, which waits."""
    team = sorted(rows, key=lambda row: row["tid"])[-len(counted):]
    everything, reads = sum(row["samples"] for row in team), sum(row[1] + row[2] for row in counted)
    errors = [row["samples"] / everything - (one[1] + one[2]) / reads for row, one in zip(team, counted)]
    return statistics.mean(abs(error) for error in errors) * len(counted) if everything else float("nan")


def judge(folder):
    """Verdicts; how many of them find nothing where there is a pattern; those that are wrong, in words."""
    judged, silent, wrongs = 0, 0, []
    for program in JUDGED:
        for mode in ("bad", "good"):
            trace = verdicts.record(folder, program, mode, verdicts.topology(max(verdicts.NODES)), bursts=verdicts.BURSTS)
            for nodes in verdicts.NODES:
                wrong, reported = verdicts.judge(program, mode, trace, verdicts.topology(nodes))
                judged += 1
                if wrong and mode == "bad" and reported == verdicts.describe([]):
                    silent += 1
                elif wrong:
                    wrongs.append("%s %s on %d nodes: %s; reported: %s" % (program, mode, nodes, wrong, reported))
    return judged, silent, wrongs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[2])
    parser.add_argument("--busy", default="0,4,16")
    parser.add_argument("--threads", default="1,2,8,64")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--no-verdicts", action="store_true")
    arguments = parser.parse_args()
    all_wrongs = []
    print("| busy programs | threads | bias of a share of 0.75 | spread | mean error of a thread's share | samples a run |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "team")
        subprocess.run(["cc", "-O1", "-g", "-pthread", "-o", program, os.path.join(HERE, "team.c")], check=True)
        for busy in map(int, arguments.busy.split(",")):
            with Busy(busy):
                for threads in map(int, filter(None, arguments.threads.split(","))):
                    runs = [measure(program, threads) for _ in range(arguments.runs)]
                    print("| %d | %d | %+.4f | %.4f | %.1f%% | %d |" % (
                        busy, threads, statistics.mean(run[0] for run in runs), statistics.stdev(run[0] for run in runs),
                        100 * statistics.mean(run[1] for run in runs), statistics.mean(run[2] for run in runs)), flush=True)
                if not arguments.no_verdicts:
                    judged, silent, wrongs = judge(folder)
                    all_wrongs += wrongs
                    print("verdicts beside %d busy programs: %d, %d silent, %d wrong" % (busy, judged, silent, len(wrongs)), *wrongs, sep="\n", file=sys.stderr,
                          flush=True)
    return bool(all_wrongs)


sys.exit(main())
