"""Every access of a recording made in a guest, and what a placement implies for each of them."""
import collections
import csv
import io
import math
import subprocess

import guest_build

Access = collections.namedtuple("Access", "tid kind object address offset source home")
PAGE = 4096
SOURCES = {"cluster": 0, "mem0-cpu0": 0, "mem0-cpu1": 1}  # placements on one node of CPUs, with memory on node 0
SURE = 5  # standard deviations: one check in 1.7 million fails by chance


def read(trace):
    """From what the program `accesses` prints of a trace. Nodes that are not known are None."""
    text = subprocess.run([guest_build.NATIVE / "tests/guest/accesses", trace], text=True, stdout=subprocess.PIPE).stdout

    def node(field):
        return int(field) if field else None

    return [Access(int(row["tid"]), row["kind"], row["object"], int(row["address"], 16),
                   int(row["offset"] or 0), node(row["from"]), node(row["home"])) for row in csv.DictReader(io.StringIO(text))]


def heap(accesses):
    """The program's own data, where its node is known: some page may be unmapped before the recorder could ask for it. Pages
    of files are where they were first read."""
    return [access for access in accesses if access.kind == "heap" and access.home is not None]


def are_known(accesses):
    """Whether most homes are: those of a block that is freed before its pages are asked for are not, and that may be some bursts of
    a few dozen. Without the question none is known."""
    return sum(access.home is not None for access in accesses) > 0.5 * len(accesses) > 0


def elsewhere(accesses, source, home):
    """Those that do not go from that node (or None: any) to that one."""
    return [access for access in accesses if access.home != home or (source is not None and access.source != source)]


def judge_bound(tap, title, accesses, placement):
    source = SOURCES[placement]
    wrong = elsewhere(accesses, source, 0)
    tap.check(title + f"every access goes from node {source} to node 0", accesses and not wrong, *wrong[:5])


def remote_share(accesses):
    """The remote share, and its standard deviation. Accesses to one page go to one node: the page is the unit (the variance is
    that of a ratio of two sums over pages)."""
    remote, all_of = collections.Counter(), collections.Counter()
    for access in accesses:
        all_of[access.address // PAGE] += 1
        remote[access.address // PAGE] += access.home != access.source
    whole = sum(all_of.values())
    if not whole:
        return 0, 1
    share = sum(remote.values()) / whole
    return share, math.sqrt(sum((remote[page] - share * count) ** 2 for page, count in all_of.items())) / whole


def is_near(accesses, expected, at_most=0.08):
    """Whether the remote share is what is expected, by no more than chance; and whether chance is small enough to judge."""
    share, deviation = remote_share(accesses)
    return deviation <= at_most and abs(share - expected) <= SURE * deviation


def nodes_of_threads(accesses):
    """{thread: nodes it was seen on}"""
    nodes = collections.defaultdict(set)
    for access in accesses:
        nodes[access.tid].add(access.source)
    return nodes
