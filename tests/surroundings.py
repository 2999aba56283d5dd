"""What tests and the programs that they run see of the caller: nothing that changes what they do. A login shell of a plain system has the
same, whoever starts the tests, in whatever session."""
import os
import pwd
import resource
import signal
import stat
import sys
import tempfile

# All that stays of the environment: where tools are. A proxy, OMP_NUM_THREADS, COLUMNS, CC, POSIXLY_CORRECT, JAVA_TOOL_OPTIONS or the
# number of an MPI rank would change what programs do.
KEPT = ("HOME", "PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "PYENV_ROOT", "PYENV_VERSION", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN",
        "GOROOT", "JAVA_HOME", "NODE_PATH", "NVM_DIR", "ASDF_DIR", "ASDF_DATA_DIR")
# What nohup, a shell's '&' and daemons ignore is ignored by all that they start. Python itself has those of pipes and file sizes.
SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ}
# No core files in folders that are looked at; stacks for which the kernel has its usual layout of the address space.
LIMITS = {resource.RLIMIT_CORE: 0, resource.RLIMIT_STACK: 8 << 20, resource.RLIMIT_FSIZE: resource.RLIM_INFINITY,
          resource.RLIMIT_CPU: resource.RLIM_INFINITY, resource.RLIMIT_AS: resource.RLIM_INFINITY, resource.RLIMIT_DATA: resource.RLIM_INFINITY}
DESCRIPTORS = 4096  # at least, where they may be had
ROOM = 1 << 30  # bytes that tests use in their folder for temporary files, and as much again
LONGEST = 40  # characters of its path: a socket's path has 107 at most


def is_open_to_all(folder):
    """Whether every user may enter it."""
    while os.stat(folder).st_mode & stat.S_IXOTH:
        if folder == os.path.dirname(folder):
            return True
        folder = os.path.dirname(folder)
    return False


def is_good(folder):
    """For temporary files of tests, some of which are programs, and of other users."""
    if not folder or not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        return False
    folder = os.path.realpath(folder)
    system = os.statvfs(folder)
    return (system.f_bavail * system.f_frsize >= ROOM and not system.f_flag & (os.ST_NOEXEC | os.ST_NOSUID) and is_open_to_all(folder)
            and len(folder) <= LONGEST)


def temporary():
    """The folder for temporary files: the caller's, or one that is as good as /tmp should be; where there is none, the caller's."""
    return next(filter(is_good, (os.environ.get("TMPDIR"), "/tmp", "/var/tmp")), None) or tempfile.gettempdir()


def is_open(number):
    try:
        return bool(os.fstat(number))
    except OSError:
        return False


def set_limit(limit, value):
    hard = resource.getrlimit(limit)[1]
    allowed = value if hard == resource.RLIM_INFINITY else hard if value == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (allowed, hard))


def settle():
    """This process, and all that it starts from now on; but for the environment, which a test may need until its programs run."""
    if not __debug__:
        sys.exit("without its assertions (PYTHONOPTIMIZE) no check fails")
    for number in 0, 1, 2:
        if not is_open(number):
            os.open(os.devnull, os.O_RDWR)  # has the lowest number that is free
    tempfile.tempdir = temporary()
    os.umask(0o022)
    for limit, value in LIMITS.items():
        set_limit(limit, value)
    set_limit(resource.RLIMIT_NOFILE, max(DESCRIPTORS, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
    for number in SIGNALS:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def environment():
    """What is left of the caller's."""
    usual = {"PATH": os.defpath, "HOME": pwd.getpwuid(os.getuid()).pw_dir}
    kept = {name: value for name, value in os.environ.items() if name in KEPT}
    elsewhere = {"TMPDIR": tempfile.gettempdir()} if tempfile.gettempdir() != "/tmp" else {}
    return {**usual, **kept, **elsewhere, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
