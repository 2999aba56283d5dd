#!/usr/bin/env python3
"""What sampling says it costs against what it costs: CPU time of a program with a fixed amount of work, with and without."""
import os
import re

import nlens
from nlens import check

WORK = [os.path.join(nlens.BUILD, "tests", "agent", "target_work"), "3000000", "time"]
ROUNDS = (5, 24)  # at least, at most
# The account has three parts. What bursts take is measured while they run. What a tick takes was measured before, in a program
# with more data than the caches hold: up to twice what it takes here. And what the program's caches lose is in no account.
FACTOR = 2


def run(*options):
    """The program's CPU time in seconds, and the share of it that sampling is said to have taken."""
    with nlens.Folder() as folder:
        ended = nlens.record(folder, WORK, ["-v", *options])
    reported = re.search(r"sampling took ([0-9.]+)%", ended.err.decode())
    return int(ended.out) / 1e9, float(reported[1]) / 100 if reported else 0.0


def distance(runs, least):
    """How far the third least is from the least, of it: more rounds make it smaller, whatever else the machine does."""
    return sorted(runs)[2] / least - 1


def compare(*options):
    """Alternating, so that both sides meet the same machine; what else runs makes a run longer, never shorter. So many rounds
    until the least of each is known better than what is looked for."""
    plain, sampled = [], []
    while True:
        plain.append(run("--source", "none")[0])
        sampled.append(run("--source", "soft", *options))
        if len(plain) < ROUNDS[0]:
            continue
        (cpu, reported), least = min(sampled), min(plain)
        true = 1 - least / cpu
        noise = distance(plain, least) + distance([one for one, _ in sampled], cpu)
        if noise < true / 4 or len(plain) >= ROUNDS[1]:
            break
    nlens.note(f"{' '.join(options)}: {least:.3f} s without, {cpu:.3f} s with: {true:.1%}, reported {reported:.1%}, noise {noise:.1%}, "
               f"{len(plain)} rounds")
    assert reported > 0.02, "sampling cost so little that nothing can be said"
    if noise >= max(true, reported) / 2:
        raise nlens.Skip("CPU times differ by %.0f%% from run to run: nothing can be said of %.0f%%" % (100 * noise, 100 * reported))
    assert (true - noise) / FACTOR <= reported <= (true + noise) * FACTOR


@check("what bursts cost is what they are reported to cost")
def _():
    compare("--frequency", "20000", "--burst", "32", "--budget", "50")


@check("what ticks cost is what they are reported to cost")
def _():
    compare("--frequency", "20000", "--burst", "1", "--budget", "50")


nlens.main()
