/* make_streams.c - writes a recording with traffic: 32 threads that stream through eight arrays, each through its own part.
 *     make_streams FILE SAMPLES
 * Bursts of 28 samples, and one long burst for each 64 of them. The first thread touched all pages first. */
#include "../made_up.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 32, ARRAYS = 8, PID = 1000, BURST = 28, STREAMS = 4, PAGE = 4096, LONG = 64, ROWS = 512 };
static const uint64_t size = 32ul << 20, first = 0x7f0000000000u;

static void append(struct trace_writer *writer, struct event event)
{
    event.pid = PID;
    made_up_append(writer, &event);
}

static struct trace_writer *open_writer(const char *path)
{
    struct error err = {0};
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "command", "made up");
    trace_session_set(session, "source", "soft");
    trace_session_set(session, "traffic", "bursts");
    trace_session_set(session, "calibration", "1 nodes=1 L1:32768:1:0 L2:1048576:4:3 L3:8388608:30:25 0>0:105:100");
    struct trace_writer *writer = trace_writer_open(path, session, &err);
    made_up_must(writer ? 0 : -1, &err);
    trace_session_free(session);
    return writer;
}

static void begin(struct trace_writer *writer)
{
    made_up_threads(writer, PID, THREADS);
    for (uint32_t array = 0; array < ARRAYS; array++) {
        uint64_t frames[] = {0x400000 + array * 64, 0x500000}, addr = first + array * 2 * size;
        append(writer, (struct event){.time = 50,
                                      .tid = PID,
                                      .kind = EVENT_STACK,
                                      .stack = {.id = 1 + array, .depth = 2, .frames = frames}});
        append(writer, (struct event){.time = 60,
                                      .tid = PID,
                                      .kind = EVENT_ALLOC,
                                      .alloc = {.addr = addr, .size = size, .stack = 1 + array}});
        for (uint64_t page = 0; page < size; page += PAGE)
            append(writer, (struct event){.time = 70, .tid = PID, .kind = EVENT_TOUCH, .touch = {.addr = addr + page}});
    }
}

/* Where in an array a thread is: its own part of it. */
static uint64_t somewhere(uint32_t array, uint32_t thread)
{
    const uint64_t part = size / THREADS;
    return first + array * 2 * size + thread * part + chance(part / 2 / 8) * 8;
}

static void burst(struct trace_writer *writer, uint64_t time, uint32_t thread, uint32_t number)
{
    for (uint32_t i = 0; i < BURST; i++) {
        uint32_t array = (number + i % STREAMS) % ARRAYS;
        append(writer, (struct event){
                           .time = time + i * 100,
                           .tid = PID + thread,
                           .kind = EVENT_SAMPLE,
                           .sample = {.addr = somewhere(array, thread),
                                      .latency = 3,
                                      .stack = 1 + array,
                                      .cpu = (uint16_t)thread,
                                      .size = 8,
                                      .flags = (uint8_t)(SAMPLE_READ | SAMPLE_HAS_LATENCY | (i ? 0 : SAMPLE_FIRST))}});
    }
}

/* Of every eight accesses one is to a line that was not used before. */
static void long_burst(struct trace_writer *writer, uint64_t time, uint32_t thread, uint32_t number)
{
    const uint64_t weight = 256;
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t array = (number + i % STREAMS) % ARRAYS;
        bool fresh = i / STREAMS % 8 == 0;
        uint64_t before = fresh ? (i + 1) * weight : 4;
        append(writer,
               (struct event){.time = time,
                              .tid = PID + thread,
                              .kind = EVENT_REUSE,
                              .reuse = {.pc = 0x400000 + array * 64,
                                        .addr = somewhere(array, thread),
                                        .count = weight,
                                        .burst = number,
                                        .bin = (uint16_t)reuse_bin(before),
                                        .flags = (uint8_t)((fresh ? REUSE_AT_LEAST : 0) | (array ? 0 : REUSE_WRITE))}});
    }
    append(writer, (struct event){.time = time,
                                  .tid = PID + thread,
                                  .kind = EVENT_LONG_BURST,
                                  .long_burst = {.accesses = ROWS * weight,
                                                 .counted = 100000 + chance(5000),
                                                 .counted_ns = 100000,
                                                 .process_ns = number * 5000000ul,
                                                 .took_ns = 1000000,
                                                 .burst = number,
                                                 .rows = ROWS}});
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: make_streams FILE SAMPLES\n");
        return 2;
    }
    uint64_t samples = strtoull(argv[2], NULL, 10), time = 1000;
    uint32_t bursts = 0;
    struct trace_writer *writer = open_writer(argv[1]);
    begin(writer);
    for (uint32_t number = 1; number <= samples / BURST / THREADS; number++)
        for (uint32_t thread = 0; thread < THREADS; thread++) {
            burst(writer, time += 150000, thread, number);
            if (++bursts % LONG == 0)
                long_burst(writer, time += 150000, thread, bursts / LONG);
        }
    made_up_close(writer);
    return 0;
}
