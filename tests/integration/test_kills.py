#!/usr/bin/env python3
"""kill -9 of the program, of the recorder and of both at random moments, and a recorder that is stopped for a while: every
complete block is there, and what is missing is reported with its time. tests/soak/kills.py does it hundreds of times."""
import random
import signal

import nlens
from kills import interrupt, kill, pause
from nlens import Folder, check, note

MOMENTS = (0.06, 1, 1)  # seconds at most: the first is before anything or little is written
PAUSES = 1


def at_random_moments(whom):
    def body():
        chance = random.Random(whom)
        for most in MOMENTS:
            delay = most * chance.random()
            with Folder() as folder:
                result = kill(folder, whom, delay)
                note("after %.2f s: %d events, %s" % (delay, result["events"], result["damage"]))
    return body


for _whom in ("target", "recorder", "both"):
    check("kill -9 of %s at random moments: every complete block is there, the rest is named" % _whom)(
        at_random_moments(_whom))


@check("Ctrl-C, SIGTERM and SIGHUP, to both or to the recorder alone: both end, the file is whole, nothing is left")
def interrupted():
    chance = random.Random(3)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for whom in ("both", "recorder"):
            with Folder() as folder:
                interrupt(folder, number, whom, chance.random() / 2)


@check("a recorder that is stopped for 2 s: recording goes on after it, and the report has the time that is missing")
def stopped():
    chance = random.Random(5)
    for _ in range(PAUSES):
        with Folder() as folder:
            result, paused = pause(folder, chance.random(), 2)
            note("%.1f s: %s, lost %s" % (paused, result["gaps"], result["dropped"]["ring_full"]))


nlens.main()
