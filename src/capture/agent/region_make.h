/* capture/agent/region_make.h - makes the shared memory that wire/region.h describes. */
#pragma once

#include "base/error.h"
#include "capture/options.h"
#include "wire/region.h"

#include <stdbool.h>

struct capture_region {
    struct wire_region *map; /* NULL: none. The target writes there: no field is used without a check, nor read twice */
    size_t bytes;
    uint32_t ring_count, ring_bytes; /* as made: the map's own copies are for the agents */
    uint64_t rings_offset, data_offset;
    uint32_t ticks_per_us; /* of record times; 0: they are nanoseconds */
    int fd;
    char environment[96]; /* "NUMALENS_REGION=..." for the target */
};

/* Rings take five eighths of options->memory, but only once they are used. */
int capture_region_make(struct capture_region *region, const struct capture_options *options, bool perf_tick,
                        struct error *err);

/* Hardware samples: agents only follow objects. Before the target starts. */
void capture_region_hardware(struct capture_region *region);

/* Asks every agent to stop, and unmaps. */
void capture_region_free(struct capture_region *region);

/* Wakes the recorder that sleeps in agent_source_sleep. Async-signal-safe. */
void capture_region_wake(struct wire_region *map);

/* Where ring `index` is, by the recorder's own figures. */
struct wire_ring *capture_region_ring(const struct capture_region *region, uint32_t index);
uint8_t *capture_region_ring_data(const struct capture_region *region, uint32_t index);

/* Gives the memory of a ring that nobody uses back to the system. */
void capture_region_drop_ring(const struct capture_region *region, uint32_t index);
