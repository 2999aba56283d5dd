/* capture/faults/armer.h - what makes pages of a running process fault again, so that more than their first use shows.
 * Each mechanism is one file that fills in this struct; none stops or changes the program. All functions are called by
 * one thread. */
#pragma once

#include "base/error.h"
#include "capture/faults/pagemap.h"
#include "wire/region.h"

/* Pages that were written since they were armed, or that are armed for the first time (the caller knows which). */
typedef void armer_found(void *context, uint32_t pid, const struct pagemap_range *range);

struct armer {
    void *context;
    enum page_mechanism mechanism;

    /* Arms up to `most` pages of the process again and says what it found; returns how many it armed. */
    uint64_t (*arm)(void *context, uint32_t pid, uint64_t most, armer_found *found, void *finder);
    /* After arm() of all processes. */
    void (*pass)(void *context, uint64_t most);
    /* Another program runs in that process since `time`, or it has ended (UINT64_MAX). */
    void (*forget)(void *context, uint32_t pid, uint64_t time);
    void (*close)(void *context);
};

/* Write protection through userfaultfd, asynchronous (Linux 6.7): the agent in each process passes its descriptor
 * through `region`. write_protect_pass must be called often, agents wait for it; it returns the process that passed
 * one, or 0. Anything may be written there: only processes that `knows` vouches for are looked at, others are asked about
 * a second time at the next call. `readable`: pages of files that are only read show one by one, which costs their readers more faults. */
void write_protect_open(struct armer *armer, struct wire_region *region, bool readable);
typedef bool write_protect_knows(void *context, uint32_t pid);
uint32_t write_protect_pass(struct armer *armer, uint64_t now, write_protect_knows *knows, void *context);
/* New memory at these addresses: it must be registered again. */
void write_protect_fresh(struct armer *armer, uint32_t pid, uint64_t addr, uint64_t size);
uint64_t write_protect_without(const struct armer *armer); /* processes that would not pass one */

/* Soft-dirty bits (/proc/PID/clear_refs). */
void soft_dirty_open(struct armer *armer);

/* NUMA hinting faults: settings of the whole system are changed, and put back by close(). */
int numa_hint_open(struct armer *armer, uint64_t interval_ns, struct error *err);
