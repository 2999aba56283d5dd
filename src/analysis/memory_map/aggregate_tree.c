/* analysis/memory_map/aggregate_tree.c - the tree and its columns, and how fine the search may be with what it may cost. */
#include "analysis/memory_map/aggregate_work.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum {
    PROBLEM_COST = 16,
    EXACT_FACTOR = 4, /* to be exact may cost as much more */
    MIN_COST = 6,     /* of a column: the least of (k * (k + 1) / 2 + PROBLEM_COST) / k */
};

double agg_xlogx_far(double x)
{
    return x * log2(x);
}

static int check(const struct aggregate_input *input, struct error *err)
{
    if (input->node_count == 0 || input->nodes[0].parent != UINT32_MAX || input->nodes[0].first_leaf != 0 ||
        input->nodes[0].leaves != input->leaves)
        return error_set(err, -EINVAL, "the first node is not the root over all leaves");
    if (input->slices == 0 || input->slices > UINT16_MAX - 16)
        return error_set(err, -EINVAL, "%u slices cannot be aggregated", input->slices);
    uint32_t *next = mem_alloc(input->node_count * sizeof *next);
    bool good = true;
    for (uint32_t i = 0; i < input->node_count && good; i++) {
        const struct aggregate_node *node = &input->nodes[i];
        next[i] = node->first_leaf;
        if (i == 0)
            continue;
        good = node->parent < i && node->leaves > 0 && next[node->parent] == node->first_leaf;
        if (good)
            next[node->parent] += node->leaves;
    }
    for (uint32_t i = 0; i < input->node_count && good; i++) {
        const struct aggregate_node *node = &input->nodes[i];
        bool is_leaf = next[i] == node->first_leaf;
        good = is_leaf ? node->leaves == 1 || input->leaves == 0 : next[i] == node->first_leaf + node->leaves;
    }
    free(next);
    if (!good)
        return error_set(err, -EINVAL, "the nodes are no tree in preorder whose children cover their parents");
    for (size_t i = 0; i < input->value_count; i++) {
        const struct aggregate_value *value = &input->values[i], *before = i ? value - 1 : NULL;
        if (value->leaf >= input->leaves || value->slice >= input->slices ||
            (before && (before->leaf > value->leaf || (before->leaf == value->leaf && before->slice >= value->slice))))
            return error_set(err, -EINVAL, "the values are not sorted by leaf and slice");
    }
    return 0;
}

struct family { /* the input's tree by children */
    const struct aggregate_input *input;
    uint32_t *first, *next; /* child, and its next sister; AGG_NONE at the end */
};

static void put_children(struct agg *agg, const struct family *family, uint32_t parent, const uint32_t *list,
                         uint32_t count);

static uint32_t put_node(struct agg *agg, const struct family *family, uint32_t original)
{
    uint32_t leaves = family->input->nodes[original].leaves, only = original;
    array_of(uint32_t) list = {0};
    uint32_t index = agg->node_count++;
    agg->nodes[index] =
        (struct agg_node){.original = original, .leaves = leaves, .log_leaves = log2(leaves ? leaves : 1)};
    if (leaves > agg->least_leaves) {
        while (family->first[only] != AGG_NONE && family->next[family->first[only]] == AGG_NONE)
            only = family->first[only]; /* an only child is as its parent */
        for (uint32_t child = family->first[only]; child != AGG_NONE; child = family->next[child])
            array_push(&list, child);
    }
    put_children(agg, family, index, list.items, (uint32_t)list.count);
    array_free(&list);
    return index;
}

/* A list of children, in AGG_CHILDREN parts at most. */
static void put_children(struct agg *agg, const struct family *family, uint32_t parent, const uint32_t *list,
                         uint32_t count)
{
    uint32_t parts = count < AGG_CHILDREN ? count : AGG_CHILDREN, first = (uint32_t)agg->children.count;
    agg->nodes[parent].first_child = first;
    agg->nodes[parent].children = parts;
    for (uint32_t i = 0; i < parts; i++)
        array_push(&agg->children, AGG_NONE);
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t from = (uint32_t)((uint64_t)count * i / parts), to = (uint32_t)((uint64_t)count * (i + 1) / parts);
        uint32_t child;
        if (to - from == 1) {
            child = put_node(agg, family, list[from]);
        } else {
            child = agg->node_count++;
            agg->nodes[child] = (struct agg_node){.original = AGG_NONE};
            put_children(agg, family, child, list + from, to - from);
        }
        agg->nodes[child].parent = parent;
        agg->children.items[first + i] = child;
    }
}

/* Nodes that may be a block: not those under one of up to least_leaves, nor an only child. */
static void keep_nodes(struct agg *agg, const struct aggregate_input *input)
{
    struct family family = {.input = input};
    family.first = mem_alloc(2 * (size_t)input->node_count * sizeof *family.first);
    family.next = family.first + input->node_count;
    for (uint32_t i = input->node_count; i-- > 0;) {
        family.first[i] = AGG_NONE;
        family.next[i] = AGG_NONE;
    }
    for (uint32_t i = input->node_count; i-- > 1;) { /* from the last, so that lists begin with the first */
        family.next[i] = family.first[input->nodes[i].parent];
        family.first[input->nodes[i].parent] = i;
    }
    agg->nodes = mem_zalloc(2 * (size_t)input->node_count * sizeof *agg->nodes);
    put_node(agg, &family, 0);
    free(family.first);
}

/* A node's columns from sums by slice, which are zeroed. */
static void put_columns(struct agg *agg, struct agg_node *node, double *sums, double *infos)
{
    double sum = 0, info = 0;
    node->first_column = (uint32_t)agg->slice.count;
    for (uint32_t t = 0; t < agg->slices; t++) {
        if (sums[t] == 0)
            continue;
        array_push(&agg->slice, (uint16_t)t);
        array_push(&agg->sum_before, sum);
        array_push(&agg->info_before, info);
        sum += sums[t];
        info += infos[t];
        sums[t] = infos[t] = 0;
        node->columns++;
    }
    array_push(&agg->slice, UINT16_MAX); /* so that all three count alike */
    array_push(&agg->sum_before, sum);
    array_push(&agg->info_before, info);
}

static void make_columns(struct agg *agg, const struct aggregate_input *input)
{
    double *sums = mem_zalloc(2 * (agg->slices + 1ul) * sizeof *sums), *infos = sums + agg->slices + 1;
    size_t value = input->value_count;
    for (uint32_t i = agg->node_count; i-- > 0;) {
        struct agg_node *node = &agg->nodes[i];
        if (node->children == 0) { /* leaves come in reverse order, and so do the values */
            uint32_t first_leaf = input->nodes[node->original].first_leaf;
            for (; value > 0 && input->values[value - 1].leaf >= first_leaf; value--) {
                const struct aggregate_value *at = &input->values[value - 1];
                sums[at->slice] += at->value;
                infos[at->slice] += agg_xlogx(agg, at->value);
            }
        }
        for (uint32_t c = 0; c < node->children; c++) {
            const struct agg_node *child = &agg->nodes[agg->children.items[node->first_child + c]];
            for (uint32_t k = child->first_column; k < child->first_column + child->columns; k++) {
                sums[agg->slice.items[k]] += agg->sum_before.items[k + 1] - agg->sum_before.items[k];
                infos[agg->slice.items[k]] += agg->info_before.items[k + 1] - agg->info_before.items[k];
            }
        }
        put_columns(agg, node, sums, infos);
    }
    free(sums);
}

/* What a solution would cost with units of these widths: states, and PROBLEM_COST more for each problem. */
static uint64_t cost_of(const struct agg *agg, const uint32_t *width, unsigned levels)
{
    uint64_t cost = 0;
    for (uint32_t i = 0; i < agg->node_count; i++) {
        const uint16_t *slice = agg->slice.items + agg->nodes[i].first_column;
        for (unsigned level = 0; level < levels; level++) {
            uint64_t units = 0;
            uint32_t unit = AGG_NONE, stretch = AGG_NONE;
            for (uint32_t k = 0; k < agg->nodes[i].columns; k++) {
                if (slice[k] / width[level + 1] != stretch) {
                    stretch = slice[k] / width[level + 1];
                    units = 0;
                    unit = AGG_NONE;
                    cost += PROBLEM_COST;
                }
                if (slice[k] / width[level] != unit) {
                    unit = slice[k] / width[level];
                    cost += ++units; /* 1 + 2 + ... */
                }
            }
        }
    }
    return cost;
}

static void forget_nodes(struct agg *agg)
{
    free(agg->nodes);
    agg->node_count = 0;
    agg->children.count = 0;
    agg->slice.count = agg->sum_before.count = agg->info_before.count = 0;
}

/* All of time at once, else in groups of slices, and in groups of groups; else with fewer leaves too. */
static void choose(struct agg *agg, const struct aggregate_input *input, uint64_t most)
{
    static const uint32_t widths[][AGG_LEVELS] = {{1}, {1, 4}, {1, 8}, {1, 16}, {1, 8, 64}, {1, 4, 16, 64}};
    enum { WAYS = sizeof widths / sizeof *widths };
    for (agg->least_leaves = 1;; agg->least_leaves *= 4) {
        uint64_t exact = agg->least_leaves == 1 ? EXACT_FACTOR * most : most;
        bool last = agg->least_leaves >= input->leaves;
        if (!last && MIN_COST * (input->value_count / agg->least_leaves) > exact)
            continue;
        keep_nodes(agg, input);
        make_columns(agg, input);
        for (unsigned way = 0; way < WAYS; way++) {
            for (agg->levels = 0; agg->levels < AGG_LEVELS && widths[way][agg->levels]; agg->levels++)
                agg->width[agg->levels] = widths[way][agg->levels];
            if (agg->levels > 1 && agg->width[agg->levels - 1] * 2 > agg->slices)
                continue;
            agg->width[agg->levels] = agg->slices;
            if (cost_of(agg, agg->width, agg->levels) <= (way == 0 ? exact : most))
                return;
        }
        if (last)
            break;
        forget_nodes(agg);
    }
    agg->levels = 1; /* one node, whatever it costs */
    agg->width[0] = 1;
    agg->width[1] = agg->slices;
}

static void make_level(struct agg *agg, unsigned index)
{
    struct agg_level *level = &agg->level[index];
    uint32_t width = agg->width[index], span = agg->width[index + 1];
    level->stretches = (agg->slices + span - 1) / span;
    level->problem_of = mem_alloc((size_t)agg->node_count * level->stretches * sizeof *level->problem_of);
    memset(level->problem_of, 0xff, (size_t)agg->node_count * level->stretches * sizeof *level->problem_of);
    for (uint32_t i = 0; i < agg->node_count; i++) {
        const struct agg_node *node = &agg->nodes[i];
        uint32_t unit = AGG_NONE, stretch = AGG_NONE;
        for (uint32_t k = node->first_column; k < node->first_column + node->columns; k++) {
            uint32_t slice = agg->slice.items[k];
            if (slice / span != stretch) {
                if (stretch != AGG_NONE)
                    array_push(&level->units, k);
                stretch = slice / span;
                unit = AGG_NONE;
                level->problem_of[(size_t)i * level->stretches + stretch] = (uint32_t)level->problems.count;
                array_push(&level->problems, (struct agg_problem){.node = i,
                                                                  .first_unit = (uint32_t)level->units.count,
                                                                  .is_unit = AGG_NONE,
                                                                  .together_above = 2});
            }
            if (slice / width != unit) {
                unit = slice / width;
                level->problems.items[level->problems.count - 1].units++;
                array_push(&level->units, k);
            }
        }
        if (stretch != AGG_NONE)
            array_push(&level->units, node->first_column + node->columns);
    }
}

static void align(struct agg *agg, unsigned index, const struct agg_problem *parent, const struct agg_problem *child)
{
    struct agg_level *level = &agg->level[index];
    const uint32_t *units = level->units.items;
    uint32_t width = agg->width[index], at = 0;
    size_t first = level->aligned.count, behind = first + parent->units;
    array_reserve(&level->aligned, first + 2 * (size_t)parent->units);
    level->aligned.count += 2 * (size_t)parent->units;
    for (uint32_t i = 0; i < parent->units; i++) {
        uint32_t place = agg->slice.items[units[parent->first_unit + i]] / width;
        while (at < child->units && agg->slice.items[units[child->first_unit + at]] / width < place)
            at++;
        bool there = at < child->units && agg->slice.items[units[child->first_unit + at]] / width == place;
        level->aligned.items[first + i] = (uint16_t)at;
        level->aligned.items[behind + i] = (uint16_t)(at + there);
    }
}

/* Once: each solution needs it again. */
static void align_children(struct agg *agg, unsigned index)
{
    struct agg_level *level = &agg->level[index];
    array_each (&level->problems, struct agg_problem, problem) {
        const struct agg_node *about = &agg->nodes[problem->node];
        uint32_t stretch = agg->slice.items[level->units.items[problem->first_unit]] / agg->width[index + 1];
        problem->first_child = (uint32_t)level->children.count;
        for (uint32_t c = 0; c < about->children; c++) {
            size_t child = agg->children.items[about->first_child + c];
            uint32_t other = level->problem_of[child * level->stretches + stretch];
            if (other == AGG_NONE)
                continue;
            array_push(&level->children, (struct agg_child){other, level->aligned.count});
            align(agg, index, problem, &level->problems.items[other]);
            problem->children++;
        }
    }
}

/* Which problem of the level below each unit is. Both lists go through nodes and time in the same order. */
static void link_levels(struct agg *agg, unsigned index)
{
    struct agg_level *level = &agg->level[index], *below = &agg->level[index - 1];
    uint32_t problem = 0;
    array_reserve(&level->below, level->units.count + 1);
    level->below.count = level->units.count;
    array_each (&level->problems, const struct agg_problem, above) {
        for (uint32_t u = 0; u < above->units; u++) {
            level->below.items[above->first_unit + u] = problem;
            below->problems.items[problem++].is_unit = above->first_unit + u;
        }
    }
    level->unit_value = mem_alloc((level->units.count + 1) * sizeof *level->unit_value);
    level->unit_a = mem_alloc((level->units.count + 1) * sizeof *level->unit_a);
}

static void make_states(struct agg *agg)
{
    agg->states = 0;
    for (unsigned index = 0; index < agg->levels; index++) {
        make_level(agg, index);
        align_children(agg, index);
        if (index)
            link_levels(agg, index);
        array_each (&agg->level[index].problems, struct agg_problem, problem) {
            problem->first_state = agg->states;
            agg->states += (uint64_t)problem->units * (problem->units + 1) / 2;
            agg->most_units = problem->units > agg->most_units ? problem->units : agg->most_units;
        }
    }
    agg->choice = mem_alloc((agg->states + 1) * sizeof *agg->choice);
    agg->whole_below = mem_alloc((agg->states + 1) * sizeof *agg->whole_below);
    agg->detail_above = mem_alloc((agg->states + 1) * sizeof *agg->detail_above);
    for (uint64_t i = 0; i < agg->states; i++) {
        agg->whole_below[i] = 0;
        agg->detail_above[i] = 2;
    }
}

struct agg *agg_new(const struct aggregate_input *input, uint64_t most_cost, struct error *err)
{
    if (check(input, err) < 0)
        return NULL;
    struct agg *agg = mem_zalloc(sizeof *agg);
    agg->slices = input->slices;
    agg->xlogx = mem_alloc(AGG_TABLE * sizeof *agg->xlogx);
    for (uint32_t i = 0; i < AGG_TABLE; i++)
        agg->xlogx[i] = i ? agg_xlogx_far(i) : 0;
    agg->log2_of = mem_alloc((input->slices + 1ul) * sizeof *agg->log2_of);
    for (uint32_t i = 0; i <= input->slices; i++)
        agg->log2_of[i] = i ? log2(i) : 0;
    choose(agg, input, most_cost);
    make_states(agg);
    agg->value_at = mem_alloc((agg->node_count + 1) * sizeof *agg->value_at);
    agg->need = mem_zalloc(agg->node_count + 1);
    agg->scratch = agg_scratch_new(agg);
    return agg;
}

void agg_free(struct agg *agg)
{
    if (!agg)
        return;
    for (unsigned i = 0; i < agg->levels; i++) {
        array_free(&agg->level[i].units);
        array_free(&agg->level[i].problems);
        array_free(&agg->level[i].children);
        array_free(&agg->level[i].aligned);
        array_free(&agg->level[i].below);
        free(agg->level[i].problem_of);
        free(agg->level[i].unit_value);
        free(agg->level[i].unit_a);
    }
    array_free(&agg->slice);
    array_free(&agg->sum_before);
    array_free(&agg->info_before);
    agg_scratch_free(agg->scratch);
    array_free(&agg->children);
    free(agg->nodes);
    free(agg->choice);
    free(agg->whole_below);
    free(agg->detail_above);
    free(agg->xlogx);
    free(agg->log2_of);
    free(agg->value);
    free(agg->a);
    free(agg->value_at);
    free(agg->need);
    free(agg);
}
