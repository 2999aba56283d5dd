/* trace/cursor.c - the reading end of trace/run.h. Whatever the bytes are, it ends in an event or in false. */
#include "trace/run.h"
#include "trace/varint.h"

#include <string.h>

static inline bool get(struct run_cursor *cursor, unsigned column, uint64_t *value)
{
    return varint_get(&cursor->at[column], cursor->end[column], value);
}

static inline bool get_difference(struct run_cursor *cursor, unsigned column, unsigned last, uint64_t *value)
{
    uint64_t code;
    if (!get(cursor, column, &code))
        return false;
    *value = cursor->state.last[last] += unzigzag(code);
    return true;
}

static inline bool get_repeat(struct run_cursor *cursor, unsigned column, unsigned which, uint64_t *value)
{
    struct run_repeat *repeat = &cursor->state.repeats[which];
    if (__builtin_expect(repeat->times == 0, 0) &&
        (!get(cursor, column, &repeat->value) || !get(cursor, column, &repeat->times) || repeat->times == 0))
        return false;
    repeat->times--;
    *value = repeat->value;
    return true;
}

static bool get_text(struct run_cursor *cursor, unsigned column, const char **text)
{
    const uint8_t *from = cursor->at[column];
    const uint8_t *nul = from < cursor->end[column] ? memchr(from, 0, (size_t)(cursor->end[column] - from)) : NULL;
    if (!nul)
        return false;
    *text = (const char *)from;
    cursor->at[column] = nul + 1;
    return true;
}

static bool get_alloc(struct run_cursor *cursor, struct event_alloc *alloc)
{
    uint64_t stack, size, addr, shape;
    if (!get_difference(cursor, 1, 1, &stack) || !get(cursor, 2, &size) || !get(cursor, 3, &addr) ||
        !get_repeat(cursor, 4, 0, &shape))
        return false;
    struct run_guess *guess = run_guess_for(&cursor->state, (uint32_t)stack);
    guess->other += unzigzag(size);
    guess->addr += unzigzag(addr);
    cursor->state.last[0] = guess->addr;
    alloc->addr = rotate_left(guess->addr, 4);
    alloc->size = guess->other;
    alloc->stack = (uint32_t)stack;
    alloc->fn = (uint8_t)shape;
    alloc->cpu = (uint16_t)(shape >> 8);
    return true;
}

static inline bool get_sample(struct run_cursor *cursor, struct event_sample *sample)
{
    uint64_t stack, addr, origin, shape, latency = 0, physical = 0;
    if (!get_difference(cursor, 1, 1, &stack) || !get(cursor, 2, &addr) || !get_repeat(cursor, 4, 0, &origin) ||
        !get(cursor, 5, &shape))
        return false;
    struct run_guess *guess = run_guess_for(&cursor->state, (uint32_t)stack);
    guess->addr += unzigzag(addr);
    guess->other ^= shape;
    cursor->state.last[0] = guess->addr;
    sample->addr = guess->addr;
    sample->stack = (uint32_t)stack;
    sample->source = (uint8_t)origin;
    sample->cpu = (uint16_t)(origin >> 8);
    sample->flags = (uint8_t)guess->other;
    sample->size = (uint16_t)(guess->other >> 8);
    sample->level = (uint8_t)(guess->other >> 24);
    sample->period = (uint32_t)(guess->other >> 33);
    if ((sample->flags & SAMPLE_HAS_LATENCY) && !get(cursor, 3, &latency))
        return false;
    if ((guess->other >> 32 & 1) && !get_difference(cursor, 6, 2, &physical))
        return false;
    sample->latency = (uint32_t)latency;
    sample->physical = physical;
    sample->ordinal = 0;
    return true;
}

static bool get_stack(struct run_cursor *cursor, struct event_stack *stack)
{
    uint64_t id, shape, shared, old = cursor->state.depth;
    if (!get_difference(cursor, 1, 0, &id) || !get(cursor, 2, &shape) || !get(cursor, 2, &shared))
        return false;
    uint64_t depth = shape >> 1;
    if (depth > TRACE_MAX_FRAMES || shared > depth || shared > old)
        return false;
    memmove(cursor->frames + (depth - shared), cursor->frames + (old - shared), shared * sizeof *cursor->frames);
    for (uint64_t i = 0; i < depth - shared; i++)
        if (!get_difference(cursor, 3, 1, &cursor->frames[i]))
            return false;
    cursor->state.depth = (uint16_t)depth;
    stack->id = (uint32_t)id;
    stack->depth = (uint16_t)depth;
    stack->cut = shape & 1;
    stack->frames = cursor->frames;
    return true;
}

static bool get_module(struct run_cursor *cursor, struct event_module *module)
{
    uint64_t length, size;
    if (!get_difference(cursor, 1, 0, &module->bias) || !get_difference(cursor, 2, 1, &module->start) ||
        !get(cursor, 2, &length) || !get(cursor, 3, &size) || !get_text(cursor, 4, &module->path))
        return false;
    if (size > sizeof module->build_id || size > (size_t)(cursor->end[3] - cursor->at[3]))
        return false;
    module->end = module->start + unzigzag(length);
    memset(module->build_id, 0, sizeof module->build_id);
    memcpy(module->build_id, cursor->at[3], size);
    module->build_id_size = (uint8_t)size;
    cursor->at[3] += size;
    return true;
}

static bool get_map(struct run_cursor *cursor, struct event_map *map)
{
    uint64_t stack, shape, flags;
    if (!get_difference(cursor, 1, 0, &map->addr) || !get(cursor, 2, &map->size) || !get(cursor, 3, &map->offset) ||
        !get(cursor, 4, &stack) || !get(cursor, 5, &shape) || !get(cursor, 5, &flags) ||
        !get_text(cursor, 6, &map->path))
        return false;
    map->stack = (uint32_t)stack;
    map->prot = (uint32_t)shape;
    map->map_kind = (uint8_t)(shape >> 32);
    map->flags = (uint32_t)flags;
    return true;
}

static bool get_process(struct run_cursor *cursor, struct event_process *process)
{
    uint64_t shape;
    if (!get(cursor, 1, &shape) || !get_text(cursor, 2, &process->exe) || !get_text(cursor, 2, &process->command))
        return false;
    process->forked = shape & 1;
    process->parent = (uint32_t)(shape >> 1);
    return true;
}

static bool get_touch(struct run_cursor *cursor, struct event_touch *touch)
{
    uint64_t shape;
    if (!get_difference(cursor, 1, 0, &touch->addr) || !get_difference(cursor, 2, 1, &touch->ip) ||
        !get_repeat(cursor, 3, 0, &shape))
        return false;
    touch->write = shape & 1;
    touch->cpu = (uint16_t)(shape >> 1);
    return true;
}

static bool get_home(struct run_cursor *cursor, struct event_home *home)
{
    uint64_t page, node;
    if (!get_difference(cursor, 1, 0, &page) || !get_repeat(cursor, 2, 0, &home->size) ||
        !get_repeat(cursor, 3, 1, &node))
        return false;
    home->page = rotate_left(page, 12);
    home->node = (int32_t)unzigzag(node);
    return true;
}

static bool get_cpus(struct run_cursor *cursor, struct event_page *page)
{
    uint64_t words;
    if (!get(cursor, 7, &words) || words > TRACE_MAX_FRAMES + 1)
        return false;
    if (words > 0) {
        cursor->state.depth = (uint16_t)(words - 1);
        for (unsigned i = 0; i < words - 1; i++)
            if (!get(cursor, 7, &cursor->frames[i]))
                return false;
    }
    page->cpu_words = cursor->state.depth;
    page->cpus = cursor->frames;
    return true;
}

static bool get_page(struct run_cursor *cursor, struct event_page *page)
{
    uint64_t addr, physical, reads, writes, unknown;
    if (!get_difference(cursor, 1, 0, &addr) || !get_repeat(cursor, 2, 0, &page->size) ||
        !get_difference(cursor, 3, 1, &page->until) || !get_difference(cursor, 4, 2, &page->ip) ||
        !get(cursor, 5, &reads) || !get(cursor, 5, &writes) || !get(cursor, 5, &unknown) ||
        !get_difference(cursor, 6, 3, &physical))
        return false;
    page->page = rotate_left(addr, 12);
    page->physical = rotate_left(physical, 12);
    page->reads = (uint32_t)reads;
    page->writes = (uint32_t)writes;
    page->unknown = (uint32_t)(unknown >> 8);
    page->mechanism = (uint8_t)unknown;
    page->ordinal = 0;
    return get_cpus(cursor, page);
}

static bool get_frame(struct run_cursor *cursor, struct event_frame *frame)
{
    uint64_t page, physical;
    if (!get_difference(cursor, 1, 0, &page) || !get_difference(cursor, 2, 1, &physical))
        return false;
    frame->page = rotate_left(page, 12);
    frame->physical = rotate_left(physical, 12);
    return true;
}

static bool get_stream(struct run_cursor *cursor, struct event_stream *stream)
{
    uint64_t stride, ahead, turns, gap, burst, ahead_ns, times, runs, shape, timed, latency;
    if (!get_difference(cursor, 1, 0, &stream->pc) || !get_difference(cursor, 2, 1, &stream->addr) ||
        !get(cursor, 3, &stride) || !get(cursor, 3, &ahead) || !get(cursor, 4, &turns) || !get(cursor, 4, &gap) ||
        !get_difference(cursor, 5, 2, &stream->user_ns) || !get_difference(cursor, 6, 3, &burst) ||
        !get(cursor, 6, &ahead_ns) || !get(cursor, 7, &times) || !get(cursor, 7, &runs) || !get(cursor, 7, &shape) ||
        !get(cursor, 8, &timed) || timed > STREAM_LATENCIES)
        return false;
    stream->stride = (int64_t)unzigzag(stride);
    stream->ahead = stream->addr + unzigzag(ahead);
    stream->turns = (int64_t)unzigzag(turns);
    stream->gap_ns = (uint32_t)gap;
    stream->burst = (uint32_t)burst;
    stream->ahead_ns = (uint32_t)ahead_ns;
    stream->times = (uint16_t)times;
    stream->runs = (uint16_t)runs;
    stream->size = (uint16_t)(shape >> 8);
    stream->flags = (uint8_t)shape;
    stream->behind = (uint16_t)(shape >> 24);
    stream->behind_ns = stream->behind ? (uint16_t)(shape >> 40) : STREAM_NO_LATENCY;
    stream->timed = (uint8_t)timed;
    for (unsigned i = 0; i < STREAM_LATENCIES; i++) {
        latency = 0;
        if (i < timed && !get(cursor, 8, &latency))
            return false;
        stream->latencies[i] = (uint16_t)latency;
    }
    return true;
}

static bool get_pool(struct run_cursor *cursor, struct event_pool *pool)
{
    uint64_t handle, shape;
    if (!get_difference(cursor, 1, 0, &handle) || !get(cursor, 2, &pool->parent) || !get_repeat(cursor, 3, 0, &shape))
        return false;
    pool->handle = rotate_left(handle, 4);
    pool->change = (uint8_t)shape;
    pool->fn = (uint8_t)(shape >> 8);
    return true;
}

bool run_cursor_event(struct run_cursor *cursor, struct event *event)
{
    uint64_t number;
    if (cursor->kind == TRACE_HEAP)
        return heap_cursor_event(cursor, event);
    event->time = cursor->time;
    event->pid = cursor->pid;
    event->tid = cursor->tid;
    event->kind = cursor->kind;
    switch (cursor->kind) {
    case EVENT_SAMPLE:
        return get_sample(cursor, &event->sample);
    case EVENT_POOL:
        return get_pool(cursor, &event->pool);
    case EVENT_POOL_ALLOC:
        return get_alloc(cursor, &event->alloc) && get_difference(cursor, 5, 2, &event->alloc.pool);
    case EVENT_TOUCH:
        return get_touch(cursor, &event->touch);
    case EVENT_HOME:
        return get_home(cursor, &event->home);
    case EVENT_PAGE:
        return get_page(cursor, &event->page);
    case EVENT_FRAME:
        return get_frame(cursor, &event->frame);
    case EVENT_BARRIER:
        return get(cursor, 1, &event->barrier.waited);
    case EVENT_STREAM:
        return get_stream(cursor, &event->stream);
    case EVENT_LOSS:
        if (!get(cursor, 1, &number) || !get(cursor, 2, &event->loss.count))
            return false;
        event->loss.cause = number < UINT8_MAX ? (uint8_t)number : UINT8_MAX;
        return true;
    case EVENT_PROCESS_START:
        return get_process(cursor, &event->process);
    case EVENT_PROCESS_EXIT:
        if (!get(cursor, 1, &number))
            return false;
        event->exit_status = (int32_t)unzigzag(number);
        return true;
    case EVENT_THREAD_START:
    case EVENT_THREAD_NAME:
    case EVENT_THREAD_EXIT:
        return get_text(cursor, 1, &event->thread.name) && get_difference(cursor, 2, 0, &event->thread.stack_low) &&
               get_difference(cursor, 3, 1, &event->thread.stack_high) && get(cursor, 4, &event->thread.entry);
    case EVENT_MODULE_LOAD:
    case EVENT_MODULE_UNLOAD:
        return get_module(cursor, &event->module);
    case EVENT_MAP:
    case EVENT_UNMAP:
        return get_map(cursor, &event->map);
    case EVENT_STACK:
        return get_stack(cursor, &event->stack);
    }
    return false;
}

bool run_cursor_step(struct run_cursor *cursor)
{
    uint64_t difference;
    if (cursor->kind == TRACE_HEAP)
        return heap_cursor_step(cursor);
    if (!get(cursor, 0, &difference) || difference > UINT64_MAX - cursor->time)
        return false;
    cursor->time += difference;
    cursor->left--;
    return true;
}

bool run_cursor_begin(struct run_cursor *cursor, uint8_t kind, uint32_t pid, uint32_t tid, uint32_t count,
                      uint64_t first_time)
{
    cursor->kind = kind;
    cursor->pid = pid;
    cursor->tid = tid;
    cursor->left = count;
    cursor->time = first_time;
    memset(&cursor->state, 0, sizeof cursor->state);
    return run_cursor_step(cursor);
}
