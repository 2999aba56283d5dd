#!/usr/bin/env python3
"""Whole programs under the sampler, ticked every few microseconds: same output, same end; and shares that are known.

usage: test_stepping.py DRIVE AGENT TARGET_SIGNALS TARGET_SHARES TARGET_SENDS"""
import difflib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile

DRIVE, AGENT, SIGNALS, SHARES, SENDS = map(os.path.abspath, sys.argv[1:6])  # programs change their folder
OFTEN = ["-t", "40000", "-b", "64", "-p", "900000"]
TIMER_ONLY = 1 | 2 | 4 | 8 | 16 | 32 | 64
STORES_ONLY = 2 | 8 | 16 | 64
LONG_BURSTS = 1 | 2 | 4 | 8 | 16 | 64 | 1024
results = []


def result(good, name, *why):
    results.append(good)
    print("ok" if good else "not ok", len(results), "-", name, flush=True)
    for line in why if not good else ():
        print("#", line)


def skip(name, why):
    results.append(True)
    print("ok", len(results), "-", name, "# SKIP", why)


def drive(options, command, **more):
    """The finished process, its samples and counters."""
    with tempfile.NamedTemporaryFile("r") as out:
        done = subprocess.run([DRIVE, "-o", out.name, *options, AGENT, *command], capture_output=True, timeout=300, **more)
        samples, counters = [], {}
        for line in out:
            fields = line.split()
            if fields[0] == "S":
                samples.append({"addr": int(fields[3], 16), "size": int(fields[4]), "flags": int(fields[5]),
                                "latency": int(fields[6])})
            elif fields[0] == "C":
                counters[fields[1]] = int(fields[2])
            elif fields[0] == "A":
                counters["allocs"] = counters.get("allocs", 0) + 1
    return done, samples, counters


def same(name, command, options=(), **more):
    plain = subprocess.run(command, capture_output=True, timeout=300, **more)
    done, _, counters = drive([*OFTEN, *options], command, **more)
    good = (plain.returncode, plain.stdout, plain.stderr) == (done.returncode, done.stdout, done.stderr)
    result(good, f"{name} ({counters['steps']} instructions stepped)",
           f"status {plain.returncode} and {done.returncode}, {counters}",
           *[line for one, other in ((plain.stdout, done.stdout), (plain.stderr, done.stderr))
             for line in list(difflib.unified_diff(one.decode(errors="replace").splitlines(), other.decode(errors="replace").splitlines(),
                                                   "plain", "sampled", lineterm="", n=1))[:20]])
    return counters["steps"]


def programs(folder):
    text = os.path.join(folder, "text")
    with open(text, "w") as file:
        for i in range(120000):
            file.write(f"{i * 2654435761 % 1000003} some words that repeat {i % 97}\n")
    part = os.path.join(folder, "part")  # xz takes ten times as long as the others
    with open(text) as whole, open(part, "w") as file:
        file.writelines(itertools.islice(whole, 16000))
    yield "sort", ["sort", text]
    yield "gzip", ["gzip", "-c", text]
    yield "xz", ["xz", "-1", "-T2", "--block-size=256KiB", "-c", part]
    yield "perl", ["perl", "-e", "my %h; $h{$_ % 1000} += $_ for 1..400000; print map {\"$_ $h{$_}\\n\"} sort keys %h"]
    yield "python3", ["python3", "-c", "import json, math, threading\n"
                      "def work(n): out[n] = sum(math.sin(i) * len(json.dumps([i] * 9)) for i in range(20000))\n"
                      "out = {}\nthreads = [threading.Thread(target=work, args=(n,)) for n in range(3)]\n"
                      "[t.start() for t in threads]; [t.join() for t in threads]; print(sorted(out.items()))"]
    yield "sqlite3", ["sqlite3", ":memory:", "create table t(a, b); with recursive n(i) as (select 1 union all select "
                      "i + 1 from n where i < 100000) insert into t select i, i * 7 % 1000 from n; create index x on t(b);"
                      "select b, count(*), sum(a) from t group by b order by 3 limit 20;"]
    yield "awk", ["awk", "{n[$1 % 100] += $2} END {for (i = 0; i < 100; i++) print i, n[i]}", text]


def test_programs():
    steps, least = 0, 100000
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0"}
    with tempfile.TemporaryDirectory() as folder:
        # Several times where each instruction is a signal of its own, or the machine has no time for it.
        for turn in range(10):
            for name, command in programs(folder):
                if shutil.which(command[0]):
                    steps += same(name, command, env=environment)
                elif turn == 0:
                    skip(name, "not installed")
            if steps > least:
                break
    result(steps > least, f"{steps} instructions in all")


def test_signals():
    for name, options in ("perf", []), ("timers", ["-f", str(TIMER_ONLY)]):
        what, steps, rounds, least = f"the program's own signals, ticks by {name}", 0, 20, 1000
        # Timers tick a few times in its 30 ms, and it keeps signals blocked for much of them.
        while steps < least and rounds <= 20000:
            steps += same(f"{what}, {rounds} rounds", [SIGNALS, str(rounds)], options)
            rounds *= 10
        result(steps >= least, f"{what}: {steps} instructions in all")


def shares(which, options):
    done, samples, counters = drive(options, [SHARES, which])
    places = {}
    for line in done.stdout.decode().splitlines():
        fields = line.split()
        if fields[0] == "array":
            places[fields[1]] = (int(fields[2], 16), int(fields[3], 16))
    counts, latencies = {name: 0 for name in places}, {name: [] for name in places}
    kinds = {name: 0 for name in places}
    for sample in samples:
        for name, (start, end) in places.items():
            # all that is written before the loops is written in order; loops that write do so to b
            if start <= sample["addr"] < end and (sample["flags"] & 2 or (which == "writes" and name == "b")):
                counts[name] += 1
                kinds[name] |= sample["flags"] & 3
                if sample["flags"] & 32:
                    latencies[name].append(sample["latency"])
    return counts, latencies, kinds, counters


def test_shares():
    truths = {"three_to_one": {"a": 3, "b": 1}, "two_to_one": {"a": 2, "b": 1}, "gather": {"a": 1, "b": 1},
              "chase": {"a": 1, "b": 1, "c": 2}, "eleven_to_one": {"a": 11, "b": 1}, "writes": {"a": 4, "b": 1}}
    for which, truth in truths.items():
        counts, latencies, _, counters = shares(which, ["-t", "200000", "-p", "900000"])
        total = sum(counts.values())
        off = max(abs(counts[name] / max(total, 1) - truth.get(name, 0) / sum(truth.values())) for name in counts)
        # b is also written while it is made, which "writes" cannot distinguish: some points
        result(total > 500 and off < (0.06 if which == "writes" else 0.03), f"shares of {which}: off by {off:.3f}",
               f"{counts} {counters}")
        if which == "chase":
            middle = {name: sorted(all_)[len(all_) // 2] for name, all_ in latencies.items() if all_}
            result(min(len(latencies[name]) for name in "ab") > 50 and middle["b"] > middle["a"],
                   f"latencies of {which}: {middle}", f"{ {name: len(all_) for name, all_ in latencies.items()} }")


def test_selection():
    done, samples, _ = drive(["-t", "200000", "-p", "900000", "-f", str(STORES_ONLY)], [SHARES, "writes"])
    result(len(samples) > 100 and all(s["flags"] & 1 for s in samples), f"stores only: {len(samples)} samples")
    done, samples, counters = drive(["-t", "200000", "-p", "900000", "-l", "100000"], [SHARES, "gather"])
    result(counters["bursts"] > 100 and not [s for s in samples if s["flags"] & 2],
           f"no load of {counters['bursts']} bursts is as slow as the threshold", str(counters))
    bursts = {budget: drive(["-t", "50000", "-p", budget], [SHARES, "three_to_one"])[2]["bursts"] for budget in ("900000", "1000")}
    result(bursts["900000"] > 100 and bursts["1000"] < bursts["900000"] / 10, f"a small budget skips most ticks: {bursts}")


def test_sends():
    """Rows of long bursts are sent at ticks, which come in the middle of hooks too. Were they sent there, the ring would be corrupt in
    one of four such runs."""
    done, _, counters = drive(["-t", "40000", "-b", "4", "-p", "900000", "-f", str(LONG_BURSTS)], [SENDS, "40"])
    blocks = int(done.stdout or 0)
    result(done.returncode == 0 and counters["long_accesses"] and blocks <= counters["allocs"] <= blocks + 9,
           f"{blocks} blocks beside rows of long bursts: each once", done.stderr.decode(), str(counters))


print("TAP version 13")
test_programs()
test_signals()
test_shares()
test_selection()
test_sends()
print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
