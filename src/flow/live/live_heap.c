/* flow/live/live_heap.c - the life of malloc'd blocks. The hot path of a report: most events of a trace come through here. */
#include "flow/state.h"

/* A length as the tree keeps it: enough to know whether a block may reach a neighbour. */
static uint32_t short_length(uint64_t size)
{
    return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

/* Objects of pools end with the block that holds them. */
static void end_block(struct flow *flow, struct process *process, struct addrtree *tree, uint32_t index, uint64_t time)
{
    if (__builtin_expect(process->pooled.count > 0, 0) && tree == &process->heap) {
        const struct record *record = pool_at(&flow->records, index);
        live_pooled_end_within(flow, process, record->addr, record->addr + record->size, time);
    }
    live_record_end(flow, process, index, time);
}

static void end_stale(struct flow *flow, struct process *process, struct addrtree *tree, uint64_t key, uint64_t time)
{
    uint32_t stale;
    if (addrtree_remove(tree, ADDRTREE_NOWHERE, key, &stale))
        end_block(flow, process, tree, stale, time);
}

/* Blocks that the new one overlaps: their release was lost. */
static void clear_ground(struct flow *flow, struct process *process, struct addrtree *tree, const struct record *record,
                         const struct addrtree_around *around)
{
    uint64_t addr = record->addr, end = addr + record->size, time = record->start, next = around->next_key;
    if (around->has_before && around->before_length > addr - around->before_key)
        end_stale(flow, process, tree, around->before_key, time);
    while (next < end) {
        uint32_t value;
        end_stale(flow, process, tree, next, time);
        if (!addrtree_ceiling(tree, addr + 1, &next, &value))
            break;
    }
}

uint32_t live_heap_put(struct flow *flow, struct process *process, struct addrtree *tree, struct addrtree_spot spot,
                       const struct event *event)
{
    const struct event_alloc *alloc = &event->alloc;
    if (alloc->addr == 0 || alloc->addr + alloc->size < alloc->addr)
        return FLOW_NONE;
    uint32_t index = live_record_place(flow);
    struct record *record = pool_at(&flow->records, index);
    *record = (struct record){.addr = alloc->addr,
                              .size = alloc->size,
                              .start = event->time,
                              .trail = live_stack_trail_of_block(flow, process, event),
                              .thread = live_thread_of(flow, process, event->tid, event->time),
                              .process = process->index,
                              .tally = FLOW_NONE,
                              .cpu = alloc->cpu,
                              .fn = alloc->fn,
                              .flags = OBJECT_HEAP};
    struct addrtree_around around;
    uint32_t old;
    if (!addrtree_put(tree, spot, alloc->addr, index, short_length(alloc->size), &old, &around)) {
        record->flags |= RECORD_REPLACED;
        end_block(flow, process, tree, old, event->time);
    }
    clear_ground(flow, process, tree, record, &around);
    live_record_count(flow, index);
    return index;
}

void live_heap_alloc(struct flow *flow, struct process *process, const struct event *event)
{
    live_heap_put(flow, process, &process->heap, flow->spot, event);
}

void live_heap_free(struct flow *flow, struct process *process, const struct event *event)
{
    uint32_t index;
    if (!addrtree_remove(&process->heap, flow->spot, event->free.addr, &index))
        return;
    const struct record *record = pool_at(&flow->records, index);
    /* realloc in place, both halves with one time stamp: the new block came first, and this is the old one's end. */
    if ((record->flags & RECORD_REPLACED) && record->start == event->time) {
        addrtree_put(&process->heap, ADDRTREE_NOWHERE, record->addr, index, short_length(record->size), NULL, NULL);
        return;
    }
    process->recent[process->recent_at].addr = record->addr;
    process->recent[process->recent_at].end = record->addr + record->size;
    process->recent_at = (process->recent_at + 1) % RECENT_FREES;
    end_block(flow, process, &process->heap, index, event->time);
}
