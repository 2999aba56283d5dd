/* trace/run_append.h - appending to a run, inline: the part that is done for every allocation of the target. */
#pragma once

#include "trace/event_rows.h"
#include "trace/sample_code.h"

/* When run->room is not 0. */
static inline void run_append_fast(struct trace_run *run, const struct event *event)
{
    run->room--;
    run->count++;
    put(run, 0, event->time - run->state.time);
    run->state.time = event->time;
    if (event->kind == EVENT_SAMPLE)
        put_sample(run, &event->sample);
    else
        event_rows[event->kind].encode(run, event);
}
