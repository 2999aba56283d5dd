/* flow/live/live_page_use.c - pages that were used during an interval, and the accesses that they stand for.
 *
 * A page's event comes at the start of its interval, but what it was used for may be allocated, and its thread may start,
 * within it. So an event waits until its interval is over (or its process is). An object that is there at the start is
 * noted at once, since it may be freed by then; and so is one that ends within the interval (struct page_ended), for
 * pages that nothing better is known of.
 *
 * Where a trace has samples too, pages make no accesses: how often something is used is the samples' to say, and the
 * two are not counted in the same unit. */
#include "base/order.h"
#include "base/units.h"
#include "flow/state.h"

#include "trace/page_access.h"

#include <stdlib.h>

/* What is under everything else may only be there until something better comes. */
static bool is_leftover(struct flow *flow, uint32_t record)
{
    return record == FLOW_NONE || (pool_at(&flow->records, record)->flags & RECORD_LEFTOVER);
}

/* The record that most of the page belongs to, by three looks at it: the one that two of them find, else the one in the
 * middle. Anything is better than what is left over: the end of a large block may be all that a page is used for. */
static uint32_t record_of(struct flow *flow, struct process *process, const struct event_page *page,
                          enum reason *reason)
{
    const uint64_t looks[] = {page->size / 2, 0, page->size ? page->size - 1 : 0};
    uint32_t found[3], best = FLOW_NONE;
    for (unsigned i = 0; i < 3; i++) {
        found[i] = live_attribute(flow, process, ADDRTREE_NOWHERE, page->page + looks[i], reason);
        if (best == FLOW_NONE || (is_leftover(flow, best) && !is_leftover(flow, found[i])))
            best = found[i];
        else if (i == 2 && found[1] == found[2] && !is_leftover(flow, found[2]))
            best = found[2];
    }
    return best;
}

static uint64_t page_ended_key(const struct process *process, uint64_t page)
{
    return (uint64_t)process->index << 44 | page >> PAGE_UNIT_SHIFT; /* addresses of programs have at most 56 bits */
}

static void dig(struct flow *flow, const struct process *process, const struct event_page *page)
{
    bool is_new;
    uint64_t *number = map64_insert(&flow->page_ended_of, page_ended_key(process, page->page), &is_new);
    if (!is_new)
        return;
    *number = flow->pages_ended.count;
    uint64_t size = page->size < HUGE_PAGE ? page->size : HUGE_PAGE;
    array_push(&flow->pages_ended, (struct page_ended){page->page, size, 0, process->index, FLOW_NONE});
    uint32_t former;
    flow->pages_open.nodes = &flow->nodes;
    addrtree_put(&flow->pages_open, ADDRTREE_NOWHERE, page_ended_key(process, page->page), (uint32_t)*number, 0,
                 &former, NULL);
}

static struct page_ended *page_ended_at(struct flow *flow, const struct process *process, uint64_t page)
{
    const uint64_t *number = map64_find(&flow->page_ended_of, page_ended_key(process, page));
    return number ? &flow->pages_ended.items[*number] : NULL;
}

static void note_end(struct flow *flow, struct page_ended *ended, uint32_t index)
{
    const struct record *record = pool_at(&flow->records, index);
    uint64_t low = record->addr > ended->page ? record->addr : ended->page;
    uint64_t high = record->addr + record->size, end = ended->page + ended->size;
    high = high < end ? high : end;
    if (high <= low || high - low <= ended->bytes)
        return;
    ended->bytes = high - low;
    ended->record = index;
    live_record_tally(flow, index); /* so that it is kept */
}

void live_pages_note_end(struct flow *flow, const struct process *process, uint32_t index)
{
    enum { SMALL = PAGE_UNIT, LARGE = HUGE_PAGE };
    const struct record *record = pool_at(&flow->records, index);
    uint64_t start = record->addr & ~(uint64_t)(SMALL - 1), last = record->addr + (record->size ? record->size - 1 : 0);
    struct page_ended *ended = page_ended_at(flow, process, start & ~(uint64_t)(LARGE - 1));
    if (ended && ended->size >= LARGE)
        note_end(flow, ended, index);
    /* No other block has more of a page than one that has all of it: each is looked at once, but for those at the block's ends. */
    uint64_t key = page_ended_key(process, start), end = page_ended_key(process, last);
    for (uint32_t number; addrtree_ceiling(&flow->pages_open, key, &key, &number) && key <= end; key++) {
        ended = &flow->pages_ended.items[number];
        note_end(flow, ended, index);
        if (ended->page >= record->addr && ended->page + ended->size - 1 <= last)
            addrtree_remove(&flow->pages_open, ADDRTREE_NOWHERE, key, &number);
        if (key == end)
            break;
    }
}

/* Into the list of its process, and into that of its interval's end. */
static void wait_until(struct flow *flow, const struct waiting_page *page)
{
    uint32_t number = flow->unused_page, last;
    if (number) {
        flow->unused_page = flow->waiting_pages.items[number - 1].next_due;
        flow->waiting_pages.items[number - 1] = *page;
    } else {
        array_push(&flow->waiting_pages, *page);
        number = (uint32_t)flow->waiting_pages.count;
    }
    flow->pages_waiting++;
    struct waiting_page *items = flow->waiting_pages.items, *waiting = &items[number - 1];
    struct process *process = waiting->process;
    waiting->before = process->last_page;
    *(process->last_page ? &items[process->last_page - 1].behind : &process->first_page) = number;
    process->last_page = number;
    flow->pages_until.nodes = &flow->nodes;
    waiting->next_due = number;
    if (!addrtree_put(&flow->pages_until, ADDRTREE_NOWHERE, waiting->event.page.until, number, 0, &last, NULL)) {
        waiting->next_due = items[last - 1].next_due;
        items[last - 1].next_due = number;
    }
}

void live_page_add(struct flow *flow, struct process *process, const struct event *event)
{
    if (event->page.until > flow->end)
        flow->end = event->page.until;
    flow->pages++;
    if (event->tid == 0)
        flow->pages_no_thread++;
    if (!flow->pages_count || event->page.ordinal >= (FLOW_NONE - flow->page_base) / 2)
        return;
    struct waiting_page waiting = {.event = *event, .process = process, .cpu = page_cpu(&event->page)};
    enum reason reason;
    uint32_t record = record_of(flow, process, &event->page, &reason);
    waiting.record = is_leftover(flow, record) ? FLOW_NONE : record;
    if (waiting.record != FLOW_NONE && event->tid != 0)
        live_record_tally(flow, waiting.record); /* so that it is kept when it ends */
    else if (waiting.record == FLOW_NONE)
        dig(flow, process, &event->page);
    waiting.event.page.cpu_words = 0; /* the mask is the reader's */
    if (event->page.until < flow->pages_due)
        flow->pages_due = event->page.until;
    wait_until(flow, &waiting);
}

/* The page's home node is reported before its frame is, at the same time. */
void live_page_frame(struct flow *flow, struct process *process, const struct event_frame *frame)
{
    int home = flow->topology->node_count == 1 ? 0 : pages_home(&process->pages, frame->page);
    _Static_assert(TOPOLOGY_MAX_NODES < 1 << PAGE_UNIT_SHIFT, "a node's number fits below a frame's address");
    *map64_insert(&process->frames, frame->page >> PAGE_UNIT_SHIFT, NULL) =
        frame->physical >> PAGE_UNIT_SHIFT << PAGE_UNIT_SHIFT | (uint64_t)(home + 1);
}

static void put(struct flow *flow, const struct waiting_page *waiting)
{
    const struct event_page *page = &waiting->event.page;
    enum reason reason = REASON_NO_MAP;
    uint32_t record = waiting->record;
    if (waiting->event.tid == 0)
        return;
    if (record == FLOW_NONE && !waiting->process->ended)
        record = record_of(flow, waiting->process, page, &reason);
    if (waiting->record == FLOW_NONE && is_leftover(flow, record)) {
        const struct page_ended *ended = page_ended_at(flow, waiting->process, page->page);
        record = ended && ended->record != FLOW_NONE ? ended->record : record;
    }
    for (unsigned write = 0; write < 2; write++) {
        struct event access = {
            .time = waiting->event.time, .pid = waiting->event.pid, .tid = waiting->event.tid, .kind = EVENT_SAMPLE};
        if (!page_access(page, write, &access.sample))
            continue;
        access.sample.cpu = waiting->cpu;
        access.sample.ordinal = flow->page_base + page->ordinal * 2 + write;
        live_sample_put(flow, waiting->process, &access, record, reason);
        if (live_event_counts(flow, &access))
            array_push(&flow->page_order, (struct page_order){access.time, (uint32_t)access.sample.ordinal});
    }
}

/* Out of the list of its process. */
static void leave(struct flow *flow, struct waiting_page *waiting)
{
    struct waiting_page *items = flow->waiting_pages.items;
    struct process *process = waiting->process;
    *(waiting->before ? &items[waiting->before - 1].behind : &process->first_page) = waiting->behind;
    *(waiting->behind ? &items[waiting->behind - 1].before : &process->last_page) = waiting->before;
    waiting->process = NULL;
    if (--flow->pages_waiting == 0) {
        flow->pages_ended.count = 0;
        map64_free(&flow->page_ended_of);
        addrtree_free(&flow->pages_open);
    }
}

void live_pages_pass(struct flow *flow, uint64_t time)
{
    uint64_t until = 0;
    uint32_t last;
    while (addrtree_ceiling(&flow->pages_until, until, &until, &last) && until <= time) {
        addrtree_remove(&flow->pages_until, ADDRTREE_NOWHERE, until, &last);
        for (uint32_t number = 0, next = flow->waiting_pages.items[last - 1].next_due; number != last;) {
            number = next;
            struct waiting_page *waiting = &flow->waiting_pages.items[number - 1];
            next = waiting->next_due;
            if (waiting->process) {
                put(flow, waiting);
                leave(flow, waiting);
            }
            waiting->next_due = flow->unused_page;
            flow->unused_page = number;
        }
    }
    flow->pages_due = addrtree_ceiling(&flow->pages_until, 0, &until, &last) ? until : UINT64_MAX;
}

void live_pages_end_process(struct flow *flow, const struct process *process)
{
    while (process->first_page) {
        struct waiting_page *waiting = &flow->waiting_pages.items[process->first_page - 1];
        put(flow, waiting);
        leave(flow, waiting);
    }
}

ORDER_BY(by_time, struct page_order, ORDER(a->time, b->time) ?: ORDER(a->ordinal, b->ordinal))

void live_pages_finish(struct flow *flow)
{
    live_pages_pass(flow, UINT64_MAX);
    array_free(&flow->waiting_pages);
    array_free(&flow->pages_ended);
    map64_free(&flow->page_ended_of);
    if (flow->page_order.count == 0)
        return;
    array_sort(&flow->page_order, by_time); /* they were counted in the order of their intervals' ends */
    flow->order.count = 0;
    array_each (&flow->page_order, struct page_order, at)
        array_push(&flow->order, at->ordinal);
    array_free(&flow->page_order);
}
