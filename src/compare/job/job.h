/* compare/job/job.h - a job from the summaries of its ranks: how evenly they work, which rank and which of its objects hold the
 * others up, and what is wrong on how many of them (docs/jobs.md).
 *
 * The answer depends on the summaries alone and not on their order: whoever collects them, and in how many processes. */
#pragma once

#include "compare/job/rank_summary.h"

enum job_balance {
    JOB_ONE_RANK, /* nothing to compare */
    JOB_UNKNOWN,  /* ranks without CPU time or samples */
    JOB_EVEN,
    JOB_UNDECIDED, /* uneven by so little that it may be chance */
    JOB_HELD_UP,   /* by the slowest */
};

/* The same finding on some ranks. */
struct job_finding {
    const struct rank_finding *worst; /* of the rank that loses most time by it */
    uint32_t worst_rank;
    double lost_s;            /* CPU time, of all */
    array_of(uint32_t) ranks; /* rising */
};

struct job_host {
    const char *name;
    uint32_t ranks;
};

struct job {
    const char *name, *launcher, *command;
    uint32_t size;                                   /* ranks that it had; those that are known when none says it */
    array_of(const struct rank_summary *) ranks;     /* in order of rank */
    array_of(const struct rank_summary *) strangers; /* of other jobs, of none, or of a rank that is there already */
    array_of(const struct rank_summary *) unread;
    array_of(uint32_t) missing; /* ranks without a trace that can be read, rising */
    array_of(struct job_host) hosts;
    array_of(struct job_finding) findings; /* most time first */
    enum job_balance balance;
    const struct rank_summary *slowest;     /* or NULL */
    double work, others_work;               /* CPU time outside of MPI: of the slowest, of the others on average */
    double imbalance;                       /* the slowest's work by the mean of all, less 1 */
    double waits, others_wait;              /* part of CPU time inside of MPI, likewise */
    const struct rank_object *object;       /* with most of the difference, or NULL when none stands out */
    double object_work, object_others_work; /* likewise, CPU time */
};

/* Keeps using the summaries, in any order. NULL with `err` when none of them is of a rank. */
struct job *job_make(struct rank_summary *const *summaries, size_t count, const char *folder, struct error *err);
void job_free(struct job *job);

const char *job_balance_name(enum job_balance balance); /* "one-rank", "unknown", "even", "undecided", "held-up" */

/* "0-3, 7". The caller frees it. */
char *job_ranges(const uint32_t *numbers, size_t count);
