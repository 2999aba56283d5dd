#!/usr/bin/env python3
"""What others on the machine can see of a recording: files that only their owner may read, whatever the umask, and shared
memory without a name that anybody could open."""
import os
import re
import signal
import subprocess

import nlens
from nlens import Folder, check, example, note, record, run

PAGES = ["--source", "faults", "--mechanism", "none", "-q"]


def open_umask():
    os.umask(0)


def owners_only(path):
    mode = os.stat(path).st_mode & 0o777
    assert mode == 0o600, "%s has mode %o" % (os.path.basename(path), mode)


@check("recordings, imports and exports are their owner's, even where the umask forbids nothing")
def modes():
    with Folder() as folder:
        ended = record(folder, [example("matmul")], PAGES, prepare=open_umask)
        assert ended.status == 0, ended
        owners_only(ended.trace)
        lines, again = os.path.join(folder, "run.moca"), os.path.join(folder, "again.data")
        page = os.path.join(folder, "page.html")
        for command, output in ((["report", "--html", page, ended.trace], page),
                                (["export", "--format", "moca", "-o", lines, ended.trace], lines),
                                (["import", "--format", "moca", "-o", again, lines], again)):
            done = run([nlens.NUMALENS, *command], prepare=open_umask)
            assert done.status == 0, done
            owners_only(output)
        moved = os.path.join(folder, "moved.data")
        done = run([nlens.NUMALENS, "migrate", "-q", "--topology", "numa:2 core:1", "-o", moved, "--", "true"], prepare=open_umask)
        assert done.status == 0, done
        owners_only(moved)


@check("a link that another user laid in a folder for all is not followed, and what it leads to stays as it was")
def links():
    if os.geteuid() != 0:
        raise nlens.Skip("only root can make a link that is another's")
    with Folder() as folder:
        ended = record(folder, [example("matmul")], PAGES)
        assert ended.status == 0, ended
        shared_folder, target = os.path.join(folder, "tmp"), os.path.join(folder, "precious")
        link = os.path.join(shared_folder, "out")
        os.mkdir(shared_folder)
        os.chmod(shared_folder, 0o1777)
        with open(target, "w") as stream:
            stream.write("precious")
        os.symlink(target, link)
        os.lchown(link, 65534, 65534)
        numa = ["--topology", "numa:2 core:1"]
        for command in (["check", "--max-remote", "99%", "--junit", link, ended.trace],
                        ["check", "--max-remote", "99%", "--sarif", link, ended.trace],
                        ["report", "--html", link, ended.trace],
                        ["export", "--format", "csv", "-o", link, ended.trace],
                        ["stat", "-o", link, "--", "true"],
                        ["migrate", "-q", *numa, "--json=" + link, "--", "true"]):
            done = run([nlens.NUMALENS, *command])
            assert done.status == 1 and b"symbolic link of user 65534" in done.err, "%s: %s" % (command, done)
            with open(target) as stream:
                assert stream.read() == "precious", command


def started(folder):
    """A recording of cat that has begun: (recorder, trace, cat's process number)."""
    trace = os.path.join(folder, "numalens.data")
    recorder = subprocess.Popen([nlens.NUMALENS, "record", "-q", "-o", trace, "--", nlens.tool("cat")], cwd=folder,
                                env=nlens.ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True, preexec_fn=open_umask)
    recorder.stdin.write(b"hello\n")
    recorder.stdin.flush()
    assert recorder.stdout.readline() == b"hello\n"
    with open("/proc/%d/task/%d/children" % (recorder.pid, recorder.pid)) as stream:
        return recorder, trace, int(stream.read().split()[0])


def shared(pid):
    """Names of what a process maps to write for others, or holds open in a folder for shared or temporary things."""
    with open("/proc/%d/maps" % pid) as stream:
        names = {found[1] for found in re.finditer(r"^\S+ .w[-x]s \S+ \S+ \d+\s*(.*)$", stream.read(), re.MULTILINE)}
    for fd in os.listdir("/proc/%d/fd" % pid):
        name = os.readlink("/proc/%d/fd/%s" % (pid, fd))
        if name.startswith(("/dev/shm", "/tmp", "/var/tmp", "/run")):
            names.add(name)
    return names


@check("what recorder and program share has no name in the file system, and the file is its owner's from the start")
def nameless():
    with Folder() as folder:
        recorder, trace, program = started(folder)
        try:
            files = [os.path.join(folder, name) for name in os.listdir(folder)]
            for path in files:
                owners_only(path)
            for pid in (recorder.pid, program):
                names = shared(pid) - set(files)
                note("%s: %s" % ("recorder" if pid == recorder.pid else "program", sorted(names)))
                assert any(name.startswith("/memfd:numalens") for name in names), names
                named = [name for name in names if not name.endswith("(deleted)") and not name.startswith("anon_inode:")]
                assert not named, named
        finally:
            os.killpg(recorder.pid, signal.SIGKILL)
            recorder.communicate()
        left = [name for name in os.listdir(folder) if name != "numalens.data"]
        assert not left, "after kill -9 there is still %s" % left


nlens.main()
