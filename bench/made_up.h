/* made_up.h - what programs that write traces for benchmarks have in common: chance that is the same each time, a writer
 * that is opened, fed and closed, and an end at the first failure. */
#ifndef NUMALENS_BENCH_MADE_UP_H
#define NUMALENS_BENCH_MADE_UP_H

#include "trace/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static inline uint64_t chance(uint64_t below)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static inline void made_up_must(int failed, const struct error *err)
{
    if (failed < 0) {
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, err->text);
        exit(1);
    }
}

static inline struct trace_writer *made_up_open(const char *path)
{
    struct error err = {0};
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "command", "made up");
    trace_session_set(session, "source", "none");
    struct trace_writer *writer = trace_writer_open(path, session, &err);
    made_up_must(writer ? 0 : -1, &err);
    trace_session_free(session);
    return writer;
}

static inline void made_up_append(struct trace_writer *writer, const struct event *event)
{
    struct error err = {0};
    made_up_must(trace_writer_append(writer, event, &err), &err);
}

/* A process with so many threads, numbered from its own number on. */
static inline void made_up_threads(struct trace_writer *writer, uint32_t pid, uint32_t count)
{
    made_up_append(writer, &(struct event){.time = 1,
                                           .pid = pid,
                                           .tid = pid,
                                           .kind = EVENT_PROCESS_START,
                                           .process = {.exe = "/bin/none", .command = "made up"}});
    for (uint32_t i = 0; i < count; i++)
        made_up_append(
            writer,
            &(struct event){
                .time = 2 + i, .pid = pid, .tid = pid + i, .kind = EVENT_THREAD_START, .thread = {.name = "worker"}});
}

static inline void made_up_close(struct trace_writer *writer)
{
    struct error err = {0};
    struct trace_session *ending = trace_session_new();
    trace_session_set(ending, "exit_status", "0");
    made_up_must(trace_writer_close(writer, ending, &err), &err);
    trace_session_free(ending);
}

#endif
