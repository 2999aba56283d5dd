/* See gain.h. */
#include "predict/gain.h"

#include "predict/costs.h"

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

/* "1.9 times as fast (1.5 to 2.1)", or below the bound that matters, as a share of run time. */
static const char *gain_text(struct findings *findings, const struct run_time *gain)
{
    if (gain->factor >= verdict_bound)
        return findings_text(findings, "%.1f times as fast (%.1f to %.1f)", gain->factor, gain->low, gain->high);
    double most = gain->high > 1 ? 1 - 1 / gain->high : 0;
    return findings_text(findings, "At most %.1f%% of run time", findings_at_most(most));
}

static double gain_of(const struct finding *finding)
{
    bool counts = finding->subject && finding->predicted.factor >= verdict_bound;
    return counts ? round(10 * finding->predicted.factor) : 10; /* as printed */
}

/* What brings most comes first; of what brings as much, or too little to matter, the order stays. So does a node's place: its
 * objects' own findings come first, and their gains are parts of its own. */
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
    double factor;
};

static struct prediction predict_single(const struct model *machine, const struct demand *demand, struct plan *plan)
{
    struct prediction then = predict_plan(machine, demand, plan);
    if (!plan->one_node)
        return then;
    struct plan near = {.placement = PLACING_USERS, .one_node = true, .home = plan->home};
    struct prediction other = predict_plan(machine, demand, &near); /* of a node's objects some are better near */
    if (other.time_s[ASSUME_LIKELY] >= then.time_s[ASSUME_LIKELY])
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

/* All advice together, the best first. What makes it slower, such as interleaving what another finding has placed well, is
 * not followed: so the whole is at least as fast as its best part. */
static void advise(struct gains *gains, const struct model *machine, const struct demand *demand,
                   const struct single *singles, size_t count)
{
    size_t size = demand->object_count + 1;
    uint8_t *before = mem_zalloc(size);
    gains->by_object = mem_zalloc(size); /* PLACING_AS_IS */
    gains->advice = (struct plan){.placement = PLACING_AS_IS, .by_object = gains->by_object};
    for (size_t i = 0; i < count && singles[i].factor > 1; i++) {
        struct plan plan = gains->advice;
        memcpy(before, gains->by_object, size);
        if (!plan_add(&plan, gains->by_object, &singles[i].plan))
            continue;
        struct prediction then = predict_plan(machine, demand, &plan);
        if (then.time_s[ASSUME_LIKELY] > gains->advised.time_s[ASSUME_LIKELY]) {
            memcpy(gains->by_object, before, size);
            continue;
        }
        gains->advice = plan;
        gains->advised = then;
    }
    gains->near = true;
    for (size_t i = 0; i < size; i++)
        gains->near &= gains->by_object[i] == PLACING_AS_IS || gains->by_object[i] == PLACING_USERS;
    free(before);
}

void gain_predict(struct findings *findings, const struct model *machine, const struct demand *demand,
                  struct gains *gains)
{
    struct prediction as_is = predict(machine, demand, PLACING_AS_IS);
    struct single singles[PREDICTED];
    size_t count = 0;
    *gains = (struct gains){.largest = 1, .advised = as_is};
    for (size_t i = 0; i < findings->items.count && i < PREDICTED; i++) {
        struct finding *finding = &findings->items.items[i];
        struct single single;
        if (!plan_of(demand, finding, &single.plan))
            continue;
        struct prediction then = predict_single(machine, demand, &single.plan);
        struct factor factor = prediction_factor(&as_is, &then);
        finding->predicted = (struct run_time){factor.likely, factor.low, factor.high};
        finding->predicted_text = gain_text(findings, &finding->predicted);
        single.factor = factor.likely;
        gains->largest = fmax(gains->largest, factor.likely);
        size_t to = count++;
        for (; to > 0 && singles[to - 1].factor < single.factor; to--)
            singles[to] = singles[to - 1];
        singles[to] = single;
    }
    advise(gains, machine, demand, singles, count);
}

void gains_free(struct gains *gains)
{
    free(gains->by_object);
}

/* Bytes of each object: all, those from other nodes than the thread's, and those on `home` (by node). */
struct tally {
    double *bytes, *remote, *by_home, all_remote;
};

static void tally_make(struct tally *tally, const struct demand *demand)
{
    size_t objects = demand->object_count + 1, nodes = demand->node_count;
    *tally = (struct tally){.bytes = mem_zalloc(objects * sizeof(double)),
                            .remote = mem_zalloc(objects * sizeof(double)),
                            .by_home = mem_zalloc(objects * nodes * sizeof(double))};
    array_each (&demand->cells, const struct demand_cell, cell) {
        bool remote = cell->home >= 0 && (uint32_t)cell->home != demand->threads.items[cell->thread].node;
        tally->all_remote += remote ? cell->bytes : 0;
        if (cell->object == DEMAND_NONE)
            continue;
        tally->bytes[cell->object] += cell->bytes;
        tally->remote[cell->object] += remote ? cell->bytes : 0;
        if (cell->home >= 0)
            tally->by_home[cell->object * nodes + (size_t)cell->home] += cell->bytes;
    }
}

/* The node that has nearly all of an object's bytes; -1: none has. */
static int home_of(const struct tally *tally, uint32_t object, uint32_t nodes)
{
    const double nearly_all = 0.9;
    for (uint32_t i = 0; i < nodes; i++)
        if (tally->by_home[(size_t)object * nodes + i] > nearly_all * tally->bytes[object])
            return (int)i;
    return -1;
}

/* Whether a finding's object has a good part of all remote bytes: a tenth. */
static bool counts(const struct tally *tally, uint32_t object)
{
    return tally->remote[object] >= 0.1 * tally->all_remote;
}

/* Where the first object is that counts and is on one node; -1: there is none. */
static int home_of_first(const struct tally *tally, const struct findings *findings, const struct demand *demand)
{
    int home = -1;
    for (size_t i = 0; i < findings->items.count && home < 0; i++) {
        uint32_t object = number_of(demand, &findings->items.items[i]);
        if (object != DEMAND_NONE && counts(tally, object))
            home = home_of(tally, object, demand->node_count);
    }
    return home;
}

const char *gain_causes(struct findings *findings, const struct demand *demand, int *home)
{
    const char *names[NAMED], *text = "";
    size_t count = 0;
    struct tally tally;
    tally_make(&tally, demand);
    *home = home_of_first(&tally, findings, demand);
    for (size_t i = 0; i < findings->items.count && *home >= 0 && count < NAMED; i++) {
        const struct finding *finding = &findings->items.items[i];
        uint32_t object = number_of(demand, finding);
        if (object == DEMAND_NONE || home_of(&tally, object, demand->node_count) != *home)
            continue;
        bool named = i == 0 || counts(&tally, object);
        for (size_t j = 0; j < count; j++)
            named &= strcmp(names[j], finding->name) != 0;
        if (named)
            names[count++] = finding->name;
    }
    for (size_t i = 0; i < count; i++)
        text = findings_text(findings, "%s%s%s", text, i == 0 ? ": " : i + 1 == count ? " and " : ", ", names[i]);
    if (count)
        text = findings_text(findings, "%s %s on node %d", text, count == 1 ? "is" : "are",
                             flow_topology(findings->facts->flow)->nodes[*home].os_index);
    free(tally.bytes);
    free(tally.remote);
    free(tally.by_home);
    return text;
}
