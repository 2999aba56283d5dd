"""What examples/pages say of their use of pages, and whether a report agrees. Used here and by the guest's tests."""
import re

PAGE = 4096


class Truth:
    """The lines a program printed: arrays {name: (start, pages)}, uses [(name, tid, first, pages, reads, writes)]."""

    def __init__(self, text):
        self.arrays = {name: (int(start, 16), int(pages)) for name, start, pages in
                       re.findall(r"truth array=(\w+) start=(\w+) pages=(\d+)", text)}
        self.uses = [(name, int(tid), int(first), int(pages), reads == "1", writes == "1") for
                     name, tid, first, pages, reads, writes in
                     re.findall(r"truth use array=(\w+) thread=(\d+) first=(\d+) pages=(\d+) reads=(\d) writes=(\d)", text)]

    def pages(self, name, first=0, count=None):
        start, pages = self.arrays[name]
        return {start + (first + i) * PAGE for i in range(pages if count is None else count)}

    def users(self, address):
        """{tid: (reads, writes)} of a page."""
        found = {}
        for name, tid, first, pages, reads, writes in self.uses:
            if address in self.pages(name, first, pages):
                before = found.get(tid, (False, False))
                found[tid] = (before[0] or reads, before[1] or writes)
        return found


def rows_by_page(report):
    """The report's rows, one for each small page; those of a process and of its child at the same place are one."""
    found = {}
    for row in report["pages"]:
        for page in range(row["page"], row["page"] + row["size"], PAGE):
            both = found.get(page)
            found[page] = row if both is None else {**both, "threads": both["threads"] + row["threads"],
                                                    "intervals": both["intervals"] + row["intervals"]}
    return found


def wrong(truth, report, nothing_extra=True):
    """What the report says that is not so: pages, threads, directions. An empty list when all of it is true."""
    found, complaints = rows_by_page(report), []
    for name in truth.arrays:
        for page in sorted(truth.pages(name)):
            row, users = found.get(page), truth.users(page)
            if row is None:
                continue
            if not users and nothing_extra:
                complaints.append("page %#x of %s was never touched" % (page, name))
            for thread in row["threads"]:
                reads, writes = users.get(thread["tid"], (False, False))
                if thread["tid"] is None and users:
                    reads, writes = (any(u[i] for u in users.values()) for i in (0, 1))
                elif thread["tid"] not in users:
                    complaints.append("page %#x of %s: not used by thread %s" % (page, name, thread["tid"]))
                    continue
                if thread["reads"] and not reads:
                    complaints.append("page %#x of %s: thread %s does not read it" % (page, name, thread["tid"]))
                if thread["writes"] and not writes:
                    complaints.append("page %#x of %s: thread %s does not write it" % (page, name, thread["tid"]))
    return complaints


def recall(truth, report, direction, least_intervals=1):
    """The part of pages used in that direction ("reads", "writes" or "any") which the report has."""
    found, wanted, got = rows_by_page(report), 0, 0
    for name, _, first, pages, reads, writes in truth.uses:
        if direction == "any" or (reads if direction == "reads" else writes):
            for page in truth.pages(name, first, pages):
                wanted += 1
                row = found.get(page)
                got += row is not None and row["intervals"] >= least_intervals and (
                    direction == "any" or any(thread[direction] for thread in row["threads"]))
    return got / wanted if wanted else 1.0


def recall_of_threads(truth, report):
    """The part of (page, thread, direction) that the report has."""
    found, wanted, got = rows_by_page(report), 0, 0
    for name, tid, first, pages, reads, writes in truth.uses:
        for page in truth.pages(name, first, pages):
            threads = {t["tid"]: t for t in found.get(page, {"threads": []})["threads"]}
            for direction, used in (("reads", reads), ("writes", writes)):
                wanted += used
                got += used and tid in threads and threads[tid][direction] > 0
    return got / wanted if wanted else 1.0
