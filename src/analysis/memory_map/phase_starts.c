/* analysis/memory_map/phase_starts.c - what is known of phases without a sample: when threads started, and who touched memory first.
 *
 * Filling a few matrices takes milliseconds, in which a sampler may not look at all. That the threads which use them later
 * did not live yet, and whose page faults brought them in, is certain all the same. */
#include "analysis/memory_map/run_phases.h"
#include "analysis/thresholds.h"

#include "base/map64.h"

static const uint64_t CLOCK_NS = 2u << 20; /* times of touches are to a millisecond or so */

static uint64_t time_of(const struct phase_counts *counts, uint32_t bin)
{
    return counts->map->start + (uint64_t)bin * counts->slices_a_bin * counts->map->slice_ns;
}

void phase_touches_find(const struct phase_counts *counts, uint64_t start, uint64_t end, struct phase_touches *touches)
{
    const struct memory_map *map = counts->map;
    struct map64 seen = {0}, touch_of = {0};
    bool is_new;
    touches->count = 0;
    if (map->physical || !flow_has_touches(map->flow))
        return;
    for (size_t i = 0; i < map->leaves.count; i++) {
        const struct flow_touched *rows;
        uint32_t object = map->leaves.items[i].object;
        if (object == FLOW_NONE)
            continue;
        map64_insert(&seen, object, &is_new);
        size_t count = is_new ? flow_object_touched(map->flow, object, &rows) : 0;
        for (size_t row = 0; row < count; row++) {
            if (rows[row].fresh == 0 || rows[row].since + CLOCK_NS <= start || rows[row].until >= end + CLOCK_NS)
                continue;
            uint32_t role = counts->role_of[rows[row].thread], thing = counts->thing_of[i];
            if (time_of(counts, counts->roles.items[role].first_bin) >= end)
                continue;
            uint64_t *at = map64_insert(&touch_of, (uint64_t)role << 32 | thing, &is_new);
            if (is_new) {
                *at = touches->count;
                array_push(touches, (struct phase_touch){.role = role, .thing = thing});
            }
            touches->items[*at].pages += rows[row].fresh;
        }
    }
    map64_free(&seen);
    map64_free(&touch_of);
}

struct shares { /* of the bursts in some bins */
    double *of_role, *of_thing, all;
};

static struct shares shares_of(const struct phase_counts *counts, uint32_t from, uint32_t to)
{
    size_t width = counts->kinds.count;
    struct shares shares = {.of_role = mem_zalloc((counts->roles.count + 1) * sizeof(double)),
                            .of_thing = mem_zalloc((counts->things.count + 1) * sizeof(double))};
    for (uint32_t k = 0; k < width; k++) {
        double count = counts->before[to * width + k] - counts->before[from * width + k];
        shares.of_role[counts->kinds.items[k].role] += count;
        shares.of_thing[counts->kinds.items[k].thing] += count;
        shares.all += count;
    }
    return shares;
}

/* The bin in which the first of the roles that matter begins to live. */
static uint32_t first_start(const struct phase_counts *counts, const struct shares *shares, uint32_t behind)
{
    uint32_t first = behind;
    for (uint32_t i = 0; i < counts->roles.count; i++) {
        if (shares->of_role[i] > thresholds.worth_saying * shares->all && counts->roles.items[i].first_bin < first)
            first = counts->roles.items[i].first_bin;
    }
    return first;
}

uint32_t phase_prepared_until(const struct phase_counts *counts, uint32_t from, uint32_t to)
{
    struct shares shares = shares_of(counts, from, to);
    uint32_t border = first_start(counts, &shares, to);
    struct phase_touches all = {0}, before = {0};
    uint64_t pages = 0, early = 0;
    if (border > from && border < to) {
        phase_touches_find(counts, 0, UINT64_MAX - CLOCK_NS, &all);
        phase_touches_find(counts, time_of(counts, from), time_of(counts, border), &before);
    }
    array_each (&all, const struct phase_touch, touch)
        pages += shares.of_thing[touch->thing] > thresholds.worth_saying * shares.all ? touch->pages : 0;
    array_each (&before, const struct phase_touch, touch)
        early += shares.of_thing[touch->thing] > thresholds.worth_saying * shares.all ? touch->pages : 0;
    array_free(&all);
    array_free(&before);
    free(shares.of_role);
    free(shares.of_thing);
    return early && (double)early >= thresholds.majority * (double)pages ? border : from;
}
