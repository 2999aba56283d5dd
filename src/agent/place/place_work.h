/* agent/place/place_work.h - what the files of agent/place share. */
#pragma once

#include "agent/place/place_hooks.h"

#include <string.h>

extern struct place_table *place_table; /* NULL: no plan. Set once, by the constructor */
extern uint64_t place_page;             /* the kernel's page, in bytes */
extern bool place_touches;              /* the kernel refuses memory policies: whichever thread finds out sets it */

static inline bool place_refused(long result)
{
    return result == -1 /* EPERM */ || result == -38 /* ENOSYS */;
}

static inline void place_done(struct place_entry *entry, uint64_t bytes, bool by_touch)
{
    atomic_fetch_add_explicit(&entry->count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&entry->bytes, bytes, memory_order_relaxed);
    if (by_touch)
        atomic_fetch_add_explicit(&entry->touched, 1, memory_order_relaxed);
}

static inline void place_failed(struct place_entry *entry, enum place_reason reason, long cause)
{
    atomic_fetch_add_explicit(&entry->failed, 1, memory_order_relaxed);
    atomic_store_explicit(&entry->cause, (uint32_t)-cause, memory_order_relaxed);
    atomic_store_explicit(&entry->reason, reason, memory_order_relaxed);
}

/* place_match.c: the entry about a call with these registers, or NULL. */
struct place_entry *place_entry_of(const struct unwind_regs *caller);

/* place_match.c: where range `range` is now; false: its binary is not loaded. */
bool place_where(const struct place_range *range, uint64_t *low, uint64_t *high);

/* How memory is touched where the kernel refuses policies. */
enum place_touch {
    PLACE_UNTOUCHED, /* it cannot be written */
    PLACE_WRITTEN,
    PLACE_LOOKED_UP,  /* where /proc/self/maps says that it can be written */
    PLACE_BY_MADVISE, /* a file may end before its mapping, and its file system be full: a write would raise SIGBUS */
};

/* place_pages.c. Sets the policy of whole pages in the range. `moves`: some may have been touched. `node`: PLACE_LOCAL means it, unless
 * it is negative. A reason, or PLACE_NONE_REASON; then `*by_touch` says how. */
enum place_reason place_pages(struct place_entry *entry, uint64_t addr, uint64_t size, bool moves, enum place_touch how,
                              int node, bool *by_touch, long *cause);

struct place_mapping { /* of a file */
    uint64_t addr, size, offset;
    int fd;
};

/* place_pages.c: brings its pages into the page cache under the entry's policy. PLACE_ELSEWHERE_REASON: so many bytes are placed. */
enum place_reason place_file(struct place_entry *entry, const struct place_mapping *mapping, bool *by_touch,
                             uint64_t *placed, long *cause);

/* place_huge.c: whole pages that huge ones were asked for. */
void place_huge_asked(struct place_entry *entry, uint64_t start, uint64_t end);

/* place_heap.c: once; false when there is no address space for it. */
bool place_heap_begin(void);

/* place_objects.c */
void place_range(struct place_entry *entry, uint64_t addr, uint64_t size, bool moves, enum place_touch how);
void place_objects_loaded(const bool *fresh); /* the static objects of these modules */

/* place_threads.c */
void place_main_thread(void);
