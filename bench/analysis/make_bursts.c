/* make_bursts.c - writes a trace that is nearly all samples, in bursts of 16, as a long run of 8 threads gives.
 *     make_bursts FILE SAMPLES OBJECTS
 * OBJECTS blocks of a page to 256 KiB live all the time. A burst walks through one of them, in order or at random; half of the
 * bursts hit one of 64 hot ones. A quarter of the blocks is shared, the others belong to one thread each. The run is as
 * long as the number of samples makes it: 100 bursts a second and thread. */
#include "base/mem.h"
#include "../made_up.h"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8, CHAINS = 64, DEPTH = 8, PID = 1000, HOT = 64, BURST = 16, SPACING = 1u << 18 };

static void append(struct trace_writer *writer, struct event event)
{
    event.pid = PID;
    made_up_append(writer, &event);
}

static uint64_t size_of(uint64_t object)
{
    return 4096ul << object % 7;
}

static void begin(struct trace_writer *writer, uint64_t objects)
{
    made_up_threads(writer, PID, THREADS);
    for (uint32_t chain = 1; chain <= CHAINS; chain++) {
        uint64_t frames[DEPTH];
        for (unsigned i = 0; i < DEPTH; i++)
            frames[i] = 0x400000 + (i < 2 ? chain * 64 + i * 16 : i * 4096 + chain % 7);
        append(writer, (struct event){.time = 20,
                                      .tid = PID,
                                      .kind = EVENT_STACK,
                                      .stack = {.id = chain, .depth = DEPTH, .frames = frames}});
    }
    for (uint64_t i = 0; i < objects; i++) {
        uint64_t addr = 0x7f0000000000u + i * SPACING;
        append(writer, (struct event){.time = 100 + i,
                                      .tid = PID,
                                      .kind = EVENT_ALLOC,
                                      .alloc = {.addr = addr, .size = size_of(i), .stack = 1 + i % CHAINS}});
        for (uint64_t page = 0; page < size_of(i); page += 4096)
            append(writer,
                   (struct event){
                       .time = 100 + i, .tid = PID + i % THREADS, .kind = EVENT_TOUCH, .touch = {.addr = addr + page}});
    }
}

static void burst(struct trace_writer *writer, uint64_t time, uint64_t objects)
{
    uint64_t object = chance(2) ? chance(HOT < objects ? HOT : objects) : chance(objects);
    uint32_t thread = (uint32_t)(object % 4 ? object % THREADS : chance(THREADS));
    uint64_t size = size_of(object), at = chance(size / 8) * 8;
    bool random = object % 3 == 0;
    for (unsigned i = 0; i < BURST; i++) {
        bool writes = chance(5) == 0;
        append(writer,
               (struct event){.time = time + i * 500,
                              .tid = PID + thread,
                              .kind = EVENT_SAMPLE,
                              .sample = {.addr = 0x7f0000000000u + object * SPACING + at,
                                         .latency = (uint32_t)(chance(4) ? chance(20) : 90 + chance(60)),
                                         .stack = 1 + (uint32_t)(object % CHAINS),
                                         .cpu = (uint16_t)thread,
                                         .size = 8,
                                         .flags = (uint8_t)((writes ? SAMPLE_WRITE : SAMPLE_READ | SAMPLE_HAS_LATENCY) |
                                                            (i ? 0 : SAMPLE_FIRST))}});
        at = random ? chance(size / 8) * 8 : (at + 8) % size;
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: make_bursts FILE SAMPLES OBJECTS\n");
        return 2;
    }
    uint64_t samples = strtoull(argv[2], NULL, 10), objects = strtoull(argv[3], NULL, 10);
    struct trace_writer *writer = made_up_open(argv[1]);
    begin(writer, objects);
    uint64_t time = 100 + objects;
    for (uint64_t i = 0; i < samples / BURST; i++)
        burst(writer, time += 1000000 + chance(500000), objects);
    made_up_close(writer);
    return 0;
}
