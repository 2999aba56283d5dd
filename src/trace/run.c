#include "trace/run.h"

#include "base/mem.h"
#include "trace/event_rows.h"
#include "trace/run_code.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_CAPACITY = 512,
    ROOM_MOST = 256, /* the writer looks at a block's size whenever room is made */
};

unsigned run_columns(unsigned kind)
{
    return kind < EVENT_KINDS ? event_rows[kind].columns : 0;
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
    size_t wanted = run->count / 4 < ROOM_MOST ? run->count / 4 * RUN_ROOM : (ROOM_MOST + 1) * RUN_ROOM;
    for (unsigned i = 0; i < columns; i++) {
        column_reserve(&run->columns[i], wanted > FIRST_CAPACITY / 2 ? wanted : FIRST_CAPACITY / 2);
        uint32_t fits = (uint32_t)(run->columns[i].limit - run->columns[i].at) / RUN_ROOM;
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
    if (!run->words && event_keeps_words(kind))
        run->words = mem_alloc(TRACE_MAX_FRAMES * sizeof *run->words);
}

void run_reserve(struct trace_run *run, unsigned column, size_t bytes)
{
    column_reserve(&run->columns[column], bytes + FIRST_CAPACITY / 2);
    run->room = 0;
}

void run_put_bytes(struct trace_run *run, unsigned column, const void *bytes, size_t size)
{
    run_reserve(run, column, size);
    if (size)
        memcpy(run->columns[column].at, bytes, size);
    run->columns[column].at += size;
}

void run_finish(struct trace_run *run)
{
    for (unsigned column = 0; column < TRACE_MAX_COLUMNS; column++) {
        struct run_repeat *repeat = &run->state.repeats[column];
        if (repeat->times == 0)
            continue;
        put(run, column, repeat->value);
        put(run, column, repeat->times);
        repeat->times = 0;
    }
}

void run_release(struct trace_run *run)
{
    for (unsigned i = 0; i < TRACE_MAX_COLUMNS; i++)
        free(run->columns[i].bytes);
    free(run->words);
}

size_t run_memory(const struct trace_run *run)
{
    size_t total = sizeof *run + (run->words ? TRACE_MAX_FRAMES * sizeof *run->words : 0);
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
