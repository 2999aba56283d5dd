/* calibrate/chase.h - a ring of pointers through memory, in random order; private to src/calibrate. */
#pragma once

#include "base/array.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chase {
    char *memory;
    size_t size;  /* mapped */
    void **lines; /* in the order of the ring */
    size_t count;
};

/* `count` lines spread evenly over `span` bytes, on the node with that kernel number (-1: wherever). Touched. False when
 * memory or node are refused. */
bool chase_make(struct chase *chase, size_t span, size_t count, int node);
void chase_free(struct chase *chase);

enum { CHASE_STRETCH = 64 }; /* loads that are timed together */

struct chase_times { /* ns of single loads, or of loads on average over a stretch */
    double *items;
    size_t count, capacity;
};

/* One pass over all lines: a time for each stretch. What disturbs now and then is in few of them. */
void chase_run(const struct chase *chase, struct chase_times *times);

/* Likewise, but a time for each load, with the reading of the clock in it: distinguishes loads that were answered by different
 * caches. */
void chase_step(const struct chase *chase, struct chase_times *times);

/* Reads so many bytes (at most CHASE_SWEEP) elsewhere: the ring leaves caches that are smaller. */
enum { CHASE_SWEEP = 16 << 20 };
void chase_sweep(size_t bytes);

/* Puts every line of the ring out of the caches. */
void chase_flush(const struct chase *chase);

enum chase_state { CHASE_AS_IS, CHASE_LOADED, CHASE_FLUSHED }; /* of a line, just before it is timed */

/* Some lines, others for each number, as the sampler times single loads. Few: a prefetcher that sees many learns them. */
void chase_probe(const struct chase *chase, enum chase_state state, unsigned number, double ns_per_tick,
                 struct chase_times *times);

/* The value that `part` of the times do not exceed; -1 when there are none. Sorts them. */
double chase_quantile(struct chase_times *times, double part);
