/* capture/faults/settings.h - the kernel's settings for NUMA balancing: changed for the time of a recording, put back in
 * any case.
 *
 * Before the first change what was there is written to a file (mode 0600, in /run/numalens for root, else in
 * $XDG_RUNTIME_DIR/numalens or /tmp/numalens-UID), so that a run that was killed can be made good: by the next recording
 * or by `numalens doctor --repair`. One run at a time may change them. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum setting {
    SETTING_BALANCING,  /* kernel.numa_balancing */
    SETTING_DELAY,      /* scan_delay_ms: the rest are in debugfs, sched/numa_balancing */
    SETTING_PERIOD_MIN, /* scan_period_min_ms */
    SETTING_PERIOD_MAX, /* scan_period_max_ms */
    SETTING_SIZE,       /* scan_size_mb */
    SETTINGS
};

struct settings {
    int debugfs; /* a directory, or -1 */
    bool held;   /* the file is ours: something may have been changed */
    long before[SETTINGS], now[SETTINGS];
};

/* Opens what is there, changes nothing. Negative with `err` when it cannot be changed: which setting, why, and what
 * would help. */
int settings_open(struct settings *settings, struct error *err);

/* Notes what is there, then allows settings_set. Fails when another run that still lives has changed them. */
int settings_hold(struct settings *settings, struct error *err);
int settings_set(struct settings *settings, enum setting setting, long value);

/* Puts back what was there and closes. */
void settings_close(struct settings *settings);

/* Puts back what a run left that is no more. 1 when it did (`what` says so), 0 when there was nothing to do, negative
 * with `err` when it could not. */
int settings_repair(char *what, size_t room, struct error *err);
