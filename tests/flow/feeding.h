/* feeding.h - made-up events for tests, in order of time: each helper is one event, one nanosecond after the last.
 *
 * Events go straight into a flow. After feeding_record they go into a trace file instead, and feeding_build makes the flow
 * of it: the way to a flow whose accesses can be read again. */
#ifndef NUMALENS_TESTS_FEEDING_H
#define NUMALENS_TESTS_FEEDING_H

#include "flow/state.h"
#include "trace/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { PID = 100 };

struct feeding {
    struct flow *flow;
    struct symbols *symbols;
    struct topology *topology;
    uint64_t time, ordinal;
    uint32_t pid, tid;
    struct trace_writer *writer;
    struct trace_reader *reader;
    struct trace_session *ending; /* of the trace; NULL: an empty one */
    char path[64];
};

/* `spec`: a simulated machine; NULL: one node. */
static inline struct feeding feeding_new(const char *spec, enum topology_assign assign)
{
    struct error err = {0};
    struct feeding feeding = {.pid = PID, .tid = PID, .time = 1000};
    feeding.symbols = symbols_new();
    feeding.topology = topology_simulate(spec ? spec : "numa:1 core:1", assign, &err);
    assert_non_null(feeding.topology);
    feeding.topology->simulated = spec != NULL;
    feeding.flow = flow_new(feeding.symbols, feeding.topology);
    return feeding;
}

static inline void feeding_record(struct feeding *feeding)
{
    struct error err = {0};
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "command", "made up");
    trace_session_set(session, "burst", "16");
    snprintf(feeding->path, sizeof feeding->path, "/tmp/numalens-feeding-%d.data", (int)getpid());
    feeding->writer = trace_writer_open(feeding->path, session, &err);
    assert_non_null(feeding->writer);
    trace_session_free(session);
}

static inline void feeding_build(struct feeding *feeding)
{
    struct error err = {0};
    struct trace_session *ending = feeding->ending ? feeding->ending : trace_session_new();
    assert_int_equal(trace_writer_close(feeding->writer, ending, &err), 0);
    trace_session_free(ending);
    feeding->ending = NULL;
    flow_free(feeding->flow);
    feeding->reader = trace_reader_open(feeding->path, &err);
    assert_non_null(feeding->reader);
    feeding->flow =
        flow_build(feeding->reader, feeding->symbols, &(struct flow_options){.topology = feeding->topology}, &err);
    assert_non_null(feeding->flow);
    unlink(feeding->path);
}

static inline void feeding_free(struct feeding *feeding)
{
    flow_free(feeding->flow);
    trace_reader_close(feeding->reader);
    symbols_free(feeding->symbols);
    topology_free(feeding->topology);
}

static inline void feed(struct feeding *feeding, struct event event)
{
    event.time = event.time ? event.time : ++feeding->time;
    event.pid = event.pid ? event.pid : feeding->pid;
    event.tid = event.tid ? event.tid : feeding->tid;
    struct error err = {0};
    if (feeding->writer)
        assert_int_equal(trace_writer_append(feeding->writer, &event, &err), 0);
    else
        flow_feed(feeding->flow, &event);
}

static inline void feed_start(struct feeding *feeding, uint32_t pid, uint32_t parent, bool forked)
{
    feed(feeding, (struct event){.kind = EVENT_PROCESS_START,
                                 .pid = pid,
                                 .tid = pid,
                                 .process = {.parent = parent, .forked = forked, .exe = "/bin/it", .command = "it"}});
}

static inline void feed_exit(struct feeding *feeding, uint32_t pid)
{
    feed(feeding, (struct event){.kind = EVENT_PROCESS_EXIT, .pid = pid, .tid = pid, .exit_status = 0});
}

static inline void feed_thread(struct feeding *feeding, uint32_t tid, const char *name, uint64_t low, uint64_t high)
{
    feed(feeding, (struct event){.kind = EVENT_THREAD_START,
                                 .tid = tid,
                                 .thread = {.name = name, .stack_low = low, .stack_high = high}});
}

static inline void feed_stack(struct feeding *feeding, uint32_t id, uint16_t depth, const uint64_t *frames)
{
    feed(feeding, (struct event){.kind = EVENT_STACK, .stack = {.id = id, .depth = depth, .frames = frames}});
}

static inline void feed_alloc(struct feeding *feeding, uint64_t addr, uint64_t size, uint32_t stack)
{
    feed(feeding, (struct event){.kind = EVENT_ALLOC, .alloc = {.addr = addr, .size = size, .stack = stack, .cpu = 3}});
}

static inline void feed_free(struct feeding *feeding, uint64_t addr)
{
    feed(feeding, (struct event){.kind = EVENT_FREE, .free = {.addr = addr, .fn = ALLOC_FREE}});
}

static inline void feed_map(struct feeding *feeding, uint64_t addr, uint64_t size, uint8_t kind, uint32_t stack,
                            const char *path)
{
    feed(feeding, (struct event){.kind = EVENT_MAP,
                                 .map = {.addr = addr, .size = size, .map_kind = kind, .stack = stack, .path = path}});
}

static inline void feed_unmap(struct feeding *feeding, uint64_t addr, uint64_t size)
{
    feed(feeding, (struct event){.kind = EVENT_UNMAP, .map = {.addr = addr, .size = size}});
}

static inline uint32_t feed_access(struct feeding *feeding, uint64_t addr, uint16_t cpu, uint8_t flags,
                                   uint32_t latency)
{
    feed(feeding, (struct event){.kind = EVENT_SAMPLE,
                                 .sample = {.addr = addr,
                                            .ordinal = feeding->ordinal,
                                            .cpu = cpu,
                                            .flags = (uint8_t)(flags | (latency ? SAMPLE_HAS_LATENCY : 0)),
                                            .latency = latency}});
    return (uint32_t)feeding->ordinal++;
}

static inline uint32_t feed_read(struct feeding *feeding, uint64_t addr)
{
    return feed_access(feeding, addr, 0, SAMPLE_READ, 0);
}

static inline void feed_home(struct feeding *feeding, uint64_t page, uint64_t size, int32_t node)
{
    feed(feeding, (struct event){.kind = EVENT_HOME, .home = {.page = page, .size = size, .node = node}});
}

static inline void feed_touch(struct feeding *feeding, uint64_t addr)
{
    feed(feeding, (struct event){.kind = EVENT_TOUCH, .touch = {.addr = addr, .write = true}});
}

/* The object of a sample, after flow_finish; NULL when it was not attributed. */
static inline const struct flow_object *object_of(struct feeding *feeding, uint32_t ordinal)
{
    uint32_t object = feeding->flow->marks.items[ordinal].object;
    return object == FLOW_NONE ? NULL : flow_object(feeding->flow, object);
}

static inline int home_of_sample(struct feeding *feeding, uint32_t ordinal)
{
    return feeding->flow->marks.items[ordinal].home;
}

#endif
