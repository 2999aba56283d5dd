/* analysis/memory_map/aggregate.c - all interesting p of an aggregation, by dichotomy.
 *
 * The worth of a partition is a line in q = 1 - p, and the best worth for each q is the upper hull of these lines. Where two
 * known lines cross, either nothing is better, and the best partition changes there from one to the other; or something
 * is, and its line is between the two. */
#include "analysis/memory_map/aggregate.h"

#include "analysis/memory_map/aggregate_work.h"

#include <math.h>
#include <string.h>

enum { PARTITIONS_DEFAULT = 64, MOST_COST = 4 << 20 };
#define WORK_DEFAULT 800000000ul

struct found { /* from the coarsest, which is best for the smallest q */
    struct agg_line line;
    size_t first_block; /* in blocks; those of one with more than may be are not kept */
    double low, high;   /* for these q it is known to be best */
    bool closed;        /* nothing is between it and the next one */
};

struct search {
    struct agg *agg;
    const struct aggregate_input *input;
    uint64_t most_blocks;
    double sum, whole_a, info;
    array_of(struct found) found;
    agg_blocks blocks;
};

static double crossing(const struct found *coarse, const struct found *fine)
{
    double q = (coarse->line.a - fine->line.a) / (coarse->line.b - fine->line.b);
    return q < coarse->high ? coarse->high : q > fine->low ? fine->low : q;
}

static double worth(const struct found *found, double q)
{
    return found->line.a - q * found->line.b;
}

/* By how much the best can be better than both lines where they cross: the hull is convex. */
static double room(const struct found *coarse, const struct found *fine)
{
    if (coarse->closed || fine->low <= coarse->high)
        return 0;
    double q = crossing(coarse, fine), part = (q - coarse->high) / (fine->low - coarse->high);
    return worth(coarse, coarse->high) * (1 - part) + worth(fine, fine->low) * part - worth(coarse, q);
}

static struct found read_found(struct search *search, double q)
{
    struct found found = {.first_block = search->blocks.count, .low = q, .high = q};
    found.line = agg_read(search->agg, &search->blocks, search->most_blocks);
    if (found.line.blocks > search->most_blocks)
        search->blocks.count = found.first_block;
    return found;
}

/* Looks at the most promising crossing. False when there is none. */
static bool look(struct search *search)
{
    double most = 0;
    size_t at = 0;
    for (size_t i = 0; i + 1 < search->found.count; i++) {
        double here = room(&search->found.items[i], &search->found.items[i + 1]);
        if (here > most) {
            most = here;
            at = i;
        }
    }
    double tie = agg_tie(search->whole_a, search->info) * 16;
    if (most <= tie)
        return false;
    struct found *coarse = &search->found.items[at];
    double q = crossing(coarse, coarse + 1), value = agg_solve(search->agg, q);
    if (value <= worth(coarse, q) + tie) {
        coarse->closed = true;
        coarse[0].high = q;
        coarse[1].low = q;
        return true;
    }
    struct found found = read_found(search, q);
    array_push(&search->found, found);
    memmove(&search->found.items[at + 2], &search->found.items[at + 1], (search->found.count - at - 2) * sizeof found);
    search->found.items[at + 1] = found;
    return true;
}

/* Every p, from one block and the full detail on, until it is enough. */
static bool find_all(struct search *search, uint32_t most_partitions, uint64_t work)
{
    agg_solve(search->agg, 0);
    array_push(&search->found, read_found(search, 0));
    agg_solve(search->agg, 1);
    struct found finest = read_found(search, 1);
    if (finest.line.b >= search->found.items[0].line.b) { /* equal cells: one block is the full detail */
        search->blocks.count = finest.first_block;
        return true;
    }
    array_push(&search->found, finest);
    while (search->found.count < most_partitions && search->agg->steps < work) {
        if (!look(search))
            return true;
    }
    return false;
}

/* Drops partitions until all blocks together are few enough: those that differ little from the next coarser one,
 * then the finest. False when some were. */
static bool thin(struct search *search, bool *kept)
{
    size_t count = search->found.count;
    for (double factor = 1;; factor *= 1.01) {
        uint64_t sum = 0, last = 0;
        size_t remaining = 0;
        for (size_t i = 0; i < count; i++) {
            uint64_t blocks = search->found.items[i].line.blocks;
            kept[i] = i == 0 || (blocks <= search->most_blocks && (double)blocks >= factor * (double)last &&
                                 (factor < 4 || sum + blocks <= search->most_blocks));
            if (!kept[i])
                continue;
            sum += blocks;
            last = blocks;
            remaining++;
        }
        if (sum <= search->most_blocks || factor > 4)
            return remaining == count;
    }
}

static void push(struct search *search, struct aggregation *result, double p, const struct found *found)
{
    double loss = found->line.b - (found->line.a - search->info), gain = found->line.a - search->info;
    array_push(&result->partitions,
               (struct aggregate_partition){.p = p,
                                            .gain = result->whole_gain > 0 ? gain / result->whole_gain : p > 0,
                                            .loss = result->whole_loss > 0 ? loss / result->whole_loss : 0,
                                            .first_block = (uint32_t)result->blocks.count,
                                            .blocks = (uint32_t)found->line.blocks});
    for (uint64_t i = 0; i < found->line.blocks; i++)
        array_push(&result->blocks, search->blocks.items[found->first_block + i]);
}

/* The partitions that are kept, from p = 0 on. */
static void put_result(struct search *search, struct aggregation *result, const bool *kept)
{
    size_t count = search->found.count;
    struct found detail = {.line = {.a = search->info}, .low = 1, .high = 1};
    const struct found *finer = NULL;
    if (!kept[count - 1] || search->agg->least_leaves > 1) {
        array_push(&result->partitions, (struct aggregate_partition){.skipped = true});
        finer = kept[count - 1] ? &detail : &search->found.items[count - 1];
    }
    for (size_t i = count; i-- > 0;) {
        const struct found *found = &search->found.items[i];
        if (!kept[i])
            continue;
        push(search, result, finer ? 1 - crossing(found, finer) : 0, found);
        finer = found;
    }
    const struct aggregate_partition *last = &result->partitions.items[result->partitions.count - 1];
    const struct aggregate_block *block = &result->blocks.items[last->first_block];
    if (last->p == 1 && last->blocks == 1 && block->first == 0 && block->last + 1u == search->input->slices)
        return;
    array_push(&result->partitions, (struct aggregate_partition){.p = 1,
                                                                 .gain = 1,
                                                                 .loss = result->whole_loss > 0,
                                                                 .first_block = (uint32_t)result->blocks.count,
                                                                 .blocks = 1});
    array_push(&result->blocks, (struct aggregate_block){0, 0, (uint16_t)(search->input->slices - 1)});
}

/* The best worth is convex in q and known at both ends: no partition is above the straight line between them. */
static double bound_of(const struct search *search, const struct aggregation *result)
{
    double most = 0;
    for (size_t i = 0; i + 1 < search->found.count; i++) {
        const struct found *coarse = &search->found.items[i];
        double q = crossing(coarse, coarse + 1);
        double over = (1 - q) * search->whole_a + q * search->info - worth(coarse, q);
        most = over > most ? over : most;
    }
    return most / (result->whole_gain + result->whole_loss);
}

static void put_empty(struct aggregation *result)
{
    array_push(&result->partitions, (struct aggregate_partition){.p = 0});
    array_push(&result->partitions, (struct aggregate_partition){.p = 1, .gain = 1});
    result->complete = result->exact = true;
    result->group = result->least_leaves = 1;
}

struct aggregation *aggregate(const struct aggregate_input *input, const struct aggregate_options *options,
                              struct error *err)
{
    uint32_t most_partitions = options->max_partitions ? options->max_partitions : PARTITIONS_DEFAULT;
    uint64_t work = options->work ? options->work : WORK_DEFAULT;
    uint64_t most_cost = options->work ? work / (WORK_DEFAULT / MOST_COST) : MOST_COST;
    struct agg *agg = agg_new(input, most_cost, err);
    if (!agg)
        return NULL;
    struct aggregation *result = mem_zalloc(sizeof *result);
    struct search search = {.agg = agg, .input = input};
    const struct agg_node *root = &agg->nodes[0];
    search.most_blocks = options->max_blocks ? options->max_blocks : UINT64_MAX;
    search.sum = agg->sum_before.items[root->first_column + root->columns];
    search.info = agg->info_before.items[root->first_column + root->columns];
    search.whole_a = agg_xlogx(agg, search.sum);
    if (search.sum == 0) {
        put_empty(result);
        agg_free(agg);
        return result;
    }
    result->whole_gain = search.whole_a - search.info;
    result->whole_loss = search.sum * log2((double)input->leaves * input->slices) - result->whole_gain;
    result->exact = agg->levels == 1 && agg->least_leaves == 1;
    result->group = agg->levels > 1 ? agg->width[agg->levels - 1] : 1;
    result->least_leaves = agg->least_leaves;
    bool all = find_all(&search, most_partitions, work);
    bool *kept = mem_alloc(search.found.count * sizeof *kept);
    result->complete = thin(&search, kept) && all;
    put_result(&search, result, kept);
    result->bound = result->exact ? 0 : bound_of(&search, result);
    free(kept);
    array_free(&search.found);
    array_free(&search.blocks);
    agg_free(agg);
    return result;
}

void aggregation_free(struct aggregation *aggregation)
{
    if (!aggregation)
        return;
    array_free(&aggregation->partitions);
    array_free(&aggregation->blocks);
    free(aggregation);
}
