/* migrate/loop.h - monitor, evaluate, migrate, again and again (Lorenzo et al., section 3).
 *
 * The caller's thread feeds events in as it drains them and calls loop_round often. At the end of an interval the page
 * map goes to a worker thread, which looks at it, asks the policy and moves; meanwhile the next interval is sampled into
 * another map. So a slow policy or a slow kernel never keeps the rings from being drained, and the program never waits
 * for either. When the worker is still at it at the end of an interval, that interval gets longer.
 *
 * Overhead is what the paper's equation 1 counts: the time of interrupts in the program's threads, and of moving pages.
 * What the monitor itself spends (equation 2) is distinguished. */
#pragma once

#include "migrate/governor.h"
#include "migrate/memory.h"
#include "migrate/mover.h"
#include "migrate/move_plan.h"
#include "migrate/policies/policies.h"
#include "topology/topology.h"
#include "wire/event.h"

struct loop_options {
    const struct topology *topology;
    const char *policy;
    uint64_t interval_ns;
    struct plan_limits limits;
    bool dry_run;
    bool never_rest;
    double most_cost;     /* part of the program's CPU time */
    int pin;              /* CPU of the monitor, or -1 */
    size_t memory;        /* bytes for page maps and history */
    uint64_t patience_ns; /* in the end, for a policy that does not return; 0: 5 s */
};

struct loop_interval {
    uint64_t number, began, ended; /* CLOCK_MONOTONIC_RAW */
    bool paused;                   /* nothing was sampled, on purpose */
    uint64_t samples, lost;
    uint64_t bursts; /* that the samples came in */
    uint32_t threads;
    uint64_t pages, huge, known, remote, homeless;
    uint64_t requests, skipped[PLAN_SKIPS], invalid[PLAN_INVALIDS];
    struct moved moved;                          /* with dry_run: what would have been */
    uint64_t sampling_ns, cpu_ns;                /* of the program's CPU time: in handlers; all */
    uint64_t locate_ns, evaluate_ns, migrate_ns; /* of the worker */
    struct error failure;                        /* of asking for homes, code 0 when all went well */
};

struct loop_share {
    uint64_t remote, known; /* accesses, and those of them whose page's node is known */
    uint64_t bursts;        /* that they came in: accesses of one burst are alike, and count as one trial */
};

struct loop_summary {
    char policy[128];
    uint64_t intervals, paused, late; /* late: lengthened because the worker was busy */
    struct loop_interval total;       /* sums; number, began, ended: of the whole */
    struct loop_share first, last;    /* intervals with samples; known 0 when there is none */
    uint64_t contended;
    uint32_t pauses[GOVERNOR_VERDICTS];
    struct plan_word words[PLAN_WORDS];
    size_t word_count;
    bool policy_stopped; /* it asked to stop */
    const char *hangs;   /* what the worker did not come back from, or NULL */
    uint64_t monitor_ns; /* CPU time of this process but for moving */
};

struct loop_listener {
    void *context;
    /* Each interval once it is done, in order, from loop_round or loop_finish; with the moves that were made. */
    void (*interval)(void *context, const struct loop_interval *interval, const struct plan_move *moves, size_t count);
};

struct loop;

/* On a machine with one node all intervals are rests. NULL with `err`: the policy cannot be had. */
struct loop *loop_new(const struct loop_options *options, const struct loop_listener *listener, struct error *err);

/* Takes samples, touches, threads, programs that begin; ignores the rest. */
void loop_event(struct loop *loop, const struct event *event);

/* `sampling_ns`: time spent in handlers so far. Returns true while samples are wanted; false during a rest. */
bool loop_step(struct loop *loop, uint64_t now, uint64_t sampling_ns);

/* Waits for the worker (not for ever) and frees. What was sampled since the last interval's end is not looked at: the
 * program has exited, or goes on without it. */
void loop_finish(struct loop *loop, uint64_t now, struct loop_summary *summary);
