/* flow/heap.c - the life of malloc'd blocks. The hot path of a report: most events of a trace come through here. */
#include "flow/state.h"

/* Blocks that the new one lies upon: their release was lost. */
static bool clear_ground(struct flow *flow, struct process *process, uint64_t addr, uint64_t size, uint64_t time)
{
    struct addrtree_gap gap = addrtree_gap(&process->heap, addr);
    uint32_t value;
    if (gap.has_before) {
        const struct record *before = pool_at(&flow->records, gap.before);
        if (before->addr + before->size > addr) {
            addrtree_remove(&process->heap, gap.before_key, &value);
            live_record_die(flow, process, value, time);
        }
    }
    uint64_t end = addr + (size ? size : 1);
    bool replaced = gap.next_key == addr;
    while (gap.next_key < end) {
        addrtree_remove(&process->heap, gap.next_key, &value);
        live_record_die(flow, process, value, time);
        gap = addrtree_gap(&process->heap, addr);
    }
    return replaced;
}

void live_heap_alloc(struct flow *flow, struct process *process, const struct event *event)
{
    const struct event_alloc *alloc = &event->alloc;
    if (alloc->addr == 0 || alloc->addr + alloc->size < alloc->addr)
        return;
    bool replaced = clear_ground(flow, process, alloc->addr, alloc->size, event->time);
    uint32_t index = live_record_new(flow, process, OBJECT_HEAP, alloc->addr, alloc->size, event->time);
    struct record *record = pool_at(&flow->records, index);
    record->thread = live_thread_of(flow, process, event->tid, event->time);
    record->cpu = alloc->cpu;
    record->fn = alloc->fn;
    if (replaced)
        record->flags |= RECORD_REPLACED;
    record->trail =
        live_stack_trail(flow, process, live_stack_of(process, alloc->stack), alloc->fn, OBJECT_HEAP, event->time);
    addrtree_put(&process->heap, alloc->addr, index, NULL);
    live_record_count(flow, index);
}

void live_heap_free(struct flow *flow, struct process *process, const struct event *event)
{
    uint32_t index;
    if (!addrtree_find(&process->heap, event->free.addr, &index))
        return;
    const struct record *record = pool_at(&flow->records, index);
    /* realloc in place, both halves with one time stamp: the new block came first, and this is the old one's end. */
    if ((record->flags & RECORD_REPLACED) && record->born == event->time)
        return;
    process->recent[process->recent_at].addr = record->addr;
    process->recent[process->recent_at].end = record->addr + record->size;
    process->recent_at = (process->recent_at + 1) % RECENT_FREES;
    addrtree_remove(&process->heap, event->free.addr, &index);
    live_record_die(flow, process, index, event->time);
}
