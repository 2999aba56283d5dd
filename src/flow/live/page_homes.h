/* flow/live/page_homes.h - the home node of each page of a process, as far as it is known at the moment the trace is read.
 *
 * Pages are kept in blocks of 2 MiB: two bytes a page where a block is in use. A block also remembers its latest
 * touch: where every page fault is recorded, a page that is used without a fault of its own was brought in by a larger
 * one (a transparent huge page, fault-around), and has that one's home. When faults were lost, that is not so where
 * neighbouring pages had a fault each: there pages come one by one, and the missing fault may have been anybody's. */
#pragma once

#include "base/map64.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

enum { PAGES_BLOCK_SHIFT = 21, PAGES_PER_BLOCK = 512 };

struct pages { /* zeroed = empty and ready */
    struct map64 blocks;
    const struct pages *parent; /* a fork's pages are its parent's until it touches them; or NULL */
};

/* The node of the page at `addr`, or -1. */
int pages_home(const struct pages *pages, uint64_t addr);

/* The latest touch in the block of `addr`. */
struct pages_latest {
    int node; /* -1: none */
    uint64_t page;
    bool one_by_one; /* pages of this block, or of one beside it, came one by one */
};
struct pages_latest pages_latest(const struct pages *pages, uint64_t addr);

/* Whether the page is known to be on another node than `node`, and was not found moving before. */
bool pages_moves(struct pages *pages, uint64_t addr, int node);

void pages_set(struct pages *pages, uint64_t addr, uint64_t size, int node);
void pages_touch(struct pages *pages, uint64_t addr, int node); /* sets the page, and the block's latest touch */
void pages_forget(struct pages *pages, uint64_t addr, uint64_t size);
void pages_free(struct pages *pages);
