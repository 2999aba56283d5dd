#include "capture/faults/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *name, *file;
} table[SETTINGS] = {
    [SETTING_BALANCING] = {"kernel.numa_balancing", "/proc/sys/kernel/numa_balancing"},
    [SETTING_DELAY] = {"scan_delay_ms", "sched/numa_balancing/scan_delay_ms"},
    [SETTING_PERIOD_MIN] = {"scan_period_min_ms", "sched/numa_balancing/scan_period_min_ms"},
    [SETTING_PERIOD_MAX] = {"scan_period_max_ms", "sched/numa_balancing/scan_period_max_ms"},
    [SETTING_SIZE] = {"scan_size_mb", "sched/numa_balancing/scan_size_mb"},
};

/* A debugfs of our own, mounted nowhere: the system's may not be mounted. */
static int open_debugfs(void)
{
    enum { CLOEXEC = 1, CREATE = 6 }; /* FSOPEN_CLOEXEC and FSMOUNT_CLOEXEC, FSCONFIG_CMD_CREATE */
    int context = (int)syscall(SYS_fsopen, "debugfs", CLOEXEC), mount = -1;
    if (context >= 0 && syscall(SYS_fsconfig, context, CREATE, NULL, NULL, 0) == 0)
        mount = (int)syscall(SYS_fsmount, context, CLOEXEC, 0);
    if (context >= 0)
        close(context);
    return mount >= 0 ? mount : open("/sys/kernel/debug", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int read_setting(int file, long *value)
{
    char text[32] = "", *end;
    ssize_t got = pread(file, text, sizeof text - 1, 0);
    *value = strtol(text, &end, 10);
    return got > 0 && end != text ? 0 : -EIO;
}

static int write_setting(int file, long value)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%ld\n", value);
    return pwrite(file, text, (size_t)length, 0) == length ? 0 : -errno;
}

static int explain(enum setting setting, int code, struct error *err)
{
    if (setting == SETTING_BALANCING && code == -ENOENT)
        return error_set(err, code, "this kernel has no NUMA balancing (CONFIG_NUMA_BALANCING)");
    if (setting == SETTING_BALANCING)
        return error_set(err, code, "kernel.numa_balancing cannot be changed: %s; it takes root (CAP_SYS_ADMIN)",
                         strerror(-code));
    return error_set(err, code,
                     "%s of NUMA balancing cannot be changed: %s; it is in debugfs (sched/numa_balancing), which takes "
                     "root, Linux 5.13, and a kernel that is not locked down",
                     table[setting].name, strerror(-code));
}

int settings_open(struct settings *settings, unsigned count, struct error *err)
{
    *settings = (struct settings){0};
    int debugfs = count > 1 ? open_debugfs() : -1, code = 0;
    while (code == 0 && settings->count < count) {
        unsigned i = settings->count;
        int file = openat(debugfs, table[i].file, O_RDWR | O_CLOEXEC);
        code = file < 0 ? -errno : read_setting(file, &settings->before[i]);
        if (file >= 0)
            settings->files[settings->count++] = file;
        settings->now[i] = settings->before[i];
        if (code < 0)
            explain(i, code, err);
    }
    if (debugfs >= 0)
        close(debugfs);
    if (code < 0)
        settings_close(settings);
    return code;
}

/* The period's lower bound may not pass the upper one at any moment, so both orders are tried. */
static void put_back(const struct settings *settings)
{
    for (int pass = 0; pass < 2; pass++)
        for (unsigned i = settings->count; i-- > 0;)
            write_setting(settings->files[i], settings->before[i]);
}

/* In a session of its own: what the terminal or a shell sends to the others does not end it. */
static void keep(const struct settings *settings, int alive)
{
    sigset_t all;
    char nothing;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    while (read(alive, &nothing, 1) < 0 && errno == EINTR)
        ;
    put_back(settings);
    _exit(0);
}

int settings_hold(struct settings *settings, struct error *err)
{
    int pipes[2];
    /* The keeper has the lock too, so that it ends with the later one of both. */
    if (flock(settings->files[0], LOCK_EX | LOCK_NB) < 0)
        return error_set(err, -EBUSY, "another numalens has changed the settings of NUMA balancing: wait for its end");
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return error_set(err, -errno, "the settings of NUMA balancing cannot be kept: %s", strerror(errno));
    settings->keeper = fork();
    if (settings->keeper == 0) {
        close(pipes[1]);
        keep(settings, pipes[0]);
    }
    int code = settings->keeper < 0 ? -errno : 0;
    close(pipes[0]);
    settings->alive = pipes[1];
    if (code == 0)
        return 0;
    close(pipes[1]);
    settings->keeper = 0;
    return error_set(err, code, "the settings of NUMA balancing cannot be kept: %s", strerror(-code));
}

int settings_set(struct settings *settings, enum setting setting, long value)
{
    if (!settings->keeper)
        return -EPERM;
    if (settings->now[setting] == value)
        return 0;
    int code = write_setting(settings->files[setting], value);
    if (code == 0)
        settings->now[setting] = value;
    return code;
}

void settings_close(struct settings *settings)
{
    if (settings->keeper) {
        close(settings->alive);
        while (waitpid(settings->keeper, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    for (unsigned i = 0; i < settings->count; i++)
        close(settings->files[i]);
    *settings = (struct settings){0};
}
