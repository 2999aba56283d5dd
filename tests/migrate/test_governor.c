#include "fixture.h"

#include "migrate/governor.h"

static const struct governor_interval calm = {.samples = 100, .known = 100, .remote = 2, .cpu_ns = 1e9, .cost_ns = 1e6};

static struct governor_interval moving(double ratio)
{
    return (struct governor_interval){.samples = 1000,
                                      .known = 1000,
                                      .remote = (uint64_t)(ratio * 1000),
                                      .moved = 50,
                                      .requests = 50,
                                      .cpu_ns = 1e9,
                                      .cost_ns = 1e6};
}

static unsigned rest_length(struct governor *governor)
{
    static const struct governor_interval nothing;
    unsigned length = 0;
    while (governor_rests(governor)) {
        governor_next(governor, &nothing);
        length++;
    }
    return length;
}

static void test_nothing_to_gain(void **state)
{
    (void)state;
    struct governor governor;
    governor_start(&governor, false, 0.1);
    for (unsigned i = 1; i < GOVERNOR_CALM; i++)
        assert_true(governor_next(&governor, &calm));
    assert_false(governor_next(&governor, &calm));
    assert_int_equal(governor.verdict, GOVERNOR_NOTHING);
    assert_int_equal(rest_length(&governor), GOVERNOR_REST);
    /* One look is enough to go back to rest, for longer each time. */
    assert_false(governor_next(&governor, &calm));
    assert_int_equal(rest_length(&governor), 2 * GOVERNOR_REST);
    for (unsigned i = 0; i < 5; i++) {
        governor_next(&governor, &calm);
        assert_in_range(rest_length(&governor), 1, GOVERNOR_REST_MOST);
    }
}

static void test_wakes_when_threads_move(void **state)
{
    (void)state;
    struct governor governor;
    governor_start(&governor, false, 0.1);
    for (unsigned i = 0; i < GOVERNOR_CALM; i++)
        governor_next(&governor, &calm);
    rest_length(&governor);
    struct governor_interval busy = moving(0.9);
    assert_true(governor_next(&governor, &busy));
    for (unsigned i = 1; i < GOVERNOR_CALM; i++) /* and takes its time before the next rest */
        assert_true(governor_next(&governor, &calm));
    assert_false(governor_next(&governor, &calm));
    assert_int_equal(rest_length(&governor), GOVERNOR_REST);
}

static void test_in_vain(void **state)
{
    (void)state;
    struct governor governor;
    governor_start(&governor, false, 0.1);
    struct governor_interval same = moving(0.5);
    for (unsigned i = 1; i < GOVERNOR_WINDOW; i++)
        assert_true(governor_next(&governor, &same));
    assert_false(governor_next(&governor, &same));
    assert_int_equal(governor.verdict, GOVERNOR_VAIN);
}

static void test_improving_goes_on(void **state)
{
    (void)state;
    struct governor governor;
    governor_start(&governor, false, 0.1);
    double ratio = 1;
    for (unsigned i = 0; i < 40; i++, ratio *= 0.94) {
        struct governor_interval better = moving(ratio);
        assert_true(governor_next(&governor, &better));
    }
}

static void test_too_dear(void **state)
{
    (void)state;
    struct governor governor;
    governor_start(&governor, false, 0.1);
    struct governor_interval dear = moving(0.5);
    dear.cost_ns = 2e8; /* a fifth */
    assert_true(governor_next(&governor, &dear));
    assert_false(governor_next(&governor, &dear));
    assert_int_equal(governor.verdict, GOVERNOR_COST);
}

static void test_off_and_silent(void **state)
{
    (void)state;
    struct governor governor;
    static const struct governor_interval nothing;
    governor_start(&governor, true, 0.1);
    for (unsigned i = 0; i < 50; i++)
        assert_true(governor_next(&governor, &calm));
    governor_start(&governor, false, 0.1); /* a program that sleeps says nothing about itself */
    for (unsigned i = 0; i < 50; i++)
        assert_true(governor_next(&governor, &nothing));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_gain), cmocka_unit_test(test_wakes_when_threads_move),
        cmocka_unit_test(test_in_vain),         cmocka_unit_test(test_improving_goes_on),
        cmocka_unit_test(test_too_dear),        cmocka_unit_test(test_off_and_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
