/* The kernel's NUMA balancing takes pages' access rights away, a stretch of each program's memory at a time, to see who
 * comes for them. It scans `scan_size_mb` once a period; the period is scan_period_min_ms divided by how often the size
 * goes into the program's memory (kernel/sched/fair.c, task_scan_min), and 2560 MiB a second are the most. So a period of
 * one interval is asked for by multiplying with that number. */
#include "capture/faults/armer.h"
#include "capture/faults/settings.h"

#include "base/mem.h"
#include "capture/process/procfs.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGES_PER_MB = 256, MB_PER_SECOND = 2560 };

struct numa_hint {
    struct settings settings;
    uint64_t interval_ms;
    uint64_t pages; /* of the largest process, in this pass */
};

static uint64_t arm(void *context, uint32_t pid, uint64_t most, armer_found *found, void *finder)
{
    struct numa_hint *hint = context;
    unsigned long long total, resident = 0;
    (void)most, (void)found, (void)finder;
    FILE *file = procfs_open(pid, "statm");
    if (file && fscanf(file, "%llu %llu", &total, &resident) == 2 && resident > hint->pages)
        hint->pages = resident;
    if (file)
        fclose(file);
    return 0;
}

static bool near(long one, long other)
{
    return one * 4 <= other * 5 && other * 4 <= one * 5;
}

static void change(struct numa_hint *hint, enum setting setting, long value)
{
    if (!near(hint->settings.now[setting], value))
        settings_set(&hint->settings, setting, value);
}

static void pass_over(void *context, uint64_t most)
{
    struct numa_hint *hint = context;
    uint64_t fastest = MB_PER_SECOND * hint->interval_ms / 1000, resident = hint->pages / PAGES_PER_MB + 1;
    uint64_t size = most / PAGES_PER_MB > fastest ? fastest : most / PAGES_PER_MB;
    size = size > resident ? resident : size;
    size = size < 1 ? 1 : size;
    uint64_t windows = (resident + size - 1) / size;
    uint64_t limit = most < PAGES_PER_MB ? PAGES_PER_MB / (most + 1) + 1 : 1; /* less than a MiB: more seldom */
    uint64_t period = hint->interval_ms * windows * limit;
    change(hint, SETTING_SIZE, (long)size);
    if ((long)period > hint->settings.now[SETTING_PERIOD_MAX]) {
        change(hint, SETTING_PERIOD_MAX, (long)period);
        change(hint, SETTING_PERIOD_MIN, (long)period);
    } else {
        change(hint, SETTING_PERIOD_MIN, (long)period);
        change(hint, SETTING_PERIOD_MAX, (long)period);
    }
    hint->pages = 0;
}

static void forget(void *context, uint32_t pid, uint64_t time)
{
    (void)context, (void)pid, (void)time;
}

static void close_hint(void *context)
{
    struct numa_hint *hint = context;
    settings_close(&hint->settings);
    free(hint);
}

int numa_hint_open(struct armer *armer, uint64_t interval_ns, struct error *err)
{
    struct numa_hint *hint = mem_zalloc(sizeof *hint);
    int code = settings_open(&hint->settings, err);
    hint->interval_ms = interval_ns / 1000000 ? interval_ns / 1000000 : 1;
    if (code == 0 && (code = settings_hold(&hint->settings, err)) == 0) {
        settings_set(&hint->settings, SETTING_DELAY, (long)hint->interval_ms);
        settings_set(&hint->settings, SETTING_PERIOD_MIN, (long)hint->interval_ms);
        settings_set(&hint->settings, SETTING_PERIOD_MAX, (long)hint->interval_ms);
        settings_set(&hint->settings, SETTING_SIZE, 16);
        code = settings_set(&hint->settings, SETTING_BALANCING, hint->settings.before[SETTING_BALANCING] | 1);
        if (code < 0)
            error_set(err, code, "kernel.numa_balancing cannot be set");
    }
    if (code < 0) {
        settings_close(&hint->settings);
        free(hint);
        return code;
    }
    *armer = (struct armer){hint, PAGE_NUMA_HINT, arm, pass_over, forget, close_hint};
    return 0;
}
