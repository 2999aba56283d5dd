/* make_trace.c - writes a trace of many events: blocks that come and go in several threads, one sample in ten events.
 *     make_trace FILE EVENTS LIVE
 * LIVE blocks live at once, of 16 sizes, made by 200 call chains; an eighth of the samples fall on any of them, the others
 * on a few hot ones. */
#include "base/mem.h"
#include "../made_up.h"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8, CHAINS = 200, DEPTH = 8, PID = 1000, HOT = 64 };

struct heap { /* slots of one size are adjacent; a freed one is used again, as allocators do */
    uint64_t *slots;
    uint32_t *free_slots;
    size_t live, free_count, made;
};

static uint64_t address_of(uint64_t slot)
{
    return 0x7f0000000000u + slot * 256;
}

static void begin(struct trace_writer *writer)
{
    struct event event = {.time = 1, .pid = PID, .tid = PID, .kind = EVENT_PROCESS_START};
    event.process = (struct event_process){.exe = "/bin/none", .command = "made up"};
    made_up_append(writer, &event);
    for (uint32_t i = 0; i < THREADS; i++) {
        event = (struct event){.time = 2 + i, .pid = PID, .tid = PID + i, .kind = EVENT_THREAD_START};
        event.thread.name = "worker";
        made_up_append(writer, &event);
    }
    for (uint32_t chain = 1; chain <= CHAINS; chain++) {
        uint64_t frames[DEPTH];
        for (unsigned i = 0; i < DEPTH; i++)
            frames[i] = 0x400000 + (i < 2 ? chain * 64 + i * 16 : i * 4096 + chain % 7);
        event = (struct event){.time = 20, .pid = PID, .tid = PID, .kind = EVENT_STACK};
        event.stack = (struct event_stack){.id = chain, .depth = DEPTH, .frames = frames};
        made_up_append(writer, &event);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: make_trace FILE EVENTS LIVE\n");
        return 2;
    }
    uint64_t events = strtoull(argv[2], NULL, 10), live = strtoull(argv[3], NULL, 10);
    struct trace_writer *writer = made_up_open(argv[1]);
    begin(writer);
    struct heap heap = {.slots = mem_alloc((live + 1) * sizeof *heap.slots),
                        .free_slots = mem_alloc((live + 1) * sizeof *heap.free_slots)};
    uint64_t time = 1000;
    for (uint64_t i = 0; i < events; i++) {
        struct event event = {.time = time += 20 + chance(200), .pid = PID, .tid = PID + (uint32_t)chance(THREADS)};
        if (i % 10 == 9 && heap.live) {
            uint64_t slot = heap.slots[chance(8) ? chance(HOT < heap.live ? HOT : heap.live) : chance(heap.live)];
            event.kind = EVENT_SAMPLE;
            event.sample = (struct event_sample){.addr = address_of(slot) + chance(2) * 8,
                                                 .latency = (uint32_t)(20 + chance(300)),
                                                 .stack = 1 + (uint32_t)chance(CHAINS),
                                                 .cpu = (uint16_t)chance(THREADS),
                                                 .size = 8,
                                                 .flags = SAMPLE_READ | SAMPLE_HAS_LATENCY};
        } else if (heap.live < HOT || (heap.live < live && (heap.live < live / 2 || chance(2)))) {
            uint64_t slot = heap.free_count ? heap.free_slots[--heap.free_count] : heap.made++;
            heap.slots[heap.live++] = slot;
            event.kind = EVENT_ALLOC;
            event.alloc = (struct event_alloc){.addr = address_of(slot),
                                               .size = 16 * (1 + chance(16)),
                                               .stack = 1 + (uint32_t)chance(CHAINS),
                                               .cpu = (uint16_t)chance(THREADS),
                                               .fn = ALLOC_MALLOC};
        } else { /* mostly young ones die; the hot ones stay */
            uint64_t old = heap.live - HOT, young = old < 1000 ? old : 1000;
            uint64_t at = chance(4) ? heap.live - 1 - chance(young) : HOT + chance(old);
            event.kind = EVENT_FREE;
            event.free = (struct event_free){.addr = address_of(heap.slots[at]), .fn = ALLOC_FREE};
            heap.free_slots[heap.free_count++] = (uint32_t)heap.slots[at];
            heap.slots[at] = heap.slots[--heap.live];
        }
        made_up_append(writer, &event);
    }
    printf("live %zu\n", heap.live);
    made_up_close(writer);
    free(heap.slots);
    free(heap.free_slots);
    return 0;
}
