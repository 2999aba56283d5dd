"""What traffic_kernels.c knows of itself: the kernels, where their arrays are allocated, what they count."""
import os

import nlens
from nlens import Skip, record, report

KERNELS = os.path.join(nlens.BUILD, "tests", "integration", "traffic_kernels")
SOURCE = "traffic_kernels.c"
LINE = 64
# An idle machine has 24 in the two seconds, a busy one 12 to 15, and three more each time it takes twice as long. Of 8, few last long
# enough for a cache of 2 MiB.
LONG_BURSTS = 12
OFTEN = ["--budget", "20"]


def sites():
    """{array: the line of the source that allocates it}"""
    with open(os.path.join(nlens.SOURCE, "tests", "integration", SOURCE)) as stream:
        return {line.split("site: ")[1].split()[0]: number for number, line in enumerate(stream, 1) if "site: " in line}


def counted(ended, seconds):
    """{array: (read, written)} by the kernel's own count, bytes per second."""
    truth = {}
    for words in map(str.split, ended.out.decode().splitlines()):
        if words[0] != "took":
            read, written = truth.get(words[0], (0, 0))
            truth[words[0]] = (read + int(words[1]) * LINE / seconds, written + int(words[2]) * LINE / seconds)
    return truth


def recorded(folder, kernel, mib, threads="1", options=(), known=0):
    """A recording with so many long bursts, so long that they know caches of `known` bytes, and what `report traffic` says of it."""
    if not os.path.exists(KERNELS):
        raise Skip("the kernels were not built here")
    seconds = 2
    while True:
        ended = record(folder, [KERNELS, kernel, mib, str(seconds), threads], [*OFTEN, *options])
        assert ended.status == 0, ended
        answer = report(ended.trace, "traffic")
        if report(ended.trace)["session"].get("traffic") == "no":
            raise Skip("there is no tick by perf here")
        if answer["long_bursts"] >= LONG_BURSTS and answer["known_up_to_bytes"] >= known:
            return ended, answer
        seconds *= 2
        assert seconds < 100, "%d long bursts, caches known up to %d bytes of %d" % (
            answer["long_bursts"], answer["known_up_to_bytes"], known)
