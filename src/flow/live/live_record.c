/* flow/live/live_record.c - objects allocated, sampled and freed. */
#include "flow/state.h"

#include <string.h>

uint32_t live_record_new(struct flow *flow, struct process *process, enum object_kind kind, uint64_t addr,
                         uint64_t size, uint64_t time)
{
    uint32_t index = live_record_place(flow);
    *pool_at(&flow->records, index) = (struct record){.addr = addr,
                                                      .size = size,
                                                      .start = time,
                                                      .trail = FLOW_NONE,
                                                      .thread = FLOW_NONE,
                                                      .process = process->index,
                                                      .tally = FLOW_NONE,
                                                      .flags = (uint8_t)kind};
    return index;
}

void live_record_name(struct flow *flow, uint32_t record, const struct named *named)
{
    *map64_insert(&flow->named_of, record, NULL) = flow->named.count;
    array_push(&flow->named, *named);
}

void live_record_count(struct flow *flow, uint32_t index)
{
    struct record *record = pool_at(&flow->records, index);
    struct trail *trails = flow->trails.items;
    uint32_t at = record->trail;
    if (!live_counts(flow, flow->processes.items[record->process])) {
        record->flags |= RECORD_INHERITED;
        return;
    }
    /* Beyond the counted levels only the sums are kept; sites that deep add up their peaks. */
    trails[at].count++;
    trails[at].bytes += record->size;
    for (at = trails[at].counted; at; at = trails[at].parent) {
        struct trail *trail = &trails[at];
        if (++trail->live > trail->live_peak)
            trail->live_peak = trail->live;
        trail->live_bytes += record->size;
        if (trail->live_bytes > trail->peak_bytes)
            trail->peak_bytes = trail->live_bytes;
    }
}

static void uncount(struct flow *flow, const struct record *record, uint64_t time)
{
    struct trail *trails = flow->trails.items;
    if (time != UINT64_MAX)
        trails[record->trail].end = time;
    for (uint32_t at = trails[record->trail].counted; at; at = trails[at].parent) {
        trails[at].live--;
        trails[at].live_bytes -= record->size;
    }
}

void live_trails_sum(struct flow *flow)
{
    struct trail *trails = flow->trails.items;
    for (size_t i = flow->trails.count; i-- > 1;) { /* parents come before their children */
        struct trail *parent = &trails[trails[i].parent];
        parent->count += trails[i].count;
        parent->bytes += trails[i].bytes;
        if (trails[i].end > parent->end)
            parent->end = trails[i].end;
    }
}

void live_record_end(struct flow *flow, struct process *process, uint32_t index, uint64_t time)
{
    struct record *record = pool_at(&flow->records, index);
    if (record->process != process->index) { /* the parent's: only this process's copy of it ends */
        uint64_t *clone = map64_find(&process->clones, index);
        if (!clone)
            return;
        index = (uint32_t)*clone;
        record = pool_at(&flow->records, index);
    }
    if (record->flags & RECORD_ENDED)
        return;
    if (record->trail != FLOW_NONE && !(record->flags & RECORD_INHERITED))
        uncount(flow, record, time);
    if (flow->pages_ended.count && !(record->flags & RECORD_LEFTOVER))
        live_pages_note_end(flow, process, index);
    record->flags |= RECORD_ENDED;
    if (record->tally != FLOW_NONE) {
        pool_at(&flow->tallies, record->tally)->end = time;
        live_touched_sum(flow, process, index);
        return;
    }
    /* A fork may still have it in its maps. */
    if (record->start <= process->last_fork || (record->flags & RECORD_POOLED))
        return;
    if ((record->flags & RECORD_KIND) != OBJECT_HEAP && map64_find(&flow->named_of, index))
        return; /* blocks have no names of their own */
    live_record_recycle(flow, index);
}

void live_record_recycle(struct flow *flow, uint32_t index)
{
    pool_at(&flow->records, index)->trail = flow->free_record;
    flow->free_record = index;
}

uint32_t live_record_in(struct flow *flow, struct process *process, uint32_t index)
{
    const struct record *record = pool_at(&flow->records, index);
    if (record->process == process->index)
        return index;
    bool is_new;
    uint64_t *clone = map64_insert(&process->clones, index, &is_new);
    if (!is_new)
        return (uint32_t)*clone;
    uint32_t copy =
        live_record_new(flow, process, record->flags & RECORD_KIND, record->addr, record->size, record->start);
    *clone = copy;
    struct record *own = pool_at(&flow->records, copy);
    own->trail = record->trail;
    own->thread = record->thread;
    own->cpu = record->cpu;
    own->fn = record->fn;
    own->flags = (uint8_t)((record->flags & (RECORD_KIND | RECORD_LEFTOVER)) | RECORD_INHERITED);
    uint64_t *named = map64_find(&flow->named_of, index);
    if (named) {
        uint64_t number = *named;
        *map64_insert(&flow->named_of, copy, NULL) = number;
    }
    if (flow->only_pid && live_counts(flow, process) && own->trail != FLOW_NONE) {
        own->flags &= (uint8_t)~RECORD_INHERITED; /* its parent's was not counted */
        live_record_count(flow, copy);
    }
    return copy;
}

struct tally *live_record_tally(struct flow *flow, uint32_t index)
{
    struct record *record = pool_at(&flow->records, index);
    if (record->tally == FLOW_NONE) {
        record->tally = pool_add(&flow->tallies, &flow->slab);
        *pool_at(&flow->tallies, record->tally) = (struct tally){.end = UINT64_MAX};
    }
    return pool_at(&flow->tallies, record->tally);
}
