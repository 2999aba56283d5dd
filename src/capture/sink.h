/* capture/sink.h - where sources put events: the trace, with a count of what was put, and whoever looks on. A full disk does not stop a
 * recording: the target must not notice; what could not be written is counted. */
#pragma once

#include "capture/rotate/carried.h"
#include "trace/lane.h"
#include "trace/writer.h"

struct sink {
    struct trace_writer *writer;                           /* NULL: nothing is kept */
    void (*tap)(void *context, const struct event *event); /* sees every event; may be NULL */
    void *tap_context;
    struct carried *carried; /* of a recording in several files: what the next one begins with; else NULL */
    struct error failure;    /* code 0 while all is well: start zeroed */
    uint64_t counts[EVENT_KINDS];
    uint64_t lost[LOSS_CAUSES]; /* as reported to the trace */
};

static inline void sink_see(struct sink *sink, const struct event *event)
{
    sink->counts[event->kind]++;
    if (sink->tap)
        sink->tap(sink->tap_context, event);
    if (sink->carried)
        carried_see(sink->carried, event);
}

static inline void sink_put(struct sink *sink, const struct event *event)
{
    sink_see(sink, event);
    if (sink->writer)
        trace_writer_append(sink->writer, event, sink->failure.code ? NULL : &sink->failure);
}

static inline void sink_put_lane(struct sink *sink, struct trace_lane *lane, const struct event *event)
{
    sink_see(sink, event);
    if (sink->writer)
        trace_writer_append_lane(sink->writer, lane, event, sink->failure.code ? NULL : &sink->failure);
}

static inline void sink_loss(struct sink *sink, uint64_t time, uint32_t pid, uint32_t tid, enum loss_cause cause,
                             uint64_t count)
{
    if (count == 0)
        return;
    sink->lost[cause] += count;
    struct event event = {.time = time, .pid = pid, .tid = tid, .kind = EVENT_LOSS};
    event.loss = (struct event_loss){cause, count};
    sink_put(sink, &event);
}
