/* made_up.h - a trace whose right answers are known: three threads take turns on blocks A and B, then A is freed and C
 * takes its place.
 *
 * Sample i (of SHARED) at time 100 + i: thread i % 3, on A when i is even, else on B; a write when i % 5 == 0, else a
 * read with latency i % 50 + 1; with a call chain when i < 100. Then TAIL reads of C by the third thread, and one read
 * of an address nobody owns by the first, on a CPU that is not known. On a machine of three nodes with one CPU each, the threads are on nodes 0, 1
 * and 2, A and C on node 0, B on node 1. */
#ifndef NUMALENS_TESTS_MADE_UP_H
#define NUMALENS_TESTS_MADE_UP_H

#include "numalens/flow.h"
#include "trace/writer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define ESCAPE "\x1b[31m"

enum { PID = 100, SHARED = 300, TAIL = 10, ALL = SHARED + TAIL + 1, A = 0x10000, B = 0x20000, SIZE = 4096 };

static char made_up_path[64];

static inline void made_up_add(struct trace_writer *writer, struct event event)
{
    event.pid = PID;
    event.tid = event.tid ? event.tid : PID;
    assert_int_equal(trace_writer_append(writer, &event, NULL), 0);
}

static inline int made_up_write(void **state)
{
    (void)state;
    static const uint64_t frames[] = {0x1234, 0x2345};
    snprintf(made_up_path, sizeof made_up_path, "/tmp/numalens-test-api-%d.data", (int)getpid());
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "command", "made " ESCAPE "up");
    trace_session_set(session, "latency_unit", "ns");
    struct trace_writer *writer = trace_writer_open(made_up_path, session, NULL);
    assert_non_null(writer);
    made_up_add(writer, (struct event){.time = 1,
                                       .kind = EVENT_PROCESS_START,
                                       .process = {.exe = "/bin/it" ESCAPE, .command = "it -x"}});
    made_up_add(writer, (struct event){.time = 2, .kind = EVENT_THREAD_START, .thread = {.name = "main"}});
    made_up_add(writer,
                (struct event){.time = 3, .tid = PID + 1, .kind = EVENT_THREAD_START, .thread = {.name = "worker 1"}});
    made_up_add(
        writer,
        (struct event){.time = 4, .tid = PID + 2, .kind = EVENT_THREAD_START, .thread = {.name = "worker " ESCAPE}});
    made_up_add(writer,
                (struct event){.time = 5, .kind = EVENT_STACK, .stack = {.id = 1, .depth = 2, .frames = frames}});
    made_up_add(writer, (struct event){
                            .time = 20, .kind = EVENT_ALLOC, .alloc = {.addr = A, .size = SIZE, .stack = 1, .cpu = 1}});
    made_up_add(writer,
                (struct event){
                    .time = 21, .tid = PID + 1, .kind = EVENT_ALLOC, .alloc = {.addr = B, .size = SIZE, .stack = 1}});
    for (uint32_t i = 0; i < SHARED; i++) {
        bool write = i % 5 == 0;
        made_up_add(writer,
                    (struct event){.time = 100 + i,
                                   .tid = PID + i % 3,
                                   .kind = EVENT_SAMPLE,
                                   .sample = {.addr = (i % 2 ? B : A) + i % 64 * 8,
                                              .latency = write ? 0 : i % 50 + 1,
                                              .size = 8,
                                              .stack = i < 100,
                                              .level = LEVEL_RAM,
                                              .flags = write ? SAMPLE_WRITE : SAMPLE_READ | SAMPLE_HAS_LATENCY}});
    }
    made_up_add(writer, (struct event){.time = 1000, .kind = EVENT_FREE, .free = {.addr = A, .fn = ALLOC_FREE}});
    made_up_add(writer,
                (struct event){
                    .time = 1010, .tid = PID + 2, .kind = EVENT_ALLOC, .alloc = {.addr = A, .size = SIZE, .stack = 1}});
    for (uint32_t i = 0; i < TAIL; i++)
        made_up_add(writer, (struct event){.time = 1020 + i,
                                           .tid = PID + 2,
                                           .kind = EVENT_SAMPLE,
                                           .sample = {.addr = A + 16, .flags = SAMPLE_READ}});
    made_up_add(writer, (struct event){.time = 1100,
                                       .kind = EVENT_SAMPLE,
                                       .sample = {.addr = 0xdead0000, .cpu = UINT16_MAX, .flags = SAMPLE_READ}});
    made_up_add(writer,
                (struct event){.time = 1200, .kind = EVENT_LOSS, .loss = {.cause = LOSS_RING_FULL, .count = 7}});
    assert_int_equal(trace_writer_close(writer, session, NULL), 0);
    trace_session_free(session);
    return 0;
}

static inline int made_up_remove(void **state)
{
    (void)state;
    return unlink(made_up_path);
}

/* Opened as a machine with `nodes` nodes of one CPU each. */
static inline nlens_trace *made_up_open(const char *topology)
{
    nlens_error err;
    nlens_options options = {.size = sizeof options, .topology = topology};
    nlens_trace *trace = nlens_open_with(made_up_path, &options, &err);
    if (!trace)
        fail_msg("%s", err.text);
    return trace;
}

#endif
