/* flow/page_rows.c - pages with everything that is known of them, read again from the trace. */
#include "base/units.h"
#include "flow/state.h"

/* Whoever had that number then; FLOW_NONE when nobody did. */
static uint32_t process_at(const struct flow *flow, uint32_t pid, uint64_t time)
{
    uint64_t *place = map64_find(&flow->process_of_pid, pid);
    uint32_t index = place ? (uint32_t)*place : FLOW_NONE;
    while (index != FLOW_NONE && flow->processes.items[index]->row.start > time) {
        const struct former_life *former = &flow->former_processes.items[index];
        if (former->before == FLOW_NONE)
            break;
        index = flow->processes.items[former->further]->row.start > time ? former->further : former->before;
    }
    return index;
}

static uint32_t object_of(const struct flow *flow, const struct flow_page *page, uint64_t ordinal)
{
    if (flow->pages_count) {
        for (uint64_t at = flow->page_base + ordinal * 2; at < flow->page_base + ordinal * 2 + 2; at++) {
            if (at < flow->marks.count && flow->marks.items[at].object != FLOW_NONE)
                return flow->marks.items[at].object;
        }
        if (page->thread != FLOW_NONE)
            return FLOW_NONE;
    }
    /* Its accesses were not counted: whatever else is known to be there. */
    const uint64_t looks[] = {page->size / 2, 0, page->size ? page->size - 1 : 0};
    const uint64_t times[] = {page->until ? page->until - 1 : 0, page->time,
                              page->time + (page->until - page->time) / 2};
    /* A block that was freed within the interval is what the page was used for, not the map that is left there. */
    const struct flow_object *best = NULL;
    for (unsigned time = 0; time < 3; time++) {
        for (unsigned i = 0; page->process != FLOW_NONE && i < 3; i++) {
            const struct flow_object *object = flow_object_at(flow, page->process, page->page + looks[i], times[time]);
            if (object && (!best || object->kind < best->kind))
                best = object;
        }
    }
    return best ? best->id : FLOW_NONE;
}

static int16_t home_of(const struct flow *flow, const struct flow_page *page, uint64_t ordinal)
{
    if (flow->topology->node_count == 1)
        return 0;
    for (uint64_t at = flow->page_base + ordinal * 2; flow->pages_count && at <= flow->page_base + ordinal * 2 + 1;
         at++) {
        if (at < flow->marks.count && flow->marks.items[at].home >= 0)
            return flow->marks.items[at].home;
    }
    if (page->process == FLOW_NONE)
        return -1;
    return (int16_t)pages_home(&flow->processes.items[page->process]->pages, page->page);
}

static void row_of(const struct flow *flow, const struct event *event, struct flow_page *row)
{
    const struct event_page *page = &event->page;
    *row = (struct flow_page){.time = event->time,
                              .until = page->until,
                              .page = page->page,
                              .size = page->size,
                              .physical = page->physical,
                              .ip = page->ip,
                              .thread = FLOW_NONE,
                              .reads = page->reads,
                              .writes = page->writes,
                              .unknown = page->unknown,
                              .mechanism = page->mechanism,
                              .cpu_words = page->cpu_words,
                              .cpus = page->cpus};
    if (event->tid)
        row->thread = live_thread_at(flow, event->pid, event->tid, page->until);
    row->process =
        row->thread != FLOW_NONE ? flow->threads.items[row->thread].process : process_at(flow, event->pid, page->until);
    row->object = object_of(flow, row, page->ordinal);
    row->home = row->frame_home = home_of(flow, row, page->ordinal);
    if (row->physical == 0) {
        int node = -1;
        row->physical = flow_page_frame(flow, row->process, row->page, &node);
        row->frame_home = (int16_t)node;
    }
}

int flow_each_page(const struct flow *flow, void (*visit)(void *context, const struct flow_page *page), void *context,
                   struct error *err)
{
    struct event event;
    int got = 0;
    if (!flow->reader || flow->pages == 0)
        return 0;
    trace_reader_only(flow->reader, UINT64_C(1) << EVENT_PAGE);
    while ((got = trace_reader_next(flow->reader, &event, err)) > 0) {
        if (!live_event_counts(flow, &event))
            continue;
        struct flow_page page;
        row_of(flow, &event, &page);
        visit(context, &page);
    }
    return got;
}

uint64_t flow_page_frame(const struct flow *flow, uint32_t process, uint64_t page, int *node)
{
    const uint64_t *frame = NULL;
    if (process < flow->processes.count)
        frame = map64_find(&flow->processes.items[process]->frames, page >> PAGE_UNIT_SHIFT);
    *node = frame ? (int)(*frame & ((1u << PAGE_UNIT_SHIFT) - 1)) - 1 : -1;
    return frame ? *frame >> PAGE_UNIT_SHIFT << PAGE_UNIT_SHIFT : 0;
}

uint64_t flow_page_count(const struct flow *flow)
{
    return flow->pages;
}

uint64_t flow_pages_without_thread(const struct flow *flow)
{
    return flow->pages_no_thread;
}
