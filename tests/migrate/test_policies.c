#include "fixture.h"

#include <stdio.h>

static void test_access_takes_the_most(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench, machine_of("numa:4 core:1"));
    touch(bench.map, 1, 1, 3, 5);
    touch(bench.map, 1, 2, 2, 4);
    touch(bench.map, 2, 1, 0, 9); /* at home */
    touch(bench.map, 3, 1, 0, 3); /* a draw: stays */
    touch(bench.map, 3, 2, 1, 3);
    touch(bench.map, 4, 1, 2, 1); /* one access from elsewhere is enough */
    for (uint64_t page = 1; page <= 4; page++)
        lies(&bench.toy, page, 0);
    assert_int_equal(bench_plan(&bench, &policy_access, NULL, 1), 0);
    assert_int_equal(goes_to(&bench.plan, 1), 3);
    assert_int_equal(goes_to(&bench.plan, 2), -1);
    assert_int_equal(goes_to(&bench.plan, 3), -1);
    assert_int_equal(goes_to(&bench.plan, 4), 2);
    assert_int_equal(bench.survey.accesses, 25);
    assert_int_equal(bench.survey.remote, 13);
    bench_end(&bench);
}

/* Equations 3 and 4: the group first. Node 0 alone has most, but the other group has more in sum. */
static void test_access_goes_by_groups(void **state)
{
    (void)state;
    struct topology *topology = machine_of("numa:4 core:1");
    set_groups(topology, 2, 12, 20);
    struct bench bench;
    bench_start(&bench, topology);
    touch(bench.map, 1, 1, 0, 5);
    touch(bench.map, 1, 2, 2, 3);
    touch(bench.map, 1, 3, 3, 4);
    touch(bench.map, 2, 1, 1, 5); /* in its group, the other cell */
    touch(bench.map, 2, 1, 0, 4);
    lies(&bench.toy, 1, 0);
    lies(&bench.toy, 2, 0);
    bench_plan(&bench, &policy_access, NULL, 1);
    assert_int_equal(goes_to(&bench.plan, 1), 3);
    assert_int_equal(goes_to(&bench.plan, 2), 1);
    bench_end(&bench);
}

static void test_access_deep_hierarchy(void **state)
{
    (void)state;
    struct topology *topology = machine_of("numa:8 core:1");
    for (uint32_t i = 0; i < 8; i++)
        for (uint32_t j = 0; j < 8; j++)
            topology->distances[i * 8 + j] = i == j ? 10 : i / 2 == j / 2 ? 12 : i / 4 == j / 4 ? 16 : 32;
    struct bench bench;
    bench_start(&bench, topology);
    /* half 4-7 has 11 of 21; in it the pair 4,5 has 6; of that node 5 has 4 */
    const unsigned times[] = {10, 0, 0, 0, 2, 4, 5, 0};
    for (uint32_t node = 0; node < 8; node++)
        touch(bench.map, 1, node, node, times[node]);
    lies(&bench.toy, 1, 0);
    bench_plan(&bench, &policy_access, NULL, 1);
    assert_int_equal(goes_to(&bench.plan, 1), 5);
    bench_end(&bench);
}

static void timed(struct page_map *map, uint64_t page, uint32_t node, unsigned times, uint32_t latency)
{
    struct page_access access = {
        .addr = page_at(page), .pid = PID, .thread = node, .node = node, .timed = true, .latency = latency};
    while (times--)
        page_map_add(map, &access);
}

static void test_latency_weighs(void **state)
{
    (void)state;
    struct bench bench;
    struct policy policy;
    bench_start(&bench, machine_of("numa:2 core:1"));
    assert_int_equal(policy_open(&policy, "latency", bench.machine, NULL), 0);
    /* From node 1, node 0's memory is dear; from node 0, node 1's is nearly as good as its own. */
    timed(bench.map, 1, 0, 50, 100);
    timed(bench.map, 2, 1, 50, 400);
    timed(bench.map, 3, 0, 50, 110);
    timed(bench.map, 4, 1, 50, 100);
    lies(&bench.toy, 1, 0);
    lies(&bench.toy, 2, 0);
    lies(&bench.toy, 3, 1);
    lies(&bench.toy, 4, 1);
    /* Node 0 has more accesses, but node 1's would cost more far away. */
    timed(bench.map, 5, 0, 6, 100);
    timed(bench.map, 5, 1, 4, 400);
    lies(&bench.toy, 5, 0);
    bench_plan(&bench, policy.type, policy.self, 1);
    assert_int_equal(goes_to(&bench.plan, 1), -1);
    assert_int_equal(goes_to(&bench.plan, 2), 1);
    assert_int_equal(goes_to(&bench.plan, 3), -1); /* saves less than a tenth */
    assert_int_equal(goes_to(&bench.plan, 5), 1);
    policy_close(&policy);
    bench_end(&bench);
}

/* Without any latency the distances decide, as `access` would. */
static void test_latency_without_times(void **state)
{
    (void)state;
    struct bench bench;
    struct policy policy;
    bench_start(&bench, machine_of("numa:4 core:1"));
    assert_int_equal(policy_open(&policy, "latency", bench.machine, NULL), 0);
    touch(bench.map, 1, 1, 2, 3);
    lies(&bench.toy, 1, 0);
    bench_plan(&bench, policy.type, policy.self, 1);
    assert_int_equal(goes_to(&bench.plan, 1), 2);
    policy_close(&policy);
    bench_end(&bench);
}

static void test_neighbours_go_along(void **state)
{
    (void)state;
    struct bench bench;
    struct policy policy;
    bench_start(&bench, machine_of("numa:4 core:1"));
    assert_int_equal(policy_open(&policy, "neighbours:3", bench.machine, NULL), 0);
    for (uint64_t page = 1; page <= 30; page++)
        lies(&bench.toy, page, 0);
    lies(&bench.toy, 11, 3);       /* there already */
    touch(bench.map, 10, 1, 3, 2); /* 7..13 */
    touch(bench.map, 12, 1, 1, 2); /* has a word of its own: 9..15 */
    bench_plan(&bench, policy.type, policy.self, 1);
    assert_int_equal(goes_to(&bench.plan, 10), 3);
    assert_int_equal(goes_to(&bench.plan, 12), 1);
    assert_int_equal(goes_to(&bench.plan, 7), 3);
    assert_int_equal(goes_to(&bench.plan, 6), -1);
    assert_int_equal(goes_to(&bench.plan, 15), 1);
    assert_int_equal(goes_to(&bench.plan, 16), -1);
    for (size_t i = 0; i < bench.plan.count; i++) /* each page once */
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(bench.plan.items[i].page, bench.plan.items[j].page);
    policy_close(&policy);
    bench_end(&bench);
}

static void test_none(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench, machine_of("numa:2 core:1"));
    touch(bench.map, 1, 1, 1, 9);
    lies(&bench.toy, 1, 0);
    bench_plan(&bench, &policy_none, NULL, 1);
    assert_int_equal(bench.plan.count, 0);
    bench_end(&bench);
}

static void refuses(const char *spec, const char *words)
{
    struct topology *topology = machine_of("numa:2 core:1");
    struct nlens_machine *machine = machine_new(topology);
    struct policy policy;
    struct error err = {0};
    assert_true(policy_open(&policy, spec, machine, &err) < 0);
    if (!strstr(err.text, words))
        fail_msg("'%s' does not say '%s'", err.text, words);
    assert_null(policy.type);
    machine_free(machine);
    topology_free(topology);
}

static void test_what_cannot_be_had(void **state)
{
    (void)state;
    refuses("nearest", "there are regions, access, latency, neighbours, none");
    refuses("acc", "there is no policy 'acc'");
    refuses("neighbours:many", "'many'");
    refuses("./no-such-policy.so", "cannot be loaded");
    refuses(OLD_POLICY, "version 77");
    refuses(EMPTY_POLICY, "no function nlens_policy");
    refuses(PICKY_POLICY ":wrong", "it wants 'right'");
}

static void test_plugin(void **state)
{
    (void)state;
    struct bench bench;
    struct policy policy;
    struct error err = {0};
    bench_start(&bench, machine_of("numa:4 core:1"));
    if (policy_open(&policy, PICKY_POLICY ":right", bench.machine, &err) < 0)
        fail_msg("%s", err.text);
    touch(bench.map, 1, 1, 2, 3);
    lies(&bench.toy, 1, 2);
    bench_plan(&bench, policy.type, policy.self, 1);
    assert_int_equal(goes_to(&bench.plan, 1), 3); /* its own idea */
    policy_close(&policy);
    bench_end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_access_takes_the_most),
        cmocka_unit_test(test_access_goes_by_groups),
        cmocka_unit_test(test_access_deep_hierarchy),
        cmocka_unit_test(test_latency_weighs),
        cmocka_unit_test(test_latency_without_times),
        cmocka_unit_test(test_neighbours_go_along),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_what_cannot_be_had),
        cmocka_unit_test(test_plugin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
