/* trace/lane.h - a shorter way into the writer for who appends many events of one thread.
 *
 * A lane remembers where the thread's last event of each kind went. Zeroed = ready. It belongs to one writer, and must
 * be dropped before its memory goes away. */
#pragma once

#include "trace/writer.h"

struct trace_run;

struct trace_lane {
    struct trace_run *runs[EVENT_KINDS];
};

/* As trace_writer_append; all events of a lane are of one thread. */
int trace_writer_append_lane(struct trace_writer *writer, struct trace_lane *lane, const struct event *event,
                             struct error *err);

void trace_lane_drop(struct trace_lane *lane);
