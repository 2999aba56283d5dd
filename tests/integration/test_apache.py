#!/usr/bin/env python3
"""Debian's apache2 under load with its pools named (--pool-fn apr): it answers the same bytes, ends cleanly, and objects of
pools are reported by where apr_palloc was called."""
import os
import random
import signal
import socket
import subprocess
import urllib.request

import nlens
from nlens import ENVIRONMENT, NUMALENS, PATIENCE, Folder, Skip, check, note, report

REQUESTS, CLIENTS = 2000, 8
MODULES = "/usr/lib/apache2/modules"
CONFIGURATION = """
ServerRoot "{folder}"
PidFile "{folder}/pid"
DefaultRuntimeDir "{folder}"
Listen 127.0.0.1:{port}
ServerName localhost
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule dir_module {modules}/mod_dir.so
LoadModule setenvif_module {modules}/mod_setenvif.so
LoadModule headers_module {modules}/mod_headers.so
Header set X-Test "a header of one's own"
DocumentRoot "{folder}/www"
ErrorLog "{folder}/error.log"
StartServers 1
ServerLimit 1
ThreadsPerChild {clients}
MaxRequestWorkers {clients}
User nobody
Group nogroup
<Directory "{folder}/www">
  Require all granted
</Directory>
"""


def tool(name):
    """Also where only root's path leads."""
    for folder in [*os.environ.get("PATH", "").split(":"), "/usr/sbin"]:
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    raise Skip("%s is not installed" % name)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until_up(process, port):
    """Asks until the server answers; Popen.wait is what shows that it never will."""
    for _ in range(PATIENCE * 20):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            pass
        try:
            status = process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError("the server ended with status %d: %s" % (status, process.stderr.read()[-2000:]))
    raise AssertionError("the server does not answer")


def serve(folder, apache, ab, pages):
    """Runs the server under record, with load; returns what record said."""
    port = free_port()
    configuration = os.path.join(folder, "apache.conf")
    with open(configuration, "w") as stream:
        stream.write(CONFIGURATION.format(folder=folder, port=port, modules=MODULES, clients=CLIENTS))
    trace = os.path.join(folder, "apache.data")
    process = subprocess.Popen([NUMALENS, "record", "--pool-fn", "apr", "--frequency", "5000", "--budget", "50", "-o", trace,
                                "--", apache, "-D", "FOREGROUND", "-d", folder, "-f", configuration],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, start_new_session=True)
    try:
        wait_until_up(process, port)
        load = subprocess.run([ab, "-q", "-n", str(REQUESTS), "-c", str(CLIENTS), "http://127.0.0.1:%d/small.txt" % port],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
        assert load.returncode == 0 and "Failed requests:        0" in load.stdout, load.stdout
        assert "Non-2xx" not in load.stdout, load.stdout
        for name, bytes_ in pages.items():
            with urllib.request.urlopen("http://127.0.0.1:%d/%s" % (port, name), timeout=PATIENCE) as answer:
                assert answer.read() == bytes_, "%s came back changed" % name
                assert answer.headers["X-Test"] == "a header of one's own"
        with open(os.path.join(folder, "pid")) as stream:
            os.kill(int(stream.read()), signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    said = said.decode(errors="replace")
    assert process.returncode == 0, said
    with open(os.path.join(folder, "error.log")) as stream:
        log = stream.read()
    assert "caught SIGTERM, shutting down" in log and "exit signal" not in log, log
    return trace, said


@check("apache2 under load: same bytes, clean end, objects reported by their apr_palloc calls")
def apache2():
    apache, ab = tool("apache2"), tool("ab")
    if not os.path.exists(os.path.join(MODULES, "mod_mpm_event.so")):
        raise Skip("apache2's modules are not installed")
    chance = random.Random(11)
    pages = {"small.txt": b"a page\n" * 400, "large.bin": bytes(chance.randrange(256) for _ in range(300000))}
    with Folder() as folder:
        os.chmod(folder, 0o755)
        os.mkdir(os.path.join(folder, "www"))
        for name, bytes_ in pages.items():
            with open(os.path.join(folder, "www", name), "wb") as stream:
                stream.write(bytes_)
        trace, said = serve(folder, apache, ab, pages)
        assert "never found" not in said and "not hooked" not in said, said
        result = report(trace, "sites")
    rows = [row for row in result["sites"] if (row["via"] or "").split(" < ")[0] in
            ("apr_palloc", "apr_pcalloc", "apr_pvsprintf")]
    samples = sum(row["samples"] for row in rows)
    note("%d of %d samples in %d sites of pools" % (samples, result["samples"], len(rows)))
    assert len(rows) > 20 and samples > 0.1 * result["samples"], nlens.describe(result["sites"])
    assert result["attributed"] > 0.95 * result["samples"], result["unattributed"]
    # Each request has an object of its own, made by a function that every apache2 exports.
    made = [row for row in rows if row["site"].startswith("ap_create_request")]
    assert made and max(row["count"] for row in made) >= REQUESTS, nlens.describe(rows)


nlens.main()
