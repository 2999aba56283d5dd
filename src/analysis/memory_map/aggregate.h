/* analysis/memory_map/aggregate.h - the best way to show a hierarchy over time with fewer blocks (SPEC C18, Ocelotl's measure).
 *
 * A block is a node of the tree over a stretch of slices. With S the sum of its values, I the sum of v * log2 v and n the
 * number of its cells (leaves times slices), showing it as one block gains S * log2 S - I (what need not be shown) and loses
 * S * log2 n - gain (what is shown wrongly). A partition covers every cell once; for a p between 0 and 1 the best one has
 * the greatest p * gain - (1 - p) * loss:
 *
 *     best(h, i, j) = max { the block itself; sum over children c of best(c, i, j); max over k of best(h, i, k) + best(h, k+1, j) }
 *
 * and of equally good ones the one with the higher gain. At p = 0 that is the full detail (equal neighbours are one block,
 * for that loses nothing), at p = 1 one block. Blocks without any value are skipped. docs/pages.md says how it is computed,
 * and what is done where the exact optimum would take too long. */
#pragma once

#include "base/array.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct aggregate_node { /* preorder; children cover their parent's leaves; the root is 0, its parent UINT32_MAX */
    uint32_t parent, first_leaf, leaves;
};

struct aggregate_value { /* sorted by leaf, slice; each place once */
    uint32_t leaf, value;
    uint16_t slice;
};

struct aggregate_input {
    const struct aggregate_node *nodes;
    uint32_t node_count, leaves, slices;
    const struct aggregate_value *values;
    size_t value_count;
};

struct aggregate_options {
    uint32_t max_partitions; /* 0: 64 */
    uint64_t max_blocks;     /* of all partitions together; 0: unbounded */
    uint64_t work; /* steps, some nanoseconds each; 0: about a second's. More steps: more partitions, less often
                                approximate */
};

struct aggregate_block {
    uint32_t node;
    uint16_t first, last; /* slices, both inside */
};

/* The best one from this p up to the next one's. */
struct aggregate_partition {
    double p;
    double gain, loss; /* as parts of what is possible, 0 to 1 */
    uint32_t first_block, blocks;
    bool skipped; /* p = 0 only: its blocks are the cells themselves, and too many to list */
};

struct aggregation {
    array_of(struct aggregate_partition) partitions; /* by p: the first is p = 0, the last p = 1 */
    array_of(struct aggregate_block) blocks;
    double whole_gain, whole_loss; /* of the one block: what is possible */
    bool complete;                 /* every p at which the best partition changes was looked at, and none was dropped */
    bool exact;                    /* else each is the best of those that respect the two below */
    uint32_t group;        /* slices: a block that is longer begins and ends where such groups do; 1 when exact */
    uint32_t least_leaves; /* subtrees of up to as many leaves are not split but at p = 0; 1 when exact */
    double bound; /* when not exact: no partition is better by more than this part of whole_gain + whole_loss */
};

/* NULL with `err` when the input is no tree or not sorted. The caller frees. */
struct aggregation *aggregate(const struct aggregate_input *input, const struct aggregate_options *options,
                              struct error *err);
void aggregation_free(struct aggregation *aggregation);
