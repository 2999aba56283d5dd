#!/usr/bin/env python3
"""The case studies of MemProf (sections 5.2 to 5.5) in small, as docs/case-studies.md shows them: the tables name the
functions and objects that the paper's do, the diagnosis is the paper's, its first advice is what the paper's authors did,
and after that change the finding is absent."""
import collections
import functools
import os
import re

import nlens
from nlens import check


BURSTS = 1000  # of up to 24 threads: each is seen, and shares are known to five points and five standard deviations


class Case:
    """One program before and after the paper's change: tables by name, patterns worst first. Where the programs say which node a
    worker runs on, they count on nodes that are filled one after the other: --assign packed."""

    def __init__(self, name, change, topology, *options, words=()):
        self.source = "%s.c" % name
        self.before = self.run(name, words, topology, options, 1 / 2)
        self.after = self.run(name, (*words, change), topology, options, self.before["longer"])
        if self.after["longer"] != self.before["longer"]:  # as much work, so that they print the same
            self.before = self.run(name, words, topology, options, self.after["longer"])
        assert self.before["stdout"] == self.after["stdout"], "the change changes the result: %s and %s" % (
            self.before["stdout"], self.after["stdout"])

    @staticmethod
    def run(name, arguments, topology, options, longer):
        with nlens.Folder() as folder:
            ended = nlens.record(folder, [nlens.example("case_" + name), *arguments],
                                 ["-F", "2000", "--burst", "14", "--budget", "100", "--topology", topology, "--assign", "packed", "--no-latency", *options],  # in caches here: no advice would be worth it
                                 bursts=BURSTS, longer=longer)
            assert ended.status == 0, ended
            result = {"stdout": ended.out.decode(), "longer": ended.longer}
            for table in ("functions", "sites", "objects", "patterns"):
                rows = nlens.report(ended.trace, table)
                result[table] = rows[table]
                result["remote_ratio"] = rows["remote_ratio"]
            text = nlens.run([nlens.NUMALENS, "report", "patterns", ended.trace])
            assert text.status == 0, text
            result["text"] = text.out.decode()
            advised = nlens.run([nlens.NUMALENS, "advise", ended.trace])
            assert advised.status == 0, advised
            result["advised"] = advised.out.decode()
            return result

    def site(self, name):
        row = nlens.row_at(self.before["sites"], self.source, nlens.site_line("cases/" + self.source, name))
        assert row["variable"] == name, row
        return row

    def finding(self, name):
        found = [row for row in self.before["patterns"] if row["name"] == name]
        assert len(found) == 1, "%d findings on %s: %s" % (len(found), name, [
            (row["pattern"], row["name"]) for row in self.before["patterns"]])
        row = found[0]
        assert os.path.basename(row["file"]) == self.source, row
        assert row["line"] == nlens.site_line("cases/" + self.source, name), row
        place = "%s(%s:%d)" % (name, self.source, row["line"])
        assert place in self.before["text"], "no %s in\n%s" % (place, self.before["text"])
        return row

    def expects(self, words):
        """What advise expects to be remote is what is, after the paper's change."""
        expected = re.search(r"([0-9.]+)%% expected %s$" % words, self.before["advised"], re.MULTILINE)
        assert expected and abs(float(expected[1]) / 100 - self.after["remote_ratio"]) < 0.05, (self.before["advised"], self.after["remote_ratio"])

    def silent_after(self):
        left = [(row["pattern"], row["name"]) for row in self.after["patterns"]]
        assert not left, "after the change there is still %s" % left


def share(row):
    return row["share_of_remote"]


def top_function(case):
    return max(case.before["functions"], key=share)


def actions(row, kind="advice"):
    return [advice["action"] for advice in row[kind]]


@functools.lru_cache(maxsize=None)
def facerec():
    return Case("facerec", "--duplicate", "numa:4 core:2", "--faults")  # which proves that nobody writes the matrix


@functools.lru_cache(maxsize=None)
def streamcluster():
    return Case("streamcluster", "--interleave", "numa:4 core:2", words=("two words",))


@functools.lru_cache(maxsize=None)
def psearchy():
    return Case("psearchy", "--local", "numa:4 core:2")


@functools.lru_cache(maxsize=None)
def apache():
    return Case("apache", "--pin", "numa:4 core:8")


@check("FaceRec, tables 1 and 2: one function, and of its 193 matrices one object, s->basis")
def facerec_tables():
    case = facerec()
    assert case.before["stdout"].startswith("193 matrices"), case.before["stdout"]
    top = top_function(case)
    assert top["function"] == "transpose_multiply" and share(top) > 0.9, top
    basis = case.site("s->basis")
    assert share(basis) > 0.9 and basis["via"] == "make_matrix" and basis["count"] == 1, basis
    objects = [row for row in case.before["objects"] if share(row) > 0.02]
    assert len(objects) == 1 and objects[0]["name"] == basis["name"], nlens.describe(objects)


@check("FaceRec: read only by all nodes at once, so a copy on each node; then hardly anything is remote")
def facerec_diagnosis():
    case = facerec()
    row = case.finding("s->basis")
    assert case.before["patterns"][0]["name"] == "s->basis", case.before["text"]
    assert row["pattern"] == "concurrent-remote" and share(row) > 0.9, row
    assert actions(row)[0] == "duplicate", row
    assert "migrate" in actions(row, "against"), row
    case.silent_after()
    assert case.after["remote_ratio"] < 0.05 < 0.3 < case.before["remote_ratio"], (case.before["remote_ratio"],
                                                                                  case.after["remote_ratio"])
    case.expects("with the copies in the source instead")
    for line in ("# better in the source: a copy on each node:\n# /* ", "\n#     memcpy(copy[node], s->basis, size);\n"):
        assert line in case.before["advised"], case.before["advised"]


@check("Streamcluster, tables 3 and 4: dist and one array, block")
def streamcluster_tables():
    case = streamcluster()
    assert {row["function"] for row in case.before["functions"] if share(row) > 0.02} == {"dist", "shift"}
    block = case.site("block")
    assert share(block) > 0.8, block
    assert block["homes"] == {"0": block["samples"]}, "main filled it, on node 0: %s" % block
    both = [thread for thread in block["threads"] if thread["reads"] and thread["writes"]]
    assert len(both) >= 7, "all threads read and write it: %s" % block


@check("Streamcluster: written by all nodes at once, so interleave, not copy, not move")
def streamcluster_diagnosis():
    case = streamcluster()
    row = case.finding("block")
    assert row["pattern"] == "concurrent-remote" and actions(row)[0] == "interleave", row
    assert {"duplicate", "migrate"} <= set(actions(row, "against")), row
    assert any(row["pattern"] == "saturated-node" and row["node"] == 0 for row in case.before["patterns"])
    plan = case.before["advised"]
    assert re.search(r"^# one line does nearly the same: numactl --interleave=all \S+/case_streamcluster 'two words'$", plan, re.MULTILINE) and " copy " not in plan, plan
    case.silent_after()
    homes = nlens.row_at(case.after["sites"], case.source, nlens.site_line("cases/" + case.source, "block"))["homes"]
    assert len(homes) == 4 and max(homes.values()) < 0.5 * sum(homes.values()), homes


@check("Psearchy, tables 5 and 6: three types of object, each object used by the thread that made it")
def psearchy_tables():
    case = psearchy()
    assert {row["function"] for row in case.before["functions"] if share(row) > 0.05} == {"pass0", "sort_words"}
    rows = [case.site(name) for name in ("ps.table", "ps.blocks", "tmp")]
    assert sum(share(row) for row in rows) > 0.95, rows
    assert all(row["count"] == 448 for row in rows), rows
    for row in case.before["objects"]:
        if row["kind"] == "heap":
            assert [thread["tid"] for thread in row["threads"]] == [row["alloc_tid"]], row


@check("Psearchy: private things mixed in pages, so pages of its own for each thread; then nothing is remote")
def psearchy_diagnosis():
    case = psearchy()
    for name in ("ps.table", "ps.blocks", "tmp"):
        row = case.finding(name)
        assert row["pattern"] == "mixed-pages" and actions(row)[0] == "separate-pages", row
        assert {"duplicate", "migrate", "interleave"} <= set(actions(row, "against")), row
    assert not any(row["pattern"] == "saturated-node" for row in case.before["patterns"]), case.before["text"]
    case.silent_after()
    assert case.after["remote_ratio"] < 0.02, case.after["remote_ratio"]
    case.expects("with this plan")
    assert "numactl" not in case.before["advised"], case.before["advised"]
    assert "\nthread * @ distribute\n" in case.before["advised"], "a thread that moves leaves what is local to it\n" + case.before["advised"]


@check("Apache, table 7: pools that one function makes, each used by the threads of one process")
def apache_tables():
    case = apache()
    pool = case.site("pool")
    assert share(pool) > 0.8 and pool["count"] == 48, pool
    users = {}
    for row in case.before["objects"]:
        if row["line"] == pool["line"]:
            of = users.setdefault(row["pid"], collections.Counter())
            for thread in row["threads"]:
                of[thread["tid"]] += thread["samples"]
    # A process's first thread looks at them in the end, for some microseconds: a burst may fall there. A worker has a sixth.
    workers = [[tid for tid, samples in of.items() if samples > 0.05 * sum(of.values())] for of in users.values()]
    assert [len(tids) for tids in workers] == [6] * 4, "four processes have six workers each: %s" % users


@check("Apache: the threads of a process share, so run them on one node; then hardly anything is remote")
def apache_diagnosis():
    case = apache()
    row = case.finding("pool")
    assert case.before["patterns"][0]["name"] == "pool", case.before["text"]
    assert row["pattern"] in ("concurrent-remote", "alternate-remote"), row
    assert actions(row)[0] == "pin-together" and "process" in row["advice"][0]["why"], row
    assert "interleave" in actions(row, "against"), row
    case.silent_after()
    assert case.after["remote_ratio"] < 0.1 < 0.5 < case.before["remote_ratio"], (case.before["remote_ratio"],
                                                                                 case.after["remote_ratio"])
    case.expects("with this plan")
    assert "\nthread * @ together\n" in case.before["advised"], case.before["advised"]


nlens.main()
