/* analysis/traffic/traffic_front.c - of instructions that come by the same lines row by row, the one that brings them in.
 *
 * A stencil uses each row of a matrix three times: as the one below, as its own and as the one above. The first use brings its lines in;
 * loads ahead of the other two find them cached, and so show neither where they came from nor how many they are. */
#include "analysis/traffic/traffic_keys.h"

static struct traffic_pool *pool_of(const struct traffic_work *work, const struct burst_item *item)
{
    return &work->pools.items[work->keys.items[item->key].pool];
}

/* Of the lines that it comes by, the share that is in memory still. */
static double slow_ahead(const struct traffic_pool *pool)
{
    uint32_t walked = pool->all.walked;
    return walked >= traffic_rules.probes ? (double)pool->all.walked_from_memory / walked : 0;
}

static uint32_t front_of(const struct traffic_work *work, const struct burst_item *items, uint32_t count, uint32_t lead)
{
    uint32_t front = lead;
    for (uint32_t i = lead + 1; i < count; i++) {
        const struct traffic_pool *pool = pool_of(work, &items[i]);
        if (items[i].lead == lead && pool->walks && slow_ahead(pool) > slow_ahead(pool_of(work, &items[front])))
            front = i;
    }
    return front;
}

/* The front leads its group. Those of whose lines less than half as many are in memory follow it, also in bursts that do not show that
 * they are one group. */
static void lead_by_front(struct traffic_work *work, struct burst_item *items, uint32_t count, uint32_t lead)
{
    uint32_t front = front_of(work, items, count, lead);
    const struct traffic_pool *first = pool_of(work, &items[front]);
    struct burst_item was = items[lead];
    if (!first->walks)
        return;
    items[lead].lines = 0;
    items[lead].walked = -1;
    items[front].reads = was.reads;
    items[front].stores = was.stores;
    items[front].nontemporal = was.nontemporal;
    items[front].lines = was.lines;
    items[front].walked = was.walked;
    for (uint32_t i = lead; i < count; i++) {
        struct traffic_pool *pool = pool_of(work, &items[i]);
        if (items[i].lead != lead)
            continue;
        items[i].lead = front;
        pool->follows |= pool->all.walked >= traffic_rules.probes && slow_ahead(pool) < slow_ahead(first) / 2;
    }
}

void traffic_find_fronts(struct traffic_work *work)
{
    for (uint32_t burst = 0; burst + 1 < work->first.count; burst++) {
        uint32_t from = work->first.items[burst], count = work->first.items[burst + 1] - from;
        struct burst_item *items = work->items.items + from;
        for (uint32_t lead = 0; lead < count; lead++)
            if (items[lead].lead == lead && items[lead].walked > 0)
                lead_by_front(work, items, count, lead);
    }
}
