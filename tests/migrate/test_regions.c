/* test_regions.c - memory goes to its users in regions: whole arrays, halves and blocks from few samples; what several use stays. */
#include "fixture.h"

#include "migrate/mover.h"

enum { PAGES = 65536, HOME = 0, FIRST = 1000 };

struct run {
    struct bench bench;
    struct policy policy;
    uint64_t interval, random;
};

static void run_start(struct run *run)
{
    struct error err = {0};
    *run = (struct run){.random = 88172645463325252u};
    bench_start(&run->bench, machine_of("numa:4 core:1"));
    assert_int_equal(policy_open(&run->policy, "regions", run->bench.machine, &err), 0);
    for (uint64_t page = 0; page < PAGES; page++)
        lies(&run->bench.toy, FIRST + page, HOME);
}

static void run_end(struct run *run)
{
    policy_close(&run->policy);
    bench_end(&run->bench);
}

static uint64_t any(struct run *run, uint64_t below)
{
    run->random ^= run->random << 13;
    run->random ^= run->random >> 7;
    run->random ^= run->random << 17;
    return run->random % below;
}

typedef uint32_t (*user)(struct run *run, uint64_t page);

/* So many accesses at random in some of the pages, each by who uses the page; then all that is decided is done. */
static void pass_in(struct run *run, user who, unsigned samples, uint64_t from, uint64_t count)
{
    struct bench *bench = &run->bench;
    for (unsigned i = 0; i < samples; i++) {
        uint64_t page = from + any(run, count);
        uint32_t node = who(run, page);
        touch(bench->map, FIRST + page, 10 + node, node, 4);
    }
    assert_int_equal(bench_plan(bench, run->policy.type, run->policy.self, ++run->interval), 0);
    struct moved result = {0};
    mover_run(&result, &bench->plan, &bench->memory, bench->history, run->interval);
    page_map_clear(bench->map);
}

static void pass(struct run *run, user who, unsigned samples)
{
    pass_in(run, who, samples, 0, PAGES);
}

/* The share of pages that are where they are used. */
static double well_placed(struct run *run, user who)
{
    unsigned well = 0;
    for (uint64_t page = 0; page < PAGES; page++)
        well += *map64_find(&run->bench.toy.homes, FIRST + page) == who(run, page);
    return (double)well / PAGES;
}

static uint32_t one(struct run *run, uint64_t page)
{
    (void)run, (void)page;
    return 2;
}

static uint32_t halves(struct run *run, uint64_t page)
{
    (void)run;
    return page < PAGES / 2 ? 1 : 3;
}

static uint32_t blocks(struct run *run, uint64_t page)
{
    (void)run;
    return (uint32_t)(page / (PAGES / 16) % 4);
}

static uint32_t mix(struct run *run, uint64_t page)
{
    (void)page;
    return (uint32_t)any(run, 4);
}

static uint32_t mostly(struct run *run, uint64_t page)
{
    (void)page;
    return any(run, 10) ? 2 : 3;
}

static void an_array_goes_whole(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    pass(&run, one, 100);
    pass(&run, one, 200);
    assert_true(well_placed(&run, one) > 0.95);
    uint64_t moved = run.bench.toy.moved;
    pass(&run, one, 200); /* and that is that */
    assert_true(run.bench.toy.moved - moved < PAGES / 20);
    run_end(&run);
}

static void each_half_goes_to_its_node(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    pass(&run, halves, 300);
    assert_true(well_placed(&run, halves) > 0.95);
    run_end(&run);
}

static void blocks_in_turn_go_to_their_nodes(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    for (int i = 0; i < 4; i++)
        pass(&run, blocks, 400);
    assert_true(well_placed(&run, blocks) > 0.95);
    run_end(&run);
}

static void what_all_nodes_use_stays(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    for (int i = 0; i < 10; i++)
        pass(&run, mix, 500);
    assert_true(run.bench.toy.moved < PAGES / 100);
    run_end(&run);
}

static void what_is_mostly_one_node_s_goes_there(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    for (int i = 0; i < 4; i++)
        pass(&run, mostly, 300);
    assert_true(well_placed(&run, one) > 0.95);
    run_end(&run);
}

static void few_samples_prove_nothing(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    pass(&run, one, 3);
    assert_int_equal(run.bench.plan.requests, 0);
    run_end(&run);
}

/* Evidence of before counts less and less. */
static void users_that_change_are_followed(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    pass(&run, one, 300);
    for (int i = 0; i < 30; i++)
        pass(&run, halves, 300);
    assert_true(well_placed(&run, halves) > 0.95);
    run_end(&run);
}

static uint32_t maker(struct run *run, uint64_t page)
{
    (void)run, (void)page;
    return HOME;
}

/* As a program that fills its arrays on one node and then uses them on another. */
static void a_change_is_seen_in_two_intervals(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    for (int i = 0; i < 20; i++)
        pass(&run, maker, 60);
    pass(&run, one, 60); /* a thread that is elsewhere for an interval */
    pass(&run, maker, 60);
    pass(&run, one, 60);
    pass(&run, one, 10); /* too few */
    pass(&run, one, 60);
    assert_int_equal(run.bench.toy.moved, 0);
    pass(&run, one, 60);
    assert_true(well_placed(&run, one) > 0.9);
    pass(&run, one, 60);
    assert_true(well_placed(&run, one) > 0.95);
    run_end(&run);
}

/* An interval sees a fifth of a sweep: what the one before has seen is elsewhere. */
static void sweeps_are_followed(void **state)
{
    (void)state;
    enum { PART = PAGES / 5, BURSTS = 30 };
    struct run run;
    run_start(&run);
    for (uint64_t i = 0; i < 5; i++)
        pass_in(&run, maker, 120, i * PART, PART);
    unsigned bursts = 0;
    for (uint64_t i = 0; well_placed(&run, one) <= 0.95 && bursts < 3000; i++, bursts += BURSTS)
        pass_in(&run, one, BURSTS, i % 5 * PART, PART);
    assert_true(bursts <= 300);
    run_end(&run);
}

/* What was seen last shows where the budget is best spent; the rest comes with later intervals. */
static void a_budget_is_kept(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    run.bench.limits.pages = PAGES / 8;
    for (unsigned i = 1; i <= 3; i++) {
        pass(&run, one, 300);
        assert_true(run.bench.toy.moved <= i * PAGES / 8 && run.bench.toy.moved > i * PAGES / 8 / 2);
    }
    run_end(&run);
}

struct answers {
    uint64_t moves, dropped;
};

static void count_move(void *context, size_t page, uint32_t node, uint32_t before, uint32_t after)
{
    (void)page, (void)before, (void)after;
    assert_int_equal(node, 2);
    ((struct answers *)context)->moves++;
}

static void count_note(void *context, const char *what, uint64_t count)
{
    if (strstr(what, "dropped"))
        ((struct answers *)context)->dropped += count;
}

/* Of so many pages side by side, each used by two threads of node 2, but the first `unknown`, whose users were not kept. */
static struct answers answers_to(size_t count, size_t unknown)
{
    static const struct nlens_policy_access access[2] = {{.thread = 1, .node = 2}, {.thread = 2, .node = 2}};
    struct run run;
    struct answers answers = {0};
    struct nlens_policy_page *pages = mem_zalloc(count * sizeof *pages);
    run_start(&run);
    for (size_t i = 0; i < count; i++)
        pages[i] = (struct nlens_policy_page){.address = page_at(FIRST + i),
                                              .bytes = page_at(1),
                                              .pid = i < unknown ? PID - 1 : PID,
                                              .home = HOME,
                                              .access_count = i < unknown ? 0 : 2,
                                              .accesses = access};
    const struct nlens_view view = {.machine = run.bench.machine, .interval = 1, .page_count = count, .pages = pages};
    const struct nlens_plan plan = {.context = &answers, .move = count_move, .note = count_note};
    assert_int_equal(run.policy.type->decide(run.policy.self, &view, &plan), 0);
    run_end(&run);
    free(pages);
    return answers;
}

static void pages_of_unknown_users_keep_no_others_from_being_moved(void **state)
{
    (void)state;
    assert_int_equal(answers_to(100, 0).moves, 100);
    assert_int_equal(answers_to(100, 3).moves, 97);
}

static void what_is_dropped_is_reported(void **state)
{
    (void)state;
    assert_int_equal(answers_to(1 << 17, 0).dropped, 0);
    assert_int_equal(answers_to((1 << 17) + 7, 0).dropped, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_goes_whole),
        cmocka_unit_test(each_half_goes_to_its_node),
        cmocka_unit_test(blocks_in_turn_go_to_their_nodes),
        cmocka_unit_test(what_all_nodes_use_stays),
        cmocka_unit_test(what_is_mostly_one_node_s_goes_there),
        cmocka_unit_test(few_samples_prove_nothing),
        cmocka_unit_test(users_that_change_are_followed),
        cmocka_unit_test(a_change_is_seen_in_two_intervals),
        cmocka_unit_test(sweeps_are_followed),
        cmocka_unit_test(a_budget_is_kept),
        cmocka_unit_test(pages_of_unknown_users_keep_no_others_from_being_moved),
        cmocka_unit_test(what_is_dropped_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
