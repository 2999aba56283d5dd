#include "trace/run.h"

#include "base/mem.h"
#include "trace/heap_coder.h"
#include "trace/run_append.h"
#include "trace/varint.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROOM_PER_EVENT = 2 * VARINT_MAX, /* what one event may need in any column that holds no text and no frames */
    FIRST_CAPACITY = 512,
    ROOM_MOST = 256, /* the writer looks at a block's size whenever room is made */
};

unsigned run_columns(unsigned kind)
{
    static const uint8_t columns[EVENT_KINDS] = {
        [EVENT_PROCESS_START] = 3,
        [EVENT_PROCESS_EXIT] = 2,
        [EVENT_THREAD_START] = 5,
        [EVENT_THREAD_NAME] = 5,
        [EVENT_THREAD_EXIT] = 5,
        [EVENT_MODULE_LOAD] = 5,
        [EVENT_MODULE_UNLOAD] = 5,
        [EVENT_MAP] = 7,
        [EVENT_UNMAP] = 7,
        [EVENT_STACK] = 4,
        [TRACE_HEAP] = HEAP_COLUMNS,
        [EVENT_SAMPLE] = 7,
        [EVENT_TOUCH] = 4,
        [EVENT_HOME] = 4,
        [EVENT_LOSS] = 3,
        [EVENT_POOL] = 4,
        [EVENT_POOL_ALLOC] = 6,
        [EVENT_PAGE] = 8,
        [EVENT_FRAME] = 3,
        [EVENT_BARRIER] = 2,
        [EVENT_STREAM] = 9,
    };
    return kind < EVENT_KINDS ? columns[kind] : 0;
}

static void column_reserve(struct run_column *column, size_t wanted)
{
    size_t used = (size_t)(column->at - column->bytes), capacity = (size_t)(column->limit - column->bytes);
    if (capacity - used >= wanted)
        return;
    if (capacity == 0)
        capacity = FIRST_CAPACITY;
    while (capacity - used < wanted)
        capacity *= 2;
    column->bytes = mem_resize(column->bytes, capacity);
    column->at = column->bytes + used;
    column->limit = column->bytes + capacity;
}

void run_make_room(struct trace_run *run)
{
    unsigned columns = run_columns(run->kind);
    uint32_t room = UINT32_MAX;
    /* A short run takes little memory, a long one does not ask often. */
    size_t wanted = run->count / 4 < ROOM_MOST ? run->count / 4 * ROOM_PER_EVENT : (ROOM_MOST + 1) * ROOM_PER_EVENT;
    for (unsigned i = 0; i < columns; i++) {
        column_reserve(&run->columns[i], wanted > FIRST_CAPACITY / 2 ? wanted : FIRST_CAPACITY / 2);
        uint32_t fits = (uint32_t)(run->columns[i].limit - run->columns[i].at) / ROOM_PER_EVENT;
        if (fits < room)
            room = fits;
    }
    room--; /* for run_finish */
    run->room = room < ROOM_MOST ? room : ROOM_MOST;
}

void run_begin(struct trace_run *run, uint8_t kind, uint32_t tid, uint64_t first_time)
{
    run->kind = kind;
    run->tid = tid;
    run->count = run->counted = run->room = 0;
    run->bytes_counted = 0;
    run->first_time = first_time;
    run->holder = NULL;
    run->next = NULL;
    for (unsigned i = 0; i < TRACE_MAX_COLUMNS; i++)
        run->columns[i].at = run->columns[i].bytes;
    memset(&run->state, 0, sizeof run->state);
    run->state.time = first_time;
    if ((kind == EVENT_STACK || kind == EVENT_PAGE) && !run->frames)
        run->frames = mem_alloc(TRACE_MAX_FRAMES * sizeof *run->frames);
    if (kind == TRACE_HEAP) {
        if (!run->heap)
            run->heap = heap_coder_new();
        heap_coder_begin(run->heap);
    }
}

static void put_bytes(struct trace_run *run, unsigned column, const void *bytes, size_t size)
{
    struct run_column *to = &run->columns[column];
    column_reserve(to, size + FIRST_CAPACITY / 2);
    memcpy(to->at, bytes, size);
    to->at += size;
}

static void put_text(struct trace_run *run, unsigned column, const char *text)
{
    put_bytes(run, column, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void put_stack(struct trace_run *run, const struct event_stack *stack)
{
    /* Chains share their outer ends: say how many frames, then only the others. */
    uint16_t depth = stack->depth < TRACE_MAX_FRAMES ? stack->depth : TRACE_MAX_FRAMES;
    uint16_t old = run->state.depth, shared = 0;
    while (shared < depth && shared < old && run->frames[old - 1 - shared] == stack->frames[depth - 1 - shared])
        shared++;
    column_reserve(&run->columns[3], (size_t)depth * VARINT_MAX + FIRST_CAPACITY / 2);
    put_difference(run, 1, 0, stack->id);
    put(run, 2, (uint64_t)depth << 1 | (stack->cut != 0));
    put(run, 2, shared);
    for (unsigned i = 0; i < (unsigned)(depth - shared); i++)
        put_difference(run, 3, 1, stack->frames[i]);
    memcpy(run->frames, stack->frames, depth * sizeof *run->frames);
    run->state.depth = depth;
}

static void put_page(struct trace_run *run, const struct event_page *page)
{
    uint16_t words = page->cpu_words < TRACE_MAX_FRAMES ? page->cpu_words : TRACE_MAX_FRAMES;
    put_difference(run, 1, 0, rotate_right(page->page, 12));
    put_repeat(run, 2, 0, page->size);
    put_difference(run, 3, 1, page->until);
    put_difference(run, 4, 2, page->ip);
    put(run, 5, page->reads);
    put(run, 5, page->writes);
    put(run, 5, (uint64_t)page->unknown << 8 | page->mechanism);
    put_difference(run, 6, 3, rotate_right(page->physical, 12));
    /* Most masks are the one before: 0 says so, else the count of words plus one and the words. */
    if (words == run->state.depth &&
        (words == 0 || memcmp(page->cpus, run->frames, words * sizeof *run->frames) == 0)) {
        put(run, 7, 0);
        return;
    }
    column_reserve(&run->columns[7], (size_t)(words + 1) * VARINT_MAX + FIRST_CAPACITY / 2);
    put(run, 7, words + 1u);
    for (unsigned i = 0; i < words; i++)
        put(run, 7, run->frames[i] = page->cpus[i]);
    run->state.depth = words;
    run->room = 0;
}

static uint64_t stream_shape(const struct event_stream *stream)
{
    uint64_t shape = (uint64_t)stream->size << 8 | stream->flags;
    if (stream->behind && stream->behind_ns < UINT16_MAX)
        shape |= (uint64_t)stream->behind << 24 | (uint64_t)stream->behind_ns << 40;
    return shape;
}

/* At most two long numbers in a column: what run_make_room counts on. */
static void put_stream(struct trace_run *run, const struct event_stream *stream)
{
    uint8_t timed = stream->timed <= STREAM_LATENCIES ? stream->timed : STREAM_LATENCIES;
    put_difference(run, 1, 0, stream->pc);
    put_difference(run, 2, 1, stream->addr);
    put(run, 3, zigzag((uint64_t)stream->stride));
    put(run, 3, zigzag(stream->ahead - stream->addr));
    put(run, 4, zigzag((uint64_t)stream->turns));
    put(run, 4, stream->gap_ns);
    put_difference(run, 5, 2, stream->user_ns);
    put_difference(run, 6, 3, stream->burst);
    put(run, 6, stream->ahead_ns);
    put(run, 7, stream->times);
    put(run, 7, stream->runs);
    put(run, 7, stream_shape(stream));
    put(run, 8, timed);
    for (unsigned i = 0; i < timed; i++)
        put(run, 8, stream->latencies[i]);
}

static void put_module(struct trace_run *run, const struct event_module *module)
{
    uint8_t size = module->build_id_size <= sizeof module->build_id ? module->build_id_size : 0;
    put_difference(run, 1, 0, module->bias);
    put_difference(run, 2, 1, module->start);
    put(run, 2, zigzag(module->end - module->start));
    put(run, 3, size);
    put_bytes(run, 3, module->build_id, size);
    put_text(run, 4, module->path);
}

static void put_map(struct trace_run *run, const struct event_map *map)
{
    put_difference(run, 1, 0, map->addr);
    put(run, 2, map->size);
    put(run, 3, map->offset);
    put(run, 4, map->stack);
    put(run, 5, map->prot | (uint64_t)map->map_kind << 32);
    put(run, 5, map->flags);
    put_text(run, 6, map->path);
}

static void put_thread(struct trace_run *run, const struct event_thread *thread)
{
    put_text(run, 1, thread->name);
    put_difference(run, 2, 0, thread->stack_low);
    put_difference(run, 3, 1, thread->stack_high);
    put(run, 4, thread->entry);
}

void run_append_other(struct trace_run *run, const struct event *event)
{
    switch (event->kind) {
    case EVENT_TOUCH:
        put_difference(run, 1, 0, event->touch.addr);
        put_difference(run, 2, 1, event->touch.ip);
        put_repeat(run, 3, 0, event->touch.write | (uint64_t)event->touch.cpu << 1);
        return;
    case EVENT_HOME:
        put_difference(run, 1, 0, rotate_right(event->home.page, 12));
        put_repeat(run, 2, 0, event->home.size);
        put_repeat(run, 3, 1, zigzag((uint64_t)(int64_t)event->home.node));
        return;
    case EVENT_LOSS:
        put(run, 1, event->loss.cause);
        put(run, 2, event->loss.count);
        return;
    case EVENT_POOL:
        put_difference(run, 1, 0, rotate_right(event->pool.handle, 4));
        put(run, 2, event->pool.parent);
        put_repeat(run, 3, 0, event->pool.change | (uint64_t)event->pool.fn << 8);
        return;
    case EVENT_POOL_ALLOC:
        put_alloc(run, &event->alloc);
        put_difference(run, 5, 2, event->alloc.pool);
        return;
    case EVENT_PAGE:
        put_page(run, &event->page);
        return;
    case EVENT_FRAME:
        put_difference(run, 1, 0, rotate_right(event->frame.page, 12));
        put_difference(run, 2, 1, rotate_right(event->frame.physical, 12));
        return;
    case EVENT_BARRIER:
        put(run, 1, event->barrier.waited);
        return;
    case EVENT_STREAM:
        put_stream(run, &event->stream);
        return;
    case EVENT_PROCESS_START:
        put(run, 1, event->process.forked | (uint64_t)event->process.parent << 1);
        put_text(run, 2, event->process.exe);
        put_text(run, 2, event->process.command);
        break;
    case EVENT_PROCESS_EXIT:
        put(run, 1, zigzag((uint64_t)(int64_t)event->exit_status));
        break;
    case EVENT_THREAD_START:
    case EVENT_THREAD_NAME:
    case EVENT_THREAD_EXIT:
        put_thread(run, &event->thread);
        break;
    case EVENT_MODULE_LOAD:
    case EVENT_MODULE_UNLOAD:
        put_module(run, &event->module);
        break;
    case EVENT_MAP:
    case EVENT_UNMAP:
        put_map(run, &event->map);
        break;
    case EVENT_STACK:
        put_stack(run, &event->stack);
        break;
    }
    run->room = 0; /* texts and frames may have used what room counted on */
}

void run_finish(struct trace_run *run)
{
    static const uint8_t repeat_column[EVENT_KINDS][RUN_REPEATS] = {
        [EVENT_SAMPLE] = {4}, [EVENT_TOUCH] = {3},      [EVENT_HOME] = {2, 3},
        [EVENT_POOL] = {3},   [EVENT_POOL_ALLOC] = {4}, [EVENT_PAGE] = {2},
    };
    for (unsigned i = 0; i < RUN_REPEATS; i++) {
        unsigned column = repeat_column[run->kind][i];
        if (column == 0 || run->state.repeats[i].times == 0)
            continue;
        put(run, column, run->state.repeats[i].value);
        put(run, column, run->state.repeats[i].times);
        run->state.repeats[i].times = 0;
    }
}

void run_release(struct trace_run *run)
{
    for (unsigned i = 0; i < TRACE_MAX_COLUMNS; i++)
        free(run->columns[i].bytes);
    free(run->frames);
    heap_coder_free(run->heap);
}

size_t run_memory(const struct trace_run *run)
{
    size_t total =
        sizeof *run + heap_coder_memory(run->heap) + (run->frames ? TRACE_MAX_FRAMES * sizeof *run->frames : 0);
    for (unsigned i = 0; i < TRACE_MAX_COLUMNS; i++)
        total += (size_t)(run->columns[i].limit - run->columns[i].bytes);
    return total;
}

size_t run_bytes(const struct trace_run *run)
{
    size_t total = 0;
    for (unsigned i = 0; i < run_columns(run->kind); i++)
        total += (size_t)(run->columns[i].at - run->columns[i].bytes);
    return total;
}
