/* compare/verdict.h - the same program under several placements: which is best, and which of LaProf's problems explains
 * the difference.
 *
 * Run times are compared by their medians. Two placements differ when the medians are farther apart than the runs of
 * either spread, from the fastest to the slowest. On a simulated machine time says nothing of placement: there the
 * remote share takes its place. */
#pragma once

#include "base/array.h"
#include "compare/figures.h"
#include "topology/placement.h"

struct placed { /* a program under one placement */
    const char *name;
    struct placement placement;
    array_of(struct figures) runs;
};

struct middle { /* of one figure over the runs */
    double median, min, max;
};

enum verdict_by { BY_TIME, BY_PLAIN_TIME, BY_REMOTE };

enum problem {
    PROBLEM_NONE,
    PROBLEM_SHARING,    /* threads of several nodes use the same data */
    PROBLEM_CONTENTION, /* memory or a way to it has to serve more than it can */
    PROBLEM_IMBALANCE,  /* few threads bear most remote accesses */
    PROBLEM_DISTANCE,   /* none of the three: only the data's home node is not its threads' */
    PROBLEMS
};

struct verdict {
    enum verdict_by by;
    bool spread_known; /* at least two runs of each */
    bool unsampled;    /* too few samples in one of them: nothing is judged */
    bool differ;       /* the best and the worst one do */
    uint32_t best, worst;
    uint64_t as_good;     /* bits: placements that do not differ from the best one, which is among them */
    enum problem problem; /* of the worst one that the best one has not; PROBLEM_NONE when they do not differ */
    bool has[PROBLEMS];   /* all that could be seen to differ */
    char text[640];       /* which is best, in words */
    char why[640];        /* what explains it */
};

/* `items`: only those that ran, at least one and at most 64, each with at least one run. */
void verdict_make(struct verdict *verdict, const struct placed *const *items, uint32_t count, bool simulated);

const char *problem_name(enum problem problem); /* "none", "sharing", ... */

/* A figure's median and range over the runs of a placement. */
struct middle placed_middle(const struct placed *placed, double (*figure)(const struct figures *figures));
double figure_recorded(const struct figures *figures);
double figure_plain(const struct figures *figures);

/* The figures in the middle: each its own median. */
struct figures placed_median(const struct placed *placed, unsigned threshold_count);

/* Which placement a repetition has at `position`: each begins one later, so that none is always the first. */
uint32_t placement_at(uint32_t repetition, uint32_t position, uint32_t count);
