/* capture/faults/settings.h - the kernel's settings for NUMA balancing: changed for a while, put back however this process ends.
 *
 * Another process, in a session of its own, waits for that and puts them back. One run at a time may change them. */
#pragma once

#include "base/error.h"

#include <sys/types.h>

enum setting {
    SETTING_BALANCING,  /* kernel.numa_balancing */
    SETTING_DELAY,      /* scan_delay_ms: the rest are in debugfs, sched/numa_balancing */
    SETTING_PERIOD_MIN, /* scan_period_min_ms */
    SETTING_PERIOD_MAX, /* scan_period_max_ms */
    SETTING_SIZE,       /* scan_size_mb */
    SETTINGS
};

struct settings { /* {0}: none */
    unsigned count;
    int files[SETTINGS];
    long before[SETTINGS], now[SETTINGS];
    pid_t keeper; /* 0: nothing was changed */
    int alive;    /* a pipe that ends with this process */
};

/* Opens the first `count` of them, changes nothing. Negative with `err` when they cannot be changed: which one, why, and what
 * would help. */
int settings_open(struct settings *settings, unsigned count, struct error *err);

/* Sees to it that they are put back, then allows settings_set. Fails when another run that still lives has changed them. */
int settings_hold(struct settings *settings, struct error *err);
int settings_set(struct settings *settings, enum setting setting, long value);

/* Waits until what was there is put back. */
void settings_close(struct settings *settings);
