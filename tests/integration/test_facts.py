#!/usr/bin/env python3
"""What numalens says is true of an object is true: programs that have a fact and twins that have not, on 2, 4 and 8 nodes.
Pages that move need real nodes: tests/guest/test_patterns.py."""
import os
import re

import nlens
import verdicts
from nlens import check, note

# These programs are short and have up to nine threads: with so many bursts each is seen for certain, at all that it does. Bursts are
# short, so that a thread's ring holds many: a recorder that has to wait for a CPU loses none.
OFTEN = ["-F", "4000", "--burst", "8", "--budget", "100"]
BURSTS = 1000
# What these do depends on how long it takes, or is no more than needed; of the others half of their usual work will do.
WHOLE = ("first_far_use", "alternate_remote", "phases", "false_sharing")


class Recording:
    """A run of one of the programs, to be asked for the facts of the objects that one of its lines makes."""

    def __init__(self, folder, program, mode, *arguments):
        ended = nlens.record(folder, [nlens.example("patterns/" + program), mode, *arguments],
                             ["-q", "--topology", verdicts.topology(8), *OFTEN], bursts=BURSTS,
                             longer=1 if program in WHOLE else 1 / 2)
        assert ended.status == 0, "record failed: %s" % ended
        self.ids = {}
        self.trace, self.out, self.what = ended.trace, ended.out.decode(), "%s %s" % (program, mode)
        self.source = "patterns/%s.c" % program

    def lost(self):
        """Events that could not be kept; on a busy machine page faults may come faster than they are taken."""
        return sum(nlens.report(self.trace)["dropped"].values())

    def rows(self, table, site, nodes):
        line = nlens.site_line(self.source, site)
        rows = nlens.report(self.trace, table, "--topology", verdicts.topology(nodes))[table]
        found = [row for row in rows if row["line"] == line and os.path.basename(row["file"]) == self.source[9:]]
        assert found, "%s: nothing at line %d; there are:\n%s" % (self.what, line, nlens.describe(rows))
        return found

    def objects(self, site, nodes, most=None):
        """Every object of that line, or so many of them: [(row, all facts)]. Their numbers are the same on every machine."""
        if site not in self.ids:
            self.ids[site] = [row["id"] for row in self.rows("objects", site, nodes)]
        result = []
        for number in self.ids[site][:most]:
            reported = nlens.report(self.trace, "object", str(number), "--topology", verdicts.topology(nodes))
            result.append((reported["objects"][0], reported["objects"][0]["facts"]))
        return result

    def object(self, site, nodes):
        found = self.objects(site, nodes)
        assert len(found) == 1, "%s: %d objects" % (self.what, len(found))
        return found[0]

    def facts(self, site, nodes):
        return self.object(site, nodes)[1]


def each(program, *modes, arguments=()):
    """Each mode's recording with each number of nodes: (mode, recording, nodes)."""
    for mode in modes:
        with nlens.Folder() as folder:
            recording = Recording(folder, program, mode, *arguments)
            for nodes in verdicts.NODES:
                yield mode, recording, nodes


def same(what, got, wanted):
    assert got == wanted, "%s is %s, truly %s" % (what, got, wanted)


def thread_names(row):
    return {thread["tid"]: thread["name"] for thread in row["threads"]}


@check("read-only, read-mostly and written")
def use():
    for mode, recording, nodes in each("use", "read-only", "read-mostly", "written"):
        same("use", recording.facts("table", nodes)["use"], mode)


@check("who writes: one thread, or all")
def writers():
    for mode, recording, nodes in each("writers", "one", "all"):
        row, facts = recording.object("table", nodes)
        same("writers", facts["writers"], 1 if mode == "one" else 8)
        names = thread_names(row)
        wrote = {names[user["tid"]] for user in facts["users"] if user["writes"] > user["init"]}
        same("who writes", wrote, {"worker %d" % i for i in ([1] if mode == "one" else range(1, 9))})


@check("private to a thread, to a node, or shared")
def sharing():
    for mode, recording, nodes in each("sharing", "thread", "node", "shared"):
        facts = recording.facts("table", nodes)
        same("sharing", facts["sharing"], mode)
        same("using threads", facts["using_threads"], {"thread": 1, "node": 2, "shared": 9}[mode])
        same("using nodes", facts["using_nodes"], nodes if mode == "shared" else 1)


@check("the allocating thread and the using one, their nodes")
def allocator():
    for mode, recording, nodes in each("remote_after_allocation", "bad", "good"):
        found = recording.objects("buffer", nodes, 8 if nodes == 8 else 3)
        same("number of buffers", len(recording.ids["buffer"]), 8)
        for row, facts in found:
            user = int(re.fullmatch(r"worker (\d)", row["threads"][0]["name"])[1])
            same("main user", facts["main_user_tid"], row["threads"][0]["tid"])
            same("node of the user", facts["main_user_node"], user % nodes)
            same("node of the allocator", facts["alloc_node"], 0 if mode == "bad" else user % nodes)
            same("node of the pages", facts["main_home"], 0 if mode == "bad" else user % nodes)
            same("the user allocated it", facts["alloc_tid"] == facts["main_user_tid"], mode == "good")
            same("the user touched it first", facts["toucher_tid"] == facts["main_user_tid"], mode == "good")
            same("the allocator uses it", facts["alloc_thread_samples"] > 0, mode == "good")


@check("time to the first remote use")
def first_remote():
    for mode, recording, nodes in each("first_far_use", "soon", "late", "never", arguments=["--truth"]):
        first = recording.facts("buffer", nodes)["first_remote_s"]
        truth = re.search(r"far_from_ns=(\d+) far_to_ns=(\d+)", recording.out)
        begin, end = int(truth[1]) / 1e9, int(truth[2]) / 1e9
        note("%s on %d nodes: first remote use after %s s, truly between %.4f and %.4f s" % (mode, nodes, first, begin, end))
        if mode == "never":
            same("first remote use", first, None)
        else:
            assert first is not None and begin - 0.001 <= first <= end, "first remote use after %s s" % first


@check("turns, and how many: the number of the paper's Figure 3")
def turns():
    apart = {}
    for _, recording, nodes in each("alternate_remote", "bad"):
        facts = recording.facts("array", nodes)
        same("concurrency", facts["concurrency"], "disjoint")
        # 16 turns of threads of 80 ms; the one who fills the array may count as one more
        assert facts["switches"] in (15, 16), facts["switches"]
        assert facts["switch_s"] > 0.07, facts["switch_s"]
        apart[nodes] = facts["overlap"]
        note("in turns: %d changes of thread, %.3f s apart" % (facts["switches"], facts["switch_s"]))
    for _, recording, nodes in each("concurrent_remote", "bad"):
        facts = recording.facts("table", nodes)
        same("concurrency", facts["concurrency"], "concurrent")
        note("concurrent: %d changes of thread, %.6f s apart" % (facts["switches"], facts["switch_s"]))
        assert facts["switches"] > 50, facts["switches"]
        assert facts["overlap"] > apart[nodes], (facts["overlap"], apart[nodes])


@check("pages, the nodes they lie on, and who touched them first")
def pages():
    for mode, recording, nodes in each("far_initialised", "bad", "good"):
        row, facts = recording.object("grid", nodes)
        count, lost = 8 * (1 << 20) * 8 // 4096, recording.lost()
        assert count - lost <= facts["pages"] <= count + 1, "%d pages, %d events lost" % (facts["pages"], lost)
        same("moved", facts["pages_moved"], 0)
        same("nodes", sorted(row["homes"]), ["0"] if mode == "bad" else sorted(str(n) for n in range(nodes)))
        touched = sorted(user["touched"] for user in facts["users"] if user["touched"] > 2)
        if mode == "bad":
            assert len(touched) == 1 and touched[0] >= count - lost, touched
        else:
            assert len(touched) == 8 and touched[0] >= count // 8 - 2 - lost, touched


@check("pages with private objects of several nodes' threads on them")
def mixed():
    for mode, recording, nodes in each("mixed_pages", "bad", "good"):
        facts = recording.rows("sites", "record", nodes)[0]["facts"]
        same("all private", facts["private_instances"], facts["instances"])
        if mode == "bad":
            assert facts["mixed_pages"] > facts["pages"] / 4, facts
        else:
            same("mixed pages", facts["mixed_pages"], 0)


@check("false sharing: other bytes of the same line; not the same bytes, not other lines")
def false_sharing():
    for mode, recording, nodes in each("false_sharing", "bad", "good", "same"):
        row, facts = recording.object("counters", nodes)
        false, true = (facts[key] / row["samples"] for key in ("false_sharing", "true_sharing"))
        note("%s: false %.2f, true %.2f" % (recording.what, false, true))
        assert false > 0.9 if mode == "bad" else false == 0, false
        assert true > 0.9 if mode == "same" else true == 0, true
        same("there is a worst line", facts["worst_line"] is not None, mode == "bad")


@check("sequential, strided, random")
def shape():
    for mode, recording, nodes in each("shape", "sequential", "strided", "random"):
        facts = recording.facts("matrix", nodes)
        same("shape", facts["shape"], mode)
        if mode != "random":
            same("stride", facts["stride"], 8 if mode == "sequential" else 520 * 8)


@check("phases in which an object is hot")
def phases():
    for mode, recording, nodes in each("phases", "twice", "throughout"):
        facts = recording.facts("plan", nodes)
        note("%s: %s" % (mode, facts["phases"]))
        same("phases", len(facts["phases"]), 2 if mode == "twice" else 1)


nlens.main()
