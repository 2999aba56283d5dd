/* What a made-up recording asks of memory: bytes, CPU time, and which threads run at the same time. */
#include "streams.h"

#include "analysis/traffic/traffic.h"
#include "predict/demand.h"
#include "topology/calibration.h"

#include <link.h>
#include <math.h>
#include <string.h>

enum { PAIRS = 40, ARRAY = 1 << 28 };

static _Thread_local volatile char copies[ARRAY / 64];

#define RATE ((double)TURNS * STRIDE / GAP * 1e9) /* bytes per second of a thread that does nothing else */

static struct feeding begin(void)
{
    struct error err = {0};
    struct feeding f = feeding_new("numa:2 core:1", ASSIGN_PACKED);
    uint64_t frames[] = {0x400000, 0x500000};
    f.flow->calibration =
        calibration_from_text("1 nodes=1 L1:32768:1:0 L2:1048576:4:3 L3:8388608:30:25 0>0:105:100", &err);
    assert_non_null(f.flow->calibration);
    feed_start(&f, PID, 1, false);
    feed_thread(&f, PID + 1, "worker", 0, 0);
    feed_stack(&f, CHAIN, 2, frames);
    feed_alloc(&f, HEAP, ARRAY, CHAIN);
    feed_read(&f, HEAP);
    return f;
}

/* A burst in the middle of a stream through the array, `number` of that thread. */
static void burst(struct feeding *f, uint32_t thread, uint32_t number)
{
    feed_stream(f, PID + thread, number, HEAP + (uint64_t)number * (ARRAY / PAIRS) + 4096, 40960);
}

static struct demand *end(struct feeding *f, struct error *err)
{
    flow_finish(f->flow);
    struct traffic *traffic = traffic_make(f->flow);
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
    assert_null(end(&f, &err));
    assert_non_null(strstr(err.text, "record --traffic"));
}

static void too_few_pairs(void **state)
{
    (void)state;
    struct error err = {0};
    struct feeding f = begin();
    for (uint32_t i = 0; i < 10; i++) {
        f.time += 10 * MS;
        burst(&f, 0, i);
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
    for (uint32_t i = 0; i < PAIRS; i++) {
        f.time += 10 * MS;
        if (i == PAIRS / 2)
            feed_stream_flags(&f, PID, i, HEAP + (uint64_t)i * (ARRAY / PAIRS) + 4096, 40960, STREAM_WRITE);
        else
            burst(&f, 0, i);
    }
    struct demand *demand = end(&f, &err);
    assert_non_null(demand);
    size_t settled = 0, stores = 0;
    array_each (&demand->cells, const struct demand_cell, cell) {
        settled += cell->settled;
        stores += cell->stores;
        assert_false(cell->settled && cell->stores);
    }
    assert_int_equal(stores, 1);
    assert_int_equal(settled, PAIRS - PAIRS / 2 - 1);
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
    for (uint32_t i = 0; i < PAIRS; i++) {
        f.time += 10 * MS;
        burst(&f, 0, i);
        burst(&f, 1, i);
    }
    struct demand *demand = end(&f, &err);
    assert_non_null(demand);
    assert_int_equal(demand->phase_count, 1);
    assert_int_equal(demand->threads.count, 2);
    assert_int_equal(demand->threads.items[0].node + demand->threads.items[1].node, 1);
    near(demand->cpu_s[0], PAIRS * 0.01);
    near(demand->cpu_s[1], PAIRS * 0.01);
    near(sum(demand, 0), 2 * RATE * PAIRS * 0.01);
    assert_int_equal(demand->object_count, 1);
    assert_int_equal(demand->part_count, 2 * PAIRS / 8);
    array_each (&demand->cells, const struct demand_cell, cell)
        assert_true(cell->unknown_s == 0 && cell->loads == 0 && !cell->stores && cell->part < demand->part_count);
    demand_free(demand);
}

static void one_after_the_other(void **state)
{
    (void)state;
    struct error err = {0};
    struct feeding f = begin();
    for (uint32_t thread = 0; thread < 2; thread++) {
        for (uint32_t i = 0; i < PAIRS; i++) {
            f.time += 10 * MS;
            burst(&f, thread, i);
        }
    }
    struct demand *demand = end(&f, &err);
    assert_non_null(demand);
    assert_int_equal(demand->phase_count, 2);
    near(sum(demand, 0), RATE * PAIRS * 0.01);
    near(sum(demand, 1), RATE * PAIRS * 0.01);
    near(demand->cpu_s[0] + demand->cpu_s[1], PAIRS * 0.01); /* one of the two runs, the other does not */
    assert_true(demand->cpu_s[0] == 0 || demand->cpu_s[1] == 0);
    demand_free(demand);
}

/* One thread in each half: whose bursts are next to a burst is known to the border. */
static void neighbours(void **state)
{
    (void)state;
    struct error err = {0};
    struct feeding f = begin();
    for (uint32_t i = 0; i < PAIRS; i++) {
        f.time += 10 * MS;
        burst(&f, i >= PAIRS / 2, i);
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
    for (f.tid = PID; f.tid < PID + 2; f.tid++)
        feed_read(&f, HEAP + (f.tid - PID + 1ul) * ARRAY + sizeof copies / 2);
    f.tid = PID;
    for (uint32_t i = 0; i < PAIRS; i++) {
        f.time += 10 * MS;
        for (uint32_t thread = 0; thread < 2; thread++)
            feed_stream(&f, PID + thread, i, HEAP + (thread + 1ul) * ARRAY + sizeof copies / 2, 40960);
    }
    flow_finish(f.flow);
    unsigned variables = 0;
    for (uint32_t i = 0; i < flow_object_count(f.flow); i++)
        variables += flow_object_thread_local(flow_object(f.flow, i));
    assert_int_equal(variables, 2);
    struct traffic *traffic = traffic_make(f.flow);
    struct demand *demand = demand_make(f.flow, traffic, &err);
    assert_non_null(demand);
    assert_int_equal(demand->object_count, 1);
    array_each (&demand->cells, const struct demand_cell, cell)
        assert_int_equal(cell->object, 0);
    demand_free(demand);
    traffic_free(traffic);
    feeding_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_a_variable_are_one),
        cmocka_unit_test(no_traffic),
        cmocka_unit_test(too_few_pairs),
        cmocka_unit_test(side_by_side),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(neighbours),
        cmocka_unit_test(stored_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
