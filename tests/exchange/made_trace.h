/* made_trace.h - a small trace whose samples are known one by one, with names that no compiler would let through: what
 * exports are written from in tests. */
#ifndef NUMALENS_TESTS_EXCHANGE_MADE_TRACE_H
#define NUMALENS_TESTS_EXCHANGE_MADE_TRACE_H

#include "exchange/export/export.h"
#include "trace/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { MADE_PID = 100, MADE_SAMPLES = 6, MADE_REMOTE = 2, MADE_LATENCY = 350, MADE_TIMED = 3, MADE_KNOWN = 5 };

struct made {
    char path[40];
    struct trace_reader *reader;
    struct symbols *symbols;
    struct flow *flow;
};

static inline void made_append(struct trace_writer *writer, struct event event)
{
    event.pid = MADE_PID;
    event.tid = event.tid ? event.tid : MADE_PID;
    assert_int_equal(trace_writer_append(writer, &event, NULL), 0);
}

/* Two nodes with a CPU each. Page 0x10000 is on node 0, 0x20000 on node 1, and the file's on no node that is known. */
static inline void made_write(const char *path)
{
    const struct topology_description nodes[] = {{.os_index = 0, .cpus = "0"}, {.os_index = 1, .cpus = "1"}};
    struct topology *topology = topology_described(nodes, 2, NULL);
    char *text = topology_to_text(topology);
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "command", "made up");
    trace_session_set(session, "source", "soft");
    trace_session_set(session, "topology", text);
    struct trace_writer *writer = trace_writer_open(path, session, NULL);
    assert_non_null(writer);
    const uint64_t inner[] = {0x1100, 0x1200}, outer[] = {0x1300}, allocating[] = {0x1400};
    const struct event events[] = {
        {.time = 1000, .kind = EVENT_PROCESS_START, .process = {.exe = "/bin/a;b \"c\"", .command = "it"}},
        {.time = 1001, .kind = EVENT_THREAD_START, .thread = {.name = "main"}},
        {.time = 1001, .tid = 101, .kind = EVENT_THREAD_START, .thread = {.name = "w;o\nr\"k\xff"}},
        {.time = 1002,
         .kind = EVENT_MODULE_LOAD,
         .module = {.bias = 0x1000, .start = 0x1000, .end = 0x2000, .path = "/no/such/l;i\tb,\"x.so"}},
        {.time = 1002, .kind = EVENT_STACK, .stack = {.id = 1, .depth = 2, .frames = inner}},
        {.time = 1002, .kind = EVENT_STACK, .stack = {.id = 2, .depth = 1, .frames = outer}},
        {.time = 1002, .kind = EVENT_STACK, .stack = {.id = 3, .depth = 1, .frames = allocating}},
        {.time = 1003, .kind = EVENT_ALLOC, .alloc = {.addr = 0x10000, .size = 0x1000, .stack = 3}},
        {.time = 1003,
         .kind = EVENT_MAP,
         .map = {.addr = 0x30000, .size = 0x1000, .map_kind = MAP_KIND_FILE, .path = "/data/a,\"b\"\nc;d"}},
        {.time = 1004, .kind = EVENT_HOME, .home = {.page = 0x10000, .size = 4096, .node = 0}},
        {.time = 1004, .kind = EVENT_HOME, .home = {.page = 0x20000, .size = 4096, .node = 1}},
    };
    const struct event samples[MADE_SAMPLES] = {
        {.time = 2000,
         .sample = {.addr = 0x10010,
                    .latency = 100,
                    .stack = 1,
                    .cpu = 0,
                    .size = 8,
                    .flags = SAMPLE_READ | SAMPLE_HAS_LATENCY | SAMPLE_FIRST}},
        {.time = 2001, .sample = {.addr = 0x10018, .stack = 1, .cpu = 0, .size = 4, .flags = SAMPLE_WRITE}},
        {.time = 2002,
         .tid = 101,
         .sample = {.addr = 0x10020,
                    .latency = 200,
                    .stack = 1,
                    .cpu = 1,
                    .size = 8,
                    .flags = SAMPLE_READ | SAMPLE_HAS_LATENCY}},
        {.time = 2003,
         .tid = 101,
         .sample = {.addr = 0x10028, .stack = 2, .cpu = 1, .flags = SAMPLE_READ | SAMPLE_WRITE}},
        {.time = 2004,
         .tid = 101,
         .sample = {.addr = 0x20000, .latency = 50, .cpu = 1, .size = 8, .flags = SAMPLE_READ | SAMPLE_HAS_LATENCY}},
        {.time = 2005, .sample = {.addr = 0x30008, .stack = 2, .cpu = UINT16_MAX, .size = 8}},
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        made_append(writer, events[i]);
    for (size_t i = 0; i < MADE_SAMPLES; i++) {
        struct event event = samples[i];
        event.kind = EVENT_SAMPLE;
        made_append(writer, event);
    }
    assert_int_equal(trace_writer_close(writer, session, NULL), 0);
    trace_session_free(session);
    topology_free(topology);
    free(text);
}

static inline struct made made_open(void)
{
    struct made made = {.path = "/tmp/numalens-export-XXXXXX"};
    struct error err = {0};
    close(mkstemp(made.path));
    made_write(made.path);
    made.reader = trace_reader_open(made.path, &err);
    made.symbols = symbols_new();
    assert_non_null(made.reader);
    made.flow = flow_build(made.reader, made.symbols, &(struct flow_options){0}, &err);
    assert_non_null(made.flow);
    return made;
}

static inline void made_close(struct made *made)
{
    flow_free(made->flow);
    symbols_free(made->symbols);
    trace_reader_close(made->reader);
    unlink(made->path);
}

/* What a format writes of it, with a zero behind; the caller frees it. */
static inline char *made_export(export_write *write, struct export_options options, size_t *size)
{
    struct made made = made_open();
    struct error err = {0};
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(write(made.flow, &options, out, &err), 0);
    fclose(out);
    made_close(&made);
    if (size)
        *size = length;
    return text;
}

#endif
