#include "cli/commands/compare/balancing.h"

#include "capture/process/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char path[] = "/proc/sys/kernel/numa_balancing";

const char *balancing_refused(void)
{
    if (procfs_numa_balancing() < 0)
        return "this kernel has no NUMA balancing";
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return "kernel.numa_balancing is the administrator's to set; run it as root";
    close(fd);
    return "";
}

static int set(int value)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%d\n", value), fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    int cause = fd < 0 || write(fd, text, (size_t)length) != length ? errno : 0;
    if (fd >= 0)
        close(fd);
    return cause;
}

/* In a session of its own: what the terminal or a shell sends to the others does not end it. */
static void keep(int alive, int value)
{
    sigset_t all;
    char nothing;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    while (read(alive, &nothing, 1) < 0 && errno == EINTR)
        ;
    _exit(set(value) != 0);
}

int balancing_hold(struct balancing_hold *hold, int value, struct error *err)
{
    int pipes[2], before = procfs_numa_balancing();
    *hold = (struct balancing_hold){.alive = -1};
    if (before < 0 || pipe2(pipes, O_CLOEXEC) < 0)
        return error_set(err, -ENOTSUP, "kernel.numa_balancing cannot be kept: %s",
                         before < 0 ? "it cannot be read" : strerror(errno));
    hold->keeper = fork();
    if (hold->keeper == 0) {
        close(pipes[1]);
        keep(pipes[0], before);
    }
    int cause = hold->keeper < 0 ? errno : 0;
    close(pipes[0]);
    hold->alive = pipes[1];
    if (cause == 0)
        cause = set(value);
    if (cause == 0)
        return 0;
    balancing_release(hold);
    return error_set(err, -cause, "kernel.numa_balancing cannot be set to %d: %s", value, strerror(cause));
}

void balancing_release(struct balancing_hold *hold)
{
    if (hold->alive >= 0)
        close(hold->alive);
    while (hold->keeper > 0 && waitpid(hold->keeper, NULL, 0) < 0 && errno == EINTR)
        ;
    *hold = (struct balancing_hold){.alive = -1};
}
