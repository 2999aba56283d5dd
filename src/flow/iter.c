/* flow/iter.c - accesses in order of time: all, a thread's (TEF), an object's (OEF).
 *
 * What a flow keeps of a sample is 12 bytes; the rest is read again from the trace, block by block. */
#include "flow/state.h"

#include <errno.h>
#include <string.h>

struct flow_iter {
    const struct flow *flow;
    const uint32_t *next, *end; /* ordinals */
};

/* Where a load was answered: as its source reports, or as its latency does by calibration. */
static uint8_t level_of(const struct flow *flow, const struct event_sample *sample, bool remote)
{
    if (sample->level != LEVEL_UNKNOWN || !flow->calibration || sample->source != SOURCE_SOFT ||
        !(sample->flags & SAMPLE_HAS_LATENCY))
        return sample->level;
    uint8_t level = flow->levels[sample->latency < FLOW_LEVELS ? sample->latency : FLOW_LEVELS - 1];
    return level == LEVEL_RAM && remote ? LEVEL_REMOTE_RAM : level;
}

static void access_of(const struct flow *flow, const struct event *event, struct flow_access *access)
{
    const struct event_sample *sample = &event->sample;
    const struct mark *mark = &flow->marks.items[sample->ordinal];
    bool timed = sample->flags & SAMPLE_HAS_LATENCY;
    uint32_t thread = live_thread_at(flow, event->pid, event->tid, event->time);
    *access = (struct flow_access){.time = event->time,
                                   .addr = sample->addr,
                                   .physical = sample->physical,
                                   .ordinal = sample->ordinal,
                                   .thread = thread,
                                   .object = mark->object,
                                   .stack = live_stack_number_at(flow, thread, sample->stack, event->time),
                                   .latency = timed ? sample->latency : 0,
                                   .period = sample->period,
                                   .from = mark->from,
                                   .home = mark->home >= 0 ? mark->home : -1,
                                   .cpu = sample->cpu,
                                   .size = sample->size,
                                   .source = sample->source,
                                   .level = level_of(flow, sample, live_sample_remote(mark)),
                                   .flags = sample->flags,
                                   .write = sample->flags & SAMPLE_WRITE,
                                   .has_latency = timed,
                                   .remote = live_sample_remote(mark)};
}

static struct flow_iter *iter_new(const struct flow *flow, const uint32_t *first, size_t count)
{
    struct flow_iter *iter = mem_alloc(sizeof *iter);
    *iter = (struct flow_iter){.flow = flow, .next = first, .end = first + count};
    return iter;
}

struct flow_iter *flow_accesses(const struct flow *flow)
{
    return iter_new(flow, flow->order.items, flow->order.count);
}

/* 1; 0 when no access has that ordinal: a page that was only read has none for writing; or negative. */
static int fetch(const struct flow *flow, uint32_t ordinal, struct event *event, struct error *err)
{
    int code;
    if (ordinal < flow->page_base) {
        code = trace_reader_sample(flow->reader, ordinal, event, err);
    } else {
        code = trace_reader_page_access(flow->reader, ordinal - flow->page_base, event, NULL);
        if (code == -ERANGE || (code == 0 && event->tid == 0))
            return 0;
        if (code < 0)
            error_set(err, code, "a block of pages cannot be read");
    }
    event->sample.ordinal = ordinal;
    return code < 0 ? code : 1;
}

bool flow_next(struct flow_iter *iter, struct flow_access *access)
{
    struct event event;
    while (iter->next < iter->end && iter->flow->reader) {
        uint32_t ordinal = *iter->next++;
        if (fetch(iter->flow, ordinal, &event, NULL) <= 0)
            continue;
        access_of(iter->flow, &event, access);
        return true;
    }
    return false;
}

void flow_iter_free(struct flow_iter *iter)
{
    free(iter);
}

static int visit_one(const struct flow *flow, uint32_t ordinal,
                     void (*visit)(void *context, const struct flow_access *access), void *context, struct error *err)
{
    struct event event;
    struct flow_access access;
    int got = fetch(flow, ordinal, &event, err);
    if (got <= 0)
        return got;
    if (!live_event_counts(flow, &event))
        return 0;
    access_of(flow, &event, &access);
    visit(context, &access);
    return 0;
}

struct each {
    const struct flow *flow;
    void (*visit)(void *context, const struct flow_access *access);
    void *context;
};

static void visit_sample(void *context, const struct event *event)
{
    const struct each *each = context;
    struct flow_access access;
    if (event->sample.ordinal >= each->flow->marks.count || !live_event_counts(each->flow, event))
        return;
    access_of(each->flow, event, &access);
    each->visit(each->context, &access);
}

int flow_each_access(const struct flow *flow, void (*visit)(void *context, const struct flow_access *access),
                     void *context, struct error *err)
{
    if (!flow->reader)
        return 0;
    int failed = trace_reader_each_sample(flow->reader, visit_sample, &(struct each){flow, visit, context}, err);
    for (uint64_t ordinal = flow->page_base; failed == 0 && ordinal < flow->marks.count; ordinal++)
        failed = visit_one(flow, (uint32_t)ordinal, visit, context, err);
    return failed;
}

struct between {
    uint64_t start, end;
    void (*visit)(void *context, const struct flow_access *access);
    void *context;
};

static void visit_between(void *context, const struct flow_access *access)
{
    const struct between *between = context;
    if (access->time >= between->start && access->time < between->end)
        between->visit(between->context, access);
}

int flow_each_access_between(const struct flow *flow, uint64_t start, uint64_t end,
                             void (*visit)(void *context, const struct flow_access *access), void *context,
                             struct error *err)
{
    struct between between = {start, end, visit, context};
    uint64_t ordinal = 0, next;
    while (flow->reader && ordinal < flow->marks.count) {
        uint64_t first = 0, last = UINT64_MAX;
        next = ordinal < flow->page_base ? trace_reader_sample_block(flow->reader, ordinal, &first, &last)
                                         : flow->marks.count;
        next = next < flow->marks.count ? next : flow->marks.count;
        if (last < start || first >= end)
            ordinal = next;
        for (; ordinal < next; ordinal++) {
            int failed = visit_one(flow, (uint32_t)ordinal, visit_between, &between, err);
            if (failed < 0)
                return failed;
        }
    }
    return 0;
}

/* Ordinals in order of time, distributed by `group` (FLOW_NONE: skipped): a counting sort. */
static void distribute(const struct flow *flow, const uint32_t *group, size_t groups, uint32_t **items,
                       uint32_t **first)
{
    *items = mem_alloc((flow->order.count + 1) * sizeof **items);
    *first = mem_zalloc((groups + 2) * sizeof **first);
    uint32_t *start = *first + 1;
    for (size_t i = 0; i < flow->order.count; i++) {
        if (group[flow->order.items[i]] != FLOW_NONE)
            start[group[flow->order.items[i]]]++;
    }
    uint32_t sum = 0;
    for (size_t i = 0; i < groups; i++) {
        uint32_t count = start[i];
        start[i] = sum;
        sum += count;
    }
    for (size_t i = 0; i < flow->order.count; i++) {
        uint32_t ordinal = flow->order.items[i];
        if (group[ordinal] != FLOW_NONE)
            (*items)[start[group[ordinal]]++] = ordinal;
    }
    /* Each start has moved to its group's end: one place down, they are the starts again. */
}

struct flow_iter *flow_object_accesses(const struct flow *const_flow, uint32_t object)
{
    struct flow *flow = (struct flow *)const_flow; /* the order is a cache */
    if (!flow->oef) {
        uint32_t *group = mem_alloc((flow->marks.count + 1) * sizeof *group);
        for (size_t i = 0; i < flow->marks.count; i++)
            group[i] = flow->marks.items[i].object;
        distribute(flow, group, flow->sampled_objects, &flow->oef, &flow->oef_first);
        free(group);
    }
    if (object >= flow->sampled_objects)
        return iter_new(flow, flow->oef, 0);
    return iter_new(flow, flow->oef + flow->oef_first[object], flow->oef_first[object + 1] - flow->oef_first[object]);
}

static void note_thread(void *context, const struct flow_access *access)
{
    ((uint32_t *)context)[access->ordinal] = access->thread;
}

struct flow_iter *flow_thread_accesses(const struct flow *const_flow, uint32_t thread)
{
    struct flow *flow = (struct flow *)const_flow;
    if (!flow->tef) {
        uint32_t *group = mem_alloc((flow->marks.count + 1) * sizeof *group);
        for (size_t i = 0; i < flow->marks.count; i++)
            group[i] = FLOW_NONE;
        flow_each_access(flow, note_thread, group, NULL);
        distribute(flow, group, flow->threads.count, &flow->tef, &flow->tef_first);
        free(group);
    }
    if (thread >= flow->threads.count)
        return iter_new(flow, flow->tef, 0);
    return iter_new(flow, flow->tef + flow->tef_first[thread], flow->tef_first[thread + 1] - flow->tef_first[thread]);
}

struct process_note {
    const struct flow *flow;
    uint32_t *group;
};

static void note_process(void *context, const struct flow_access *access)
{
    const struct process_note *note = context;
    if (access->thread != FLOW_NONE)
        note->group[access->ordinal] = note->flow->threads.items[access->thread].process;
}

/* Processes that run at the same time have blocks of their own in the file: going to and fro between many of them would
 * mean to unpack a block for each access. So each process is read by itself. */
int flow_each_access_in_time(const struct flow *flow, void (*visit)(void *context, const struct flow_access *access),
                             void *context, struct error *err)
{
    const uint32_t *items = flow->order.items;
    uint32_t *distributed = NULL, *first = NULL;
    size_t count = flow->order.count;
    int failed = 0;
    if (flow->processes.count > 1) {
        uint32_t *group = mem_alloc((flow->marks.count + 1) * sizeof *group);
        memset(group, 0xff, (flow->marks.count + 1) * sizeof *group);
        failed = flow_each_access(flow, note_process, &(struct process_note){flow, group}, err);
        distribute(flow, group, flow->processes.count, &distributed, &first);
        free(group);
        items = distributed;
        count = first[flow->processes.count];
    }
    for (size_t i = 0; flow->reader && failed == 0 && i < count; i++)
        failed = visit_one(flow, items[i], visit, context, err);
    free(distributed);
    free(first);
    return failed;
}
