"""What traffic_kernels.c knows of itself: the kernels, where their arrays are allocated, what they count."""
import os

import nlens

KERNELS = os.path.join(nlens.BUILD, "tests", "integration", "traffic_kernels")
SOURCE = "traffic_kernels.c"
LINE = 64


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
