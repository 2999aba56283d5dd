/* flow/live/live_touched.c - who brought in the pages of sampled objects, and which pages moved during their lifetimes.
 *
 * Page faults may be millions, most of them on objects without samples. A fault only notes the page; an object's pages
 * are looked through once, when it ends or the trace does, and only if it was sampled. */
#include "base/bisect.h"
#include "base/order.h"
#include "base/units.h"
#include "flow/state.h"

#include <stdlib.h>

static uint32_t tick_of(const struct flow *flow, uint64_t time)
{
    return time > flow->start ? (uint32_t)((time - flow->start) >> TOUCH_TICK_SHIFT) : 0;
}

void live_touched_add(struct flow *flow, struct process *process, uint32_t thread, const struct event *event)
{
    touches_add(&process->touches, event->touch.addr, thread, tick_of(flow, event->time));
}

struct counting {
    struct flow *flow;
    uint32_t record, start; /* start: in ticks */
    size_t first, last;     /* this object's entries in flow->touched; the one counted last */
};

static void count_page(void *context, uint32_t thread, uint32_t tick)
{
    struct counting *counting = context;
    struct flow *flow = counting->flow;
    size_t at = counting->last;
    if (at >= flow->touched.count || flow->touched.items[at].thread != thread) {
        for (at = counting->first; at < flow->touched.count && flow->touched.items[at].thread != thread;)
            at++;
    }
    if (at == flow->touched.count)
        array_push(&flow->touched, (struct flow_touched){.object = counting->record, .thread = thread});
    struct flow_touched *touched = &flow->touched.items[at];
    touched->pages++;
    counting->last = at;
    if (tick < counting->start)
        return;
    uint64_t time = flow->start + ((uint64_t)tick << TOUCH_TICK_SHIFT);
    if (touched->fresh++ == 0 || time < touched->since)
        touched->since = time;
    if (time > touched->until)
        touched->until = time;
}

void live_touched_sum(struct flow *flow, const struct process *process, uint32_t index)
{
    const struct record *record = pool_at(&flow->records, index);
    if (!flow->has_touches || record->tally == FLOW_NONE)
        return;
    struct counting counting = {.flow = flow,
                                .record = index,
                                .start = tick_of(flow, record->start),
                                .first = flow->touched.count,
                                .last = flow->touched.count};
    touches_each(&process->touches, record->addr, record->size, count_page, &counting);
}

void live_touched_moved(struct flow *flow, struct process *process, uint64_t page)
{
    uint64_t key, at = page;
    uint32_t value;
    bool found = false;
    if (addrtree_floor(&process->heap, page, &key, &value))
        at = key;
    for (; addrtree_ceiling(&process->heap, at, &key, &value) && key < page + PAGE_UNIT; at = key + 1) {
        const struct record *record = pool_at(&flow->records, value);
        if (record->addr + record->size <= page)
            continue;
        found = true;
        uint32_t own = live_record_in(flow, process, value);
        if (pool_at(&flow->records, own)->tally != FLOW_NONE)
            ++*map64_insert(&flow->moved, own, NULL);
    }
    enum reason reason;
    uint32_t record = found ? FLOW_NONE : live_attribute(flow, process, ADDRTREE_NOWHERE, page, &reason);
    if (record != FLOW_NONE && pool_at(&flow->records, record)->tally != FLOW_NONE)
        ++*map64_insert(&flow->moved, record, NULL);
}

ORDER_BY(by_object, struct flow_touched,
         ORDER(a->object, b->object) ?: ORDER(b->pages, a->pages) ?: ORDER(a->thread, b->thread))

void live_touched_number(struct flow *flow, const uint32_t *index_of)
{
    array_each (&flow->touched, struct flow_touched, touched)
        touched->object = index_of[touched->object];
    array_sort(&flow->touched, by_object);
}

size_t flow_object_touched(const struct flow *flow, uint32_t object, const struct flow_touched **rows)
{
    size_t low = bisect(flow->touched.count, i, flow->touched.items[i].object < object);
    size_t count = 0;
    while (low + count < flow->touched.count && flow->touched.items[low + count].object == object)
        count++;
    *rows = flow->touched.items + low;
    return count;
}

uint64_t flow_object_moved(const struct flow *flow, uint32_t object)
{
    uint64_t *count = map64_find(&flow->moved, flow->objects.items[object]);
    return count ? *count : 0;
}

bool flow_has_touches(const struct flow *flow)
{
    return flow->has_touches;
}
