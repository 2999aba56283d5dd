"""What may be skipped, and where. scripts/test fails on any other skip; a package that is missing is none of these.

A row of ALLOWED has a pattern of titles, a pattern of reasons (as the shell's), and where such a skip is right: a function that
looks at this machine, whose first line says what it looks for."""
import ctypes
import fnmatch
import glob
import mmap
import os
import platform
import re
import resource
import struct
import subprocess
import sys

CALLS = {"x86_64": {"move_pages": 279, "perf_event_open": 298, "seccomp": 317, "userfaultfd": 323},
         "aarch64": {"move_pages": 239, "perf_event_open": 241, "seccomp": 277, "userfaultfd": 282}}


def text_of(path):
    try:
        with open(path) as stream:
            return stream.read()
    except OSError:
        return ""


def works(*command):
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def call(name, *arguments):
    number = CALLS.get(platform.machine(), {}).get(name)
    return ctypes.CDLL(None).syscall(number, *arguments) if number else -1


def opens_event(process, cpu):
    attributes = bytearray(128)
    struct.pack_into("IIQ", attributes, 0, 1, 128, 2)  # PERF_TYPE_SOFTWARE, the size, PERF_COUNT_SW_PAGE_FAULTS
    struct.pack_into("Q", attributes, 40, 1 << 5)  # exclude_kernel
    fd = call("perf_event_open", (ctypes.c_char * 128).from_buffer(attributes), process, cpu, -1, 0)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def processor_has(*flags):
    return set(flags) <= set(re.findall(r"\w+", text_of("/proc/cpuinfo")))


def is_user():
    """without root's rights"""
    return os.geteuid() != 0


def is_sanitized():
    """a sanitized build: the same test runs in the plain one"""
    return True


def is_part():
    """only some of the suites are run"""
    return len(sys.argv) > 1


def is_guest():
    """an emulated machine, whose kernel and processor have less: the same test runs outside"""
    return True


def is_other_release():
    """not Debian 12, whose clang-format, C library and perf are known"""
    return not re.search(r"^VERSION_CODENAME=bookworm$", text_of("/etc/os-release"), re.M)


def is_not_x86_64():
    """another processor than x86-64"""
    return platform.machine() != "x86_64"


def has_nodes():
    """several nodes"""
    return os.path.exists("/sys/devices/system/node/node1")


def no_perf():
    """perf_event_open is refused"""
    return not opens_event(0, -1)


def no_perf_of_machine():
    """perf_event_open of the whole machine is refused"""
    return not opens_event(-1, 0)


def no_pmu():
    """no PMU that samples loads with their addresses"""
    return not any(glob.glob("/sys/bus/event_source/devices/" + name) for name in ("cpu*/events/mem-loads", "ibs_op", "arm_spe*"))


def has_pmu():
    """a PMU that samples loads with their addresses"""
    return not no_pmu()


def no_soft_dirty():
    """a kernel without soft-dirty bits (CONFIG_MEM_SOFT_DIRTY)"""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    try:
        with open("/proc/self/clear_refs", "w") as clear:
            clear.write("4")
        page[0] = 1
        with open("/proc/self/pagemap", "rb") as pages:
            pages.seek(address // mmap.PAGESIZE * 8)
            return not struct.unpack("Q", pages.read(8))[0] >> 55 & 1
    except OSError:
        return True


def has_soft_dirty():
    """a kernel with soft-dirty bits"""
    return not no_soft_dirty()


def has_hints():
    """a kernel whose NUMA balancing can be set, in debugfs"""
    return works("unshare", "--mount", "sh", "-c",
                 "mount -t debugfs none /sys/kernel/debug && : >>/sys/kernel/debug/sched/numa_balancing/scan_delay_ms")


def no_write_protection():
    """a kernel before Linux 6.7, without asynchronous write protection"""
    return tuple(map(int, re.findall(r"\d+", platform.release())[:2])) < (6, 7)


def no_faults_offered():
    """a kernel before Linux 6.7, or userfaultfd is refused"""
    fd = call("userfaultfd", 1)  # UFFD_USER_MODE_ONLY
    if fd >= 0:
        os.close(fd)
    return no_write_protection() or fd < 0


def no_second_touch():
    """a kernel that shows only first touches: no asynchronous write protection, soft-dirty bits or second node"""
    return no_write_protection() and no_soft_dirty() and not has_nodes()


def no_huge_page():
    """the kernel gives no huge page now"""
    area = mmap.mmap(-1, 8 << 20)
    area.madvise(mmap.MADV_HUGEPAGE)
    area.write(bytes(8 << 20))
    return not re.search(r"^AnonHugePages: +[1-9]", text_of("/proc/self/smaps"), re.M)


def no_move_pages():
    """move_pages is refused"""
    return call("move_pages", 0, 0, None, None, None, 0) != 0


def no_namespaces():
    """namespaces of one's own, or mounts in them, are refused"""
    return not (works("unshare", "--mount", "--map-root-user", "--pid", "--fork", "--mount-proc", "sh", "-c", "mount -t tmpfs none /proc") and
                works("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--proc", "/proc", "true"))


def no_time_namespaces():
    """namespaces of time are refused"""
    return not works("unshare", "--time", "--fork", "--monotonic", "1000", *(["--map-root-user"] if is_user() else []), "true")


def no_attach():
    """processes that run already may not be traced (Yama)"""
    scope, rights = text_of("/proc/sys/kernel/yama/ptrace_scope"), re.search(r"^CapEff:\t(\w+)", text_of("/proc/self/status"), re.M)
    return int(scope or 0) >= (3 if int(rights[1], 16) >> 19 & 1 else 1)  # CAP_SYS_PTRACE


def no_ptrace():
    """processes cannot be traced"""
    return not works("strace", "-o", "/dev/null", "true")


def no_filters():
    """seccomp is refused"""
    return call("seccomp", 2, 0, ctypes.byref(ctypes.c_uint(0x00050000))) != 0  # SECCOMP_GET_ACTION_AVAIL


def no_protection_keys():
    """a processor or kernel without protection keys"""
    return not processor_has("ospke") and not processor_has("poe")


def has_node_without_cpus():
    """a node that has memory only"""
    return any(not text_of(path).strip() for path in glob.glob("/sys/devices/system/node/node*/cpulist"))


def has_small_stack():
    """a limit of the stack that allows no command line of a megabyte"""
    return 0 <= resource.getrlimit(resource.RLIMIT_STACK)[0] < 6 << 20


def no_sve():
    """an Arm processor without SVE"""
    return platform.machine() == "aarch64" and not processor_has("sve")


def no_signatures():
    """an Arm processor without pointer authentication"""
    return platform.machine() == "aarch64" and not processor_has("paca")


def no_avx2():
    """a processor without AVX2 or BMI2"""
    return not processor_has("avx2", "bmi2")


def no_wide_registers():
    """a processor without vector registers of more than 16 bytes"""
    return not processor_has("avx") and not processor_has("sve")


def no_sequences():
    """a C library before 2.35"""
    return tuple(map(int, platform.libc_ver()[1].split(".")[:2])) < (2, 35)


def no_memory_rule():
    """a kernel before Linux 6.3, which cannot forbid executable memory"""
    return ctypes.CDLL(None).prctl(66, 0, 0, 0, 0) < 0  # PR_GET_MDWE


def no_clock_page():
    """a clock that only the kernel reads"""
    return text_of("/sys/devices/system/clocksource/clocksource0/current_clocksource").strip() not in (
        "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")


def no_caches():
    """a machine that does not say which caches it has"""
    return not glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size")


def no_recordings():
    """recordings of other machines are not beside the project"""
    return not os.path.isdir(os.path.abspath(__file__ + "/../../../shared/data/perf"))


def limits_of_new_group(top):
    """The files that limit the memory of a control group there."""
    group = os.path.join(top, "numalens-skip-%d" % os.getpid())
    try:
        os.mkdir(group)
    except OSError:
        return []
    try:
        return [name for name in ("memory.max", "memory.limit_in_bytes") if os.access(os.path.join(group, name), os.W_OK)]
    finally:
        os.rmdir(group)


def no_memory_group():
    """a user, or a machine, that can make no control group of memory"""
    limits = [path for top in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory") for path in limits_of_new_group(top)]
    return os.geteuid() != 0 or not limits


def no_balancing():
    """a kernel without NUMA balancing (CONFIG_NUMA_BALANCING)"""
    return not os.path.exists("/proc/sys/kernel/numa_balancing")


def no_group():
    """a user, or a machine, that can make no control group"""
    return not any(os.access(folder, os.W_OK) for folder in ("/sys/fs/cgroup/freezer", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"))


def one_cpu():
    """one CPU"""
    return len(os.sched_getaffinity(0)) < 2


ALLOWED = [
    ("packages: *", "it is not installed*", is_other_release),
    ("outside: a cgroup*", "no control group can be made here", no_group),
    ("crash: out of memory: *", "no control group of memory can be made here", no_memory_group),
    ("guest-units: *", "emulated: *", is_guest),
    ("sanitized sandbox: *", "a sanitized build restricts nothing*", is_sanitized),
    ("sandbox: *", "filters of system calls are refused here", no_filters),
    ("reader_sanitized: *", "no sanitized build*", is_part),
    ("lint: sources are formatted", "clang-format 14 is not installed", is_other_release),
    ("*soft_dirty", "this kernel marks no written pages", no_soft_dirty),
    ("*engine_x86_64: *", "the processor has no AVX2*", no_avx2),
    ("*linked_aarch64: *", "the processor has no SVE", no_sve),
    ("*step_aarch64: *", "this processor signs no pointers", no_signatures),
    ("*step_x86_64: *", "the processor has no AVX2*", no_avx2),
    ("custom: *", "the processor has no such registers*", no_wide_registers),
    ("*: *", "the C library registers no restartable sequences", no_sequences),
    ("identical: executable memory forbidden", "this kernel cannot", no_memory_rule),
    ("*: *", "only root can *", is_user),
    ("*: *", "needs root *", is_user),
    ("system: *", "*perf_event_paranoid=0", no_perf_of_machine),
    ("*: *", "processes that run already may not be traced here", no_attach),
    ("*: *", "*perf_event_open*", no_perf),
    ("*: *", "no perf events here*", no_perf),
    ("*: *", "*page faults cannot be recorded here*", no_perf),
    ("*: *", "perf cannot record page faults here*", no_perf),
    ("*: *", "no page faults from perf*", no_perf),
    ("*: *", "there is no tick by perf here", no_perf),
    ("*: *", "no ticks from perf here", no_perf),
    ("matmul: *", "pages are not recorded from faults here", no_perf),
    ("*: *", "no event for the whole machine here*", no_perf_of_machine),
    ("*: *", "no counters for the whole machine here*", no_perf_of_machine),
    ("*: *", "only the administrator may count for the whole machine", no_perf_of_machine),
    ("*: *", "there are no hardware events of loads here", no_pmu),
    ("doctor: without a PMU*", "this machine has one", has_pmu),
    ("migrate: a machine with one node*", "this machine has several nodes", has_nodes),
    ("plan: optimize: *", "one CPU only*", one_cpu),
    ("plan: apply: CPUs that *", "one CPU only*", one_cpu),
    ("plan: optimize: where there is one node *", "this machine has several nodes", has_nodes),
    ("matrix: *", "none of the programs can be run so here", is_user),
    ("matrix: *", "none of the programs can be run so here", no_namespaces),
    ("model: *", "node * has no CPUs*", has_node_without_cpus),
    ("honest: a command line *", "the system allows no such command line*", has_small_stack),
    ("confined: *", "*not allowed here", no_namespaces),
    ("confined: a time namespace*", "time namespaces are not allowed here", no_time_namespaces),
    ("crash: a full disk*", "a disk of one's own cannot be mounted here", no_namespaces),
    ("compare: *", "no file of the kernel's can be replaced in a namespace here", no_namespaces),
    ("compare: placements: NUMA balancing *", "this kernel does not balance", no_balancing),
    ("honest: without /proc*", "nothing can be mounted over /proc here", no_namespaces),
    ("honest: *", "strace cannot trace here*", no_ptrace),
    ("left_alone: *", "nothing can be mounted over /proc here", no_namespaces),
    ("left_alone: *", "processes cannot be traced here", no_ptrace),
    ("sandbox: *", "seccomp is refused here", no_filters),
    ("sandbox: *", "strace cannot trace here", no_ptrace),
    ("account: *", "strace cannot trace here*", no_ptrace),
    ("*home: *", "the kernel *", no_move_pages),
    ("*: *", "the kernel ha* no huge page*", no_huge_page),
    ("faults: huge pages*", "there are none here", no_huge_page),
    ("faults: without perf*", "it has not", no_write_protection),
    ("hostile_region: an offer*", "userfaultfd cannot be used here", no_faults_offered),
    ("faults: where userfaultfd is refused*", "another mechanism steps in", has_nodes),
    ("faults: where userfaultfd is refused*", "another mechanism steps in", has_hints),
    ("faults: where userfaultfd is refused*", "another mechanism steps in", has_soft_dirty),
    ("matmul: *", "only first touches can be seen here", no_second_touch),
    ("matmul: *", "soft-dirty bits tell no threads", has_soft_dirty),
    ("objects: the kernel's clock page*", "the clock is read by a system call here*", no_clock_page),
    ("restricted: *", "the kernel refuses it", is_not_x86_64),
    ("restricted: *", "this libc needs a system call *", is_other_release),
    ("restricted: protection keys*", "this machine has no protection keys", no_protection_keys),
    ("traffic: stores past the caches*", "only x86-64 has them", is_not_x86_64),
    ("harmless: long bursts leave code*", "the example is for x86-64", is_not_x86_64),
    ("*: *", "caches and memory *not* distinguished *", no_caches),
    ("import: *", "* is not here", no_recordings),
    ("import: *", "this perf does not read it", is_other_release),
    ("import: inputs that broke other readers*", "no such inputs here", no_recordings),
]

# Reasons that no machine has: a package is missing, or what all of them have. Where one is given after all, the tests fail.
NOWHERE = ["* installed", "*node or npm is missing", "*not built here*", "*was built without *", "*was not found when this was configured", "no system call number* for *", "*no /dev/full",
           "completion is written by a program that runs here", "the kernel's own code cannot be read: *", "* cannot be read", "the bit cannot be set here",
           "no file here is old and has a single name", "no sanitized build; *", "there is no node here: this build has no page"]


def objection(title, reason):
    """None where this skip is right; else what is wrong with it."""
    rows = [where for titles, reasons, where in ALLOWED if fnmatch.fnmatchcase(title, titles) and fnmatch.fnmatchcase(reason, reasons)]
    if not rows:
        return "no row of tests/skips.py allows this skip"
    if not any(where() for where in rows):
        return "tests/skips.py allows it elsewhere: " + "; ".join(where.__doc__ for where in rows)
    return None
