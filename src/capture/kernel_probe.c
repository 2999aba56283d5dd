#include "capture/kernel_probe.h"

#include "base/small_file.h"
#include "topology/page_frame.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool probe_perf_tick(struct error *err)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = 1000000000,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .remove_on_exec = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        probe_explain_perf(-errno, err);
        return false;
    }
    close(fd);
    return true;
}

int probe_explain_perf(int code, struct error *err)
{
    int level = (int)small_file_number(-2, "/proc/sys/kernel/perf_event_paranoid");
    switch (-code) {
    case EACCES:
    case EPERM:
        if (level > 2)
            return error_set(err, code,
                             "perf_event_open refused (perf_event_paranoid=%d; sysctl "
                             "kernel.perf_event_paranoid=2 would allow it)",
                             level);
        return error_set(err, code, "perf_event_open refused (%s; a container's seccomp profile, most likely)",
                         strerror(-code));
    case ENOSYS:
        return error_set(err, code, "this kernel has no perf_event_open");
    case EINVAL:
    case E2BIG:
    case EOPNOTSUPP:
        return error_set(err, code, "this kernel's perf_event_open cannot send signals (Linux 5.13 can)");
    default:
        return error_set(err, code, "perf_event_open: %s", strerror(-code));
    }
}

void probe_frames(struct capture_means *means)
{
    struct error why = {0};
    means->frames = frame_allowed(&why) == 0;
    snprintf(means->frames_reason, sizeof means->frames_reason, "%.255s", why.text);
}
