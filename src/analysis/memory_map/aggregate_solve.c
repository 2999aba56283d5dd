/* analysis/memory_map/aggregate_solve.c - the best partition for one q, by the recurrence of aggregate.h. The hot path.
 *
 * A node's states go by first unit, from the last one, and then by last unit, from the first one. Nothing is skipped that
 * could be best:
 *
 * - Cuts leave pieces that are whole or split. Two split pieces side by side are never better than one: children may cut by
 *   themselves. So the last piece is whole, and the rest is a state itself; or it is split, and the rest ends with a whole one.
 * - With a last piece from f to j, best(i, f-1) + whole(f, j) <= best(i, j-1) + (whole(f, j) - best(f, j-1)), for the best of a
 *   stretch is never less than the best of its parts. The bracket, what unit j adds to the piece, does not depend on i. Pieces
 *   are tried from the one that adds most, until the bound falls below the best that is known; mostly that is at once.
 * - Likewise best(i, k) + split(k+1, j) <= split(i, j) + (best(i, k) - split(i, k)), and the bracket does not depend on j.
 * - Of all partitions of a state, the whole has the greatest B and the full detail has none. So what was best whole for some
 *   q is so for every smaller one, and what was best in full detail is so for every greater one, and so is every part of it:
 *   all of a node in full detail need not be looked at, nor anything under it. A node of which no state is best whole is no
 *   more than the sum of its children, for every greater q too; and where all above it are such, only its state of all units
 *   is asked for.
 *
 * Values of children are kept on a stack: nodes come in reverse preorder, so a node finds its children's on top. */
#include "analysis/memory_map/aggregate_work.h"

#include <math.h>
#include <string.h>

struct piece { /* of units that is best whole */
    double value, adds;
    uint32_t first;
};

struct ending { /* of units from the row's first on that is best with a whole piece at the end */
    double extra;
    uint32_t last;
};

struct agg_scratch {
    double *split;         /* by last unit */
    uint32_t *pieces;      /* by last unit: how many pieces end there */
    struct piece *piece;   /* those, most_units for each last unit: by what they add, rising */
    struct ending *ending; /* of the row, by what they have more than a split, rising */
    uint32_t endings;
    uint64_t wholes; /* states of the problem that are best whole */
};

struct agg_scratch *agg_scratch_new(const struct agg *agg)
{
    struct agg_scratch *scratch = mem_zalloc(sizeof *scratch);
    size_t most = agg->most_units + 1;
    scratch->split = mem_alloc(most * sizeof *scratch->split);
    scratch->pieces = mem_alloc(most * sizeof *scratch->pieces);
    scratch->piece = mem_alloc(most * most * sizeof *scratch->piece);
    scratch->ending = mem_alloc(most * sizeof *scratch->ending);
    return scratch;
}

void agg_scratch_free(struct agg_scratch *scratch)
{
    if (!scratch)
        return;
    free(scratch->split);
    free(scratch->pieces);
    free(scratch->piece);
    free(scratch->ending);
    free(scratch);
}

struct solving { /* one problem */
    struct agg *agg;
    const struct agg_level *level;
    bool bottom; /* the first level */
    struct agg_problem *problem;
    const uint32_t *unit; /* first column of each */
    double q, log_leaves, info;
    uint32_t units;
    double *value, *a; /* its states */
    uint32_t children; /* with values in this stretch */
    const struct agg_problem *child[AGG_CHILDREN];
    const double *child_value[AGG_CHILDREN], *child_a[AGG_CHILDREN];
    const uint16_t *first[AGG_CHILDREN], *behind[AGG_CHILDREN]; /* struct agg_child */
};

/* Where the states that begin with unit i are, less i: add the last unit. */
static inline size_t row(uint32_t units, uint32_t i)
{
    return (size_t)i * units - (size_t)i * (i + 1) / 2;
}

static inline double sum_of(const struct solving *s, uint32_t i, uint32_t j)
{
    return s->agg->sum_before.items[s->unit[j + 1]] - s->agg->sum_before.items[s->unit[i]];
}

/* The children's best over units i to j, for every j: their `values` into `sums`. */
static void split_row(const struct solving *s, uint32_t i, const double *const *values, double *sums)
{
    memset(sums + i, 0, (s->units - i) * sizeof *sums);
    for (uint32_t c = 0; c < s->children; c++) {
        uint32_t first = s->first[c][i], j = i;
        const uint16_t *behind = s->behind[c];
        if (first == s->child[c]->units)
            continue;
        const double *own = values[c] + row(s->child[c]->units, first) - 1;
        while (behind[j] <= first) /* ends: the last unit is not before any of the child's */
            j++;
        for (; j < s->units; j++)
            sums[j] += own[behind[j]];
    }
}

static double split_a(const struct solving *s, uint32_t i, uint32_t j)
{
    double a = 0;
    for (uint32_t c = 0; c < s->children; c++) {
        uint32_t first = s->first[c][i], behind = s->behind[c][j];
        if (behind > first)
            a += s->child_a[c][row(s->child[c]->units, first) + behind - 1];
    }
    return a;
}

struct best { /* of a state, so far */
    double value, a, tie;
    uint32_t choice;
    bool ends_whole;
};

static inline void try_cut(const struct solving *s, struct best *best, uint32_t i, uint32_t k, uint32_t j, double value,
                           bool whole)
{
    if (value < best->value - best->tie)
        return;
    double a = s->a[row(s->units, i) + k] + s->a[row(s->units, k + 1) + j];
    if (value > best->value + best->tie || a > best->a + best->tie)
        *best = (struct best){.value = value, .a = a, .tie = best->tie, .choice = k, .ends_whole = whole};
}

/* Cuts of units i to j whose last piece is whole. */
static void cut_whole(const struct solving *s, struct best *best, uint32_t i, uint32_t j)
{
    const struct piece *pieces = s->agg->scratch->piece + (size_t)j * s->agg->most_units;
    const double *before = s->value + row(s->units, i) - 1;
    uint32_t count = s->agg->scratch->pieces[j], n = count;
    for (; n > 0 && before[j] + pieces[n - 1].adds >= best->value - best->tie; n--)
        try_cut(s, best, i, pieces[n - 1].first - 1, j, before[pieces[n - 1].first] + pieces[n - 1].value, true);
    s->agg->steps += count - n;
}

/* Those whose last piece is split. */
static void cut_split(const struct solving *s, struct best *best, uint32_t i, uint32_t j)
{
    const struct agg_scratch *scratch = s->agg->scratch;
    uint32_t n = scratch->endings;
    for (; n > 0 && scratch->split[j] + scratch->ending[n - 1].extra >= best->value - best->tie; n--) {
        uint32_t k = scratch->ending[n - 1].last;
        size_t rest = row(s->units, k + 1) + j;
        uint16_t choice = s->agg->choice[s->problem->first_state + rest];
        if (choice == CHOICE_SPLIT || choice == CHOICE_DETAIL)
            try_cut(s, best, i, k, j, s->value[row(s->units, i) + k] + s->value[rest], false);
    }
    s->agg->steps += scratch->endings - n;
}

static void put_ending(struct agg_scratch *scratch, uint32_t j, double extra)
{
    uint32_t at = scratch->endings++;
    for (; at > 0 && scratch->ending[at - 1].extra > extra; at--)
        scratch->ending[at] = scratch->ending[at - 1];
    scratch->ending[at] = (struct ending){.extra = extra, .last = j};
}

static void put_piece(const struct solving *s, uint32_t i, uint32_t j, double value)
{
    struct agg_scratch *scratch = s->agg->scratch;
    struct piece *pieces = scratch->piece + (size_t)j * s->agg->most_units;
    double adds = value - (i < j ? s->value[row(s->units, i) + j - 1] : 0);
    uint32_t at = scratch->pieces[j]++;
    for (; at > 0 && pieces[at - 1].adds > adds; at--)
        pieces[at] = pieces[at - 1];
    pieces[at] = (struct piece){.value = value, .adds = adds, .first = i};
}

/* The best of a state about which nothing is known yet; `best` has the whole. */
static void search_state(const struct solving *s, struct best *best, uint32_t i, uint32_t j, uint64_t state,
                         double info)
{
    struct agg *agg = s->agg;
    if (s->children && agg->scratch->split[j] > best->value + best->tie) {
        best->value = agg->scratch->split[j];
        best->a = split_a(s, i, j);
        best->choice = CHOICE_SPLIT;
        best->ends_whole = false;
    }
    if (i < j) {
        cut_whole(s, best, i, j);
        if (s->children)
            cut_split(s, best, i, j);
    }
    if (best->choice == CHOICE_WHOLE)
        agg->whole_below[state] = nextafterf((float)s->q, 0);
    else if (best->a - info < 1) /* with two cells in one block it is at least 2 */
        agg->detail_above[state] = nextafterf((float)s->q, 2);
}

static void solve_state(const struct solving *s, uint32_t i, uint32_t j)
{
    struct agg *agg = s->agg;
    size_t place = row(s->units, i) + j;
    uint64_t state = s->problem->first_state + place;
    double sum = sum_of(s, i, j), whole_a = agg_xlogx(agg, sum);
    double info = agg->info_before.items[s->unit[j + 1]] - agg->info_before.items[s->unit[i]];
    struct best best = {.tie = agg_tie(whole_a, s->info), .ends_whole = true};
    if (i == j && !s->bottom) {
        best.value = s->level->unit_value[s->problem->first_unit + i];
        best.a = s->level->unit_a[s->problem->first_unit + i];
        best.choice = CHOICE_DOWN;
    } else if (s->q >= agg->detail_above[state]) {
        best.value = best.a = info;
        best.choice = CHOICE_DETAIL;
        best.ends_whole = s->children == 0;
    } else {
        uint32_t width = 1u + agg->slice.items[s->unit[j + 1] - 1] - agg->slice.items[s->unit[i]];
        best.value = whole_a - s->q * sum * (s->log_leaves + agg->log2_of[width]);
        best.a = whole_a;
        best.choice = CHOICE_WHOLE;
        if (s->q > agg->whole_below[state])
            search_state(s, &best, i, j, state, info);
    }
    s->value[place] = best.value;
    s->a[place] = best.a;
    agg->choice[state] = (uint16_t)best.choice;
    if (best.choice == CHOICE_WHOLE || best.choice == CHOICE_DOWN)
        put_piece(s, i, j, best.value);
    agg->scratch->wholes += best.choice == CHOICE_WHOLE;
    if (best.ends_whole && s->children)
        put_ending(agg->scratch, j, best.value - agg->scratch->split[j]);
}

/* Nothing in it is a block of its own, and a cut cannot be better than none where none of its parts is one: only sums. */
static void solve_together(const struct solving *s)
{
    for (uint32_t i = s->units; i-- > 0;) {
        split_row(s, i, s->child_value, s->value + row(s->units, i));
        split_row(s, i, s->child_a, s->a + row(s->units, i));
    }
    for (size_t i = 0; i < (size_t)s->units * (s->units + 1) / 2; i++)
        s->agg->choice[s->problem->first_state + i] = CHOICE_SPLIT;
}

static void solve_detail(const struct solving *s)
{
    const double *info = s->agg->info_before.items;
    for (uint32_t i = 0; i < s->units; i++) {
        double *value = s->value + row(s->units, i), *a = s->a + row(s->units, i);
        for (uint32_t j = i; j < s->units; j++)
            a[j] = value[j] = info[s->unit[j + 1]] - info[s->unit[i]];
    }
    for (size_t i = 0; i < (size_t)s->units * (s->units + 1) / 2; i++)
        s->agg->choice[s->problem->first_state + i] = CHOICE_DETAIL;
}

/* No state is best whole: nor for any greater q, if that holds in all its units. */
static void found_together(const struct solving *s)
{
    float above = nextafterf((float)s->q, 2);
    for (uint32_t i = 0; i < s->units && !s->bottom; i++) {
        uint32_t number = s->level->below.items[s->problem->first_unit + i];
        float below = s->level[-1].problems.items[number].together_above;
        above = below > above ? below : above;
    }
    if (above < s->problem->together_above)
        s->problem->together_above = above;
}

static void solve_block(const struct solving *s)
{
    struct agg_scratch *scratch = s->agg->scratch;
    scratch->wholes = 0;
    memset(scratch->pieces, 0, s->units * sizeof *scratch->pieces);
    for (uint32_t i = s->units; i-- > 0;) {
        scratch->endings = 0;
        if (s->children)
            split_row(s, i, s->child_value, scratch->split);
        for (uint32_t j = i; j < s->units; j++)
            solve_state(s, i, j);
    }
    if (scratch->wholes == 0 && s->children)
        found_together(s);
}

static bool all_detail(const struct agg *agg, const struct agg_problem *problem, double q)
{
    return q >= agg->detail_above[problem->first_state + problem->units - 1];
}

static bool is_together(const struct agg *agg, const struct agg_problem *problem, double q)
{
    return agg->nodes[problem->node].original == AGG_NONE || q >= problem->together_above;
}

/* Makes room for `states` more values on the stack. */
static void reserve(struct agg *agg, size_t top, size_t states)
{
    if (top + states <= agg->value_capacity)
        return;
    agg->value_capacity = (top + states) * 2;
    agg->value = mem_resize(agg->value, agg->value_capacity * sizeof *agg->value);
    agg->a = mem_resize(agg->a, agg->value_capacity * sizeof *agg->a);
}

static void put_unit(struct agg *agg, unsigned index, const struct agg_problem *problem, double value, double a)
{
    if (problem->is_unit == AGG_NONE)
        return;
    agg->level[index + 1].unit_value[problem->is_unit] = value;
    agg->level[index + 1].unit_a[problem->is_unit] = a;
}

/* The state of all units, as the sum of the children's. */
static void solve_one(struct agg *agg, unsigned index, uint32_t stretch, uint32_t node, size_t *top)
{
    const struct agg_level *level = &agg->level[index];
    const struct agg_node *about = &agg->nodes[node];
    const struct agg_problem *problem =
        &level->problems.items[level->problem_of[(size_t)node * level->stretches + stretch]];
    double value = 0, a = 0;
    size_t lowest = *top;
    for (uint32_t c = 0; c < about->children; c++) {
        uint32_t child = agg->children.items[about->first_child + c];
        uint32_t other = level->problem_of[(size_t)child * level->stretches + stretch];
        if (other == AGG_NONE)
            continue;
        size_t at = agg->value_at[child];
        lowest = at < lowest ? at : lowest;
        at += agg->need[child] == NEED_ONE ? 0 : level->problems.items[other].units - 1;
        value += agg->value[at];
        a += agg->a[at];
    }
    reserve(agg, *top, 1);
    agg->value[lowest] = value;
    agg->a[lowest] = a;
    agg->choice[problem->first_state + problem->units - 1] = CHOICE_SPLIT;
    agg->value_at[node] = lowest;
    *top = lowest + 1;
    put_unit(agg, index, problem, value, a);
    agg->steps += 64;
}

/* One node over one stretch. `*top`: of the stack of values. */
static void solve_problem(struct agg *agg, unsigned index, uint32_t stretch, uint32_t node, double q, size_t *top)
{
    const struct agg_level *level = &agg->level[index];
    uint32_t number = level->problem_of[(size_t)node * level->stretches + stretch];
    const struct agg_node *about = &agg->nodes[node];
    if (number == AGG_NONE || agg->need[node] == NEED_NONE)
        return;
    struct agg_problem *problem = &level->problems.items[number];
    if (agg->need[node] == NEED_ONE) {
        solve_one(agg, index, stretch, node, top);
        return;
    }
    bool detail = all_detail(agg, problem, q);
    struct solving s; /* not zeroed: its arrays are long, and problems many */
    s.agg = agg;
    s.level = level;
    s.bottom = index == 0;
    s.problem = problem;
    s.unit = level->units.items + problem->first_unit;
    s.q = q;
    s.log_leaves = about->log_leaves;
    s.info = agg->info_before.items[about->first_column + about->columns];
    s.units = problem->units;
    s.children = 0;
    size_t states = (size_t)problem->units * (problem->units + 1) / 2, lowest = *top;
    reserve(agg, *top, states);
    for (; s.children < problem->children && !detail; s.children++) {
        const struct agg_child *child = &level->children.items[problem->first_child + s.children];
        size_t at = agg->value_at[level->problems.items[child->problem].node];
        s.child[s.children] = &level->problems.items[child->problem];
        s.child_value[s.children] = agg->value + at;
        s.child_a[s.children] = agg->a + at;
        s.first[s.children] = level->aligned.items + child->first;
        s.behind[s.children] = s.first[s.children] + problem->units;
        lowest = at < lowest ? at : lowest;
    }
    s.value = agg->value + *top;
    s.a = agg->a + *top;
    if (detail)
        solve_detail(&s);
    else if (is_together(agg, problem, q))
        solve_together(&s);
    else
        solve_block(&s);
    agg->steps += states * (s.children + 8) + 256;
    put_unit(agg, index, problem, s.value[row(s.units, 0) + s.units - 1], s.a[row(s.units, 0) + s.units - 1]);
    memmove(agg->value + lowest, s.value, states * sizeof *s.value);
    memmove(agg->a + lowest, s.a, states * sizeof *s.a);
    agg->value_at[node] = lowest;
    *top = lowest + states;
}

/* What is asked of each node, from the root on. */
static void find_needs(struct agg *agg, unsigned index, uint32_t stretch, double q)
{
    const struct agg_level *level = &agg->level[index];
    for (uint32_t node = 0; node < agg->node_count; node++) {
        uint32_t number = level->problem_of[(size_t)node * level->stretches + stretch];
        uint32_t parent = agg->nodes[node].parent;
        unsigned above = node ? agg->need[parent] : NEED_ONE;
        uint32_t of_parent = level->problem_of[(size_t)parent * level->stretches + stretch];
        agg->need[node] = NEED_NONE;
        if (number == AGG_NONE || above == NEED_NONE)
            continue;
        const struct agg_problem *problem = &level->problems.items[number];
        if (node && above != NEED_ONE && all_detail(agg, &level->problems.items[of_parent], q))
            continue;
        agg->need[node] = above != NEED_ONE ? NEED_ALL : NEED_FULL;
        if (above == NEED_ONE && agg->nodes[node].children && !all_detail(agg, problem, q) &&
            is_together(agg, problem, q))
            agg->need[node] = NEED_ONE;
    }
}

double agg_solve(struct agg *agg, double q)
{
    const struct agg_problem *all = &agg->level[agg->levels - 1].problems.items[0];
    if (q == 0) { /* S * log2 S alone: one block is best */
        agg->choice[all->first_state + all->units - 1] = CHOICE_WHOLE;
        return agg_xlogx(agg, agg->sum_before.items[agg->nodes[0].first_column + agg->nodes[0].columns]);
    }
    for (unsigned index = 0; index < agg->levels; index++) {
        for (uint32_t stretch = 0; stretch < agg->level[index].stretches; stretch++) {
            size_t top = 0;
            find_needs(agg, index, stretch, q);
            for (uint32_t node = agg->node_count; node-- > 0;)
                solve_problem(agg, index, stretch, node, q, &top);
        }
    }
    return agg->value[agg->need[0] == NEED_ONE ? 0 : all->units - 1];
}
