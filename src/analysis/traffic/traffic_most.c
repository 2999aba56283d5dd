/* analysis/traffic/traffic_most.c - how many lines at most come from memory for accesses whose bytes are not known; for
 * models that ask what they may cost (src/predict/bounds.h).
 *
 * Of an object, loads are timed ahead of the streams through it and behind them. Which of these lines a loop comes by is not always
 * known, so that they do not show what it is served from. But what a loop uses next is on one of the two sides, or no worse
 * cached than what is there: of the two shares that are slow, the larger one is the most that comes from memory. */
#include "base/units.h"
#include "analysis/traffic/traffic_keys.h"

#include <math.h>
#include <stdlib.h>

struct side {
    uint32_t all, slow;
};

struct around { /* an object, or all those of a site */
    uint64_t group;
    uint32_t key;
    struct side ahead, behind;
};

static int by_group(const void *left, const void *right)
{
    const struct around *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* What the share may be by chance: two standard deviations of counts above. */
static double at_most(const struct side *side)
{
    double slow = side->slow, most = slow + 1 + 2 * sqrt(slow + 1);
    return side->all < traffic_rules.around || most > side->all ? 1 : most / side->all;
}

void traffic_find_most(struct traffic_work *work)
{
    array_of(struct around) rows = {0};
    for (uint32_t i = 0; i < work->keys.count; i++) {
        const struct traffic_key *key = &work->keys.items[i];
        const struct traffic_evidence *own = &key->own;
        array_push(&rows, (struct around){.group = work->items.items[work->order.items[key->first]].group,
                                          .key = i,
                                          .ahead = {own->above, own->above_slow},
                                          .behind = {own->below, own->below_slow}});
    }
    array_sort(&rows, by_group);
    for (size_t from = 0, to; from < rows.count; from = to) {
        struct around sum = rows.items[from];
        for (to = from + 1; to < rows.count && rows.items[to].group == sum.group; to++) {
            const struct around *more = &rows.items[to];
            sum.ahead.all += more->ahead.all;
            sum.ahead.slow += more->ahead.slow;
            sum.behind.all += more->behind.all;
            sum.behind.slow += more->behind.slow;
        }
        double most = sum.group == UINT64_MAX ? 1 : fmax(at_most(&sum.ahead), at_most(&sum.behind));
        for (size_t i = from; i < to; i++) {
            struct traffic_key *key = &work->keys.items[rows.items[i].key];
            key->most = fmin(key->most, most);
        }
    }
    array_free(&rows);
}

/* By its own loads, where they show what it is served from. */
static double most_of_own(const struct traffic_work *work, const struct traffic_key *key)
{
    const struct traffic_evidence *all = &work->pools.items[key->pool].all;
    struct side at_access = {all->timed, all->slow}, ahead = {all->confirmed, all->from_memory};
    return key->share < 0 ? 1 : at_most(key->stream ? &ahead : &at_access);
}

double traffic_most(const struct traffic_work *work, const struct traffic_key *key, uint32_t item)
{
    double length = fabs((double)work->items.items[item].row->event.stride);
    double lines = length > 0 && length < CACHE_LINE ? length / CACHE_LINE : 1;
    return lines * fmin(key->most, most_of_own(work, key));
}

/* How far it comes between two bursts, where it is rarely found behind: else it may have begun again, who knows how often. A burst
 * notes a fifth of the longest loops that it can follow; and twice the mean is more than any pair is off by. */
double traffic_most_lines(const struct traffic_work *work, const struct traffic_key *key, uint32_t item)
{
    const double behind = 0.1, parts = 5, more = 2;
    const struct traffic_evidence *all = &work->pools.items[key->pool].all;
    const struct event_stream *stream = &work->items.items[item].row->event;
    if (all->moved < traffic_rules.around || all->lapped > behind * all->moved || all->moved_ns <= 0)
        return INFINITY;
    return more * (stream->runs < SHORT_RUNS ? parts : 1) * all->moved_lines / all->moved_ns;
}
