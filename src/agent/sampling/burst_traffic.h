/* agent/sampling/burst_traffic.h - where the accesses of a burst are served from, and how fast the code around them advances
 * (docs/traffic.md).
 *
 * Bursts come in pairs. The first is an ordinary one; of each instruction in it that accesses memory it notes addresses,
 * the distance from one to the next, and how the general registers change from one execution to the next. At its end
 * one load is timed ahead of each stream: far enough that no prefetcher has been there. The second begins at the next tick and
 * looks for the same instructions: where they are by then shows how often each was carried out in between. It sends
 * no samples.
 *
 * A first burst that ends before its samples begin, because the program allocates or calls the kernel, says nothing, least of all
 * that nothing came from memory. The next tick begins another in its place that lets as much pass as bursts do without
 * traffic. What its accesses take is not noted: their lines may be on their way since before the tick.
 *
 * A load ahead is made only where a page is in this process's page table, so that it is never a first touch and asks no
 * userfaultfd; and not at all once the program has mapped a device. It may not fault: step_probe().
 *
 * All but traffic_thread_start and traffic_thread_stop run in bursts, with general registers only. */
#pragma once

#include "agent/sampling/step.h"

enum {
    TRAFFIC_TICK = 450000,    /* ns: ticks are asked for this often, where the budget allows it */
    TRAFFIC_SOONEST = 100000, /* ns between the two bursts of a pair at least */
    TRAFFIC_PASS = 64,        /* accesses let pass at least: what is under way out of order must be done before */
    TRAFFIC_SPREAD = 64,      /* ... and at random below this more */
    TRAFFIC_BEFORE = 40,      /* of those, the last so many are noted too */
    TRAFFIC_WATCH = 320,      /* accesses after the samples at most, until a loop is seen to repeat */
    TRAFFIC_FOLLOW = 128,     /* accesses of a second burst at most */
    TRAFFIC_NOT_TIMED = -1,
};

/* For a thread with a perf tick whose bursts take one signal. Without memory, bursts come alone. */
void traffic_thread_start(struct agent_thread *self);
void traffic_thread_stop(struct agent_thread *self);

/* After a fork, in the child: the pair under way was the parent's. */
void traffic_forget(struct agent_thread *self);

/* Whether this tick is too close behind the first burst of a pair: one that comes during a long burst is delivered at
 * its end. It starts nothing. to_ns converts wire_counter() ticks to time, delivery_ns is what a tick takes. */
bool traffic_is_early(struct agent_thread *self, uint64_t (*to_ns)(uint64_t ticks), uint64_t delivery_ns);

/* Whether the tick that has just come is to start the second burst of a pair. Asked once for each tick. */
bool traffic_is_due(struct agent_thread *self);

/* A burst begins; true: it is a second one. */
bool traffic_begin(struct agent_thread *self);

/* Whether the burst under way is in the place of one that ended too soon; whether another is to come in the place of this. */
bool traffic_is_retry(const struct agent_thread *self);
bool traffic_will_repeat(const struct agent_thread *self);

/* Whether a load before a store may be made there: the page has been used in this burst, or the kernel says that it is there. */
bool traffic_may_load(struct agent_thread *self, uint64_t addr);

/* An access of a first burst, with what its line took (ns) or TRAFFIC_NOT_TIMED. */
void traffic_note(struct agent_thread *self, const ucontext_t *context, const struct step_access *access, int64_t ns);

/* A first burst has its samples. Of a long loop they are less than one iteration: true when the instructions in it are
 * to be watched until they are executed again, which shows their strides. Then an access; false: that is enough. */
bool traffic_begin_watch(struct agent_thread *self);
bool traffic_watch(struct agent_thread *self, const ucontext_t *context, const struct step_access *access);

/* An access of a second burst; false: everything has been found. */
bool traffic_follow(struct agent_thread *self, const ucontext_t *context, const struct step_access *access);

/* The burst is over. `cost_ns` of a second burst, and of one that another comes in the place of, is added to the next first one's by
 * traffic_carry(). */
void traffic_end(struct agent_thread *self, uint64_t (*to_ns)(uint64_t ticks), uint64_t delivery_ns);
bool traffic_is_second(const struct agent_thread *self);
uint64_t traffic_carry(struct agent_thread *self, uint64_t cost_ns);
/* After all of that, as late as it can be: time begins to count. */
void traffic_leave(struct agent_thread *self);
