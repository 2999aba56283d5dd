/* What a made-up recording asks of memory: bytes, CPU time, and which threads run at the same time. */
#include "../analysis/long_bursts.h"
#include "analysis/thresholds.h"

#include "analysis/traffic/traffic.h"
#include "predict/demand.h"

#include <link.h>
#include <math.h>
#include <string.h>

enum { ROUNDS = 40, TICKS = 8, ARRAY = 1 << 28, WINDOW = 1 << 22, CACHE = 1 << 20 };

static _Thread_local volatile char copies[ARRAY / 64];

#define RATE 8e9 /* bytes per second of CPU time: an access a ns, and a line for each eighth */

static struct feeding begin(void)
{
    struct feeding f = feeding_new("numa:2 core:1", ASSIGN_PACKED);
    uint64_t frames[] = {0x400000, 0x500000};
    feeding_record(&f);
    feed_start(&f, PID, 1, false);
    feed_thread(&f, PID + 1, "worker", 0, 0);
    feed_stack(&f, CHAIN, 2, frames);
    feed_alloc(&f, HEAP, ARRAY, CHAIN);
    return f;
}

/* 10 ms of a thread: ticks in its place of the array. */
static void round_of(struct feeding *f, uint32_t thread, uint32_t number, uint8_t flags)
{
    for (unsigned i = 0; i < TICKS; i++)
        feed_burst(f,
                   (struct burst_of){.thread = thread,
                                     .addr = HEAP + (uint64_t)(number * TICKS + i) * (ARRAY / ROUNDS / TICKS / 64 * 64),
                                     .flags = flags,
                                     .stack = CHAIN});
}

/* What ends `cpu_ms` of the process. */
static void look(struct feeding *f, uint32_t thread, uint32_t number, uint64_t cpu_ms)
{
    feed_long_burst(
        f,
        (struct long_of){.thread = thread, .number = number, .addr = HEAP, .size = WINDOW, .process_ns = cpu_ms * MS});
}

static struct demand *end(struct feeding *f, struct error *err)
{
    feeding_build(f);
    struct traffic *traffic = traffic_make(f->flow, CACHE);
    struct demand *demand = demand_make(f->flow, traffic, err);
    traffic_free(traffic);
    feeding_free(f);
    return demand;
}

static void near(double got, double right)
{
    if (fabs(got - right) > 0.05 * right)
        fail_msg("%g, and %g is right", got, right);
}

static void no_traffic(void **state)
{
    (void)state;
    struct error err = {0};
    struct feeding f = begin();
    round_of(&f, 0, 0, 0);
    assert_null(end(&f, &err));
    assert_non_null(strstr(err.text, "--no-traffic"));
}

static void too_few(void **state)
{
    (void)state;
    struct error err = {0};
    struct feeding f = begin();
    for (uint32_t i = 0; i + 1 < thresholds.long_bursts; i++) {
        f.time += 10 * MS;
        round_of(&f, 0, i, 0);
        look(&f, 0, i, 10 * (i + 1));
    }
    assert_null(end(&f, &err));
    assert_non_null(strstr(err.text, "record longer"));
}

/* What is stored once, and read from then on, is settled from then on. */
static void stored_once(void **state)
{
    (void)state;
    struct error err = {0};
    struct feeding f = begin();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        f.time += 10 * MS;
        round_of(&f, 0, i, i == ROUNDS / 2 ? SAMPLE_WRITE : 0);
        look(&f, 0, i, 10 * (i + 1));
    }
    struct demand *demand = end(&f, &err);
    assert_non_null(demand);
    double settled = 0, stores = 0, all = 0;
    array_each (&demand->cells, const struct demand_cell, cell) {
        settled += cell->settled ? cell->bytes : 0;
        stores += cell->stores ? cell->bytes : 0;
        all += cell->bytes;
        assert_false(cell->settled && cell->stores);
    }
    near(stores, all / ROUNDS);
    near(settled, all * (ROUNDS - ROUNDS / 2 - 1) / ROUNDS);
    demand_free(demand);
}

static double sum(const struct demand *demand, uint32_t phase)
{
    double bytes = 0;
    array_each (&demand->cells, const struct demand_cell, cell)
        bytes += cell->phase == phase ? cell->bytes : 0;
    return bytes;
}

static void side_by_side(void **state)
{
    (void)state;
    struct error err = {0};
    struct feeding f = begin();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        f.time += 10 * MS;
        round_of(&f, 0, i, 0);
        round_of(&f, 1, i, 0);
        look(&f, i % 2, i, 20 * (i + 1));
    }
    struct demand *demand = end(&f, &err);
    assert_non_null(demand);
    assert_int_equal(demand->phase_count, 1);
    assert_int_equal(demand->threads.count, 2);
    assert_int_equal(demand->threads.items[0].node + demand->threads.items[1].node, 1);
    near(demand->cpu_s[0], ROUNDS * 0.01);
    near(demand->cpu_s[1], ROUNDS * 0.01);
    near(sum(demand, 0), 2 * RATE * ROUNDS * 0.01);
    assert_int_equal(demand->object_count, 1);
    assert_int_equal(demand->part_count, 2 * ROUNDS * TICKS / (unsigned)thresholds.bursts);
    array_each (&demand->cells, const struct demand_cell, cell) {
        assert_true(cell->loads == 0 && !cell->stores && cell->part < demand->part_count);
        near(cell->lower_bound, cell->bytes);
    }
    demand_free(demand);
}

static void one_after_the_other(void **state)
{
    (void)state;
    struct error err = {0};
    struct feeding f = begin();
    for (uint32_t i = 0; i < 2 * ROUNDS; i++) {
        f.time += 10 * MS;
        round_of(&f, i / ROUNDS, i % ROUNDS, 0);
        look(&f, i / ROUNDS, i, 10 * (i + 1));
    }
    struct demand *demand = end(&f, &err);
    assert_non_null(demand);
    assert_int_equal(demand->phase_count, 2);
    near(sum(demand, 0), RATE * ROUNDS * 0.01);
    near(sum(demand, 1), RATE * ROUNDS * 0.01);
    near(demand->cpu_s[0] + demand->cpu_s[1], ROUNDS * 0.01); /* one of the two runs, the other does not */
    assert_true(demand->cpu_s[0] == 0 || demand->cpu_s[1] == 0);
    demand_free(demand);
}

/* One thread in each half: whose bursts are next to a burst is known to the border. */
static void neighbours(void **state)
{
    (void)state;
    struct error err = {0};
    struct feeding f = begin();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        f.time += 10 * MS;
        round_of(&f, i >= ROUNDS / 2, i, 0);
        look(&f, i >= ROUNDS / 2, i, 10 * (i + 1));
    }
    struct demand *demand = end(&f, &err);
    assert_non_null(demand);
    unsigned others = 0;
    array_each (&demand->cells, const struct demand_cell, cell) {
        assert_in_range(cell->near_count, 2, DEMAND_NEAR);
        for (uint32_t i = 0; i < cell->near_count; i++)
            others += cell->near[i] != cell->thread;
    }
    assert_int_equal(others, 6); /* the two on either side of the border: 2 and 1 neighbours */
    demand_free(demand);
}

/* This program as a module of the made-up one: `context` is the feeding. The size of a thread's block. */
static int feed_self(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    uint64_t start = UINT64_MAX, end = 0, locals = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t low = info->dlpi_addr + part->p_vaddr, high = low + part->p_memsz;
        if (part->p_type == PT_TLS)
            locals = part->p_memsz;
        if (part->p_type != PT_LOAD)
            continue;
        start = low < start ? low : start;
        end = high > end ? high : end;
    }
    feed(context,
         (struct event){.kind = EVENT_MODULE_LOAD,
                        .module = {.bias = info->dlpi_addr, .start = start, .end = end, .path = "/proc/self/exe"}});
    for (uint32_t thread = 0; thread < 2; thread++)
        feed(context, (struct event){.kind = EVENT_MAP,
                                     .tid = PID + thread,
                                     .map = {.addr = HEAP + (thread + 1ul) * ARRAY,
                                             .size = locals,
                                             .offset = start,
                                             .map_kind = MAP_KIND_THREAD_LOCAL,
                                             .path = ""}});
    return 1; /* the program itself comes first */
}

static void copies_of_a_variable_are_one(void **state)
{
    (void)state;
    struct error err = {0};
    struct feeding f = begin();
    copies[0] = 1; /* it must be there */
    dl_iterate_phdr(feed_self, &f);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        f.time += 10 * MS;
        for (uint32_t thread = 0; thread < 2; thread++) {
            uint64_t addr = HEAP + (thread + 1ul) * ARRAY + sizeof copies / 4;
            feed_burst(&f, (struct burst_of){.thread = thread, .addr = addr + i * 64ul, .stack = CHAIN});
            feed_long_burst(&f, (struct long_of){.thread = thread,
                                                 .number = i,
                                                 .addr = addr,
                                                 .size = sizeof copies / 2,
                                                 .process_ns = (20 * i + 10 * (thread + 1ul)) * MS});
        }
    }
    feeding_build(&f);
    unsigned variables = 0;
    for (uint32_t i = 0; i < flow_object_count(f.flow); i++)
        variables += flow_object_thread_local(flow_object(f.flow, i));
    assert_int_equal(variables, 2);
    struct traffic *traffic = traffic_make(f.flow, CACHE);
    struct demand *demand = demand_make(f.flow, traffic, &err);
    assert_non_null(demand);
    assert_int_equal(demand->object_count, 1);
    array_each (&demand->cells, const struct demand_cell, cell)
        assert_int_equal(cell->object, 0);
    demand_free(demand);
    traffic_free(traffic);
    feeding_free(&f);
}

static __attribute__((noinline)) int spin_at_barrier(int turns)
{
    return turns > 0 ? spin_at_barrier(turns - 1) + 1 : 0;
}

/* A thread works for half as long as the other one and waits for it, spinning: that is no CPU time that it needs. */
static void spins_at_a_barrier(void **state)
{
    (void)state;
    struct error err = {0};
    struct feeding f = begin();
    uint64_t frames[] = {(uintptr_t)spin_at_barrier + (spin_at_barrier(3) == 3)};
    dl_iterate_phdr(feed_self, &f);
    feed_stack(&f, CHAIN + 1, 1, frames);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        f.time += 10 * MS;
        round_of(&f, 0, i, 0);
        for (unsigned tick = 0; tick < TICKS; tick++)
            feed_burst(&f, (struct burst_of){.thread = 1,
                                             .addr = HEAP + (uint64_t)(i * TICKS + tick) * 4096,
                                             .stack = CHAIN + tick % 2});
        look(&f, i % 2, i, 20 * (i + 1));
    }
    struct demand *demand = end(&f, &err);
    assert_non_null(demand);
    assert_int_equal(demand->phase_count, 1); /* who spins is there all the time */
    for (uint32_t i = 0; i < 2; i++)
        near(demand->cpu_s[i], ROUNDS * (demand->threads.items[i].tid == PID ? 0.01 : 0.005));
    demand_free(demand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_a_variable_are_one),
        cmocka_unit_test(spins_at_a_barrier),
        cmocka_unit_test(no_traffic),
        cmocka_unit_test(too_few),
        cmocka_unit_test(side_by_side),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(neighbours),
        cmocka_unit_test(stored_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
