/* flow/live/live_pooled.c - objects that functions named by the user gave, and the pools they are from.
 *
 * They are inside malloc'd blocks or maps and win over those. A pool keeps a list of its objects through
 * record->pool_next, newest first; one that ended on its own stays listed until the list is swept or the pool ends, so
 * its place is not used again before. A fork's child knows the lists as they were: what is in them from before the
 * fork keeps its links. */
#include "flow/state.h"

enum { SWEEP_LEAST = 64 };

struct pool {
    uint64_t handle;
    uint32_t first;            /* record, or FLOW_NONE */
    uint32_t listed, sweep_at; /* records in the list; how many there may be before it is swept */
    uint32_t parent, child;    /* pools, or FLOW_NONE */
    uint32_t sibling_after, sibling_before;
    bool implicit; /* its creation was not seen yet */
};

struct pool_table {
    uint32_t refs;
    struct map64 of_handle;
    array_of(struct pool) pools;
    uint32_t unused; /* chain through `child` */
};

void live_pools_drop(struct pool_table *table)
{
    if (!table || --table->refs > 0)
        return;
    map64_free(&table->of_handle);
    array_free(&table->pools);
    free(table);
}

struct pool_table *live_pools_share(struct pool_table *table)
{
    if (table)
        table->refs++;
    return table;
}

/* The process's table, made its own: it is about to change. */
static struct pool_table *own_table(struct process *process)
{
    struct pool_table *old = process->pools;
    if (old && old->refs == 1)
        return old;
    struct pool_table *table = mem_zalloc(sizeof *table);
    table->refs = 1;
    table->unused = FLOW_NONE;
    process->pools = table;
    if (!old)
        return table;
    table->unused = old->unused;
    array_each (&old->pools, struct pool, pool)
        array_push(&table->pools, *pool);
    map64_each (&old->of_handle, i)
        *map64_insert(&table->of_handle, old->of_handle.keys[i], NULL) = old->of_handle.values[i];
    live_pools_drop(old);
    return table;
}

static uint32_t pool_find(const struct pool_table *table, uint64_t handle)
{
    uint64_t *place = handle ? map64_find(&table->of_handle, handle) : NULL;
    return place ? (uint32_t)*place : FLOW_NONE;
}

/* The pool of that handle; made when it is not known: it was created before anybody looked. */
static uint32_t pool_get(struct pool_table *table, uint64_t handle)
{
    uint32_t index = pool_find(table, handle);
    if (index != FLOW_NONE)
        return index;
    index = table->unused;
    if (index != FLOW_NONE) {
        table->unused = table->pools.items[index].child;
    } else {
        index = (uint32_t)table->pools.count;
        array_push(&table->pools, (struct pool){0});
    }
    table->pools.items[index] = (struct pool){.handle = handle,
                                              .first = FLOW_NONE,
                                              .sweep_at = SWEEP_LEAST,
                                              .parent = FLOW_NONE,
                                              .child = FLOW_NONE,
                                              .sibling_after = FLOW_NONE,
                                              .sibling_before = FLOW_NONE,
                                              .implicit = true};
    *map64_insert(&table->of_handle, handle, NULL) = index;
    return index;
}

static void unlink_pool(struct pool_table *table, uint32_t index)
{
    struct pool *pools = table->pools.items, *pool = &pools[index];
    if (pool->sibling_before != FLOW_NONE)
        pools[pool->sibling_before].sibling_after = pool->sibling_after;
    else if (pool->parent != FLOW_NONE)
        pools[pool->parent].child = pool->sibling_after;
    if (pool->sibling_after != FLOW_NONE)
        pools[pool->sibling_after].sibling_before = pool->sibling_before;
    pool->parent = pool->sibling_after = pool->sibling_before = FLOW_NONE;
}

static void link_pool(struct pool_table *table, uint32_t index, uint32_t parent)
{
    struct pool *pools = table->pools.items, *pool = &pools[index];
    /* A damaged trace may say that a pool is its own grandchild. One without children cannot be. */
    for (uint32_t at = parent; at != FLOW_NONE; at = pool->child != FLOW_NONE ? pools[at].parent : FLOW_NONE)
        if (at == index)
            return;
    unlink_pool(table, index);
    pool->parent = parent;
    pool->sibling_after = pools[parent].child;
    if (pool->sibling_after != FLOW_NONE)
        pools[pool->sibling_after].sibling_before = index;
    pools[parent].child = index;
}

/* Removes the object from the map of what lives where, if it is still there. */
static void end_object(struct flow *flow, struct process *process, uint32_t index, uint64_t time)
{
    uint64_t key, addr = pool_at(&flow->records, index)->addr;
    uint32_t value;
    if (!addrtree_floor(&process->pooled, addr, &key, &value) || key != addr || value != index)
        return;
    addrtree_remove(&process->pooled, ADDRTREE_NOWHERE, key, &value);
    live_record_end(flow, process, index, time);
}

/* A record that is in no list any more. A fork may still know it. */
static void unlist(struct flow *flow, const struct process *process, uint32_t index)
{
    struct record *record = pool_at(&flow->records, index);
    if (record->process != process->index || record->start <= process->last_fork)
        return;
    record->flags &= (uint8_t)~RECORD_POOLED;
    if ((record->flags & RECORD_ENDED) && record->tally == FLOW_NONE)
        live_record_recycle(flow, index);
}

static void end_objects(struct flow *flow, struct process *process, struct pool *pool, uint64_t time)
{
    for (uint32_t index = pool->first, next; index != FLOW_NONE; index = next) {
        next = pool_at(&flow->records, index)->pool_next;
        end_object(flow, process, index, time);
        unlist(flow, process, index);
    }
    pool->first = FLOW_NONE;
    pool->listed = 0;
    pool->sweep_at = SWEEP_LEAST;
}

/* Takes those out of the list that ended on their own. */
static void sweep(struct flow *flow, struct process *process, struct pool *pool)
{
    uint32_t *place = &pool->first, kept = 0;
    for (uint32_t index = *place; index != FLOW_NONE; index = *place) {
        struct record *record = pool_at(&flow->records, index);
        if (record->process != process->index || record->start <= process->last_fork)
            break; /* all behind it is older: a fork knows it */
        if (!(record->flags & RECORD_ENDED)) {
            place = &record->pool_next;
            kept++;
            continue;
        }
        *place = record->pool_next;
        pool->listed--;
        unlist(flow, process, index);
    }
    pool->sweep_at = pool->listed + (kept > SWEEP_LEAST ? kept : SWEEP_LEAST);
}

static void drop_pool(struct flow *flow, struct process *process, struct pool_table *table, uint32_t index,
                      uint64_t time)
{
    end_objects(flow, process, &table->pools.items[index], time);
    unlink_pool(table, index);
    map64_remove(&table->of_handle, table->pools.items[index].handle);
    table->pools.items[index].child = table->unused;
    table->unused = index;
}

/* Its objects, its children and theirs. Without recursion: pools may be nested as deep as they like. */
static void clear_pool(struct flow *flow, struct process *process, struct pool_table *table, uint32_t index,
                       uint64_t time)
{
    struct pool *pools = table->pools.items;
    end_objects(flow, process, &pools[index], time);
    for (uint32_t at = pools[index].child; at != FLOW_NONE;) {
        if (pools[at].child != FLOW_NONE) {
            at = pools[at].child;
            continue;
        }
        uint32_t parent = pools[at].parent;
        drop_pool(flow, process, table, at, time);
        at = pools[parent].child != FLOW_NONE || parent == index ? pools[parent].child : parent;
    }
}

static void create_pool(struct flow *flow, struct process *process, const struct event *event)
{
    struct pool_table *table = own_table(process);
    uint32_t index = pool_get(table, event->pool.handle);
    if (!table->pools.items[index].implicit) /* another one was there, and its end was not seen */
        clear_pool(flow, process, table, index, event->time);
    table->pools.items[index].implicit = false;
    unlink_pool(table, index);
    if (event->pool.parent)
        link_pool(table, index, pool_get(table, event->pool.parent));
}

void live_pooled_change(struct flow *flow, struct process *process, const struct event *event)
{
    uint32_t index;
    if (!event->pool.handle)
        return;
    if (event->pool.change == POOL_FREED) {
        if (addrtree_remove(&process->pooled, ADDRTREE_NOWHERE, event->pool.handle, &index))
            live_record_end(flow, process, index, event->time);
        return;
    }
    if (event->pool.change == POOL_CREATED) {
        create_pool(flow, process, event);
        return;
    }
    if (!process->pools || pool_find(process->pools, event->pool.handle) == FLOW_NONE)
        return;
    struct pool_table *table = own_table(process);
    index = pool_find(table, event->pool.handle);
    clear_pool(flow, process, table, index, event->time);
    if (event->pool.change == POOL_DESTROYED)
        drop_pool(flow, process, table, index, event->time);
}

void live_pooled_alloc(struct flow *flow, struct process *process, const struct event *event)
{
    const struct event_alloc *alloc = &event->alloc;
    uint32_t index = live_heap_put(flow, process, &process->pooled, ADDRTREE_NOWHERE, event);
    if (index == FLOW_NONE || !alloc->pool)
        return;
    struct pool_table *table = own_table(process);
    uint32_t number = pool_get(table, alloc->pool); /* may move them */
    struct pool *pool = &table->pools.items[number];
    if (pool->listed >= pool->sweep_at)
        sweep(flow, process, pool);
    struct record *record = pool_at(&flow->records, index);
    record->flags |= RECORD_POOLED;
    record->pool_next = pool->first;
    pool->first = index;
    pool->listed++;
}

void live_pooled_end_within(struct flow *flow, struct process *process, uint64_t start, uint64_t end, uint64_t time)
{
    uint64_t key;
    uint32_t value;
    while (addrtree_ceiling(&process->pooled, start, &key, &value) && key < end) {
        addrtree_remove(&process->pooled, ADDRTREE_NOWHERE, key, &value);
        live_record_end(flow, process, value, time);
    }
}
