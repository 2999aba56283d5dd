#!/usr/bin/env python3
"""`numalens view` serves the page and windows into the trace to this user on this machine, and to nobody and nothing else."""
import http.client
import os
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import threading

import nlens
import page_data
from nlens import check, Folder

made = {}


def recording():
    if "trace" not in made:
        made["folder"] = Folder()
        folder = made["folder"].__enter__()
        made["trace"] = shutil.copy(nlens.committed("before"), folder)
        made["data"], = page_data.of(made["trace"], os.path.join(folder, "page.html"))
    return made["trace"]


class Served:
    """numalens view in the background: with Served() as served: served.get("data?run=0")"""

    def __init__(self, *options, environment=None):
        self.options, self.environment = options, environment or {}

    def __enter__(self):
        self.process = subprocess.Popen([nlens.NUMALENS, "view", *self.options, recording()], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env={**nlens.ENVIRONMENT, **self.environment})
        first = self.process.stdout.readline().decode()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]{32}/)\n", first)
        assert found, "%r %s" % (first, self.process.communicate(timeout=nlens.PATIENCE) if not first else "")
        self.port, self.path = int(found[1]), found[2]
        return self

    def __exit__(self, *ignored):
        if self.process.poll() is None:
            self.end(signal.SIGTERM)

    def end(self, number):
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=nlens.PATIENCE)
        assert (self.process.returncode, err) == (0, b""), (self.process.returncode, err)

    def get(self, what, method="GET", headers=None, path=None):
        """status, headers, body"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=nlens.PATIENCE)
        connection.request(method, (path or self.path) + what, headers=headers or {})
        answer = connection.getresponse()
        result = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return result

    def raw(self, content):
        """What the server says to any bytes, up to its end."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=nlens.PATIENCE) as client:
            client.sendall(content)
            said = b""
            while True:
                more = client.recv(65536)
                if not more:
                    return said
                said += more


@check("the page, its data and a window come, and SIGINT ends it")
def serves():
    with Served("--no-open") as served:
        status, headers, page = served.get("")
        assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
        assert page.count(b'class="numalens-data" data-href="data?run=0"') == 1
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        status, headers, content = served.get("data?run=0")
        assert status == 200 and headers["Content-Type"] == "application/octet-stream"
        data = page_data.Data(content)
        assert data.tables["run"]["live"] is True
        for key in ("totals", "objects", "threads", "findings", "matrix"):
            assert data.tables[key] == made["data"].tables[key], key
        assert data.columns == made["data"].columns
        served.end(signal.SIGINT)


@check("a window has the accesses of its time, its addresses and its thread")
def windows():
    with Served("--no-open") as served:
        whole = page_data.Data(served.get("data?run=0")[2])
        totals = whole.tables["totals"]
        everything = page_data.Data(served.get("window?run=0")[2])
        assert everything.tables["maps"][0]["shown"] == totals["samples"]
        third = whole.tables["run"]["duration_s"] / 3
        parts = [page_data.Data(served.get("window?run=0&t0=%r&t1=%r&slices=50" % (a, b))[2])
                 for a, b in ((0, third), (third, 2 * third), (2 * third, 3 * third + 1))]
        assert sum(part.tables["maps"][0]["shown"] for part in parts) == totals["samples"]
        assert all(part.tables["maps"][0]["slices"] == 50 for part in parts)
        assert abs(parts[1].tables["maps"][0]["start_s"] - third) < 1e-5
        thing = whole.tables["objects"][0]
        window = page_data.Data(served.get("window?run=0&a0=%d&a1=%d&leaves=7" % (thing["addr"], thing["addr"] + thing["size"]))[2])
        assert window.tables["maps"][0]["shown"] == thing["samples"]
        assert 0 < len(window["v.leaf.addr"]) <= 7
        assert set(window["v.leaf.object"]) == {0}
        thread = max(range(len(whole.tables["threads"])), key=lambda i: whole.tables["threads"][i]["samples"])
        window = page_data.Data(served.get("window?run=0&thread=%d" % thread)[2])
        assert window.tables["maps"][0]["shown"] == whole.tables["threads"][thread]["samples"]
        assert set(window["v.cell.thread"]) == {thread}


@check("odd windows are refused")
def odd_windows():
    with Served("--no-open") as served:
        for query in ("run=0&t0=x", "run=0&t0=2&t1=1", "run=0&t0=-1", "run=0&t0=1e9&t1=2e9", "run=0&a0=9&a1=8", "run=x", "run=0&run=0",
                      "run=0&slices=99999", "run=0&leaves=99999999", "run=0&thread=99999999999", "run=0&t0=nan", "run=0&a0=1.5",
                      "run=0&t0=" + "1" * 400):
            status, _, body = served.get("window?" + query)
            assert status in (400, 414), (query, status, body)
        assert served.get("window?run=1")[0] == 404
        assert page_data.Data(served.get("window?run=0&thread=60000")[2]).tables["maps"][0]["shown"] == 0


@check("without the secret, under another name, or by another method nothing comes")
def strangers():
    with Served("--no-open") as served:
        for path in ("/", "/data?run=0", "/" + "0" * 32 + "/", "/" + "0" * 32 + "/data", served.path[:-1], served.path[:-2] + "/",
                     served.path + "../", served.path + "etc/passwd", "/favicon.ico", served.path + "data/"):
            assert served.get("", path=path)[0] == 404, path
        for host in ("evil.example", "evil.example:%d" % served.port, "127.0.0.1", "127.0.0.1:1", "localhost", "[::1]:%d" % served.port):
            status, _, body = served.get("data?run=0", headers={"Host": host})
            assert status == 403 and b"NLPG" not in body, (host, status)
        assert served.get("data?run=0", headers={"Host": "localhost:%d" % served.port})[0] == 200
        for method in ("POST", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"):
            status, headers, _ = served.get("", method=method)
            assert status == 405 and headers["Allow"] == "GET", (method, status)
        listeners = subprocess.run(["ss", "-ltn"], capture_output=True, text=True).stdout if nlens.shutil.which("ss") else ""
        for line in listeners.splitlines():
            if ":%d " % served.port in line:
                assert "127.0.0.1:%d" % served.port in line, line


@check("no request breaks it: long, cut, many, silent")
def hostile():
    with Served("--no-open") as served:
        host = b"Host: 127.0.0.1:%d\r\n" % served.port
        for content, status in ((b"GET / HTTP/1.1\r\n" + b"A: " + b"x" * 100000, b"431"),
                                (b"GET /" + b"x" * 3000 + b" HTTP/1.1\r\n" + host + b"\r\n", b"414"),
                                (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n", b"400"),
                                (b"GET /\x00/ HTTP/1.1\r\n" + host + b"\r\n", b"400"),
                                (b"GET /%2e%2e HTTP/1.1\r\n" + host + b"\r\n", b"400"),
                                (b"GET / HTTP/1.1\r\n" + host + host + b"\r\n", b"400"),
                                (b"GET / HTTP/1.1\r\n" + host + b"Content-Length: 5\r\n\r\nhello", b"400"),
                                (b"\r\n\r\n", b"400")):
            said = served.raw(content)
            assert said.startswith(b"HTTP/1.1 " + status + b" "), (content[:60], said[:60])
        silent = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(33)]   # more than it holds at once
        assert served.get("")[0] == 200
        assert not select.select(silent[2:], [], [], 0)[0], "silent connections had to expire first"
        for client in silent[-5:]:
            client.sendall(b"GET / HT")
        slow = socket.create_connection(("127.0.0.1", served.port))
        slow.sendall(b"GET " + served.path.encode() + b"data?run=0 HTTP/1.1\r\n" + host + b"\r\n")   # and never reads it
        results = []
        several = [threading.Thread(target=lambda: results.append(served.get("data?run=0")[0])) for _ in range(4)]
        for one in several:
            one.start()
        for one in several:
            one.join()
        assert results == [200] * 4, results
        for client in silent + [slow]:
            client.close()
        assert served.get("")[0] == 200


@check("a browser opens where there is a display, and the secret is in no command line")
def browser():
    with Folder() as folder:
        note = os.path.join(folder, "opened")
        opener = os.path.join(folder, "xdg-open")
        os.mkfifo(note)
        with open(opener, "w") as stream:
            stream.write('#!/bin/sh\n{ echo "$1"; cat "$1"; } > "%s"\n' % note)
        os.chmod(opener, 0o755)
        environment = {"PATH": folder + ":" + os.environ["PATH"], "DISPLAY": ":77", "XDG_RUNTIME_DIR": folder}
        with Served(environment=environment) as served:
            with open(note) as stream:
                lead = stream.readline().strip()
                content = stream.read()
            assert served.path not in lead and stat.S_IMODE(os.stat(lead).st_mode) == 0o600, lead
            assert "url=http://127.0.0.1:%d%s" % (served.port, served.path) in content, content
        assert not os.path.exists(lead)
        # From when the address is known: the opener itself ends it, before it is served.
        with open(opener, "w") as stream:
            stream.write('#!/bin/sh\nkill -TERM $PPID\n')
        for _ in range(10):
            with Served(environment=environment) as served:
                assert served.process.wait(nlens.PATIENCE) == 0, served.process.returncode
        with Served("--no-open", environment=environment) as served:
            assert served.get("")[0] == 200
        assert sorted(os.listdir(folder)) == ["opened", "xdg-open"]


@check("what cannot be served is said")
def not_served():
    with Served("--no-open") as served:
        ended = nlens.run([nlens.NUMALENS, "view", "--no-open", "--port", str(served.port), recording()])
        assert ended.status == 1 and b"cannot listen" in ended.err, ended
    ended = nlens.run([nlens.NUMALENS, "view", "--no-open", "/nowhere/at/all"])
    assert ended.status == 1 and b"cannot open" in ended.err, ended
    for arguments in (["--port", "x"], ["--port", "70000"], ["-"]):
        assert nlens.run([nlens.NUMALENS, "view", *arguments]).status == 2, arguments


nlens.main()
