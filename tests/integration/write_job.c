/* write_job FOLDER RANKS SLOW - small traces of a job whose rank SLOW works all the time at the one block that it
 * allocates; the others spend three quarters of theirs in MPI. Forty bursts a rank, four hosts. */
#include "trace/writer.h"

#include <stdio.h>
#include <stdlib.h>

enum { PID = 100, BURSTS = 40, BLOCK = 0x10000, PROGRAM = 0x400000, LIBRARY = 0x7f000000 };

static void add(struct trace_writer *writer, struct event event)
{
    event.pid = event.tid = PID;
    if (trace_writer_append(writer, &event, NULL) < 0)
        exit(1);
}

static void add_events(struct trace_writer *writer, unsigned waits)
{
    static const uint64_t work[] = {PROGRAM + 0x1000}, wait[] = {LIBRARY + 0x1000, PROGRAM + 0x1000};
    add(writer,
        (struct event){.time = 1, .kind = EVENT_PROCESS_START, .process = {.exe = "/nowhere/app", .command = "app"}});
    add(writer, (struct event){.time = 2, .kind = EVENT_THREAD_START, .thread = {.name = "main"}});
    add(writer, (struct event){
                    .time = 3,
                    .kind = EVENT_MODULE_LOAD,
                    .module = {.bias = PROGRAM, .start = PROGRAM, .end = PROGRAM + 0x10000, .path = "/nowhere/app"}});
    add(writer,
        (struct event){
            .time = 3,
            .kind = EVENT_MODULE_LOAD,
            .module = {.bias = LIBRARY, .start = LIBRARY, .end = LIBRARY + 0x10000, .path = "/nowhere/libmpi.so.40"}});
    add(writer, (struct event){.time = 1, .kind = EVENT_STACK, .stack = {.id = 1, .depth = 1, .frames = work}});
    add(writer, (struct event){.time = 1, .kind = EVENT_STACK, .stack = {.id = 2, .depth = 2, .frames = wait}});
    add(writer, (struct event){.time = 20, .kind = EVENT_ALLOC, .alloc = {.addr = BLOCK, .size = 4096, .stack = 1}});
    for (unsigned i = 0; i < BURSTS; i++)
        add(writer, (struct event){.time = 100 + i,
                                   .kind = EVENT_SAMPLE,
                                   .sample = {.addr = BLOCK + i * 8,
                                              .latency = 5,
                                              .size = 8,
                                              .stack = i < waits ? 2 : 1,
                                              .flags = SAMPLE_FIRST | SAMPLE_READ | SAMPLE_HAS_LATENCY}});
}

static int write_rank(const char *folder, unsigned rank, unsigned ranks, unsigned slow)
{
    char path[512];
    snprintf(path, sizeof path, "%s/rank-%05u.data", folder, rank);
    struct trace_session *session = trace_session_new(), *ending = trace_session_new();
    trace_session_set(session, "command", "app");
    trace_session_set(session, "source", "soft");
    trace_session_set(session, "burst", "1");
    trace_session_set(session, "latency_unit", "ns");
    trace_session_setf(session, "host", "node%u", rank % 4);
    trace_session_setf(session, "rank", "%u", rank);
    trace_session_setf(session, "ranks", "%u", ranks);
    trace_session_set(session, "job", "made-up");
    trace_session_set(session, "launcher", "pmi");
    trace_session_set(ending, "exit_status", "0");
    trace_session_set(ending, "duration_ns", "1000000000");
    trace_session_set(ending, "cpu_ns", "1000000000");
    struct trace_writer *writer = trace_writer_open(path, session, NULL);
    if (writer)
        add_events(writer, rank == slow ? 0 : BURSTS * 3 / 4);
    int failed = !writer || trace_writer_close(writer, ending, NULL) < 0;
    trace_session_free(session);
    trace_session_free(ending);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    unsigned ranks = (unsigned)atoi(argv[2]), slow = (unsigned)atoi(argv[3]);
    for (unsigned rank = 0; rank < ranks; rank++)
        if (write_rank(argv[1], rank, ranks, slow))
            return 1;
    return 0;
}
