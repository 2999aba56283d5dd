#include "capture/faults/settings.h"

#include "capture/faults/rundir.h"
#include "capture/process/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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

static int open_setting(const struct settings *settings, enum setting setting, int flags)
{
    int fd = openat(settings->debugfs, table[setting].file, flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int read_setting(const struct settings *settings, enum setting setting, long *value)
{
    char text[32] = "";
    int fd = open_setting(settings, setting, O_RDONLY);
    if (fd < 0)
        return fd;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    char *end;
    *value = strtol(text, &end, 10);
    return got > 0 && end != text ? 0 : -EIO;
}

static int write_setting(const struct settings *settings, enum setting setting, long value)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%ld\n", value), code = 0;
    int fd = open_setting(settings, setting, O_WRONLY);
    if (fd < 0)
        return fd;
    if (write(fd, text, (size_t)length) != length)
        code = -errno;
    close(fd);
    return code;
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

int settings_open(struct settings *settings, struct error *err)
{
    *settings = (struct settings){.debugfs = open_debugfs()};
    for (enum setting setting = 0; setting < SETTINGS; setting++) {
        int fd = open_setting(settings, setting, O_RDWR);
        int code = fd < 0 ? fd : read_setting(settings, setting, &settings->before[setting]);
        if (fd >= 0)
            close(fd);
        if (code < 0) {
            settings_close(settings);
            return explain(setting, code, err);
        }
        settings->now[setting] = settings->before[setting];
    }
    return 0;
}

/* "numalens 1", "boot ID", "pid N since TICKS", then a line for each setting. */
static int write_state(const struct settings *settings, struct error *err)
{
    char text[1024], boot[64];
    rundir_boot_id(boot, sizeof boot);
    int length = snprintf(text, sizeof text, "numalens 1\nboot %s\npid %d since %" PRIu64 "\n", boot, (int)getpid(),
                          procfs_start((uint32_t)getpid()));
    for (enum setting setting = 0; setting < SETTINGS; setting++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s %ld\n", table[setting].name,
                           settings->before[setting]);
    return rundir_write("settings", text, (size_t)length, err);
}

struct state {
    char boot[64];
    uint32_t pid;
    uint64_t since;
    bool known[SETTINGS];
    long values[SETTINGS];
};

static bool parse_state(char *text, struct state *state)
{
    char *rest = text, *line = strsep(&rest, "\n");
    *state = (struct state){0};
    if (!line || strcmp(line, "numalens 1") != 0)
        return false;
    while ((line = strsep(&rest, "\n"))) {
        if (sscanf(line, "boot %63s", state->boot) == 1 ||
            sscanf(line, "pid %" SCNu32 " since %" SCNu64, &state->pid, &state->since) == 2)
            continue;
        for (enum setting setting = 0; setting < SETTINGS; setting++) {
            size_t length = strlen(table[setting].name);
            if (strncmp(line, table[setting].name, length) == 0 && line[length] == ' ') {
                state->values[setting] = strtol(line + length, NULL, 10);
                state->known[setting] = true;
            }
        }
    }
    return state->pid != 0;
}

static bool owner_lives(const struct state *state)
{
    return state->since && procfs_start(state->pid) == state->since;
}

int settings_hold(struct settings *settings, struct error *err)
{
    struct state state;
    char text[2048];
    if (rundir_read("settings", text, sizeof text) > 0 && parse_state(text, &state) && owner_lives(&state) &&
        state.pid != (uint32_t)getpid())
        return error_set(err, -EBUSY,
                         "another recording (process %u) has changed the settings of NUMA balancing: wait for its end",
                         state.pid);
    int code = write_state(settings, err);
    settings->held = code == 0;
    return code;
}

int settings_set(struct settings *settings, enum setting setting, long value)
{
    if (!settings->held)
        return -EPERM;
    if (settings->now[setting] == value)
        return 0;
    int code = write_setting(settings, setting, value);
    if (code == 0)
        settings->now[setting] = value;
    return code;
}

/* The period's lower bound may not pass the upper one at any moment, so both orders are tried. */
static int put_back(const struct settings *settings, const bool *known, const long *values)
{
    int code = 0;
    for (int pass = 0; pass < 2; pass++) {
        code = 0;
        for (enum setting setting = SETTINGS; setting-- > 0;) {
            int result = known[setting] ? write_setting(settings, setting, values[setting]) : 0;
            code = result < 0 ? result : code;
        }
    }
    return code;
}

void settings_close(struct settings *settings)
{
    static const bool all[SETTINGS] = {true, true, true, true, true};
    if (settings->held && put_back(settings, all, settings->before) == 0)
        rundir_remove("settings");
    if (settings->debugfs >= 0)
        close(settings->debugfs);
    *settings = (struct settings){.debugfs = -1};
}

int settings_repair(char *what, size_t room, struct error *err)
{
    struct settings settings = {.debugfs = -1};
    struct state state;
    char text[2048], boot[64];
    *what = 0;
    if (rundir_read("settings", text, sizeof text) <= 0)
        return 0;
    rundir_boot_id(boot, sizeof boot);
    if (!parse_state(text, &state) || strcmp(state.boot, boot) != 0) {
        rundir_remove("settings"); /* of another boot: the kernel has its own values again */
        return 0;
    }
    if (owner_lives(&state))
        return 0;
    settings.debugfs = open_debugfs();
    int code = put_back(&settings, state.known, state.values);
    if (settings.debugfs >= 0)
        close(settings.debugfs);
    if (code < 0)
        return error_set(err, code,
                         "a recording that was killed (process %u) left settings of NUMA balancing changed, and they "
                         "cannot be put back: %s; run numalens doctor --repair as root",
                         state.pid, strerror(-code));
    rundir_remove("settings");
    snprintf(what, room,
             "kernel.numa_balancing = %ld and its scan settings, which a killed recording (process %u) had changed",
             state.values[SETTING_BALANCING], state.pid);
    return 1;
}
