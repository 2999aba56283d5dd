/* capture/pause.h - when samples begin and end within a run (record --threads, --start-after, --stop-after).
 *
 * Objects are followed all the time: only bursts rest. A hardware source is started and stopped the same way. */
#pragma once

#include "capture/options.h"

struct capture_region;

struct pause {
    bool wanted, begun, ended;
    uint64_t began, stopped; /* times, once they came */
};

/* Before the target starts: rests when there is something to wait for. */
void pause_start(struct pause *pause, const struct capture_options *options, const struct capture_region *region);

/* In every pass: `pid` is the program's process, `started` when the run began. Returns whether samples are wanted. */
bool pause_step(struct pause *pause, const struct capture_options *options, const struct capture_region *region,
                uint32_t pid, uint64_t started, uint64_t now);
