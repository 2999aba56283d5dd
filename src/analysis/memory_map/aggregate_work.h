/* analysis/memory_map/aggregate_work.h - what an aggregation is worked out on; private to src/analysis.
 *
 * With q = 1 - p a block is worth S * log2 S - q * S * log2 n: the term I of the measure is the same for every partition and
 * is omitted. So the worth of a partition is a line in q, A - q * B, with A the sum of S * log2 S and B that of S * log2 n.
 *
 * A node's columns are the slices in which it has a value: empty ones cost nothing, so a block never needs to begin or end
 * with one. A problem is a node over a stretch of units; its states are the pairs of units i <= j. With one level the units
 * are columns and the stretch is all of time. With more levels the units of a level are the stretches of the level below it. */
#pragma once

#include "analysis/memory_map/aggregate.h"

enum { AGG_LEVELS = 4, AGG_CHILDREN = 8 /* of a node; more are taken together */ };
#define AGG_NONE UINT32_MAX

/* What was best in a state; anything else is the last unit before a cut. */
enum agg_choice { CHOICE_WHOLE = 0xffff, CHOICE_SPLIT = 0xfffe, CHOICE_DOWN = 0xfffd, CHOICE_DETAIL = 0xfffc };

/* What is asked of a node: every state; only that of all its units, for nothing above it is a block; or nothing, for something
 * above it is best in full detail. ONE is the second where the node itself is no block either: it keeps that one value. */
enum agg_need { NEED_ALL, NEED_FULL, NEED_ONE, NEED_NONE };

struct agg_node {
    uint32_t original; /* its index in the input; AGG_NONE: no block, only some children of its parent taken together */
    uint32_t parent, leaves;
    double log_leaves;
    uint32_t first_child, children; /* in the array of children */
    uint32_t first_column, columns;
};

struct agg_problem {
    uint32_t node;
    uint32_t first_unit; /* in agg->units[level]; one more behind the last */
    uint32_t units;
    uint32_t first_child, children; /* in the level's: those with values in this stretch */
    uint32_t is_unit;               /* which unit of the next level it is; AGG_NONE on top */
    float together_above;           /* q from which on no state of it is known to be best whole */
    uint64_t first_state;
};

/* For each of the parent's units the child's that is the first not before it, and then for each one behind the last not after it. */
struct agg_child {
    uint32_t problem;
    uint64_t first; /* in the level's `aligned`; the others follow */
};

struct agg {
    uint32_t node_count, slices;
    uint32_t least_leaves;
    struct agg_node *nodes; /* those that may be a block, and those that only take others together; in preorder */
    array_of(uint32_t) children;

    /* Of each node's columns; `before` counts have one more, for the end. */
    array_of(uint16_t) slice;
    array_of(double) sum_before, info_before; /* sums of v and of v * log2 v */

    unsigned levels;
    uint32_t width[AGG_LEVELS + 1]; /* slices of a unit; that of the last is all of them */
    struct agg_level {
        array_of(uint32_t) units; /* first column of each */
        array_of(struct agg_problem) problems;
        array_of(struct agg_child) children;
        array_of(uint16_t) aligned;
        uint32_t stretches;
        uint32_t *problem_of;     /* node * stretches + stretch -> problem, or AGG_NONE */
        array_of(uint32_t) below; /* unit -> the problem of the level below that it is */
        double *unit_value, *unit_a;
    } level[AGG_LEVELS];
    uint64_t states, most_units;

    uint16_t *choice;
    float *whole_below, *detail_above; /* by state: q up to which, and from which on, that is known to be best */

    double *xlogx; /* for small numbers */
    double *log2_of;

    double *value, *a; /* of the problems whose parents are still to come: a stack */
    size_t value_capacity;
    size_t *value_at; /* by node */
    uint8_t *need;    /* by node: enum agg_need, of the stretch at hand */
    struct agg_scratch *scratch;
    uint64_t steps;
};

enum { AGG_TABLE = 1 << 13 };

/* NULL with `err` when the input is wrong. `most_cost` bounds what one solution takes, in states. */
struct agg *agg_new(const struct aggregate_input *input, uint64_t most_cost, struct error *err);
void agg_free(struct agg *agg);

double agg_xlogx_far(double x);
static inline double agg_xlogx(const struct agg *agg, double x)
{
    return x < AGG_TABLE ? agg->xlogx[(uint32_t)x] : agg_xlogx_far(x);
}

/* Differences up to this do not count, of states whose S * log2 S is `xlogx` in a node whose I is `info`: what rounding does. */
static inline double agg_tie(double xlogx, double info)
{
    return 1e-12 * (xlogx + 1) + 1e-15 * info;
}

/* The best partition for q, into `choice`. Returns its worth. */
double agg_solve(struct agg *agg, double q);

/* The blocks of the last solution, and its line. Stops storing (not counting) behind `most` blocks. */
struct agg_line {
    double a, b;
    uint64_t blocks;
};
typedef array_of(struct aggregate_block) agg_blocks;
struct agg_line agg_read(const struct agg *agg, agg_blocks *blocks, uint64_t most);

struct agg_scratch *agg_scratch_new(const struct agg *agg);
void agg_scratch_free(struct agg_scratch *scratch);
