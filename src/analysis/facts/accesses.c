#include "analysis/facts/accesses.h"

#include "base/map64.h"

#include <string.h>

static void load_one(void *context, const struct flow_access *access)
{
    struct accesses *accesses = context;
    uint8_t flags = (uint8_t)((access->has_latency ? ACCESS_TIMED : 0) | (access->write ? ACCESS_WRITE : 0) |
                              (access->remote ? ACCESS_REMOTE : 0) | (access->home >= 0 ? ACCESS_HOME_KNOWN : 0) |
                              (access->flags & SAMPLE_FIRST ? ACCESS_FIRST : 0));
    array_push(&accesses->items, (struct one_access){.time = access->time,
                                                     .addr = access->addr,
                                                     .thread = access->thread,
                                                     .object = access->object,
                                                     .stack = access->stack,
                                                     .latency = access->latency,
                                                     .from = access->from,
                                                     .home = access->home,
                                                     .flags = flags,
                                                     .level = access->level});
}

static void find_things(struct accesses *accesses)
{
    struct map64 known = {0};
    accesses->object_count = (uint32_t)flow_sampled_object_count(accesses->flow);
    accesses->thing_of = mem_alloc((accesses->object_count + 1ul) * sizeof *accesses->thing_of);
    for (uint32_t i = 0; i < accesses->object_count; i++) {
        bool is_new;
        uint64_t *place = map64_insert(&known, flow_object_thing(accesses->flow, i), &is_new);
        if (is_new) {
            *place = accesses->things.count;
            bool stack = flow_object_kind(accesses->flow, i) == OBJECT_STACK;
            array_push(&accesses->things,
                       (struct thing){.object = i, .site = stack ? FLOW_NONE : flow_object_site(accesses->flow, i)});
        }
        accesses->thing_of[i] = (uint32_t)*place;
        accesses->things.items[*place].objects++;
    }
    map64_free(&known);
}

/* A hardware source takes single accesses and marks none: each is a look of its own. */
static void mark_single(struct accesses *accesses)
{
    array_each (&accesses->items, const struct one_access, access)
        if (access->flags & ACCESS_FIRST)
            return;
    array_each (&accesses->items, struct one_access, access)
        access->flags |= ACCESS_FIRST;
}

struct accesses *accesses_load(const struct flow *flow, struct error *err)
{
    struct accesses *accesses = mem_zalloc(sizeof *accesses);
    accesses->flow = flow;
    accesses->node_count = flow_topology(flow)->node_count;
    accesses->items.capacity = flow_totals(flow).samples + 1;
    accesses->items.items = mem_alloc_spread(accesses->items.capacity * sizeof *accesses->items.items);
    if (flow_each_access(flow, load_one, accesses, err) < 0) {
        accesses_free(accesses);
        return NULL;
    }
    mark_single(accesses);
    find_things(accesses);
    return accesses;
}

void accesses_free(struct accesses *accesses)
{
    if (!accesses)
        return;
    array_free(&accesses->items);
    array_free(&accesses->things);
    free(accesses->thing_of);
    free(accesses);
}

const char *accesses_unit(const struct flow *flow)
{
    const struct trace_session *session = flow_session(flow);
    const char *unit = session ? trace_session_get(session, "latency_unit") : NULL;
    return unit && strcmp(unit, "cycles") == 0 ? "cycles" : "ns";
}
