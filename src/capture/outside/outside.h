/* capture/outside/outside.h - samples of processes that run already, without anything in them: the soft source from outside.
 *
 * Each thread has ticks at random distances. One that is found running is stopped, its registers are copied, and its next accesses
 * are found by an executor (executor/executor.h) on copies of its pages: a random number of them passes, then a burst is kept, as
 * in bursts of the agent. Ticks come to threads that run, when they have used a period of CPU time since the last one.
 *
 * All that this costs, the stops and the CPU time of recorder and executors, is held against the CPU time of the threads: ticks become
 * rarer where it is more than the budget. */
#pragma once

#include "capture/options.h"
#include "capture/process/running.h"
#include "capture/sink.h"
#include "capture/source.h"

struct outside;

struct outside_totals {
    uint64_t ticks, bursts, steps, accesses;
    uint64_t refused; /* processes that were found, and may not be looked at */
    uint64_t stop_ns; /* threads were stopped, in all */
    uint64_t cost_ns; /* that, and the CPU time of recorder and executors */
    uint64_t cpu_ns;  /* of the threads, meanwhile */
};

/* On options->pid, or on nothing until outside_follow(). `options` must outlive it. */
struct outside *outside_new(const struct capture_options *options);
struct source outside_source(struct outside *outside); /* whose open may be refused */

/* Where events go; before the first drain. `listener` must outlive it. */
void outside_connect(struct outside *outside, struct sink *sink, struct running *running,
                     const struct source_listener *listener);

/* A process to sample, once it runs its program. `child`: it is the caller's, who waits for its end. 0, or negative with `err`: cause and
 * remedy. */
int outside_follow(struct outside *outside, uint32_t pid, bool child, struct error *err);

/* No thread is asked to stop from now on, until outside_go_on(). True once none is about to stop any more (drains take those that do): what
 * takes long may be done then, which would keep it stopped. */
bool outside_hold(struct outside *outside);
void outside_go_on(struct outside *outside);

/* Whether none of its processes runs any more. */
bool outside_ended(const struct outside *outside);

/* Follows a process made for it: 0, or negative with `err`, why threads cannot be followed from outside here. */
int outside_try(struct error *err);

struct outside_totals outside_totals(const struct outside *outside);

/* The stops so far, in us: the median, and what 95% and 99% were not above. False: there were none. */
bool outside_stops(const struct outside *outside, double us[static 3]);
