"""nlens - what the integration tests share: running the real binary on small programs, and saying TAP.

A test file holds functions marked @check("what must be true"). A check fails by raising (assert), is skipped by raising
Skip("why"), and may print notes with note(). At the end of the file stands `nlens.main()`.

The environment says where things are: NUMALENS_BUILD, the build folder; tests of Meson set it.
"""
import ctypes
import functools
import itertools
import json
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.environ.get("NUMALENS_BUILD", os.path.join(SOURCE, "build"))
NUMALENS = os.path.join(BUILD, "src", "cli", "numalens")
CPU = min(os.sched_getaffinity(0))  # the first that there is for tests
# Far above what any of these runs takes; reaching it is a failure, never a measure.
PATIENCE = 600
# How much longer than usual an example may run for the bursts that a check asks for. A recording that has none at all by then
# has none for another reason.
LONGEST = 64
sys.path.insert(0, os.path.join(SOURCE, "tests"))
import surroundings  # noqa: E402

surroundings.settle()
ENVIRONMENT = surroundings.environment()  # of all programs

_checks = []


class Skip(Exception):
    pass


def check(title):
    def register(function):
        _checks.append((title, function))
        return function
    return register


def note(text):
    for line in str(text).splitlines():
        print("# " + line, flush=True)


def cpu_time():
    """Seconds of this process and of those that it has waited for."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


def main():
    """Runs the checks (those whose title contains an argument, when there are arguments) and ends the process."""
    os.environ.clear()
    os.environ.update(ENVIRONMENT)  # of what a check starts and reads by itself, too
    wanted = [c for c in _checks if not sys.argv[1:] or any(word in c[0] for word in sys.argv[1:])]
    print("1..%d" % len(wanted), flush=True)
    failed = 0
    for number, (title, function) in enumerate(wanted, 1):
        before = cpu_time()
        try:
            function()
            print("ok %d - %s" % (number, title), flush=True)
        except Skip as reason:
            print("ok %d - %s # SKIP %s" % (number, title, reason), flush=True)
        except Exception as error:
            failed += 1
            print("not ok %d - %s" % (number, title), flush=True)
            if isinstance(error, AssertionError):
                note(error)
                note("".join(traceback.format_tb(error.__traceback__)[-2:]))
            else:
                note("".join(traceback.format_exception(error)))
        note("%.1f s of CPU time" % (cpu_time() - before))
    note("CPU time: %.1f s" % cpu_time())
    sys.exit(1 if failed else 0)


def example(name):
    path = os.path.join(BUILD, "examples", name)
    if not os.path.exists(path):
        raise Skip("example %s was not built here" % name)
    return path


def copied(folder):
    """A numalens with its agent in `folder`, which everybody may enter: the build may be where others have no access."""
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o755)
    for name in ("cli/numalens", "agent/libnumalens-agent.so", "executor/numalens-executor"):
        place = os.path.join(folder, "src", name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copy(os.path.join(BUILD, "src", name), place)
    return os.path.join(folder, "src/cli/numalens")


def tool(name):
    path = shutil.which(name)
    if not path:
        raise Skip("%s is not installed" % name)
    return path


def committed(name):
    """A small recording that is kept in the tree (scripts/docs-recordings makes it), for what only reads: before and after a repair."""
    return os.path.join(SOURCE, "docs", "recordings", name + ".data")


def site_line(source, name):
    """The number of the line of examples/SOURCE that carries the comment "site: NAME"."""
    with open(os.path.join(SOURCE, "examples", source)) as stream:
        for number, line in enumerate(stream, 1):
            if re.search(r"site: .*\b%s\b" % re.escape(name), line):
                return number
    raise AssertionError("no site %s in %s" % (name, source))


class Folder(tempfile.TemporaryDirectory):
    """A folder of its own for a check, deleted afterwards: with Folder() as folder: ..."""

    def __init__(self):
        super().__init__(prefix="numalens-")

    def __enter__(self):
        return os.path.realpath(super().__enter__())


class Ended:
    """How a command ended: status (negative: a signal), out and err as bytes; of a recording its trace, and how many times
    as long as usual its program ran (EXAMPLE_LONGER)."""

    def __init__(self, status, out, err, trace=None, longer=1):
        self.status, self.out, self.err, self.trace, self.longer = status, out, err, trace, longer

    def __str__(self):
        return "status %s\nstdout: %s\nstderr: %s" % (self.status, self.out[-2000:].decode(errors="replace"),
                                                      self.err[-2000:].decode(errors="replace"))


def run(command, input=b"", folder=None, environment=None, prepare=None):
    """Runs a command to its end in `folder`, in a session of its own."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                               env={**ENVIRONMENT, **(environment or {})}, preexec_fn=prepare, start_new_session=True)
    try:
        out, err = process.communicate(input, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError("still running after %d s: %s\n%s" % (PATIENCE, command, Ended("none", out, err)))
    return Ended(process.returncode, out, err)


@functools.lru_cache(maxsize=None)
def rounds(name, seconds):
    """--rounds=N with which an example takes about so much CPU time on this machine, be it quick or slow."""
    number, took = 250, 0.0
    while took < 0.04:
        number *= 2
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run([example(name), "--rounds=%d" % number]).status == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return "--rounds=%d" % (number * seconds / took)


def bursts_of(trace):
    """At least how many bursts a recording has. A burst is one observation: its accesses follow one another, so it is the number
    of bursts that bounds on shares follow from. Those that ended early make it more. Counted without a report, most of whose time
    is reading what debug information there is of the C library."""
    ended = run([os.path.join(BUILD, "tests", "trace", "trace_dump"), "--count", trace])
    facts = dict(re.findall(r"^(session burst|ending samples)=(\d+)$", ended.out.decode(errors="replace"), re.MULTILINE))
    assert ended.status == 0 and len(facts) == 2, "what was recorded cannot be read: %s" % ended
    return int(facts["ending samples"]) // int(facts["session burst"])


def work(longer):
    """The environment in which an example does so many times its usual work."""
    return {} if longer == 1 else {"EXAMPLE_LONGER": "%d" % longer} if longer > 1 else {"EXAMPLE_SHORTER": "%d" % (1 / longer)}


# How much longer the last recording of a program with these options ran that was not long enough at first: the next one, of another
# mode or for another table, begins so.
_longer = {}


def record(folder, program, options=(), name="numalens.data", bursts=0, longer=1, environment=None, long_bursts=0, **rest):
    """numalens record OPTIONS -o FOLDER/NAME -- PROGRAM

    With `bursts`, and with `long_bursts` besides, an example runs longer (EXAMPLE_LONGER) until its recording has so many: how long
    that takes is up to the machine, what is judged is not. The check is made once, on the last recording. `longer` is what it begins with: 1 / 4 for a
    quarter of its usual work."""
    trace, key = os.path.join(folder, name), (program[0], bursts, long_bursts, *options)
    if bursts:
        longer = max(longer, _longer.get(key, 0))
    while True:
        ended = run([NUMALENS, "record", *options, "-o", trace, "--", *program], folder=folder,
                    environment={**(environment or {}), **work(longer)}, **rest)
        ended.trace, ended.longer = trace, longer
        if not bursts or ended.status != 0:
            return ended
        found = bursts_of(trace)
        needed = bursts
        if found >= bursts and long_bursts and report(trace)["session"].get("traffic") != "no":
            found, needed = report(trace, "traffic")["long_bursts"], long_bursts
        if found >= needed:
            note("%d bursts of %d, with %g times the usual work" % (found, needed, longer))
            return ended
        reported = report(trace) if longer >= LONGEST else None
        assert longer < LONGEST, ("%d bursts in %.1f s with %g times the usual work, %d are needed to judge by; skipped ticks and "
                                  "losses: %s\n%s" % (found, reported["duration_s"], longer, needed, reported["dropped"], ended))
        note("%d bursts of %d: once more, and longer" % (found, needed))
        wanted = 1.2 * needed * longer / found if found else 0
        while longer < LONGEST and (longer == ended.longer or longer < wanted):
            longer *= 2
        _longer[key] = longer


# What the last reports said, in bytes, by the file's identity and the command: several steps of a check ask for the same.
_reports = {}
MOST_REPORTS = 16


def report(trace, *arguments, numalens=NUMALENS, environment=None):
    """numalens report ARGUMENTS --json TRACE, parsed."""
    command = [numalens, "report", *arguments, "--json", trace]
    key = None
    if not environment and os.path.isfile(trace):
        of = os.stat(trace)
        key = (of.st_dev, of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns, tuple(command))
        if key in _reports:
            return json.loads(_reports[key])
    ended = run(command, environment=environment)
    assert ended.status == 0, "report failed: %s" % ended
    try:
        result = json.loads(ended.out)
    except ValueError as error:
        raise AssertionError("report --json is no JSON: %s\n%s" % (error, ended))
    if key:
        while len(_reports) >= MOST_REPORTS:
            del _reports[next(iter(_reports))]
        _reports[key] = ended.out
    return result


def record_and_report(program, options=(), tables=(), **rest):
    """Records a program that must end with status 0, with so many `bursts` when asked for; returns its report, with the
    asked-for tables put in."""
    with Folder() as folder:
        ended = record(folder, program, options, **rest)
        assert ended.status == 0, "record failed: %s" % ended
        result = report(ended.trace)
        for table in tables:
            result[table] = report(ended.trace, table)[table]
        result["stdout"] = ended.out.decode()
        result["stderr"] = ended.err.decode()
        return result


def ranks(values):
    order = {value: (first + last) / 2 for value, first, last in (
        (value, below, below + same - 1) for value, below, same in counts(sorted(values)))}
    return [order[value] for value in values]


def counts(ordered):
    below = 0
    for value, group in itertools.groupby(ordered):
        same = len(list(group))
        yield value, below, same
        below += same


def correlation(pairs):
    """Of ranks: whether one rises with the other, however evenly. A busy machine stops threads now and then."""
    pairs = list(zip(ranks([pair[0] for pair in pairs]), ranks([pair[1] for pair in pairs])))
    count = len(pairs)
    x, y = (sum(pair[i] for pair in pairs) / count for i in (0, 1))
    over = sum((a - x) * (b - y) for a, b in pairs)
    under = (sum((a - x) ** 2 for a, _ in pairs) * sum((b - y) ** 2 for _, b in pairs)) ** 0.5
    return over / under if under else 0


def row_at(rows, file, line):
    """Of rows with file and line, the one at that place; several are an error."""
    found = [row for row in rows if os.path.basename(row.get("file") or "") == file and row.get("line") == line]
    assert len(found) == 1, "%d rows at %s:%d; there are:\n%s" % (len(found), file, line, describe(rows))
    return found[0]


def row_named(rows, name, key="name"):
    found = [row for row in rows if row.get(key) == name]
    assert len(found) == 1, "%d rows named %s; there are:\n%s" % (len(found), name, describe(rows))
    return found[0]


def describe(rows):
    keys = ("kind", "name", "site", "file", "line", "function", "tid", "samples", "share")
    return "\n".join(" ".join("%s=%s" % (k, row[k]) for k in keys if k in row) for row in rows[:20])


def truths(text):
    """The truth lines an example printed: {(object, thread): (reads, writes)}."""
    pattern = re.compile(r"^truth object=(\S+) thread=(\S+) reads=(\d+) writes=(\d+)$", re.MULTILINE)
    return {(m[1], m[2]): (int(m[3]), int(m[4])) for m in pattern.finditer(text)}


_SYSTEM_CALLS = {
    "x86_64": {"perf_event_open": 298, "move_pages": 279, "ptrace": 101, "process_vm_readv": 310, "userfaultfd": 323,
               "timer_create": 222, "timer_settime": 223, "seccomp": 317, "mbind": 237, "set_mempolicy": 238, "get_mempolicy": 239},
    "aarch64": {"perf_event_open": 241, "move_pages": 239, "ptrace": 117, "process_vm_readv": 270, "userfaultfd": 282,
                "timer_create": 107, "timer_settime": 110, "seccomp": 277, "mbind": 235, "get_mempolicy": 236, "set_mempolicy": 237},
}


def refuse(*names, error=1, kill=False):
    """For run(prepare=...): a seccomp filter that answers these system calls with `error` (EPERM), as containers do, or kills."""
    numbers = _SYSTEM_CALLS.get(platform.machine())
    if not numbers:
        raise Skip("no system call numbers for %s" % platform.machine())
    program = [(0x20, 0, 0, 0)]                                    # load the number of the call
    for index, name in enumerate(names):
        program.append((0x15, len(names) - index, 0, numbers[name]))  # equal: go to the refusal
    program += [(0x06, 0, 0, 0x7fff0000), (0x06, 0, 0, 0x80000000 if kill else 0x00050000 | error)]

    class Filter(ctypes.Structure):
        _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.POINTER(Filter))]

    filters = (Filter * len(program))(*program)
    bpf = Program(len(program), filters)
    libc = ctypes.CDLL(None, use_errno=True)

    def prepare():
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(bpf), 0, 0) != 0:
            os._exit(125)
    return prepare
