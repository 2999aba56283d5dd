/* Run times of made-up programs on a made-up machine, against arithmetic. */
#include "four_nodes.h"

#include "predict/predict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

enum { CELLS = 16 };
#define GB 1e9

static struct demand *demand_of(uint32_t threads, uint32_t phases)
{
    struct demand *demand = mem_zalloc(sizeof *demand);
    demand->node_count = NODES;
    demand->phase_count = phases;
    demand->cpu_s = mem_zalloc(threads * phases * sizeof *demand->cpu_s);
    for (uint32_t i = 0; i < threads; i++)
        array_push(&demand->threads, (struct demand_thread){.tid = 100 + i, .node = i % NODES});
    return demand;
}

/* A second of a thread, in which it uses `bytes` of its own part of an object; the object is on node 0. */
static void add_thread(struct demand *demand, uint32_t thread, double bytes, bool stores)
{
    demand->cpu_s[thread] = 1;
    demand->object_count = 1;
    demand->part_count = (uint32_t)demand->threads.count;
    for (unsigned i = 0; i < CELLS; i++)
        array_push(
            &demand->cells,
            (struct demand_cell){
                .thread = thread, .object = 0, .part = thread, .home = 0, .stores = stores, .bytes = bytes / CELLS});
}

static void near(double got, double right)
{
    if (fabs(got - right) > 1e-3 * right + 1e-9)
        fail_msg("%g, and %g is right", got, right);
}

static struct prediction once(const struct demand *demand, enum placing placement)
{
    struct model *machine = four_nodes();
    struct prediction prediction = predict(machine, demand, placement);
    model_free(machine);
    assert_true(prediction.low <= prediction.time_s[ASSUME_LIKELY]);
    assert_true(prediction.high >= prediction.time_s[ASSUME_LIKELY]);
    return prediction;
}

static void limited_by(const struct prediction *prediction, const char *right)
{
    char text[LIMIT_TEXT];
    assert_string_equal(limit_text(&prediction->limit, text), right);
}

/* 32 threads want 6 GB/s each. One node's 60 GB/s are 1.875 for each: 3.2 s. Each on its own node, 48 of 60 are used. */
static void streams_on_one_node(void **state)
{
    (void)state;
    for (int stores = 0; stores < 2; stores++) {
        struct demand *demand = demand_of(NODES * CPUS, 1);
        for (uint32_t i = 0; i < NODES * CPUS; i++)
            add_thread(demand, i, 6 * GB, stores);
        struct prediction as_is = once(demand, PLACING_AS_IS), users = once(demand, PLACING_USERS),
                          interleaved = once(demand, PLACING_INTERLEAVE), copies = once(demand, PLACING_REPLICATE);
        near(as_is.time_s[ASSUME_LIKELY], 3.2);
        near(as_is.remote_share, 0.75);
        limited_by(&as_is, "memory of node 0");
        near(users.time_s[ASSUME_LIKELY], 1);
        near(users.remote_share, 0);
        near(interleaved.time_s[ASSUME_LIKELY], 1);
        near(interleaved.remote_share, 0.75);
        near(copies.time_s[ASSUME_LIKELY], stores ? 3.2 : 1); /* what is stored to has no copies ... */
        array_each (&demand->cells, struct demand_cell, cell)
            cell->settled = true;
        near(once(demand, PLACING_REPLICATE).time_s[ASSUME_LIKELY], 1); /* ... until it is not any more */
        struct factor factor = prediction_factor(&as_is, &users);
        near(factor.likely, 3.2);
        assert_true(factor.low >= 2 && factor.high <= 8);
        demand_free(demand);
    }
}

static void in_a_cache(void **state)
{
    (void)state;
    struct demand *demand = demand_of(NODES * CPUS, 1);
    for (uint32_t i = 0; i < NODES * CPUS; i++)
        add_thread(demand, i, 0, false);
    for (int i = 0; i < PLACINGS; i++) {
        struct prediction prediction = once(demand, (enum placing)i);
        near(prediction.time_s[ASSUME_LIKELY], 1);
        near(prediction.low, 1);
        near(prediction.high, 1);
        assert_true(prediction.remote_share < 0);
        assert_int_equal(prediction.limit.kind, LIMIT_COMPUTE);
    }
    demand_free(demand);
}

/* Eight threads of node 1 share the 20 GB/s to node 0: 2.5 of the 6 that each wants. */
static void a_link(void **state)
{
    (void)state;
    struct demand *demand = demand_of(CPUS, 1);
    for (uint32_t i = 0; i < CPUS; i++) {
        demand->threads.items[i].node = 1;
        add_thread(demand, i, 6 * GB, false);
    }
    struct prediction as_is = once(demand, PLACING_AS_IS);
    near(as_is.time_s[ASSUME_LIKELY], 2.4);
    limited_by(&as_is, "link from node 1 to node 0");
    demand_free(demand);
}

/* One thread that was recorded at 24 GB/s: a core has 12, and 12 * 90 / 150 from another node. */
static void one_core(void **state)
{
    (void)state;
    struct demand *demand = demand_of(2, 1);
    add_thread(demand, 1, 24 * GB, false);
    struct prediction as_is = once(demand, PLACING_AS_IS), users = once(demand, PLACING_USERS);
    near(as_is.time_s[ASSUME_LIKELY], 24 / 7.2);
    near(users.time_s[ASSUME_LIKELY], 2);
    limited_by(&users, "core bandwidth (thread 101)");
    demand_free(demand);
}

/* Ten million loads one after the other, at 90 ns where it was recorded. */
static void a_chase(void **state)
{
    (void)state;
    struct demand *demand = demand_of(2, 1);
    add_thread(demand, 1, 0.64 * GB, false);
    demand->cpu_s[1] = 0.9;
    array_each (&demand->cells, struct demand_cell, cell) {
        cell->loads = 1e7 / CELLS;
        cell->load_s = 0.9 / CELLS;
    }
    struct prediction as_is = once(demand, PLACING_AS_IS), users = once(demand, PLACING_USERS);
    near(as_is.time_s[ASSUME_LIKELY], 1.5);
    near(as_is.low, 1.5);
    near(users.time_s[ASSUME_LIKELY], 0.9);
    limited_by(&as_is, "latency (thread 101)");
    demand_free(demand);
}

/* Latency rises with use: ten million loads at 150 ns, and a link that others fill. */
static void latency_under_load(void **state)
{
    (void)state;
    struct demand *demand = demand_of(CPUS + 1, 1);
    struct model *machine = four_nodes();
    array_push(&machine->loads, (struct model_load){.use = 0.5, .factor = 1});
    array_push(&machine->loads, (struct model_load){.use = 1, .factor = 2});
    for (uint32_t i = 0; i < CPUS; i++) {
        demand->threads.items[i].node = 0;
        add_thread(demand, i, 60 * GB / CPUS, false); /* for a second, all that node 0 has */
    }
    demand->threads.items[CPUS].node = 1;
    demand->cpu_s[CPUS] = 0.9;
    array_push(&demand->cells,
               (struct demand_cell){.thread = CPUS, .object = 0, .part = CPUS, .home = 0, .loads = 1e7, .load_s = 0.9});
    struct prediction prediction = predict(machine, demand, PLACING_AS_IS);
    assert_true(prediction.time_s[ASSUME_LIKELY] > 2.9 && prediction.time_s[ASSUME_LIKELY] <= 3);
    model_free(machine);
    demand_free(demand);
}

/* A thread alone for a second, then two side by side, a second and half of one. */
static void phases_follow_one_another(void **state)
{
    (void)state;
    struct demand *demand = demand_of(3, 2);
    demand->cpu_s[0] = 1;
    demand->cpu_s[3 + 1] = 1;
    demand->cpu_s[3 + 2] = 0.5;
    near(once(demand, PLACING_AS_IS).time_s[ASSUME_LIKELY], 2);
    demand_free(demand);
}

/* Two threads of one node share a single CPU. */
static void more_threads_than_cpus(void **state)
{
    (void)state;
    struct demand *demand = demand_of(2, 1);
    struct model *machine = four_nodes();
    machine->cpus_per_node = 1;
    demand->threads.items[1].node = 0;
    demand->cpu_s[0] = demand->cpu_s[1] = 1;
    near(predict(machine, demand, PLACING_AS_IS).time_s[ASSUME_LIKELY], 2);
    model_free(machine);
    demand_free(demand);
}

/* When the quick ones are done, the last one has what they used: 60 GB/s for 0.8 s among 8, then 12 for one. */
static void who_ends_makes_room(void **state)
{
    (void)state;
    struct demand *demand = demand_of(CPUS, 1);
    for (uint32_t i = 0; i < CPUS; i++) {
        demand->threads.items[i].node = 0;
        add_thread(demand, i, i ? 6 * GB : 18 * GB, false);
        demand->cpu_s[i] = 0.1;
    }
    near(once(demand, PLACING_AS_IS).time_s[ASSUME_LIKELY], 0.8 + (18 - 0.8 * 7.5) / 12);
    demand_free(demand);
}

/* Every thread uses every part: placing a part on one node's side leaves the others remote. */
static void shared_by_all(void **state)
{
    (void)state;
    struct demand *demand = demand_of(NODES, 1);
    for (uint32_t i = 0; i < NODES; i++)
        add_thread(demand, i, 6 * GB, false);
    uint32_t number = 0;
    array_each (&demand->cells, struct demand_cell, cell)
        cell->part = number++ % NODES;
    assert_true(once(demand, PLACING_USERS).remote_share >= 0.7);
    demand_free(demand);
}

/* Bytes without a known home cost the same under every placement and assumption: what is not known of the placement that there is
 * makes none of the others better. */
static void homes_that_are_not_known(void **state)
{
    (void)state;
    struct demand *demand = demand_of(NODES * CPUS, 1);
    for (uint32_t i = 0; i < NODES * CPUS; i++)
        add_thread(demand, i, 9 * GB, false);
    for (size_t i = 0; i < demand->cells.count; i++) /* the others are near their threads already */
        demand->cells.items[i].home = i % 4 ? (int)demand->threads.items[demand->cells.items[i].thread].node : -1;
    near(demand_unknown_homes(demand), 0.25);
    struct prediction as_is = once(demand, PLACING_AS_IS), users = once(demand, PLACING_USERS),
                      copies = once(demand, PLACING_REPLICATE);
    for (int i = 0; i < ASSUMPTIONS; i++) {
        near(users.time_s[i], as_is.time_s[i]);
        near(copies.time_s[i], as_is.time_s[i]);
    }
    near(users.remote_share, as_is.remote_share);
    assert_true(as_is.high > 1.05 * as_is.low); /* but it is not known how long that is */
    demand_free(demand);
}

static void names(void **state)
{
    (void)state;
    for (int i = 0; i < PLACINGS; i++)
        assert_int_equal(placing_find(placing_name((enum placing)i)), i);
    assert_int_equal(placing_find("everywhere"), -1);
    assert_int_equal(placing_find(""), -1);
}

/* Threads 0 and 2 share a part, 1 and 3 another; nobody is near both of its users until they are on one node. */
static void those_that_share_on_one_node(void **state)
{
    (void)state;
    struct demand *demand = demand_of(NODES, 1);
    for (uint32_t i = 0; i < NODES; i++)
        add_thread(demand, i, 6 * GB, true);
    for (size_t i = 0; i < demand->cells.count; i++)
        demand->cells.items[i].part %= 2;
    struct prediction users = once(demand, PLACING_USERS), cluster = once(demand, PLACING_CLUSTER);
    assert_true(users.remote_share > 0.45);
    near(cluster.remote_share, 0);
    near(cluster.time_s[ASSUME_LIKELY], 1);
    for (uint32_t i = 0; i < NODES; i++) /* the recording itself is as it was */
        assert_int_equal(demand->threads.items[i].node, i);
    demand_free(demand);
}

/* Ten threads for each CPU: more than a node has CPUs are on it only where all nodes are that full. */
static void clusters_are_no_larger_than_needed(void **state)
{
    (void)state;
    struct demand *demand = demand_of(NODES * CPUS * 10, 1);
    for (uint32_t i = 0; i < NODES * CPUS * 10; i++) {
        add_thread(demand, i, GB / 100, false);
        demand->cells.items[i * CELLS].part = 0; /* all share a little */
    }
    struct prediction cluster = once(demand, PLACING_CLUSTER);
    near(cluster.time_s[ASSUME_LIKELY], 10);
    demand_free(demand);
}

/* Two objects on node 0, read by 32 threads: copies of one alone leave the other where it is. */
static void one_object_alone(void **state)
{
    (void)state;
    struct demand *demand = demand_of(NODES * CPUS, 1);
    struct model *machine = four_nodes();
    for (uint32_t i = 0; i < NODES * CPUS; i++)
        add_thread(demand, i, 6 * GB, false);
    demand->object_count = 2;
    for (size_t i = 0; i < demand->cells.count; i++)
        demand->cells.items[i].object = i % 2;
    struct plan copies = {.placement = PLACING_REPLICATE, .one_object = true, .object = 1};
    struct plan node = {.placement = PLACING_INTERLEAVE, .one_node = true, .home = 1};
    near(predict_plan(machine, demand, &copies).remote_share, 0.375);
    near(predict_plan(machine, demand, &node).time_s[ASSUME_LIKELY], 3.2); /* nothing is on that node */
    node.home = 0;
    near(predict_plan(machine, demand, &node).time_s[ASSUME_LIKELY], 1);
    model_free(machine);
    demand_free(demand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_share_on_one_node),
        cmocka_unit_test(clusters_are_no_larger_than_needed),
        cmocka_unit_test(one_object_alone),
        cmocka_unit_test(streams_on_one_node),
        cmocka_unit_test(in_a_cache),
        cmocka_unit_test(a_link),
        cmocka_unit_test(one_core),
        cmocka_unit_test(a_chase),
        cmocka_unit_test(latency_under_load),
        cmocka_unit_test(phases_follow_one_another),
        cmocka_unit_test(more_threads_than_cpus),
        cmocka_unit_test(who_ends_makes_room),
        cmocka_unit_test(shared_by_all),
        cmocka_unit_test(homes_that_are_not_known),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
