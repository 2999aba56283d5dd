/* capture/perf/touched_pages.h - which pages of which process were touched already, in a bounded amount of memory.
 *
 * Only the first touch of a page decides its home node; a program whose pages fault again and again must not
 * blow up the trace. When the set is full it is emptied: then a page that faults again is reported again, no more. */
#pragma once

#include "base/map64.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct touched {
    struct map64 regions; /* process and 2 MiB of addresses, to a bitmap's number */
    uint64_t (*bitmaps)[8];
    size_t capacity, most;
};

void touched_init(struct touched *set, size_t memory);
void touched_free(struct touched *set);

/* True the first time. */
bool touched_add(struct touched *set, uint32_t pid, uint64_t addr);

/* These addresses hold new memory, or none: the next touch is a first one. */
void touched_forget(struct touched *set, uint32_t pid, uint64_t addr, uint64_t size);
void touched_forget_process(struct touched *set, uint32_t pid);
