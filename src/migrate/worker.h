/* migrate/worker.h - the thread that evaluates and migrates: one job at a time, handed over and fetched by the loop.
 *
 * A job belongs to the worker from worker_start_job until worker_take says that it is done. */
#pragma once

#include "migrate/loop.h"
#include "migrate/page_map.h"

struct worker_job {
    struct page_map *map;
    struct loop_interval interval; /* number, began, ended are given; the rest is filled */
    struct plan plan;              /* afterwards: what moved (to != from) */
    uint32_t *forget;              /* processes that began another program; the caller's */
    size_t forget_count;
    int verdict; /* what the policy returned */
};

struct worker;

/* Keeps the calling thread on that CPU; -1 or a CPU that is not there: nothing. */
void worker_pin(int cpu);

/* Everything given must outlive it. NULL when there can be no thread. */
struct worker *worker_new(const struct loop_options *options, struct nlens_machine *machine,
                          const struct policy *policy, const struct memory *memory, struct history *history);

void worker_start_job(struct worker *worker, struct worker_job *job);

/* The job once it is done, or NULL. `wait_ns`: how long to wait for it. */
struct worker_job *worker_take(struct worker *worker, uint64_t wait_ns);

bool worker_is_busy(struct worker *worker);

/* NULL when it could be stopped; else what it is stuck in. It is left behind then, and all that it uses must stay. */
const char *worker_stop(struct worker *worker);
