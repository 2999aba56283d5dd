/* trace/run_append.h - appending to a run, inline: the part that is done for every allocation of the target. */
#pragma once

#include "trace/event_rows.h"
#include "trace/heap_coder.h"
#include "trace/sample_code.h"

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
    if (event->kind == EVENT_SAMPLE)
        put_sample(run, &event->sample);
    else
        event_rows[event->kind].encode(run, event);
}
