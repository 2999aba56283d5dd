#include "capture/outside/attach_check.h"

#include "base/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KERNEL_THREADS = 2 }; /* the parent of all of them */

static bool may_trace_all(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
    return syscall(SYS_capget, &head, sets) == 0 && sets[0].effective >> CAP_SYS_PTRACE & 1;
}

int attach_allowed_here(struct error *err)
{
    /* Yama: 0 anyone of the same user, 1 parents only, 2 with CAP_SYS_PTRACE, 3 nobody. Without Yama, as 0. */
    int64_t scope = small_file_number(0, "/proc/sys/kernel/yama/ptrace_scope");
    if (scope >= 3)
        return error_set(err, -EPERM, "no process may be traced here until the next boot (kernel.yama.ptrace_scope=3)");
    if (scope >= 1 && !may_trace_all())
        return error_set(err, -EPERM,
                         "only root may look into processes that run already: as root, or sysctl "
                         "kernel.yama.ptrace_scope=0");
    return 0;
}

/* A number out of a line of /proc/PID/status; -1: there is none. */
static long status_number(uint32_t pid, const char *key)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%u/status", pid);
    char *text = small_file_field(path, key);
    long number = text ? strtol(text, NULL, 10) : -1;
    free(text);
    return number;
}

long attach_tracer(uint32_t pid)
{
    long tracer = status_number(pid, "TracerPid:");
    return tracer > 0 ? tracer : 0;
}

int attach_missing(uint32_t pid, struct error *err)
{
    long process = status_number(pid, "Tgid:");
    if (process > 0 && process != (long)pid)
        return error_set(err, -ESRCH, "%u is a thread of process %ld: a process's number is wanted", pid, process);
    return error_set(err, -ESRCH, "there is no process %u here; of a container, the host's number is wanted", pid);
}

static int refuse(uint32_t pid, int cause, struct error *err)
{
    struct stat about;
    char path[32];
    snprintf(path, sizeof path, "/proc/%u", pid);
    if (cause == ENOENT || cause == ESRCH || stat(path, &about) != 0)
        return attach_missing(pid, err);
    if (status_number(pid, "Uid:") != (long)geteuid() && geteuid() != 0)
        return error_set(err, -EPERM, "process %u is another user's: root may sample it", pid);
    struct error here = {0};
    if (attach_allowed_here(&here) < 0)
        return error_set(err, -EPERM, "process %u: %s", pid, here.text);
    if (geteuid() == 0)
        return error_set(err, -EPERM,
                         "process %u may not be traced by this root: CAP_SYS_PTRACE is missing (in a container: docker "
                         "run --cap-add SYS_PTRACE), or it belongs to another user namespace",
                         pid);
    return error_set(err, -EPERM,
                     "process %u keeps its memory to itself (setuid, file capabilities, or PR_SET_DUMPABLE): root may "
                     "sample it",
                     pid);
}

static bool is_zombie(uint32_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%u/status", pid);
    char *state = small_file_field(path, "State:");
    bool is = state && *state == 'Z';
    free(state);
    return is;
}

/* What has no memory that could be read: kernels differ in what their files of it say. */
static int check_memory(uint32_t pid, struct error *err)
{
    if (status_number(pid, "Tgid:") != (long)pid)
        return attach_missing(pid, err);
    if (status_number(pid, "VmSize:") >= 0)
        return 0;
    if (is_zombie(pid) && status_number(pid, "Threads:") > 1)
        return error_set(err, -EINVAL,
                         "process %u: its first thread has ended, and with it what the kernel shows of its memory",
                         pid);
    long parent = status_number(pid, "PPid:");
    if (pid == KERNEL_THREADS || parent == KERNEL_THREADS)
        return error_set(err, -EINVAL, "process %u is a thread of the kernel: it has no memory of its own", pid);
    return error_set(err, -ESRCH, "process %u has ended: a zombie until its parent, process %ld, waits for it", pid,
                     parent);
}

int attach_check(uint32_t pid, struct error *err)
{
    char path[32];
    if (check_memory(pid, err) < 0)
        return err->code;
    snprintf(path, sizeof path, "/proc/%u/mem", pid);
    int mem = open(path, O_RDONLY | O_CLOEXEC);
    int cause = errno;
    if (mem < 0)
        return refuse(pid, cause, err);
    close(mem);
    long tracer = attach_tracer(pid);
    if (tracer)
        return error_set(err, -EBUSY,
                         "process %u is traced already, by process %ld (a debugger, strace): end that first", pid,
                         tracer);
    return 0;
}
