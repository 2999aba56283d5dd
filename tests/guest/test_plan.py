#!/usr/bin/env python3
"""apply on four real nodes, and compare with a plan, the kernel's weights and its balancing: memory of every kind that a plan can place is on its nodes when it is first touched, as the kernel says; also
where the kernel refuses memory policies, as in a container. Then a program to which far memory is dear (programs/far_costs.c), by a clock
that counts instructions: what is remote as it is, what advise expects, what is remote under its plan; and what optimize keeps of plans that
help, harm and do nothing."""
import json
import re
import sys

import guest_accesses
import guest_build
import guest_case

PAGES = 1024
PLAN = """numalens plan 1
static in_bss @ bind 2
static in_data @ interleave 1,3
site bound_block @ bind 3
site spread_block @ interleave all
site split_block @ split all
site weighted_block @ weighted 1:3,2:1
site grown_block @ preferred 1
site small_block @ bind 2
site local_block @ local
site helper > left_caller @ bind 1
site helper > right_caller @ bind 2
site mapped_block @ preferred 3
shm buffers @ interleave 2-3
shm sysv:0x00001234 @ bind 1
file */data.bin @ bind 2
thread worker @ distribute
thread other_worker @ node 3
stack other_worker @ bind 1
"""
FOUR = list(range(4))
THREADS = {"together": "thread * @ together", "cluster": "thread * @ cluster", "cpus": "thread show_node @ cpus 2"}
FULL = {"full-split": "split 2,3", "full-bind": "bind 2"}  # the first one takes what room there is
# Shares of the pages on nodes 0 to 3.
EXPECTED = {"bss": (0, 0, 1, 0), "data": (0, .5, 0, .5), "bound": (0, 0, 0, 1), "spread": (.25,) * 4, "split": (.25,) * 4,
            "weighted": (0, .75, .25, 0), "grown": (0, 1, 0, 0), "left": (0, 1, 0, 0), "right": (0, 0, 1, 0), "mapped": (0, 0, 0, 1),
            "small": (0, 0, 1, 0), "small-again": (0, 0, 1, 0), "stack": (0, 1, 0, 0), "memfd": (0, 0, .5, .5), "sysv": (0, 1, 0, 0), "file": (0, 0, 1, 0)}


def script(build):
    numalens, program = build / "src/cli/numalens", build / "tests/guest/placed"
    lines = ["cd /tmp", "echo 0 >/proc/sys/kernel/numa_balancing", f"cat >plan <<'EOF'\n{PLAN}EOF",
             "taskset 1 dd if=/dev/zero of=data.bin bs=1M count=4 2>/dev/null", "sync"]

    def run(name, *words):
        lines.extend(guest_case.run_lines(name, *words))

    run("plain", "taskset", "1", program, "data.bin")
    run("applied", numalens, "apply", "--json", "/root/out/applied.json", "plan", "--", program, "data.bin")
    # Under compare: recorded, with a plan; then the kernel's balancing, and weights of 1, 3, 1, 1.
    lines.append("echo 3 >/sys/kernel/mm/mempolicy/weighted_interleave/node1")
    for name in ("plan:plan", "weighted", "local,balancing-on,balancing-off"):
        run(name.split(":")[0].split(",")[0], numalens, "compare", "-q", "--repeat", "1", "--placements", name, "--", program, "data.bin",
            f"/root/out/{name.split(':')[0].split(',')[0]}.pages")
    lines.append("cat /proc/sys/kernel/numa_balancing >/root/out/balancing")
    run("refused", program, "--refused", numalens, "apply", "--json", "/root/out/refused.json", "plan", "--", program, "data.bin")
    lines.append("printf 'numalens plan 1\\nfile */data.bin @ split all\\n' >several")
    run("several", program, "--refused", numalens, "apply", "--json", "/root/out/several.json", "several", "--", program, "data.bin")
    # In memory already, on one of the nodes that it is wanted on: a file of the root, which is memory, cannot be dropped.
    lines += ["taskset 1 cp data.bin there.bin", "printf 'numalens plan 1\\nfile */there.bin @ interleave all\\n' >there"]
    run("there", numalens, "apply", "-q", "there", "--", program, "there.bin")
    # On a node that has room for less than half of it: huge pages have been taken for nobody there.
    lines += ["echo 1000 >/sys/devices/system/node/node2/hugepages/hugepages-2048kB/nr_hugepages",
              "free=$(sed -n 's/.*MemFree: *\\([0-9]*\\) kB/\\1/p' /sys/devices/system/node/node2/meminfo)",
              "dd if=/dev/zero of=full.bin bs=1M count=$((free / 1024 * 2 + 32)) 2>/dev/null"]
    for name, placement in FULL.items():
        lines.append(f"printf 'numalens plan 1\\nfile */full.bin @ {placement}\\n' >{name}")
        run(name, numalens, "apply", "--json", f"/root/out/{name}.json", name, "--", program, "--file", "full.bin")
    lines += ["rm full.bin", "echo 0 >/sys/devices/system/node/node2/hugepages/hugepages-2048kB/nr_hugepages"]
    for name, entry in THREADS.items():
        lines.append(f"printf 'numalens plan 1\\n{entry}\\n' >{name}.threads")
        run(name, numalens, "apply", "-q", f"{name}.threads", "--", program, "--threads")
    return "\n".join(lines) + "\nexit 0\n"


def rows(text):
    found, places = {}, {"worker": [], "other": [], "local": []}
    for line in text.splitlines():
        words = line.split()
        if words[0] in ("worker", "other"):
            places[words[0]].append(int(words[1]))
        elif words[0] == "local":
            places["local"].append([int(word) for word in words[1:6]])
        elif words[0] not in ("sum", "balancing"):
            found[words[0]] = [int(word) for word in words[1:]]
    return found, places


def judge_pages(tap, results, name, skipped=(), output="out"):
    tap.is_equal(f"{name}: the program runs to its end", results.status(name), 0)
    found, places = rows(results.text(f"{name}.{output}"))
    for kind, shares in EXPECTED.items():
        if kind in skipped:
            continue
        pages = found.get(kind, [0] * 5)
        known = sum(pages[:4]) or 1
        near = all(abs(count / known - share) <= 0.02 for count, share in zip(pages, shares))
        tap.check(f"{name}: {kind}: every page is on its node at the first touch", near and pages[4] <= known // 50, pages, shares)
    tap.is_equal(f"{name}: split: one part on each node, in order", found.get("split", [])[5:], sorted(FOUR * 4))
    tap.is_equal(f"{name}: worker threads are on the nodes in turn, the other one on its own", places["worker"] + places["other"],
                 [0, 1, 3])
    for node, pages in enumerate(places["local"]):
        tap.check(f"{name}: blocks that are local to their thread are on its node", pages[node] and pages[node] == sum(pages), pages)


def judge_entries(tap, results, name, ways):
    answer = json.loads(results.text(f"{name}.json") or "{}")
    for entry in answer.get("entries", []):
        tap.check(f"{name}: {entry['kind']} {entry['site']}: applied, by {entry['by']}",
                  entry["applied"] and entry["by"] in ways and not entry["reason"], entry)
    tap.is_equal(f"{name}: all entries are reported", len(answer.get("entries", [])), len(PLAN.splitlines()) - 1)


SITE = "far_costs.c:%d" % (1 + next(number for number, line in enumerate(open(guest_case.RUN.parent / "programs/far_costs.c"))
                                  if "site: data" in line))
# What is tried, and whether it is right to keep it.
TRIED = {"helps": (f"site {SITE} @ split 1:1,2:1,3:1,0:1\nthread * @ distribute\n", True),
         "harms": (f"site {SITE} @ bind 3\nthread work @ node 0\n", False), "nothing": ("thread main @ cpus 0-3\n", False)}
OFTEN = ["-q", "--frequency=1000", "--burst=4", "--budget=90"]


def costs_script(build):
    numalens, program = build / "src/cli/numalens", build / "tests/guest/far_costs"
    lines = ["cd /tmp", "echo 0 >/proc/sys/kernel/numa_balancing"]
    for name, (entries, _) in TRIED.items():
        lines.append(f"cat >{name} <<'EOF'\nnumalens plan 1\n{entries}EOF")
        lines.extend(guest_case.run_lines(name, numalens, "optimize", "--plan", name, f"--json=/root/out/{name}.json", "--", program, "own"))
    lines.extend(guest_case.run_lines("search", numalens, "optimize", "--runs", "4", "--numa-balancing", "-o", "/root/out/kept", "--json=/root/out/search.json", "--", program,
                                      "own", "--rounds=250000"))
    lines.append("cat /proc/sys/kernel/numa_balancing >/root/out/balancing")
    # Ctrl-C when the plan was faster and something else is tried. A command in the background would ignore it.
    stopped = guest_case.run_lines("stopped", "sh", "-c", 'echo $$ >pid; exec "$@"', "sh", numalens, "optimize", "--runs", "8", "-o", "/root/out/stopped.kept",
                                   "--json=/root/out/stopped.json", "--", program, "own", "--rounds=250000")
    lines.append("(while ! grep -q 'interleave: pair 1 ' /root/out/stopped.err; do sleep 0.1; done; kill -INT $(cat pid)) &")
    lines.extend(stopped)
    for name, words in (("before", ()), ("advise", ()), ("after", (numalens, "apply", "-q", "/root/out/plan", "--"))):
        record = (*words, numalens, "record", *OFTEN, "-o", f"/root/out/{name}.data", "--", program, "own")
        advise = (numalens, "advise", "-o", "/root/out/plan", "/root/out/before.data")
        lines.extend(guest_case.run_lines(name, *(advise if name == "advise" else record)))
    return "\n".join(lines) + "\nexit 0\n"


def remote_share(results, name):
    accesses = guest_accesses.heap(guest_accesses.read(results.folder / f"{name}.data"))
    return guest_accesses.remote_share(accesses)[0]


def judge_search(tap, results):
    answer = json.loads(results.text("search.json") or "{}")
    tried = [trial["plan"] for trial in answer.get("tried", [])]
    tap.check("optimize: without a plan of one's own the recording's, the threads' and the kernel's placements are tried",
              {"plan", "plan: spread threads", "interleave", "local", "balancing-on"} <= set(tried), tried, *results.notes("search"))
    tap.check("optimize: of these the recording's plan is kept, which alone helps", answer.get("kept") == "plan" and answer["gain"]["low"] > 1.1, answer.get("tried"))
    kept = results.text("kept")
    tap.check("optimize: the kept plan says what it is, and is whole", kept.startswith(f"# {answer.get('verdict')}\nnumalens plan 1\n") and
              re.search(f"^site {SITE} @ split 1:[0-9]+,2:[0-9]+,3:[0-9]+,0:[0-9]+$", kept, re.MULTILINE) and kept.endswith("\nthread * @ distribute\n"), kept)
    tap.check("optimize: what cannot be better than the kept plan is not called undecided", "cannot make that sure" not in results.text("search.err"), *results.notes("search"))
    tap.is_equal("optimize: kernel.numa_balancing is as it was", results.text("balancing").strip(), "0")


def judge_stopped(tap, results):
    answer = json.loads(results.text("stopped.json") or "{}")
    tried = [trial["plan"] for trial in answer.get("tried", [])]
    tap.note(f"stopped: {answer.get('verdict')}; {tried}")
    tap.check("optimize: Ctrl-C ends the search, and the plan that was faster until then is kept, whole",
              results.status("stopped") == 0 and answer.get("kept") == "plan" and answer["verdict"].endswith(", as far as it was tried") and "local" not in tried and
              results.text("stopped.kept").startswith(f"# {answer['verdict']}\nnumalens plan 1\n") and f"site {SITE} @ split " in results.text("stopped.kept"),
              answer.get("tried"), results.text("stopped.kept"), *results.notes("stopped"))


def judge_costs(tap, results):
    for name, (_, keep) in TRIED.items():
        answer = json.loads(results.text(f"{name}.json") or "{}")
        tap.check(f"optimize: a plan that {'does ' if name == 'nothing' else ''}{name}: {'kept' if keep else 'the default placement is best'}",
                  answer.get("kept") == ("plan" if keep else "default") and (keep or answer["verdict"] == "the default placement is best"),
                  answer.get("verdict"), answer.get("tried"), *results.notes(name))
        tap.note(f"{name}: {answer.get('verdict')}; {answer.get('tried')}")
    judge_search(tap, results)
    judge_stopped(tap, results)
    plan = results.text("plan")
    tap.note(plan)
    tap.check("advise: the array is split among the threads that use its parts",
              f"site {SITE} @ split 1:16,2:16,3:16,0:16" in plan and "thread * @ distribute" in plan, plan)
    expected = re.search(r"([0-9.]+)% recorded, ([0-9.]+)% expected", plan)
    before, after = remote_share(results, "before"), remote_share(results, "after")
    tap.note(f"remote accesses of the heap: {before:.3f} before, {after:.3f} after; of all: {expected and expected.group(0)}")
    tap.check("with the plan as little is remote as it expects, within 5 points", before > 0.5 and expected and
              abs(after - float(expected.group(2)) / 100) < 0.05, before, after, plan)


def judge_others(tap, results):
    found, _ = rows(results.text("weighted.pages"))
    pages = found.get("unplaced", [0] * 5)[:4]
    tap.check("weighted: pages are on the nodes as the kernel's weights say", results.status("weighted") == 0 and sum(pages) and all(
        abs(count / sum(pages) - share) < 0.02 for count, share in zip(pages, (1 / 6, 3 / 6, 1 / 6, 1 / 6))), pages, *results.notes("weighted"))
    seen = [line.split()[1] for line in results.text("local.pages").splitlines() if line.startswith("balancing ")]
    tap.check("kernel.numa_balancing is as each placement wants it, and as it was at the end", seen == ["0", "1", "0"] and
              results.text("balancing").strip() == "0", seen, *results.notes("local"))


def judge_there(tap, results):
    pages = rows(results.text("there.out"))[0].get("file", [0] * 5)
    tap.check("a file that is in memory already is spread over the nodes", results.status("there") == 0 and
              all(abs(count / PAGES - 0.25) < 0.02 for count in pages[:4]), pages, *results.notes("there"))


def judge_full(tap, results):
    for name, placement in FULL.items():
        pages = [sum(map(int, re.findall(f" N{node}=([0-9]+)", results.text(f"{name}.out")))) for node in FOUR]
        entry, = json.loads(results.text(f"{name}.json") or '{"entries": [{}]}')["entries"]
        right = pages[2] + (min(pages[3], sum(pages) // 2) if name == "full-split" else 0)
        tap.note(f"{name}: {pages}; {entry}")
        tap.check(f"a file on a node without room: {placement}: bytes are those that are there, and how many are not is reported",
                  results.status(name) == 0 and pages[2] < sum(pages) / 2 and entry["bytes"] == right * 4096 and
                  f"({sum(pages) - right} of {sum(pages)} pages)" in entry["reason"], pages, entry, *results.notes(name))


def judge_threads(tap, results):
    """One CPU on each node."""
    def nodes(name):
        return [int(line.split()[1]) for line in results.text(f"{name}.out").splitlines()]

    tap.is_equal("together: all threads of a process on one node, its child's on the next", nodes("together"), [0] * 5 + [1] * 2)
    tap.is_equal("cluster: node by node, as many threads on each as it has CPUs", nodes("cluster")[:5], [0, 1, 2, 3, 0])
    tap.is_equal("cpus: threads of that function on the node of these CPUs", [nodes("cpus")[i] for i in (1, 2, 3, 4, 6)] if len(nodes("cpus")) == 7 else nodes("cpus"), [2] * 5)


def judge(tap, build, folder):
    program = build / "tests/guest/far_costs"
    judge_costs(tap, guest_case.boot(tap, folder, costs_script(build), "--count", "3", *guest_build.puts(build, "src/agent", "src/cli"), "--put",
                                     f"{program}:{program}", name="dear"))
    program = build / "tests/guest/placed"
    results = guest_case.boot(tap, folder, script(build), *guest_build.puts(build, "src/agent", "src/cli"), "--put", f"{program}:{program}")
    plain, _ = rows(results.text("plain.out"))
    tap.check("without a plan everything is on the node of the thread that touches it", len(plain) == 17 and all(row[0] and not any(row[1:4]) for row in plain.values()),
              plain)
    judge_pages(tap, results, "applied")
    judge_entries(tap, results, "applied", ("memory policy", "affinity"))
    judge_pages(tap, results, "plan", output="pages")
    judge_others(tap, results)
    judge_there(tap, results)
    judge_full(tap, results)
    judge_threads(tap, results)
    judge_pages(tap, results, "refused", skipped=("file",))
    refused = {entry["site"]: entry for entry in json.loads(results.text("refused.json") or "{}").get("entries", [])}
    tap.check("refused: what is in memory already cannot be placed, and that is reported",
              "in memory already" in refused.get("*/data.bin", {}).get("reason", ""), refused.get("*/data.bin"))
    several, = json.loads(results.text("several.json") or '{"entries": [{}]}')["entries"]
    tap.check("refused: nor can a file on several nodes", several.get("applied") == 0 and "one node only" in several.get("reason", ""), several)


if __name__ == "__main__":
    sys.exit(guest_case.main(judge, parts=("src/cli", "src/agent", "tests/guest")))
