"""Clients for servers that bring none: load.py memcached PORT; load.py fastcgi SOCKET SCRIPT. Waits until the server answers."""
import socket
import struct
import sys
import time

DEADLINE = time.monotonic() + 60  # there are ways in which a server never starts


def connect(family, address):
    while True:
        connection = socket.socket(family)
        try:
            connection.connect(address)
            return connection
        except OSError:
            connection.close()
            if time.monotonic() > DEADLINE:
                sys.exit(1)
            time.sleep(0.05)


def memcached(port):
    stream = connect(socket.AF_INET, ("127.0.0.1", int(port))).makefile("rwb")
    found = 0
    for i in range(4000):
        value = b"x" * (i % 2000)
        stream.write(b"set k%d 0 0 %d\r\n%s\r\nget k%d\r\n" % (i, len(value), value, i))
        stream.flush()
        stored, line = stream.readline(), stream.readline()
        found += stored == b"STORED\r\n" and line.startswith(b"VALUE") and stream.read(len(value) + 2) == value + b"\r\n"
        stream.readline()
    print(found)


def record(kind, content):
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content


def fastcgi(path, script):
    answers = set()
    for _ in range(100):
        connection = connect(socket.AF_UNIX, path)
        words = {b"SCRIPT_FILENAME": script.encode(), b"REQUEST_METHOD": b"GET"}
        pairs = b"".join(bytes((len(k), len(v))) + k + v for k, v in words.items())
        connection.sendall(record(1, struct.pack(">HB5x", 1, 0)) + record(4, pairs) + record(4, b"") + record(5, b""))
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
        answers.add(answer.split(b"\r\n\r\n")[-1].split(b"\n")[0])
    print(sorted(answers))


{"memcached": memcached, "fastcgi": fastcgi}[sys.argv[1]](*sys.argv[2:])
