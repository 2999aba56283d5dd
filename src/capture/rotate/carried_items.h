/* capture/rotate/carried_items.h - many small things by address, each as it is now: blocks, first touches, homes and frames of
 * pages. A list in the order in which they came, which is each thread's order of time and what a writer packs best, and a map
 * of the latest by address. One that ends leaves a hole, which is found for a while; holes are closed when they are as many as the
 * rest. */
#pragma once

#include "base/array.h"
#include "base/map64.h"
#include "wire/event.h"

enum carried_mark {
    CARRIED_FREED = 1,    /* a hole: its time is that of its end */
    CARRIED_REPLACED = 2, /* it came while another was at its address */
    CARRIED_ENDED = 4,    /* it ended, but a forked child may have it still */
};

struct carried_item {
    uint64_t time, addr; /* addr: of a block; of a page, its first byte */
    uint64_t size;       /* of a block or a page; of a touch, its exact address; of a frame, where it is */
    uint64_t more;       /* a block's pool; a touch's instruction; a home's node */
    uint32_t tid, stack;
    uint16_t cpu;
    uint8_t fn;    /* of a touch: whether it wrote */
    uint8_t marks; /* enum carried_mark */
    uint32_t generation;
};

struct carried_items { /* zeroed = empty and ready */
    array_of(struct carried_item) list;
    struct map64 by_addr; /* to an index in the list */
    size_t holes;
};

/* The latest at that address, or NULL. Good until the next call. */
struct carried_item *carried_items_find(const struct carried_items *items, uint64_t addr);

/* In place of what was at its address: that becomes a hole. */
void carried_items_put(struct carried_items *items, const struct carried_item *item);

/* It ended at `time`; unless `keep`, it becomes a hole. */
void carried_items_end(struct carried_items *items, struct carried_item *item, uint64_t time, bool keep);

/* When the latest at that address ended, as far as that is remembered; else 0. */
uint64_t carried_items_ended(const struct carried_items *items, uint64_t addr);

static inline size_t carried_items_count(const struct carried_items *items)
{
    return items->list.count - items->holes;
}

/* All of pages in [start, end) that are not newer than `time`. */
void carried_items_forget_pages(struct carried_items *items, uint64_t start, uint64_t end, uint64_t time);

/* Makes holes of all that have one of the marks. */
void carried_items_drop(struct carried_items *items, uint8_t marks);

void carried_items_free(struct carried_items *items);
