#include "exchange/perf_clock.h"

#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    MALLOC_HEAD = 16,          /* bytes before a block */
    MALLOC_MAPPED = 128 << 10, /* blocks of at least this have a mapping of their own */
    ROUGH_NS = 1000000,        /* clocks that drift this far apart in a run are still taken for one */
    WALL_NS = 2000000,         /* how well two readings of the wall clock can be compared */
};

/* What happens in a process, as both recordings can report it. */
enum mark_kind { MARK_EXEC, MARK_BEGIN, MARK_END, MARK_MAP };

struct mark {
    uint64_t kind, pid, number; /* number: of the thread, or an address */
    uint64_t time;
    bool before; /* the agent reports it before it happens, not after */
};

typedef array_of(struct mark) mark_array;

static void note(mark_array *marks, enum mark_kind kind, uint32_t pid, uint64_t number, uint64_t time, bool before)
{
    array_push(marks, (struct mark){kind, pid, number, time, before});
}

static void note_tasks(mark_array *marks, const struct perf_tasks *tasks)
{
    array_each (&tasks->items, struct perf_task, task) {
        if (task->time == 0)
            continue; /* from before the recording */
        if (task->type == PERF_RECORD_COMM && task->exec)
            note(marks, MARK_EXEC, task->pid, 0, task->time, false);
        else if (task->type == PERF_RECORD_FORK)
            note(marks, MARK_BEGIN, task->pid, task->tid, task->time, false);
        else if (task->type == PERF_RECORD_EXIT)
            note(marks, MARK_END, task->pid, task->tid, task->time, false);
        else if (task->type == PERF_RECORD_MMAP)
            note(marks, MARK_MAP, task->pid, task->addr, task->time, false);
    }
}

static void note_event(mark_array *marks, const struct event *event)
{
    switch (event->kind) {
    case EVENT_PROCESS_START:
        if (!event->process.forked)
            note(marks, MARK_EXEC, event->pid, 0, event->time, false);
        break;
    case EVENT_THREAD_START: /* who creates it notes the time first; one that was not seen coming reports itself */
        note(marks, MARK_BEGIN, event->pid, event->tid, event->time, event->thread.entry != 0);
        break;
    case EVENT_THREAD_EXIT:
        note(marks, MARK_END, event->pid, event->tid, event->time, true);
        break;
    case EVENT_MAP:
        note(marks, MARK_MAP, event->pid, event->map.addr, event->time, false);
        break;
    case EVENT_ALLOC: /* glibc gives a large block a mapping of its own, with two words in front of the block */
        if (event->alloc.size >= MALLOC_MAPPED && event->alloc.addr % PAGE_UNIT == MALLOC_HEAD)
            note(marks, MARK_MAP, event->pid, event->alloc.addr - MALLOC_HEAD, event->time, false);
        break;
    default:
        break;
    }
}

static int note_agent(mark_array *marks, struct trace_reader *agent, struct error *err)
{
    struct event event;
    int more;
    trace_reader_only(agent, 1ull << EVENT_PROCESS_START | 1ull << EVENT_THREAD_START | 1ull << EVENT_THREAD_EXIT |
                                 1ull << EVENT_MAP | 1ull << EVENT_ALLOC);
    while ((more = trace_reader_next(agent, &event, err)) > 0)
        note_event(marks, &event);
    trace_reader_only(agent, UINT64_MAX);
    return more;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Of the same thing? */
static int by_what(const struct mark *a, const struct mark *b)
{
    int order = compare(a->kind, b->kind);
    order = order ? order : compare(a->pid, b->pid);
    return order ? order : compare(a->number, b->number);
}

static int by_what_and_time(const void *left, const void *right)
{
    int order = by_what(left, right);
    return order ? order : compare(((const struct mark *)left)->time, ((const struct mark *)right)->time);
}

struct bounds {
    int64_t min_offset, max_offset; /* of the offset */
    unsigned below, above;
};

static size_t same_from(const mark_array *marks, size_t from)
{
    size_t end = from + 1;
    while (end < marks->count && by_what(&marks->items[from], &marks->items[end]) == 0)
        end++;
    return end - from;
}

static void bound(struct bounds *bounds, const struct mark *perf, const struct mark *agent)
{
    int64_t offset = (int64_t)(agent->time - perf->time);
    if (agent->before) {
        bounds->below++;
        bounds->min_offset = offset > bounds->min_offset ? offset : bounds->min_offset;
    } else {
        bounds->above++;
        bounds->max_offset = offset < bounds->max_offset ? offset : bounds->max_offset;
    }
}

/* What happens equally often in both is the same, one by one. */
static struct bounds join(mark_array *perf, mark_array *agent)
{
    struct bounds bounds = {INT64_MIN, INT64_MAX, 0, 0};
    array_sort(perf, by_what_and_time);
    array_sort(agent, by_what_and_time);
    for (size_t p = 0, a = 0; p < perf->count && a < agent->count;) {
        int order = by_what(&perf->items[p], &agent->items[a]);
        size_t of_perf = same_from(perf, p), of_agent = same_from(agent, a);
        for (size_t i = 0; order == 0 && of_perf == of_agent && i < of_perf; i++)
            bound(&bounds, &perf->items[p + i], &agent->items[a + i]);
        p += order <= 0 ? of_perf : 0;
        a += order >= 0 ? of_agent : 0;
    }
    return bounds;
}

/* Whether perf was asked to use the agent's own clock (perf record -k CLOCK_MONOTONIC_RAW). */
static bool same_clock(const struct perf_file *file)
{
    const struct perf_file_event *events;
    size_t count = perf_file_events(file, &events);
    return count && events[0].attr.use_clockid && events[0].attr.clockid == CLOCK_MONOTONIC_RAW;
}

/* By the wall clock, which both have read beside their own. */
static bool by_wall(struct perf_clock *clock, const struct perf_file *file, const struct trace_session *session)
{
    const struct perf_file_facts *facts = perf_file_facts(file);
    uint64_t wall = trace_session_number(session, "start_wall_ns", 0);
    uint64_t own = trace_session_number(session, "start_clock_ns", 0);
    if (!facts->clock_known || facts->wall_ns == 0 || wall == 0 || own == 0)
        return false;
    clock->offset = (int64_t)(own - facts->clock_ns + (facts->wall_ns - wall));
    clock->error = WALL_NS;
    snprintf(clock->how, sizeof clock->how, "clocks aligned by the wall clock that both recordings noted");
    return true;
}

static int by_bounds(struct perf_clock *clock, const struct bounds *bounds, struct error *err)
{
    if (bounds->below && bounds->above && bounds->min_offset - bounds->max_offset > ROUGH_NS)
        return error_set(
            err, -EINVAL,
            "the recordings contradict each other by %.1f ms: they are not of the same run, or their clocks "
            "drift apart; perf record -k CLOCK_MONOTONIC_RAW takes the agent's",
            (double)(bounds->min_offset - bounds->max_offset) / 1e6);
    if (bounds->below && bounds->above) {
        int64_t room = bounds->max_offset - bounds->min_offset;
        clock->offset = bounds->min_offset + room / 2;
        clock->error = (uint64_t)(room < 0 ? -room : room) / 2;
    } else {
        /* From one side only: the closest pair. How close that is, the others cannot say. */
        clock->offset = bounds->above ? bounds->max_offset : bounds->min_offset;
        clock->error = ROUGH_NS;
    }
    snprintf(clock->how, sizeof clock->how, "clocks aligned by %u common events", clock->pairs);
    return 0;
}

int perf_clock_align(struct perf_clock *clock, const struct perf_tasks *tasks, const struct perf_file *file,
                     struct trace_reader *agent, struct error *err)
{
    mark_array of_perf = {0}, of_agent = {0};
    note_tasks(&of_perf, tasks);
    int code = note_agent(&of_agent, agent, err);
    struct bounds bounds = join(&of_perf, &of_agent);
    array_free(&of_perf);
    array_free(&of_agent);
    *clock = (struct perf_clock){.pairs = bounds.below + bounds.above};
    if (code < 0)
        return code;
    if (same_clock(file)) {
        if ((bounds.below && bounds.min_offset > ROUGH_NS) || (bounds.above && bounds.max_offset < -ROUGH_NS))
            return error_set(err, -EINVAL,
                             "the recordings have the same clock, but not the same times: they are not of "
                             "the same run");
        snprintf(clock->how, sizeof clock->how, "one clock, CLOCK_MONOTONIC_RAW");
        return 0;
    }
    if (clock->pairs)
        return by_bounds(clock, &bounds, err);
    if (by_wall(clock, file, trace_reader_session(agent)))
        return 0;
    return error_set(
        err, -EINVAL,
        "the recordings have no event in common (exec, threads, mappings of the same process), so their clocks "
        "cannot be aligned; perf record -k CLOCK_MONOTONIC_RAW takes the agent's");
}
