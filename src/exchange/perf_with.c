#include "exchange/perf_with.h"

#include <errno.h>
#include <string.h>

struct held {
    struct event event;
    uint64_t order;
    size_t first; /* in `frames` */
    uint16_t depth;
    bool cut;
};

struct perf_with {
    struct trace_reader *reader;
    struct perf_clock clock;
    struct map64 last_stacks; /* pid, to the highest number of a call chain that the agent gave */
    struct map64 forks;       /* tid, to when perf saw it begin, on the agent's clock */
    uint64_t early, most_early_ns;
    array_of(struct held) held;
    array_of(uint64_t) frames;
};

static int learn(struct perf_with *with, const char *path, struct error *err)
{
    struct event event;
    int more;
    trace_reader_only(with->reader, 1ull << EVENT_PROCESS_START | 1ull << EVENT_STACK);
    while ((more = trace_reader_next(with->reader, &event, err)) > 0) {
        bool is_new;
        uint64_t *last = map64_insert(&with->last_stacks, event.pid, &is_new);
        if (is_new)
            *last = 0;
        if (event.kind == EVENT_STACK && event.stack.id > *last)
            *last = event.stack.id;
    }
    trace_reader_only(with->reader, UINT64_MAX);
    if (more == 0 && with->last_stacks.count == 0)
        return error_set(err, -ENODATA, "%s has no process", path);
    return more;
}

struct perf_with *perf_with_open(const char *path, struct error *err)
{
    struct perf_with *with = mem_zalloc(sizeof *with);
    with->reader = trace_reader_open(path, err);
    if (!with->reader || learn(with, path, err) < 0) {
        perf_with_close(with);
        return NULL;
    }
    return with;
}

void perf_with_close(struct perf_with *with)
{
    if (!with)
        return;
    if (with->reader)
        trace_reader_close(with->reader);
    map64_free(&with->last_stacks);
    map64_free(&with->forks);
    array_free(&with->held);
    array_free(&with->frames);
    free(with);
}

bool perf_with_knows(const struct perf_with *with, uint32_t pid)
{
    return map64_find(&with->last_stacks, pid) != NULL;
}

int perf_with_align(struct perf_with *with, struct perf_tasks *tasks, const struct perf_file *file, struct error *err)
{
    const char *host = trace_session_get(trace_reader_session(with->reader), "host");
    const char *other = perf_file_facts(file)->hostname;
    if (host && *host && *other && strcmp(host, other) != 0)
        return error_set(err, -EINVAL, "one was recorded on %.100s, the other on %.100s", other, host);
    int code = perf_clock_align(&with->clock, tasks, file, with->reader, err);
    if (code < 0)
        return code;
    bool common = false;
    for (size_t i = 0; i < with->last_stacks.capacity; i++)
        if (with->last_stacks.keys[i] != MAP64_EMPTY)
            common |= map64_remove(&tasks->sampled, with->last_stacks.keys[i]);
    if (!common)
        return error_set(err, -EINVAL, "no process of the agent's trace has memory samples");
    array_each (&tasks->items, struct perf_task, task) {
        task->time = task->time ? perf_clock_time(&with->clock, task->time) : 0;
        bool is_new;
        uint64_t *fork =
            task->time && task->type == PERF_RECORD_FORK ? map64_insert(&with->forks, task->tid, &is_new) : NULL;
        if (fork && (is_new || task->time < *fork))
            *fork = task->time;
    }
    return 0;
}

const struct perf_clock *perf_with_clock(const struct perf_with *with)
{
    return &with->clock;
}

uint64_t perf_with_early(const struct perf_with *with, uint64_t *most_ns)
{
    *most_ns = with->most_early_ns;
    return with->early;
}

void perf_with_hold(struct perf_with *with, const struct event *sample, const uint64_t *frames, uint16_t depth,
                    bool cut)
{
    const uint64_t *fork = map64_find(&with->forks, sample->tid);
    if (fork && sample->time < *fork) {
        with->early++;
        if (*fork - sample->time > with->most_early_ns)
            with->most_early_ns = *fork - sample->time;
    }
    struct held held = {*sample, with->held.count, with->frames.count, depth, cut};
    for (uint16_t i = 0; i < depth; i++)
        array_push(&with->frames, frames[i]);
    array_push(&with->held, held);
}

struct trace_session *perf_with_session(const struct perf_with *with, const char *source)
{
    /* What was said of the agent's own samples is not true of these. */
    static const char *const dropped[] = {
        "source",   "source_reason", "tick",       "tick_reason",          "period_ns", "burst",
        "accesses", "latency_unit",  "budget_ppm", "latency_threshold_ns", "imported"};
    const struct trace_session *own = trace_reader_session(with->reader);
    struct trace_session *session = trace_session_new();
    for (size_t i = 0; i < trace_session_count(own); i++) {
        const char *key = trace_session_key(own, i);
        bool drop = false;
        for (size_t j = 0; j < sizeof dropped / sizeof *dropped; j++)
            drop |= strcmp(key, dropped[j]) == 0;
        if (!drop)
            trace_session_set(session, key, trace_session_get(own, key));
    }
    trace_session_set(session, "source", source);
    trace_session_set(session, "source_reason", with->clock.how);
    trace_session_set(session, "imported", "perf.data");
    trace_session_set(session, "accesses", "all");
    trace_session_set(session, "latency_unit", "cycles");
    return session;
}

static int by_time(const void *left, const void *right)
{
    const struct held *a = left, *b = right;
    if (a->event.time != b->event.time)
        return a->event.time < b->event.time ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Samples up to `until`, with numbers for their chains behind the agent's. */
static void report_held(struct perf_with *with, struct process_table *processes, size_t *next, uint64_t until)
{
    for (; *next < with->held.count && with->held.items[*next].event.time < until; ++*next) {
        struct held *held = &with->held.items[*next];
        struct capture_process *process = process_find(processes, held->event.pid);
        if (process && held->depth) /* not before the agent was there */
            held->event.sample.stack =
                process_stack(processes, process, with->frames.items + held->first, held->depth, held->cut);
        sink_put(processes->sink, &held->event);
    }
}

static void report_agent(const struct perf_with *with, struct process_table *processes, const struct event *event)
{
    if (event->kind == EVENT_PROCESS_START) {
        struct capture_process *process = process_start(processes, event, 0);
        uint64_t last = *map64_find(&with->last_stacks, event->pid);
        process->last_stack = process->last_stack > last ? process->last_stack : (uint32_t)last;
    } else {
        sink_put(processes->sink, event);
    }
}

int perf_with_report(struct perf_with *with, struct process_table *processes, struct error *err)
{
    /* The agent's own samples, and what was lost of them, are not wanted. */
    const uint64_t unwanted = 1ull << EVENT_SAMPLE | 1ull << EVENT_LOSS;
    struct event event;
    size_t next = 0;
    int more;
    array_sort(&with->held, by_time);
    trace_reader_only(with->reader, ~unwanted);
    while ((more = trace_reader_next(with->reader, &event, err)) > 0) {
        report_held(with, processes, &next, event.time);
        report_agent(with, processes, &event);
    }
    report_held(with, processes, &next, UINT64_MAX);
    return more;
}
