"""The ways of running a program: around the recorder (what it may do itself) or between it and the program (a sandbox)."""
import json
import os
import resource
import shutil
import sys

import nlens

BWRAP = ["bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--bind", "{folder}", "{folder}", "--chdir", "{folder}"]
SHELL = ["sh", "-c"]


def low_limits(program):
    # Chromium ends by one of three signals, by chance, when it finds no descriptor.
    files = 256 if program == "chromium" else 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))


def close_streams(_):
    for number in (0, 1, 2):
        os.close(number)


def refuser(*calls, error):
    return lambda _: nlens.refuse(*calls, error=error)()


class Way:
    """`outer` stands before numalens, `inner` between numalens and the program; a plain run has both. `prepare` is called with
    the program's name in the process that becomes the outermost. `command`: of numalens, with its options. `whole`: instead, all that
    stands before the program, with {numalens}, {plan} and {result}; `judge` then says of the text of the last what became of it."""

    def __init__(self, outer=(), inner=(), prepare=None, needs=(), root=False, silent=False, disk=None, command=("record",),
                 whole=(), judge=None, hides=False, outside=False):
        self.outer, self.inner, self.prepare, self.needs, self.root = list(outer), list(inner), prepare, needs, root
        self.silent = silent  # the streams are closed: only the status can be compared
        self.disk = disk      # where the recording goes instead
        self.command = list(command)
        self.whole, self.judge = list(whole), judge
        self.hides = hides    # what the program prints
        self.outside = outside  # samples from there

    def missing(self):
        for name in self.needs:
            if not shutil.which(name):
                return "%s is not installed" % name
        return "only root can do that" if self.root and os.geteuid() != 0 else None


def applied(text):
    """What apply says of a plan's entries, as JSON."""
    entries = json.loads(text)["entries"]
    done = sum(entry["applied"] for entry in entries)
    return done > 0, "%d of %d entries applied" % (done, len(entries))


def optimized(text):
    return bool(json.loads(text)), "optimized"


def shown(text):
    """What top prints, one object a refresh."""
    samples = sum(json.loads(line)["samples"] for line in text.splitlines() if line.startswith("{"))
    return samples > 0, "%d samples; %s" % (samples, next((line for line in text.splitlines() if not line.startswith("{")), ""))


BESIDE = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "beside.py"), "{numalens}"]


def make():
    return {
        "as it is": Way(),
        "nobody": Way(outer=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"], needs=["setpriv"], root=True),
        "user namespace": Way(inner=["unshare", "--user", "--map-root-user"], needs=["unshare"]),
        "PID namespace": Way(inner=["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"],
                             needs=["unshare"]),
        "mount namespace": Way(inner=["unshare", "--user", "--map-root-user", "--mount"], needs=["unshare"]),
        "bubblewrap": Way(inner=[*BWRAP, "--proc", "/proc"], needs=["bwrap"]),
        "bubblewrap with PIDs": Way(inner=[*BWRAP, "--proc", "/proc", "--unshare-pid", "--die-with-parent"], needs=["bwrap"]),
        "perf refused": Way(prepare=refuser("perf_event_open", error=1)),
        "calls refused": Way(prepare=refuser("perf_event_open", "userfaultfd", "ptrace", "process_vm_readv", "move_pages", error=38)),
        "sandbox with a filter": Way(inner=[sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "filtered.py")]),
        "no /proc": Way(outer=["unshare", "--mount", "--map-root-user", *SHELL, "mount -t tmpfs none /proc && exec \"$@\"", "sh"],
                        needs=["unshare"]),
        "program without /proc": Way(inner=["unshare", "--mount", "--map-root-user", *SHELL,
                                            "mount -t tmpfs none /proc && exec \"$@\"", "sh"], needs=["unshare"]),
        "no /dev/shm": Way(outer=["unshare", "--mount", "--map-root-user", *SHELL,
                                  "mount -t tmpfs -o size=4k,mode=0 none /dev/shm && exec \"$@\"", "sh"], needs=["unshare"]),
        "low limits": Way(prepare=low_limits),
        "closed streams": Way(prepare=close_streams, silent=True),
        "full disk": Way(outer=["unshare", "--mount", "--map-root-user", *SHELL,
                                "mkdir -p {folder}/disk && mount -t tmpfs -o size=8k none {folder}/disk && exec \"$@\"", "sh"],
                         needs=["unshare"], disk="disk"),
        "no samples": Way(command=["record", "--source", "none"]),
        "faults": Way(command=["record", "--source", "faults"]),
        "timers": Way(command=["record", "--tick", "timer"]),
        "outside": Way(command=["record", "--source", "outside"], outside=True),
        "top beside": Way(whole=[*BESIDE, "top", "--batch", "--json", "-d", "0.2", "-p", "{result}", "--"], judge=shown, outside=True),
        "apply": Way(whole=["{numalens}", "apply", "--quiet", "--json", "{result}", "{plan}", "--"], judge=applied),
        "optimize": Way(whole=["{numalens}", "optimize", "--quiet", "--runs", "4", "--plan", "{plan}", "-o", "{result}.plan",
                               "--json={result}", "--"], judge=optimized, hides=True),
        "migrate": Way(command=["migrate", "--topology", "numa:2 core:2", "--interval", "100ms"]),
    }
