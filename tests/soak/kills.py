#!/usr/bin/env python3
"""usage: tests/soak/kills.py [KILLS [PAUSES [INTERRUPTS]]]

kill -9 of the program, of the recorder and of both, alternately, at KILLS (500) random moments; then the recorder is stopped for
5 s at PAUSES (20); then SIGINT, SIGTERM and SIGHUP, to both or to the recorder alone, at INTERRUPTS (60). What is checked is in tests/integration/kills.py. The first failure ends it, with the moment."""
import os
import random
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
from kills import interrupt, kill, pause  # noqa: E402
from nlens import Folder  # noqa: E402

kills, pauses, interrupts = (int(sys.argv[i]) if len(sys.argv) > i else usual for i, usual in ((1, 500), (2, 20), (3, 60)))
chance = random.Random()
for number in range(kills):
    whom, delay = ("target", "recorder", "both")[number % 3], chance.random() * 2.5
    print("kill %d: %s after %.3f s" % (number + 1, whom, delay), end="", flush=True)
    with Folder() as folder:
        result = kill(folder, whom, delay)
    print(": %d events; %s" % (result["events"], result["damage"] or "whole"), flush=True)
for number in range(pauses):
    delay = chance.random() * 2
    print("pause %d: after %.3f s" % (number + 1, delay), end="", flush=True)
    with Folder() as folder:
        result, paused = pause(folder, delay, 5)
    print(": %.2f s; %s; lost %d" % (paused, result["gaps"], result["dropped"]["ring_full"]), flush=True)
for turn in range(interrupts):
    number, whom = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[turn % 3], ("both", "recorder")[turn // 3 % 2]
    delay = chance.random() * 2.5
    print("interrupt %d: %s of %s after %.3f s" % (turn + 1, number.name, whom, delay), end="", flush=True)
    with Folder() as folder:
        print(": %d events" % interrupt(folder, number, whom, delay)["events"], flush=True)
print("%d kills, %d pauses, %d interrupts: nothing complete was lost, everything missing was reported, nothing was left behind" %
      (kills, pauses, interrupts))
