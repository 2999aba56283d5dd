/* migrate/source.h - where accesses of a process come from that was not started by numalens: no agent is in it, so the
 * kernel must report. One source is in force; each is one file that fills in this struct.
 *
 * All functions are called by one thread. */
#ifndef NUMALENS_MIGRATE_SOURCE_H
#define NUMALENS_MIGRATE_SOURCE_H

#include "base/error.h"
#include "wire/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void source_take(void *context, const struct event *event);

struct source {
    void *context;
    const char *name;
    char sees[256];  /* what it can see here, for the user */
    char lacks[320]; /* what it cannot, with the remedy; "" when there is nothing to say */

    /* A thread of the process was found; 0, or negative with `err` when it cannot be watched. A thread that is gone
     * already is no error. */
    int (*begin)(void *context, uint32_t tid, struct error *err);
    void (*end)(void *context, uint32_t tid);

    void (*drain)(void *context, source_take *take, void *taker);

    /* A new interval begins; `wanted`: it is to be watched. */
    void (*interval)(void *context, bool wanted);

    uint64_t (*cost_ns)(void *context); /* of the process's CPU time so far */
    uint64_t (*lost)(void *context);    /* accesses that were seen and could not be reported */
    void (*close)(void *context);
};

/* Page faults: first touches; NUMA hinting faults where the kernel balances; and, where it tracks soft-dirty pages, the
 * first write to each page in an interval. `budget`: part of the process's time that the last may cost. */
int source_faults_open(struct source *source, uint32_t pid, double budget, struct error *err);

#endif
