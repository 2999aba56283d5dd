/* See gain.h. */
#include "predict/gain.h"

#include "analysis/thresholds.h"
#include "machine/model.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { PREDICTED = 32, NAMED = 3 }; /* findings that are predicted, worst first; objects that the first line names */

/* What the advice does with pages. False: nothing that the model knows of. */
static bool placing_of(enum action action, enum placing *placement)
{
    switch (action) {
    case ACTION_ALLOCATE_NEAR:
    case ACTION_FIRST_TOUCH:
    case ACTION_SEPARATE_PAGES:
    case ACTION_RUNTIME_OPTION:
        *placement = PLACING_USERS;
        return true;
    case ACTION_MIGRATE:
    case ACTION_PIN_TOGETHER: /* wherever they are used, they are near */
        *placement = PLACING_OWN;
        return true;
    case ACTION_DUPLICATE:
        *placement = PLACING_REPLICATE;
        return true;
    case ACTION_INTERLEAVE:
    case ACTION_SPREAD:
    case ACTION_SYMMETRIC:
        *placement = PLACING_INTERLEAVE;
        return true;
    default: /* lines that go from cache to cache */
        return false;
    }
}

static uint32_t number_of(const struct demand *demand, const struct finding *finding)
{
    uint32_t object = finding->subject ? finding->subject->object : UINT32_MAX;
    return demand->number_of && object < demand->flow_objects ? demand->number_of[object] : DEMAND_NONE;
}

/* False: the finding is about nothing that has bytes, or its advice is not about pages. */
static bool plan_of(const struct demand *demand, const struct finding *finding, struct plan *plan)
{
    *plan = (struct plan){0};
    if (finding->advice.count == 0 || !placing_of(finding->advice.items[0].action, &plan->placement))
        return false;
    if (!finding->subject) {
        plan->one_node = finding->node >= 0;
        plan->home = finding->node;
        return plan->one_node;
    }
    plan->one_object = true;
    plan->object = number_of(demand, finding);
    return plan->object != DEMAND_NONE;
}

const char *gain_where(struct findings *findings, const struct capacity *capacity)
{
    const struct topology *topology = flow_topology(findings->facts->flow);
    struct limit limit = capacity->where;
    char text[LIMIT_TEXT];
    limit.from = (uint32_t)topology->nodes[limit.from].os_index;
    limit.to = (uint32_t)topology->nodes[limit.to].os_index;
    return findings_text(findings, "%s", limit_text(&limit, text));
}

/* "Memory of node 0 is asked for 0.7 times what it can deliver instead of 2.7": of what is asked for most, then and now. */
static const char *gain_text(struct findings *findings, const struct capacity *as_is, const struct capacity *then)
{
    if (capacity_grade(as_is) == GRADE_UNDER || capacity_ratio(then) > (1 - thresholds.off_by) * capacity_ratio(as_is))
        return NULL;
    const char *where = gain_where(findings, then->can > 0 ? then : as_is);
    return findings_text(findings, "%c%s is asked for %.1f times what it can deliver instead of %.1f",
                         toupper((unsigned char)*where), where + 1, capacity_ratio(then), capacity_ratio(as_is));
}

/* As printed, in tenths of what there is now: by how much less is asked for. */
static double gain_of(const struct finding *finding)
{
    bool counts = finding->subject && finding->then_text && finding->then.can > 0;
    return counts ? -round(10 * finding->then.asked / finding->then.can) : -1e9;
}

/* What brings most comes first; of what brings as much, or nothing, the order stays. So does a node's place: its objects' own
 * findings come first, and their gains are parts of its own. */
void gain_sort(struct findings *findings)
{
    struct finding *items = findings->items.items;
    for (size_t i = 1; i < findings->items.count && i < PREDICTED; i++) {
        struct finding finding = items[i];
        size_t to = i;
        for (; to > 0 && gain_of(&items[to - 1]) < gain_of(&finding); to--)
            items[to] = items[to - 1];
        items[to] = finding;
    }
}

/* One finding's advice alone. */
struct single {
    struct plan plan;
    double ratio;
};

static struct capacity predict_single(const struct model *machine, const struct demand *demand, struct plan *plan)
{
    struct capacity then = capacity_of(machine, demand, plan);
    if (!plan->one_node)
        return then;
    struct plan near = {.placement = PLACING_USERS, .one_node = true, .home = plan->home};
    struct capacity other = capacity_of(machine, demand, &near); /* of a node's objects some are better near */
    if (capacity_ratio(&other) >= capacity_ratio(&then))
        return then;
    *plan = near;
    return other;
}

/* `advice` with a finding's own in it; false when it has a node's already: one is enough to begin with. */
static bool plan_add(struct plan *advice, uint8_t *by_object, const struct plan *plan)
{
    if (!plan->one_node) {
        by_object[plan->object] = (uint8_t)plan->placement;
        return true;
    }
    if (advice->one_node)
        return false;
    advice->placement = plan->placement;
    advice->one_node = true;
    advice->home = plan->home;
    return true;
}

/* All advice together, the best first. What asks for more, such as interleaving what another finding has placed well, is
 * not followed: so the whole is at least as good as its best part. */
static void advise(struct gains *gains, const struct model *machine, const struct demand *demand,
                   const struct single *singles, size_t count)
{
    size_t size = demand->object_count + 1;
    uint8_t *before = mem_zalloc(size);
    gains->by_object = mem_zalloc(size); /* PLACING_AS_IS */
    gains->advice = (struct plan){.placement = PLACING_AS_IS, .by_object = gains->by_object};
    for (size_t i = 0; i < count; i++) {
        struct plan plan = gains->advice;
        memcpy(before, gains->by_object, size);
        if (!plan_add(&plan, gains->by_object, &singles[i].plan))
            continue;
        struct capacity then = capacity_of(machine, demand, &plan);
        if (capacity_ratio(&then) > capacity_ratio(&gains->advised)) {
            memcpy(gains->by_object, before, size);
            continue;
        }
        gains->advice = plan;
        gains->advised = then;
    }
    free(before);
}

void gain_predict(struct findings *findings, const struct model *machine, const struct demand *demand,
                  const struct capacity *as_is, struct gains *gains)
{
    struct single singles[PREDICTED];
    size_t count = 0;
    *gains = (struct gains){.advised = *as_is};
    for (size_t i = 0; i < findings->items.count && i < PREDICTED; i++) {
        struct finding *finding = &findings->items.items[i];
        struct single single;
        if (!plan_of(demand, finding, &single.plan))
            continue;
        struct capacity then = predict_single(machine, demand, &single.plan);
        finding->then = (struct asked){then.asked, then.low, then.high, then.can};
        finding->then_text = gain_text(findings, as_is, &then);
        single.ratio = capacity_ratio(&then);
        size_t to = count++;
        for (; to > 0 && singles[to - 1].ratio > single.ratio; to--)
            singles[to] = singles[to - 1];
        singles[to] = single;
    }
    advise(gains, machine, demand, singles, count);
}

/* What following a finding's first advice wins: of run time, or of what is asked for, whichever is more. */
static double worth(const struct finding *finding, const struct capacity *as_is, bool relief)
{
    double less = 0;
    if (relief && finding->then.can > 0 && as_is->can > 0)
        less = 1 - finding->then.asked / finding->then.can / capacity_ratio(as_is);
    return fmax(finding->lost_time_share, less);
}

void gain_drop_small(struct findings *findings, const struct capacity *as_is, bool relief)
{
    double sums[ACTIONS] = {0};
    if (!findings->facts->timed)
        return; /* what it would win is not known */
    array_each (&findings->items, const struct finding, finding)
        if (finding->advice.count)
            sums[finding->advice.items[0].action] += worth(finding, as_is, relief);
    array_each (&findings->items, struct finding, finding)
        if (finding->advice.count && sums[finding->advice.items[0].action] < thresholds.worth_changing)
            finding->advice.count = finding->against.count = 0;
}

void gains_free(struct gains *gains)
{
    free(gains->by_object);
}

/* Whether a finding's object has a good part of all remote bytes: a tenth. */
static bool counts(const double *remote, uint32_t object, double all)
{
    return remote[object] > 0 && remote[object] >= thresholds.part * all;
}

const char *gain_causes(struct findings *findings, const struct demand *demand)
{
    const char *names[NAMED], *text = "";
    double *remote = mem_zalloc((demand->object_count + 1) * sizeof *remote), all = 0;
    size_t count = 0;
    array_each (&demand->cells, const struct demand_cell, cell) {
        bool far = cell->home >= 0 && (uint32_t)cell->home != demand->threads.items[cell->thread].node;
        all += far ? cell->bytes : 0;
        if (cell->object != DEMAND_NONE)
            remote[cell->object] += far ? cell->bytes : 0;
    }
    for (size_t i = 0; i < findings->items.count && count < NAMED; i++) {
        const struct finding *finding = &findings->items.items[i];
        uint32_t object = number_of(demand, finding);
        bool named = object != DEMAND_NONE && counts(remote, object, all);
        for (size_t j = 0; j < count; j++)
            named &= strcmp(names[j], finding->name) != 0;
        if (named)
            names[count++] = finding->name;
    }
    for (size_t i = 0; i < count; i++)
        text = findings_text(findings, "%s%s%s", text, i == 0 ? "" : i + 1 == count ? " and " : ", ", names[i]);
    free(remote);
    return text;
}
