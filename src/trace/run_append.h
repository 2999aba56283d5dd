/* trace/run_append.h - appending to a run, inline: the part that is done for every allocation of the target. */
#ifndef NUMALENS_TRACE_RUN_APPEND_H
#define NUMALENS_TRACE_RUN_APPEND_H

#include "trace/heap_coder.h"
#include "trace/run.h"
#include "trace/varint.h"

static inline void put(struct trace_run *run, unsigned column, uint64_t value)
{
    run->columns[column].at = varint_put(run->columns[column].at, value);
}

static inline void put_difference(struct trace_run *run, unsigned column, unsigned last, uint64_t value)
{
    put(run, column, zigzag(value - run->state.last[last]));
    run->state.last[last] = value;
}

static inline void put_repeat(struct trace_run *run, unsigned column, unsigned which, uint64_t value)
{
    struct run_repeat *repeat = &run->state.repeats[which];
    if (__builtin_expect(repeat->value != value || repeat->times == 0, 0)) {
        if (repeat->times) {
            put(run, column, repeat->value);
            put(run, column, repeat->times);
        }
        repeat->value = value;
        repeat->times = 0;
    }
    repeat->times++;
}

static inline void put_alloc(struct trace_run *run, const struct event_alloc *alloc)
{
    struct run_guess *guess = run_guess_for(&run->state, alloc->stack);
    uint64_t addr = rotate_right(alloc->addr, 4);
    put_difference(run, 1, 1, alloc->stack);
    put(run, 2, zigzag(alloc->size - guess->other));
    put(run, 3, zigzag(addr - guess->addr));
    put_repeat(run, 4, 0, alloc->fn | (uint64_t)alloc->cpu << 8);
    guess->other = alloc->size;
    guess->addr = run->state.last[0] = addr;
}

static inline void put_sample(struct trace_run *run, const struct event_sample *sample)
{
    struct run_guess *guess = run_guess_for(&run->state, sample->stack);
    uint64_t shape = sample->flags | (uint64_t)sample->size << 8 | (uint64_t)sample->level << 24 |
                     (uint64_t)(sample->physical != 0) << 32 | (uint64_t)sample->period << 33;
    put_difference(run, 1, 1, sample->stack);
    put(run, 2, zigzag(sample->addr - guess->addr));
    if (sample->flags & SAMPLE_HAS_LATENCY)
        put(run, 3, sample->latency);
    put_repeat(run, 4, 0, sample->source | (uint64_t)sample->cpu << 8);
    put(run, 5, shape ^ guess->other);
    if (sample->physical)
        put_difference(run, 6, 2, sample->physical);
    guess->other = shape;
    guess->addr = run->state.last[0] = sample->addr;
}

/* What is a multiple of HEAP_TIME_STEP loses its zeroes. */
static inline void put_heap_time(struct trace_run *run, uint64_t passed)
{
    put(run, 0, passed % HEAP_TIME_STEP ? passed << 1 | 1 : passed >> HEAP_TIME_SHIFT << 1);
}

/* As run_append, when run->room is not 0. */
static inline void run_append_fast(struct trace_run *run, const struct event *event)
{
    run->room--;
    run->count++;
    uint64_t passed = event->time - run->state.time;
    run->state.time = event->time;
    switch (event->kind) {
    case EVENT_ALLOC:
        put_heap_time(run, passed);
        heap_put_alloc(run, &event->alloc);
        return;
    case EVENT_FREE:
        put_heap_time(run, passed);
        heap_put_free(run, &event->free);
        return;
    }
    put(run, 0, passed);
    switch (event->kind) {
    case EVENT_SAMPLE:
        put_sample(run, &event->sample);
        break;
    default:
        run_append_other(run, event);
    }
}

#endif
