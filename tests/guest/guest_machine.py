"""The emulated machine: finds QEMU, a kernel and busybox, knows the command line that works, and runs it."""
import collections
import lzma
import os
import pathlib
import platform
import shutil
import struct
import subprocess
import threading
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
FETCH = PROJECT / "scripts" / "cross-fetch"
# A third of a boot is tests of ciphers, certificates and measuring noise, which nothing here uses. The rest is what a kernel does
# against attacks: emulated, it makes each call, fault and signal dearer.
QUICK = ("nokaslr cryptomgr.notests initcall_blacklist=jent_mod_init,load_system_certificate_list,"
         "bpf_tcp_ca_kfunc_init,bpf_dummy_struct_ops_init mitigations=off init_on_alloc=0 hardened_usercopy=off "
         "randomize_kstack_offset=off apparmor=0 audit=0")

Outcome = collections.namedtuple("Outcome", "status files reason timed_out")


class Unavailable(Exception):
    pass


class Kind:
    """Of machine: what it is called by whom, and where its files are kept."""

    def __init__(self, arch):
        self.arch = arch
        self.machine, self.debian, self.package = {"x86_64": ("x86_64", "amd64", "qemu-system-x86"),
                                                   "arm64": ("aarch64", "arm64", "qemu-system-arm")}[arch]
        self.qemu = f"qemu-system-{self.machine}"
        self.folder = "guest" if arch == "x86_64" else f"guest-{arch}"


X86_64 = Kind("x86_64")


def cache():
    shared = os.environ.get("XDG_CACHE_HOME")
    return pathlib.Path(shared) / "numalens" if shared else PROJECT / ".cache"


def fetch(kind, folder, *words):
    into = cache() / kind.folder / folder
    done = subprocess.run([FETCH, "--arch", kind.debian, "--cache", cache() / "packages", "--into", into, *words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Unavailable(f"cannot get {words[-1]}: {done.stdout.strip()}")
    return into


def library_roots(kind=X86_64):
    """Where its libraries are: this machine itself, or the sysroot of the cross build."""
    if platform.machine() == kind.machine:
        return [pathlib.Path("/")]
    return [cache() / kind.arch / "sysroot"]


def userland(packages, kind=X86_64):
    """A root folder with these Debian packages, a shell, and all they need, unpacked and not configured."""
    return fetch(kind, "with-" + "-".join(packages), "--closure", "dash", *packages)


def busybox(kind=X86_64):
    return fetch(kind, "busybox", "busybox-static") / "bin" / "busybox"


def _unpack_kernel(image, target):
    """Takes the kernel out of a bzImage (an ELF file, which boots by PVH, without the slow decompression inside the
    guest), or out of an Arm kernel that would unpack itself with a firmware's help."""
    data = image.read_bytes()
    if data[4:8] == b"zimg":
        start, length = struct.unpack_from("<II", data, 8)
        trailer = 4
    elif data[0x202:0x206] == b"HdrS":
        offset, length = struct.unpack_from("<II", data, 0x248)
        start, trailer = ((data[0x1F1] or 4) + 1) * 512 + offset, 4
    else:
        return image
    payload = data[start:start + length]
    tools = {b"\x28\xb5\x2f\xfd": ["zstd", "-dcq"], b"\xfd7zX": ["xz", "-dcq", "--single-stream"],
             b"\x1f\x8b": ["gzip", "-dcq"]}
    for magic, tool in tools.items():
        if payload.startswith(magic) and shutil.which(tool[0]):
            # The four bytes behind the payload are its size; tools complain about them after writing everything.
            done = subprocess.run(tool, input=payload[:-trailer], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if done.stdout.startswith(b"\x7fELF") or done.stdout[56:60] == b"ARMd":
                fresh = target.with_name(f"{target.name}.{os.getpid()}")
                fresh.write_bytes(done.stdout)
                os.rename(fresh, target)
                return target
    return image


def kernel(kind=X86_64):
    """A kernel that QEMU can boot: the backports suite's where there is one, else the release's own."""
    if not shutil.which(kind.qemu):
        raise Unavailable(f"{kind.qemu} is not installed (Debian: {kind.package})")
    root = fetch(kind, "kernel", "--backports", f"linux-image-cloud-{kind.debian}")
    images = sorted((root / "boot").glob("vmlinuz-*"))
    if not images:
        raise Unavailable(f"no kernel in {root}")
    unpacked = images[-1].with_name(images[-1].name.replace("vmlinuz", "vmlinux"))
    return unpacked if unpacked.exists() else _unpack_kernel(images[-1], unpacked)


def modules(kernel_image):
    """(name, bytes) of those modules of this kernel that the machine's ports need, in the order of loading."""
    tree = kernel_image.parents[1] / "lib" / "modules"
    found = []
    for name in ("virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
                 "virtio_console"):
        for path in sorted(tree.rglob(f"{name}.ko*")):
            data = path.read_bytes()
            found.append((f"{name}.ko", lzma.decompress(data) if path.suffix == ".xz" else data))
    return found


def processor(kind):
    """Machine, processor, and console with other words for the kernel. Not to be tidied: on x86-64 thread=multi oopses the guest as soon as
    perf is used, and with cx16 the 6.12 kernel fails to boot in most tries. Its test of the timer counts ticks while it waits, and panics
    where the emulator does not get the CPU meanwhile. String instructions are emulated byte by byte: without erms and rep_good (112) nobody
    clears pages by them."""
    if kind.arch == "x86_64":
        return ["-M", "q35", "-accel", "tcg,thread=single", "-cpu", "max,-cx16,-erms,-fsrm"], "ttyS0 no_timer_check clearcpuid=112"
    return ["-M", "virt,gic-version=3", "-accel", "tcg", "-cpu", "neoverse-n1"], "ttyAMA0"


def clock(wanted):
    """(QEMU's, the kernel's) words for a clock that counts instructions. All processors see the same count, which an x86-64 kernel does not
    believe of several sockets by itself: each look at a clock would be a system call that reads a device."""
    if wanted.count is None:
        return [], ""
    return ["-icount", f"shift={wanted.count},sleep=off"], "tsc=reliable" if wanted.arch == "x86_64" else ""


def arguments(kernel_image, initrd, wanted):
    """QEMU's command line but for its ports. All nodes must come before any distance."""
    nodes, cpus, kind = wanted.nodes, wanted.cpus, Kind(wanted.arch)
    with_cpus = [node for node in range(nodes) if node not in wanted.memory_only]
    machine, console = processor(kind)
    counting, trusted = clock(wanted)
    words = [kind.qemu, *machine,
             "-smp", f"{len(with_cpus) * cpus},sockets={len(with_cpus)},cores={cpus}", "-m", f"{nodes * wanted.memory}M",
             "-nodefaults", "-no-reboot", "-display", "none", "-kernel", str(kernel_image), "-initrd", str(initrd),
             "-append",
             f"console={console} quiet oops=panic panic=-1 transparent_hugepage=madvise {QUICK} {trusted} {wanted.kernel}", *counting]
    for node in range(nodes):
        words += ["-object", f"memory-backend-ram,id=memory{node},size={wanted.memory}M"]
    for node in range(nodes):
        first = with_cpus.index(node) * cpus if node in with_cpus else None
        own = f"cpus={first}-{first + cpus - 1}," if first is not None else ""
        words += ["-numa", f"node,nodeid={node},{own}memdev=memory{node}"]
    for one in range(nodes):
        for other in range(one + 1, nodes):
            distance = wanted.distances[one][other] if wanted.distances else 20
            words += ["-numa", f"dist,src={one},dst={other},val={distance}"]
    return words


class _Output:
    """Passes the guest's output on and keeps back the line that begins with the nonce."""

    def __init__(self, descriptor, nonce, sink):
        self.descriptor, self.nonce, self.sink = descriptor, nonce.encode(), sink
        self.record = None
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._pump, daemon=True)
        self.thread.start()

    def _pump(self):
        with os.fdopen(self.descriptor, "rb") as lines:
            for line in lines:
                at = line.find(self.nonce)
                if at >= 0:
                    self._write(line[:at])
                    self.record = line[at + len(self.nonce):].split()
                    break
                self._write(line)
        self.done.set()

    def _write(self, data):
        if data:
            self.sink.write(data)
            self.sink.flush()


def run(machine, work, nonce, timeout, sink):
    """Boots the machine, passes its output to `sink`, and returns the Outcome. Only a record with the nonce counts:
    QEMU exits with 0 when the guest panics."""
    deadline = time.monotonic() + timeout
    reader, writer = os.pipe()
    files = work / "files"
    ports = ["-serial", f"file:{work / 'console'}", "-device", "virtio-serial-pci",
             "-chardev", f"file,id=output,path=/proc/self/fd/{writer}",
             "-device", "virtserialport,chardev=output,name=output",
             "-chardev", f"file,id=files,path={files}", "-device", "virtserialport,chardev=files,name=files"]
    process = subprocess.Popen(machine + ports, pass_fds=[writer], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.close(writer)
    output = _Output(reader, nonce, sink)
    try:
        if not output.done.wait(max(0, deadline - time.monotonic())):
            return Outcome(None, b"", f"gave up after {timeout:g} seconds", True)
        if output.record is None:
            said = process.stderr.read().decode(errors="replace").strip()
            return Outcome(None, b"", "the guest ended without a result" + (f" ({said})" if said else ""), False)
        status, size = int(output.record[0]), int(output.record[1])
        # The two ports are drained independently of each other.
        while files.stat().st_size < size:
            if time.monotonic() > deadline or process.poll() is not None:
                return Outcome(None, b"", "the guest's files did not all arrive", False)
            time.sleep(0.01)
        return Outcome(status, files.read_bytes()[:size], "", False)
    finally:
        process.kill()
        process.wait()
        output.done.wait(5)
