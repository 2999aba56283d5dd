/* analysis/memory_map/aggregate_read.c - the blocks of a solution, from what was chosen in each state. */
#include "analysis/memory_map/aggregate_work.h"

struct reading {
    const struct agg *agg;
    agg_blocks *blocks;
    uint64_t most;
    struct agg_line line;
};

static void put(struct reading *r, uint32_t node, uint32_t from, uint32_t to) /* columns [from, to) */
{
    const struct agg *agg = r->agg;
    uint16_t first = agg->slice.items[from], last = agg->slice.items[to - 1];
    double sum = agg->sum_before.items[to] - agg->sum_before.items[from];
    r->line.a += agg_xlogx(agg, sum);
    r->line.b += sum * (agg->nodes[node].log_leaves + agg->log2_of[last - first + 1]);
    if (r->line.blocks++ < r->most)
        array_push(r->blocks, (struct aggregate_block){agg->nodes[node].original, first, last});
}

/* Every cell from slice `first` to `last` a block of its own. */
static void put_detail(struct reading *r, uint32_t node, uint16_t first, uint16_t last)
{
    const struct agg_node *about = &r->agg->nodes[node];
    for (uint32_t c = 0; c < about->children; c++)
        put_detail(r, r->agg->children.items[about->first_child + c], first, last);
    for (uint32_t k = about->first_column; about->children == 0 && k < about->first_column + about->columns; k++) {
        if (r->agg->slice.items[k] >= first && r->agg->slice.items[k] <= last)
            put(r, node, k, k + 1);
    }
}

static void read_state(struct reading *r, unsigned index, uint32_t number, uint32_t i, uint32_t j);

/* Each child over the parent's units i to j. */
static void read_children(struct reading *r, unsigned index, const struct agg_problem *problem, uint32_t i, uint32_t j)
{
    const struct agg *agg = r->agg;
    const struct agg_level *level = &agg->level[index];
    const struct agg_node *about = &agg->nodes[problem->node];
    uint32_t width = agg->width[index];
    const uint32_t *unit = level->units.items + problem->first_unit;
    uint32_t from = agg->slice.items[unit[i]] / width, to = agg->slice.items[unit[j]] / width;
    uint32_t stretch = agg->slice.items[unit[i]] / agg->width[index + 1];
    for (uint32_t c = 0; c < about->children; c++) {
        uint32_t child = agg->children.items[about->first_child + c];
        uint32_t number = level->problem_of[(size_t)child * level->stretches + stretch];
        if (number == AGG_NONE)
            continue;
        const struct agg_problem *other = &level->problems.items[number];
        const uint32_t *units = level->units.items + other->first_unit;
        uint32_t first = 0, behind = other->units;
        while (first < behind && agg->slice.items[units[first]] / width < from)
            first++;
        while (behind > first && agg->slice.items[units[behind - 1]] / width > to)
            behind--;
        if (behind > first)
            read_state(r, index, number, first, behind - 1);
    }
}

static void read_state(struct reading *r, unsigned index, uint32_t number, uint32_t i, uint32_t j)
{
    const struct agg *agg = r->agg;
    const struct agg_problem *problem = &agg->level[index].problems.items[number];
    const uint32_t *unit = agg->level[index].units.items + problem->first_unit;
    for (;;) {
        size_t place = (size_t)i * problem->units - (size_t)i * (i + 1) / 2 + j;
        uint16_t choice = agg->choice[problem->first_state + place];
        switch (choice) {
        case CHOICE_WHOLE:
            put(r, problem->node, unit[i], unit[j + 1]);
            return;
        case CHOICE_SPLIT:
            read_children(r, index, problem, i, j);
            return;
        case CHOICE_DETAIL:
            put_detail(r, problem->node, agg->slice.items[unit[i]], agg->slice.items[unit[j + 1] - 1]);
            return;
        case CHOICE_DOWN: {
            uint32_t below = agg->level[index].below.items[problem->first_unit + i];
            read_state(r, index - 1, below, 0, agg->level[index - 1].problems.items[below].units - 1);
            return;
        }
        default: /* the last piece, which is not cut again, and then the rest */
            read_state(r, index, number, choice + 1u, j);
            j = choice;
        }
    }
}

struct agg_line agg_read(const struct agg *agg, agg_blocks *blocks, uint64_t most)
{
    struct reading r = {.agg = agg, .blocks = blocks, .most = most};
    unsigned top = agg->levels - 1;
    if (agg->level[top].problems.count)
        read_state(&r, top, 0, 0, agg->level[top].problems.items[0].units - 1);
    return r.line;
}
