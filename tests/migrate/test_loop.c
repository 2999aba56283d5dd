/* The whole loop over a simulated machine: events in, intervals out. Time is the test's own. */
#include "fixture.h"

#include "base/clock.h"
#include "migrate/loop.h"

#include <stdio.h>
#include <unistd.h>

enum { SECOND = 1000000000, MAIN = 100, USER = 101 };

struct seen {
    unsigned count, paused;
    struct loop_interval last;
    uint64_t moved;
};

static void see(void *context, const struct loop_interval *interval, const struct plan_move *moves, size_t count)
{
    struct seen *seen = context;
    for (size_t i = 0; i < count; i++)
        assert_int_not_equal(moves[i].to, moves[i].from);
    seen->count++;
    seen->paused += interval->paused;
    seen->last = *interval;
    seen->moved += count;
}

struct stage {
    struct topology *topology;
    struct loop_options options;
    struct loop_listener listener;
    struct seen seen;
    struct loop *loop;
    uint64_t now;
};

static void begin_on(struct stage *stage, const char *machine, const char *policy)
{
    struct error err = {0};
    memset(stage, 0, sizeof *stage);
    stage->topology = machine_of(machine);
    stage->options = (struct loop_options){.topology = stage->topology,
                                           .policy = policy,
                                           .interval_ns = SECOND,
                                           .limits = {1000, (uint64_t)1 << 40, 1},
                                           .most_cost = 1,
                                           .pin = -1,
                                           .memory = 16 << 20};
    stage->listener = (struct loop_listener){&stage->seen, see};
    stage->loop = loop_new(&stage->options, &stage->listener, &err);
    if (!stage->loop)
        fail_msg("%s", err.text);
    stage->now = clock_now_ns();
    loop_step(stage->loop, stage->now, 0);
    for (uint32_t tid = MAIN; tid <= USER; tid++) { /* assigned onto nodes 0 and 1 */
        struct event event = {.time = stage->now + tid, .pid = PID, .tid = tid, .kind = EVENT_THREAD_START};
        event.thread.name = "";
        loop_event(stage->loop, &event);
    }
}

static void begin(struct stage *stage, const char *policy)
{
    begin_on(stage, "numa:2 core:1", policy);
}

static void access_page(struct stage *stage, uint32_t tid, uint64_t page)
{
    struct event event = {.time = stage->now + 1000, .pid = PID, .tid = tid, .kind = EVENT_SAMPLE};
    event.sample = (struct event_sample){.addr = page_at(page), .flags = SAMPLE_READ};
    loop_event(stage->loop, &event);
}

static void first_touch(struct stage *stage, uint32_t tid, uint64_t page)
{
    struct event event = {.time = stage->now + 500, .pid = PID, .tid = tid, .kind = EVENT_TOUCH};
    event.touch.addr = page_at(page);
    loop_event(stage->loop, &event);
}

/* Ends the interval and waits for what becomes of it. */
static bool pass(struct stage *stage)
{
    unsigned before = stage->seen.count;
    stage->now += SECOND;
    bool wanted = loop_step(stage->loop, stage->now, 0);
    while (stage->seen.count == before)
        wanted = loop_step(stage->loop, stage->now, 0);
    return wanted;
}

static void end(struct stage *stage, struct loop_summary *summary)
{
    loop_finish(stage->loop, stage->now, summary);
    topology_free(stage->topology);
}

static void test_pages_follow(void **state)
{
    (void)state;
    struct stage stage;
    struct loop_summary summary;
    begin(&stage, "access");
    for (uint64_t page = 1; page <= 50; page++)
        first_touch(&stage, MAIN, page);
    for (uint64_t page = 1; page <= 50; page++)
        access_page(&stage, USER, page);
    pass(&stage);
    assert_int_equal(stage.seen.last.samples, 50);
    assert_int_equal(stage.seen.last.remote, 50);
    assert_int_equal(stage.seen.last.moved.pages, 50);
    for (uint64_t page = 1; page <= 50; page++)
        access_page(&stage, USER, page);
    pass(&stage);
    assert_int_equal(stage.seen.last.remote, 0);
    assert_int_equal(stage.seen.moved, 50);
    end(&stage, &summary);
    assert_int_equal(summary.first.remote, summary.first.known);
    assert_int_equal(summary.first.known, 50);
    assert_int_equal(summary.last.remote, 0);
    assert_int_equal(summary.last.known, 50);
    assert_int_equal(summary.total.moved.pages, 50);
    assert_int_equal(summary.intervals, 2);
}

static void test_dry_run_counts_once(void **state)
{
    (void)state;
    struct stage stage;
    struct loop_summary summary;
    begin(&stage, "access");
    loop_finish(stage.loop, stage.now, &summary);
    stage.options.dry_run = true;
    stage.loop = loop_new(&stage.options, &stage.listener, NULL);
    loop_step(stage.loop, stage.now, 0);
    for (unsigned round = 0; round < 5; round++) {
        first_touch(&stage, MAIN, 1);
        access_page(&stage, USER, 1);
        pass(&stage);
        assert_int_equal(stage.seen.last.remote, 1);
    }
    end(&stage, &summary);
    assert_int_equal(summary.total.moved.pages, 1);
    assert_int_equal(stage.seen.moved, 0);
}

static void test_rests_when_nothing_is_remote(void **state)
{
    (void)state;
    struct stage stage;
    struct loop_summary summary;
    begin(&stage, "access");
    first_touch(&stage, MAIN, 1);
    bool wanted = true;
    for (unsigned i = 0; i < 30 && wanted; i++) {
        access_page(&stage, MAIN, 1);
        wanted = pass(&stage);
    }
    assert_false(wanted);
    for (unsigned i = 0; i < 20; i++)
        pass(&stage);
    end(&stage, &summary);
    assert_true(summary.pauses[GOVERNOR_NOTHING] >= 1);
    assert_true(summary.paused >= GOVERNOR_REST);
}

static void test_policy_that_stops(void **state)
{
    (void)state;
    struct stage stage;
    struct loop_summary summary;
    begin(&stage, STOPPING_POLICY);
    access_page(&stage, USER, 1);
    assert_false(pass(&stage));
    assert_false(pass(&stage));
    end(&stage, &summary);
    assert_true(summary.policy_stopped);
    assert_int_equal(summary.paused, 1);
}

static void test_policy_of_nonsense(void **state)
{
    (void)state;
    struct stage stage;
    struct loop_summary summary;
    begin(&stage, NONSENSE_POLICY);
    for (uint64_t page = 1; page <= 10; page++)
        access_page(&stage, USER, page);
    pass(&stage);
    end(&stage, &summary);
    assert_true(summary.total.invalid[INVALID_PAGE] > 0);
    assert_true(summary.total.invalid[INVALID_NODE] > 0);
    assert_int_equal(summary.total.moved.pages, 0);
    assert_int_equal(summary.word_count, PLAN_WORDS); /* it talks too much */
}

/* The worker hangs: intervals get longer, nothing blocks, and in the end it is left behind. */
static void test_policy_that_hangs(void **state)
{
    (void)state;
    struct stage stage;
    struct loop_summary summary;
    begin(&stage, HANGING_POLICY);
    loop_finish(stage.loop, stage.now, &summary);
    stage.options.patience_ns = SECOND / 20;
    stage.loop = loop_new(&stage.options, &stage.listener, NULL);
    loop_step(stage.loop, stage.now, 0);
    for (unsigned i = 0; i < 5; i++) {
        access_page(&stage, USER, 1);
        stage.now += SECOND;
        assert_true(loop_step(stage.loop, stage.now, 0));
    }
    loop_finish(stage.loop, stage.now, &summary);
    assert_non_null(summary.hangs);
    assert_non_null(strstr(summary.hangs, "policy"));
    assert_true(summary.late >= 1);
}

static void test_new_program_is_new_memory(void **state)
{
    (void)state;
    struct stage stage;
    struct loop_summary summary;
    begin(&stage, "access");
    first_touch(&stage, MAIN, 1);
    access_page(&stage, USER, 1);
    pass(&stage);
    assert_int_equal(stage.seen.last.moved.pages, 1);
    struct event event = {.time = stage.now, .pid = PID, .tid = PID, .kind = EVENT_PROCESS_START};
    loop_event(stage.loop, &event);
    first_touch(&stage, MAIN, 1); /* the same address, another page: no rest for it */
    access_page(&stage, USER, 1);
    pass(&stage);
    assert_int_equal(stage.seen.last.remote, 1);
    assert_int_equal(stage.seen.last.moved.pages, 1);
    end(&stage, &summary);
}

static void test_one_node(void **state)
{
    (void)state;
    struct stage stage;
    struct loop_summary summary;
    begin_on(&stage, "numa:1 core:2", "access");
    access_page(&stage, USER, 1);
    for (unsigned i = 0; i < 3; i++)
        assert_false(pass(&stage));
    assert_int_equal(stage.seen.paused, 3);
    end(&stage, &summary);
    assert_int_equal(summary.paused, 3);
    assert_int_equal(summary.total.moved.pages, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_follow),
        cmocka_unit_test(test_dry_run_counts_once),
        cmocka_unit_test(test_rests_when_nothing_is_remote),
        cmocka_unit_test(test_policy_that_stops),
        cmocka_unit_test(test_policy_of_nonsense),
        cmocka_unit_test(test_policy_that_hangs),
        cmocka_unit_test(test_new_program_is_new_memory),
        cmocka_unit_test(test_one_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
