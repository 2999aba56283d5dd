/* Requests: checked, held back, cut. Then moving, with what fails. */
#include "fixture.h"

#include "migrate/mover.h"

static struct {
    size_t page;
    uint32_t node;
} requests[64];
static unsigned request_count;

static int decide_requests(void *self, const struct nlens_view *view, const struct nlens_plan *plan)
{
    (void)self;
    (void)view;
    for (unsigned i = 0; i < request_count; i++)
        nlens_move(plan, requests[i].page, requests[i].node);
    return 0;
}

static const struct nlens_policy policy_requests = {
    .version = NLENS_POLICY_VERSION, .size = sizeof(struct nlens_policy), .name = "wishes", .decide = decide_requests};

static void request(size_t page, uint32_t node)
{
    requests[request_count].page = page;
    requests[request_count++].node = node;
}

static void start(struct bench *bench, uint64_t pages)
{
    bench_start(bench, machine_of("numa:4 core:1"));
    for (uint64_t page = 0; page < pages; page++) {
        touch(bench->map, page, 1, 1, (unsigned)page + 1);
        lies(&bench->toy, page, 0);
    }
    request_count = 0;
}

static void test_nonsense(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, 2);
    request(2, 1);        /* a page it was not given */
    request(SIZE_MAX, 1); /* likewise */
    request(0, 4);        /* a node that is not there */
    request(0, UINT32_MAX);
    request(1, 1);
    bench_plan(&bench, &policy_requests, NULL, 1);
    assert_int_equal(bench.plan.requests, 5);
    assert_int_equal(bench.plan.invalid[INVALID_PAGE], 2);
    assert_int_equal(bench.plan.invalid[INVALID_NODE], 2);
    assert_int_equal(bench.plan.count, 1);
    assert_int_equal(goes_to(&bench.plan, 1), 1);
    bench_end(&bench);
}

static void test_memoryless_node(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, 1);
    struct nlens_policy_node *nodes = (struct nlens_policy_node *)bench.machine->nodes;
    for (unsigned i = 0; i < 4; i++)
        nodes[i].memory = nodes[i].free = i == 3 ? 0 : 1 << 30;
    request(0, 3);
    bench_plan(&bench, &policy_requests, NULL, 1);
    assert_int_equal(bench.plan.invalid[INVALID_MEMORYLESS], 1);
    assert_int_equal(bench.plan.count, 0);
    bench_end(&bench);
}

static void test_last_word_and_already_there(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, 2);
    request(0, 1);
    request(0, 3);
    request(1, 0);
    bench_plan(&bench, &policy_requests, NULL, 1);
    assert_int_equal(bench.plan.count, 1);
    assert_int_equal(goes_to(&bench.plan, 0), 3);
    assert_int_equal(bench.plan.skipped[SKIP_THERE], 1);
    bench_end(&bench);
}

static void test_page_budget_takes_the_best(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, 40);
    bench.limits.pages = 5;
    bench_plan(&bench, &policy_access, NULL, 1);
    assert_int_equal(bench.plan.count, 5);
    assert_int_equal(bench.plan.skipped[SKIP_BUDGET], 35);
    for (uint64_t page = 35; page < 40; page++) /* those with the most accesses */
        assert_int_equal(goes_to(&bench.plan, page), 1);
    bench_end(&bench);
}

static void test_byte_budget(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, 40);
    bench.limits.bytes = 3 * bench.machine->page_bytes;
    bench_plan(&bench, &policy_access, NULL, 1);
    assert_int_equal(bench.plan.count, 3);
    bench_end(&bench);
}

static void test_budget_among_equals(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench, machine_of("numa:2 core:1"));
    for (uint64_t page = 0; page < 20; page++) {
        touch(bench.map, page, 1, 1, 1);
        lies(&bench.toy, page, 0);
    }
    bench.limits.pages = 7;
    bench_plan(&bench, &policy_access, NULL, 1);
    assert_int_equal(bench.plan.count, 7);
    bench_end(&bench);
}

static void test_room_on_the_node(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, 10);
    struct nlens_policy_node *nodes = (struct nlens_policy_node *)bench.machine->nodes;
    for (unsigned i = 0; i < 4; i++)
        nodes[i].memory = nodes[i].free = 100 * bench.machine->page_bytes;
    nodes[1].free = (2 + 4) * bench.machine->page_bytes; /* a 50th is left alone */
    bench_plan(&bench, &policy_access, NULL, 1);
    assert_int_equal(bench.plan.count, 4);
    assert_int_equal(bench.plan.skipped[SKIP_FULL], 6);
    bench_end(&bench);
}

static void test_few_accesses(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, 10);
    bench.limits.min_accesses = 4;
    bench_plan(&bench, &policy_access, NULL, 1);
    assert_int_equal(bench.plan.count, 7);
    assert_int_equal(bench.plan.skipped[SKIP_FEW], 3);
    bench_end(&bench);
}

static void test_bound_and_cpuset(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, 10);
    survey_make(&bench.survey, bench.map, &bench.memory, bench.topology, false);
    struct survey_process *process = &bench.survey.processes[0];
    struct range ranges[] = {{.start = 0, .end = page_at(4)},
                             {.start = page_at(4), .end = page_at(6), .bound = true},
                             {.start = page_at(6), .end = page_at(8), .special = true},
                             {.start = page_at(8), .end = page_at(10)}};
    process->ranges = (struct ranges){.items = ranges, .count = 4};
    plan_make(&bench.plan, &policy_access, NULL, bench.machine, &bench.survey, &bench.memory, bench.history,
              &bench.limits, 1, 1);
    assert_int_equal(bench.plan.count, 6);
    assert_int_equal(bench.plan.skipped[SKIP_BOUND], 2);
    assert_int_equal(bench.plan.skipped[SKIP_UNKNOWN], 2);
    plan_free(&bench.plan);
    process->open[1] = false;
    plan_make(&bench.plan, &policy_access, NULL, bench.machine, &bench.survey, &bench.memory, bench.history,
              &bench.limits, 1, 1);
    assert_int_equal(bench.plan.count, 0);
    assert_int_equal(bench.plan.skipped[SKIP_CPUSET], 6);
    process->ranges = (struct ranges){0};
    bench_end(&bench);
}

static void test_order_for_the_kernel(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, 6);
    for (size_t page = 0; page < 6; page++)
        request(page, 1 + page % 3);
    bench_plan(&bench, &policy_requests, NULL, 1);
    assert_int_equal(bench.plan.count, 6);
    for (size_t i = 1; i < 6; i++) {
        const struct plan_move *before = &bench.plan.items[i - 1], *move = &bench.plan.items[i];
        assert_true(before->to < move->to || (before->to == move->to && before->page < move->page));
    }
    bench_end(&bench);
}

static void test_moving_and_failing(void **state)
{
    (void)state;
    struct bench bench;
    struct moved moved = {0};
    start(&bench, 8);
    const int faults[] = {ENOENT, EACCES, EBUSY, ENOMEM, EINVAL};
    for (unsigned i = 0; i < 5; i++)
        *map64_insert(&bench.toy.faults, i, NULL) = (uint64_t)faults[i];
    bench_plan(&bench, &policy_access, NULL, 1);
    mover_run(&moved, &bench.plan, &bench.memory, bench.history, 1);
    assert_int_equal(moved.pages, 3);
    assert_int_equal(moved.bytes, 3 * bench.machine->page_bytes);
    assert_int_equal(moved.failed[FAILED_ABSENT], 1);
    assert_int_equal(moved.failed[FAILED_SHARED], 1);
    assert_int_equal(moved.failed[FAILED_BUSY], 1);
    assert_int_equal(moved.failed[FAILED_NO_MEMORY], 1);
    assert_int_equal(moved.failed[FAILED_OTHER], 1);
    /* Those that failed are not asked for again at once. */
    bench_plan(&bench, &policy_access, NULL, 2);
    assert_int_equal(bench.plan.count, 0);
    assert_int_equal(bench.plan.skipped[SKIP_HELD], 5);
    bench_end(&bench);
}

static void test_refused_altogether(void **state)
{
    (void)state;
    struct bench bench;
    struct moved moved = {0};
    start(&bench, 3);
    bench_plan(&bench, &policy_access, NULL, 1);
    bench.toy.refusal = -EPERM;
    mover_run(&moved, &bench.plan, &bench.memory, bench.history, 1);
    assert_int_equal(moved.failed[FAILED_REFUSED], 3);
    assert_int_equal(moved.failure.code, -EPERM);
    /* And a survey of a process that nothing is known of. */
    bench_plan(&bench, &policy_access, NULL, 9);
    assert_int_equal(bench.plan.count, 0);
    assert_int_equal(bench.survey.homeless, 3);
    assert_int_equal(bench.survey.failure.code, -EPERM);
    bench_end(&bench);
}

/* Two nodes fight over a page: it is moved ever more seldom. */
static void test_fight(void **state)
{
    (void)state;
    struct bench bench;
    bench_start(&bench, machine_of("numa:2 core:1"));
    lies(&bench.toy, 1, 0);
    for (uint64_t interval = 1; interval <= 100; interval++) {
        struct moved moved = {0};
        page_map_clear(bench.map);
        touch(bench.map, 1, 1, interval % 2, 5); /* once the one, once the other */
        bench_plan(&bench, &policy_access, NULL, interval);
        mover_run(&moved, &bench.plan, &bench.memory, bench.history, interval);
    }
    assert_in_range(bench.toy.moved, 1, 8);
    assert_int_equal(history_contended(bench.history), 1);
    bench_end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_memoryless_node),
        cmocka_unit_test(test_last_word_and_already_there),
        cmocka_unit_test(test_page_budget_takes_the_best),
        cmocka_unit_test(test_byte_budget),
        cmocka_unit_test(test_budget_among_equals),
        cmocka_unit_test(test_room_on_the_node),
        cmocka_unit_test(test_few_accesses),
        cmocka_unit_test(test_bound_and_cpuset),
        cmocka_unit_test(test_order_for_the_kernel),
        cmocka_unit_test(test_moving_and_failing),
        cmocka_unit_test(test_refused_altogether),
        cmocka_unit_test(test_fight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
