#include "capture/pause.h"

#include "base/map64.h"
#include "capture/agent/region_make.h"

#include <stdio.h>
#include <sys/stat.h>

static void rest(const struct capture_region *region, bool resting)
{
    atomic_store_explicit(&region->map->resting, resting, memory_order_relaxed);
}

void pause_start(struct pause *pause, const struct capture_options *options, const struct capture_region *region)
{
    pause->wanted = options->start_threads || options->start_ns || options->stop_ns;
    pause->begun = !options->start_threads && !options->start_ns;
    if (pause->wanted)
        rest(region, !pause->begun);
}

/* Threads of the program itself: a directory for each, so two links more than for none (proc(5)). */
static uint32_t threads_of(uint32_t pid)
{
    char path[64];
    struct stat stat_of;
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    return stat(path, &stat_of) == 0 && stat_of.st_nlink > 2 ? (uint32_t)stat_of.st_nlink - 2 : 0;
}

/* Of the programs that it started, too: each thread that the agent knows has a ring. */
static uint32_t most_threads(const struct capture_region *region, uint32_t pid)
{
    struct map64 counts = {0};
    uint64_t most = threads_of(pid);
    for (uint32_t i = 0; i < region->ring_count; i++) {
        const struct wire_ring *ring = capture_region_ring(region, i);
        if (atomic_load_explicit(&ring->state, memory_order_acquire) != WIRE_RING_CLAIMED)
            continue;
        uint64_t *count = map64_insert(&counts, ring->pid, NULL);
        ++*count;
        most = *count > most ? *count : most;
    }
    map64_free(&counts);
    return (uint32_t)most;
}

bool pause_step(struct pause *pause, const struct capture_options *options, const struct capture_region *region,
                uint32_t pid, uint64_t started, uint64_t now)
{
    if (!pause->wanted)
        return true;
    if (!pause->begun && now - started >= options->start_ns &&
        (!options->start_threads || most_threads(region, pid) >= options->start_threads)) {
        pause->begun = true;
        rest(region, false);
    }
    if (pause->begun && !pause->began)
        pause->began = now;
    if (!pause->ended && options->stop_ns && now - started >= options->stop_ns) {
        pause->ended = true;
        pause->stopped = now;
        rest(region, true);
    }
    return pause->begun && !pause->ended;
}
