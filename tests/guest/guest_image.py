"""The guest's root file system: a cpio archive (newc) put together in memory, with the libraries its binaries need."""
import os
import pathlib
import re
import subprocess

LIBRARY_FOLDERS = ["lib/{}-linux-gnu", "usr/lib/{}-linux-gnu", "lib64", "usr/lib64", "lib", "usr/lib"]


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def elf_needs(path):
    """(interpreter or None, needed library names, run paths) of a dynamic ELF file of any machine."""
    shown = subprocess.run(["readelf", "-W", "-l", "-d", path], text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL).stdout
    interpreter = re.search(r"Requesting program interpreter: ([^\]]+)\]", shown)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", shown)
    runpath = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", shown)
    return interpreter and interpreter[1], needed, runpath[1].split(":") if runpath else []


class Image:
    """`library_roots`: folders that look like a root folder, in which libraries are sought."""

    def __init__(self, library_roots, machine):
        self.library_roots, self.machine = library_roots, machine
        self.entries = {}  # guest path without leading slash -> (mode, bytes)
        self.inspected = set()
        for folder in ("bin", "dev", "etc", "lib", "proc", "root", "sys", "tmp", "root/out", "var", "run"):
            self._add_folder(folder)
        self.add_bytes("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/root:/bin/sh\n", 0o644)
        self.add_bytes("etc/group", b"root:x:0:\nuser:x:1000:\n", 0o644)

    def names(self, folder):
        prefix = folder.rstrip("/") + "/"
        return {path[len(prefix):] for path in self.entries if path.startswith(prefix)}

    def _add_folder(self, path):
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            self.entries.setdefault("/".join(parts[:depth]), (0o40755, b""))

    def add_bytes(self, path, data, mode):
        self._add_folder(str(pathlib.PurePosixPath(path).parent)) if "/" in path else None
        self.entries[path] = (0o100000 | mode, data)

    def add_file(self, path, host, mode=None):
        self.add_bytes(path, pathlib.Path(host).read_bytes(), mode or os.stat(host).st_mode & 0o777)

    def add_link(self, path, target):
        self._add_folder(str(pathlib.PurePosixPath(path).parent))
        self.entries[path] = (0o120777, target.encode())

    def add_tree(self, root, without):
        """Adds a whole root folder as it is, links and all, but for what `without` (a pattern of paths) matches."""
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root))
            if without.match(name):
                continue
            if path.is_symlink():
                self.add_link(name, os.readlink(path))
            elif path.is_file():
                self.add_file(name, path)

    def put(self, host, guest):
        """Adds a file, or a folder with all in it, below /root unless `guest` is absolute."""
        host = host.resolve()
        place = guest[1:] if guest.startswith("/") else "root/" + guest
        if host.is_dir():
            self._add_folder(place)
            for child in sorted(host.iterdir()):
                self.put(child, f"/{place}/{child.name}")
            return
        self.add_file(place, host)
        if is_elf(host):
            self._add_libraries(host)

    def _find(self, name, runpaths, origin):
        for runpath in runpaths:
            path = pathlib.Path(runpath.replace("$ORIGIN", str(origin))) / name
            if path.is_file():
                return path
        for root in self.library_roots:
            for folder in LIBRARY_FOLDERS:
                path = root / folder.format(self.machine) / name
                if path.is_file():
                    return path
        return None

    def _add_libraries(self, binary):
        interpreter, needed, runpaths = elf_needs(binary)
        if interpreter:
            name = pathlib.PurePosixPath(interpreter).name
            path = self._find(name, [], None)
            if path:
                self.add_file(interpreter.lstrip("/"), path, 0o755)
        for name in needed:
            if name in self.inspected:
                continue
            self.inspected.add(name)
            path = self._find(name, runpaths, binary.parent)
            if not path:
                raise FileNotFoundError(f"{binary} needs {name}, which is not in {self.library_roots}")
            path = path.resolve()
            self.add_file(f"lib/{path.name}", path, 0o755)
            if path.name != name:
                self.add_link(f"lib/{name}", path.name)
            self._add_libraries(path)

    def data(self):
        blocks = []
        for inode, (path, (mode, data)) in enumerate([*self.entries.items(), ("TRAILER!!!", (0, b""))], 1):
            name = path.encode() + b"\0"
            fields = [inode, mode, 0, 0, 2 if mode & 0o40000 else 1, 0, len(data), 0, 0, 0, 0, len(name), 0]
            header = b"070701" + b"".join(b"%08x" % field for field in fields) + name
            blocks += [header, bytes(-len(header) % 4), data, bytes(-len(data) % 4)]
        return b"".join(blocks)
