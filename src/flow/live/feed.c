/* flow/live/feed.c - one event after the other into the flow. */
#include "flow/state.h"

struct flow *flow_new(struct symbols *symbols, const struct topology *topology)
{
    struct flow *flow = mem_zalloc(sizeof *flow);
    flow->symbols = symbols;
    flow->topology = topology;
    flow->nodes.slab = &flow->slab;
    flow->texts = strtab_new();
    flow->module_keys = strtab_new();
    flow->frame_keys = strtab_new();
    flow->trail_keys = strtab_new();
    flow->free_record = flow->free_waiting = FLOW_NONE;
    flow->start = flow->pages_due = UINT64_MAX;
    array_push(&flow->modules, (struct module_info){.path = "", .name = ""});
    array_push(&flow->frames, (struct frame){.plain_name = FLOW_NONE});
    array_push(&flow->trails, (struct trail){.frame = FLOW_NONE, .site = FLOW_NONE});
    return flow;
}

/* Events that change what is at which address. */
#define LAYOUT_KINDS                                                                                                   \
    (1u << EVENT_PROCESS_START | 1u << EVENT_PROCESS_EXIT | 1u << EVENT_THREAD_START | 1u << EVENT_THREAD_EXIT |       \
     1u << EVENT_MODULE_LOAD | 1u << EVENT_MODULE_UNLOAD | 1u << EVENT_MAP | 1u << EVENT_UNMAP | 1u << EVENT_ALLOC |   \
     1u << EVENT_FREE | 1u << EVENT_POOL | 1u << EVENT_POOL_ALLOC)

/* A pause is reported at its start and at its end; the other causes last until the process ends. */
static void feed_gap(struct flow *flow, const struct event *event)
{
    struct flow_gap gap = {event->time, UINT64_MAX, event->pid, event->loss.cause};
    struct flow_gap *last = flow->gaps.count ? &flow->gaps.items[flow->gaps.count - 1] : NULL;
    if (gap.cause == LOSS_PAUSED && event->loss.count && last && last->cause == LOSS_PAUSED)
        last->until = event->time;
    else if (gap.cause == LOSS_PAUSED || gap.cause == LOSS_RESTRICTED || gap.cause == LOSS_NO_COUNTER)
        array_push(&flow->gaps, gap);
}

static void feed_loss(struct flow *flow, const struct event *event)
{
    if (event->loss.cause < LOSS_CAUSES)
        flow->losses[event->loss.cause] += event->loss.count;
    flow->lost_touches |= event->loss.cause == LOSS_PERF;
    feed_gap(flow, event);
}

/* Processes and threads. False when the event is of another kind. */
static bool feed_task(struct flow *flow, const struct event *event)
{
    switch (event->kind) {
    case EVENT_PROCESS_START:
        live_process_start(flow, event);
        return true;
    case EVENT_PROCESS_EXIT:
        live_process_exit(flow, event);
        return true;
    case EVENT_THREAD_START:
        live_thread_start(flow, event);
        return true;
    case EVENT_THREAD_NAME:
        live_thread_name(flow, event);
        return true;
    case EVENT_THREAD_EXIT:
        live_thread_exit(flow, event);
        return true;
    }
    return false;
}

static inline void feed_time(struct flow *flow, uint64_t time)
{
    if (time < flow->start)
        flow->start = time;
    if (time > flow->end)
        flow->end = time;
}

void flow_feed_block(struct flow *flow, struct process *process, const struct event *event)
{
    feed_time(flow, event->time);
    flow->layout++;
    if (event->time >= flow->pages_due)
        live_pages_pass(flow, event->time);
    if (event->kind == EVENT_ALLOC)
        live_heap_alloc(flow, process, event);
    else
        live_heap_free(flow, process, event);
}

void flow_feed(struct flow *flow, const struct event *event)
{
    if (event->kind == EVENT_LOSS) {
        feed_loss(flow, event);
        return;
    }
    if (event->kind != EVENT_STACK &&
        event->kind != EVENT_RUNTIME_CODE) /* definitions come early, whatever their time */
        feed_time(flow, event->time);
    if (event->kind < EVENT_KINDS)
        flow->layout += LAYOUT_KINDS >> event->kind & 1;
    if (event->time >= flow->pages_due)
        live_pages_pass(flow, event->time);
    if (feed_task(flow, event))
        return;
    struct process *process = live_process_of(flow, event->pid, event->time);
    switch (event->kind) {
    case EVENT_MODULE_LOAD:
        live_module_load(flow, process, event);
        break;
    case EVENT_MODULE_UNLOAD:
        live_module_unload(flow, process, event);
        break;
    case EVENT_MAP:
        live_maps_map(flow, process, event);
        break;
    case EVENT_UNMAP:
        live_maps_unmap(flow, process, event);
        break;
    case EVENT_STACK:
        live_stack_define(flow, process, &event->stack);
        break;
    case EVENT_RUNTIME_CODE:
        live_code_add(flow, process, &event->code);
        break;
    case EVENT_ALLOC:
        live_heap_alloc(flow, process, event);
        break;
    case EVENT_FREE:
        live_heap_free(flow, process, event);
        break;
    case EVENT_POOL_ALLOC:
        live_pooled_alloc(flow, process, event);
        break;
    case EVENT_POOL:
        live_pooled_change(flow, process, event);
        break;
    case EVENT_SAMPLE:
        live_sample_add(flow, process, event);
        break;
    case EVENT_TOUCH:
        live_sample_touch(flow, process, event);
        break;
    case EVENT_HOME:
        live_sample_home(flow, process, event);
        break;
    case EVENT_FRAME:
        live_page_frame(flow, process, &event->frame);
        break;
    case EVENT_PAGE:
        live_page_add(flow, process, event);
        break;
    case EVENT_BARRIER:
        live_thread_waited(flow, process, event);
        break;
    case EVENT_REUSE:
        live_sample_reuse(flow, process, event);
        break;
    case EVENT_LONG_BURST:
        live_sample_long(flow, process, event);
        break;
    }
}

void flow_finish(struct flow *flow)
{
    static const char *const names[REASONS] = {
        [REASON_NO_MAP] = "no map known at the address",
        [REASON_FREED] = "memory freed just before",
        [REASON_METADATA] = "allocator's own data beside a block",
        [REASON_KERNEL] = "kernel or vdso address",
    };
    live_pages_finish(flow);
    live_trails_sum(flow);
    unsigned used = 0;
    for (unsigned i = 0; i < REASONS; i++) {
        if (flow->reasons[i] == 0)
            continue;
        flow->reason_names[used] = names[i];
        flow->reason_counts[used++] = flow->reasons[i];
    }
    if (flow->start == UINT64_MAX)
        flow->start = flow->end = 0;
    live_groups_draw(flow);
    live_objects_number(flow);
    live_sites_draw(flow);
    live_arena_number(flow);
}
