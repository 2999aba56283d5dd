#!/usr/bin/env python3
"""What sampling says it costs against what it costs: CPU time of a program with a fixed amount of work, with and without."""
import os
import re

import nlens
from nlens import check

WORK = [os.path.join(nlens.BUILD, "tests", "agent", "target_work"), "3000000", "time"]
GROUP = 3  # runs a side of which the least counts: what else runs makes a run longer, never shorter
# Pairs of groups at most, and how many of them must agree. Were a pair as likely to agree as not, noise alone would leave fewer
# than 3 of 24 once in 55,000 times; where the account is wrong and the machine quiet, none agrees.
PAIRS, ENOUGH = 24, 3
# The account has three parts. What bursts take is measured while they run. What a tick takes was measured before, in a program
# with more data than the caches hold: up to twice what it takes here. And what the program's caches lose is in no account.
FACTOR = 2


def run(*options):
    """The program's CPU time in seconds, and the share of it that sampling is said to have taken."""
    with nlens.Folder() as folder:
        ended = nlens.record(folder, WORK, ["-v", *options])
    reported = re.search(r"sampling took ([0-9.]+)%", ended.err.decode())
    return int(ended.out) / 1e9, float(reported[1]) / 100 if reported else 0.0


def compare(*options):
    """Alternating, so that both sides of a pair meet the same machine."""
    not_less = not_more = pairs = 0
    while min(not_less, not_more) < ENOUGH and pairs < PAIRS:
        both = [(run("--source", "none")[0], run("--source", "soft", *options)) for _ in range(GROUP)]
        least, (cpu, reported) = min(plain for plain, _ in both), min(sampled for _, sampled in both)
        true = 1 - least / cpu
        nlens.note(f"{' '.join(options)}: {least:.3f} s without, {cpu:.3f} s with: {true:.1%}, reported {reported:.1%}")
        assert reported > 0.02, "sampling cost so little that nothing can be said"
        pairs += 1
        not_less += true <= reported * FACTOR
        not_more += reported <= true * FACTOR
    assert min(not_less, not_more) >= ENOUGH, f"of {pairs} pairs, {not_less} are not more than reported and {not_more} not less"


@check("what bursts cost is what they are reported to cost")
def _():
    compare("--frequency", "20000", "--burst", "32", "--budget", "50")


@check("what ticks cost is what they are reported to cost")
def _():
    compare("--frequency", "20000", "--burst", "1", "--budget", "50")


nlens.main()
