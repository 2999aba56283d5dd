/* Bytes on disk: at most 12 a sample, 6 an allocation or release and 8 a page of an interval, on streams as real programs make them. */
#include "../scratch_file.h"
#include "trace/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

enum { EVENTS = 300000, THREADS = 4, LIVE = 40000, SITES = 300 };

static uint64_t state_of_random = 88172645463325252u;

static uint64_t next(void)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return state_of_random * 0x2545f4914f6cdd1du >> 11;
}

static double uniform(void)
{
    return (double)next() / (double)((uint64_t)1 << 53);
}

/* Times between events are spread as waiting times are. */
static uint64_t waiting(double mean)
{
    return (uint64_t)(-mean * log(1 - uniform()));
}

/* Few sites make most events. */
static uint32_t site(void)
{
    return 1 + (uint32_t)(SITES * pow(uniform(), 3));
}

static struct trace_writer *open_writer(void)
{
    struct error err;
    struct trace_session *session = trace_session_new();
    struct trace_writer *writer = trace_writer_open(scratch_path, session, &err);
    trace_session_free(session);
    assert_non_null(writer);
    return writer;
}

/* Addresses as a common malloc hands them out: a block that was released last is given out first, of the same size; else
 * the next in order. Not the C library's own: with a sanitizer that is another one. */
enum { CLASSES = 512 };
struct heap {
    struct {
        uint64_t *free;
        size_t count, capacity;
    } classes[CLASSES];
    uint64_t used;
    uint16_t class_of[1 << 20]; /* by place, in units of 16 bytes */
};

static uint64_t heap_place(struct heap *heap, size_t size)
{
    size_t class = (size + 8 + 15) / 16;
    assert_true(class < CLASSES);
    if (heap->classes[class].count)
        return heap->classes[class].free[--heap->classes[class].count];
    uint64_t at = heap->used;
    heap->used += class;
    assert_true(heap->used < sizeof heap->class_of / sizeof *heap->class_of);
    heap->class_of[at] = (uint16_t) class;
    return 0x555555560000 + 16 * at;
}

static void heap_release(struct heap *heap, uint64_t address)
{
    size_t class = heap->class_of[(address - 0x555555560000) / 16];
    if (heap->classes[class].count == heap->classes[class].capacity) {
        heap->classes[class].capacity = heap->classes[class].capacity * 2 + 64;
        heap->classes[class].free =
            realloc(heap->classes[class].free, heap->classes[class].capacity * sizeof *heap->classes[class].free);
    }
    heap->classes[class].free[heap->classes[class].count++] = address;
}

static void heap_drop(struct heap *heap)
{
    for (size_t i = 0; i < CLASSES; i++)
        free(heap->classes[i].free);
}

static void allocations(void **unused)
{
    (void)unused;
    struct error err;
    struct trace_writer *writer = open_writer();
    uint64_t *live = calloc(LIVE, sizeof *live);
    static struct heap heap;
    uint64_t times[THREADS] = {0}, base = trace_writer_bytes(writer), events = 0;
    while (events < EVENTS) {
        uint32_t thread = (uint32_t)(next() % THREADS);
        uint64_t slot = next() % LIVE;
        /* Most blocks have short lifetimes, some long ones. */
        if (next() % 4)
            slot = thread * 64 + slot % 64;
        struct event event = {.pid = 1000, .tid = 1000 + thread};
        times[thread] += waiting(400);
        event.time = times[thread] & ~(uint64_t)15; /* as the recorder does */
        if (live[slot]) {
            event.kind = EVENT_FREE;
            event.free = (struct event_free){live[slot], (uint16_t)(thread % 2), ALLOC_FREE};
            heap_release(&heap, live[slot]);
            live[slot] = 0;
        } else {
            uint32_t stack = site();
            /* Half of the sites allocate one size, the others whatever comes. */
            size_t size = stack % 2 ? 16 + stack * 24 % 700 : 1 + (size_t)exp(3 + 5 * uniform());
            live[slot] = heap_place(&heap, size);
            event.kind = EVENT_ALLOC;
            event.alloc = (struct event_alloc){live[slot], size, stack, (uint16_t)(thread % 2), ALLOC_MALLOC};
        }
        assert_int_equal(trace_writer_append(writer, &event, &err), 0);
        events++;
    }
    assert_int_equal(trace_writer_flush(writer, &err), 0);
    double bytes = (double)(trace_writer_bytes(writer) - base) / (double)events;
    print_message("# %.2f bytes an allocation or release\n", bytes);
    assert_true(bytes <= 6);
    trace_writer_close(writer, NULL, NULL);
    heap_drop(&heap);
    free(live);
}

/* Bursts of eight accesses: some walk arrays, some gather from a gigabyte, some chase small nodes. */
static void samples(void **unused)
{
    (void)unused;
    struct error err;
    struct trace_writer *writer = open_writer();
    uint64_t times[THREADS] = {0}, walks[SITES + 2], base = trace_writer_bytes(writer), events = 0;
    for (uint32_t i = 0; i < SITES + 2; i++)
        walks[i] = 0x7f0000000000 + ((uint64_t)i << 26);
    while (events < EVENTS) {
        uint32_t thread = (uint32_t)(next() % THREADS), first = site();
        times[thread] += waiting(5e6);
        for (int access = 0; access < 8; access++) {
            uint32_t stack = 1 + (first + (uint32_t)access % 3) % SITES;
            walks[stack] += 8 * (1 + next() % 2000);
            uint64_t addr = stack % 3 == 0   ? walks[stack] & ~(uint64_t)7
                            : stack % 3 == 1 ? 0x7e0000000000 + (next() % ((uint64_t)1 << 30) & ~(uint64_t)7)
                                             : 0x555555000000 + (next() % (8 << 20) & ~(uint64_t)15);
            times[thread] += 800 + next() % 400;
            struct event event = {.time = times[thread], .pid = 1000, .tid = 1000 + thread, .kind = EVENT_SAMPLE};
            event.sample = (struct event_sample){
                .addr = addr,
                .latency = (uint32_t)exp(2 + 4 * uniform()),
                .stack = stack,
                .cpu = (uint16_t)(thread + (next() % 50 == 0)),
                .size = (uint16_t)(stack % 5 ? 8 : 4),
                .flags = (uint8_t)((stack % 4 ? SAMPLE_READ : SAMPLE_WRITE) | SAMPLE_HAS_LATENCY |
                                   (access == 0 ? SAMPLE_FIRST : 0)),
            };
            assert_int_equal(trace_writer_append(writer, &event, &err), 0);
            events++;
        }
        /* A thousand samples a second and thread: a block each second holds a few thousand. */
        if (events % 4000 < 8)
            assert_int_equal(trace_writer_flush(writer, &err), 0);
    }
    assert_int_equal(trace_writer_flush(writer, &err), 0);
    double bytes = (double)(trace_writer_bytes(writer) - base) / (double)events;
    print_message("# %.2f bytes a sample\n", bytes);
    assert_true(bytes <= 12);
    trace_writer_close(writer, NULL, NULL);
}

/* Intervals of 50 ms: each thread sweeps on through its array and comes back to a few pages that it always uses. */
static void pages(void **unused)
{
    (void)unused;
    enum { PAGES = 500, COMMON = 40 };
    struct error err;
    struct trace_writer *writer = open_writer();
    uint64_t base = trace_writer_bytes(writer), events = 0;
    for (uint64_t interval = 0; events < EVENTS; interval++) {
        for (uint32_t thread = 0; thread < THREADS; thread++) {
            uint64_t array = 0x7f0000000000 + ((uint64_t)thread << 32), cpus[] = {1u << thread};
            for (uint64_t i = 0; i < PAGES + COMMON; i++) {
                struct event event = {.time = interval * 50000000, .pid = 1000, .tid = 1000 + thread};
                uint64_t number = i < COMMON ? i * 7 : 1000 + (interval * PAGES + i) % 100000;
                event.kind = EVENT_PAGE;
                event.page = (struct event_page){
                    .page = array + number * 4096,
                    .size = 4096,
                    .physical = next() % ((uint64_t)1 << 24) << 12, /* frames have no order */
                    .until = (interval + 1) * 50000000,
                    .ip = 0x555555550000 + next() % 8 * 36,
                    .reads = next() % 4 != 0,
                    .writes = next() % 4 == 0,
                    .mechanism = PAGE_NUMA_HINT,
                    .cpu_words = 1,
                    .cpus = cpus,
                };
                assert_int_equal(trace_writer_append(writer, &event, &err), 0);
                events++;
            }
        }
    }
    assert_int_equal(trace_writer_flush(writer, &err), 0);
    double bytes = (double)(trace_writer_bytes(writer) - base) / (double)events;
    print_message("# %.2f bytes a page of an interval\n", bytes);
    assert_true(bytes <= 8);
    trace_writer_close(writer, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations),
        cmocka_unit_test(samples),
        cmocka_unit_test(pages),
    };
    return cmocka_run_group_tests_name("size", tests, scratch_make, scratch_remove);
}
