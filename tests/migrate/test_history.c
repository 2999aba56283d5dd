#include "fixture.h"

static void test_rests_after_a_move(void **state)
{
    (void)state;
    struct history *history = history_new(10);
    assert_true(history_allows(history, PID, 4096, 1));
    history_moved(history, PID, 4096, 1);
    assert_int_equal(history_moves(history, PID, 4096), 1);
    assert_false(history_allows(history, PID, 4096, 1 + HISTORY_REST));
    assert_true(history_allows(history, PID, 4096, 2 + HISTORY_REST));
    assert_true(history_allows(history, PID + 1, 4096, 1)); /* another process's */
    history_free(history);
}

static void test_backs_off(void **state)
{
    (void)state;
    struct history *history = history_new(10);
    uint64_t interval = 1, last = 0;
    for (unsigned move = 0; move < 12; move++) {
        history_moved(history, PID, 4096, interval);
        uint64_t rest = 0;
        while (!history_allows(history, PID, 4096, ++interval))
            rest++;
        assert_true(rest == last * 2 || rest == HISTORY_REST || rest == HISTORY_REST_MOST);
        last = rest;
    }
    assert_int_equal(last, HISTORY_REST_MOST);
    assert_int_equal(history_contended(history), 1);
    history_free(history);
}

static void test_calm_is_forgiven(void **state)
{
    (void)state;
    struct history *history = history_new(10);
    history_moved(history, PID, 4096, 1);
    uint64_t later = 1 + HISTORY_REST + HISTORY_SOON + 1;
    history_moved(history, PID, 4096, later);
    assert_true(history_allows(history, PID, 4096, later + HISTORY_REST + 1));
    assert_int_equal(history_contended(history), 0);
    history_free(history);
}

static void test_failures_back_off_too(void **state)
{
    (void)state;
    struct history *history = history_new(10);
    history_failed(history, PID, 4096, 1);
    assert_false(history_allows(history, PID, 4096, 2));
    assert_int_equal(history_moves(history, PID, 4096), 0);
    history_failed(history, PID, 4096, 4);
    assert_false(history_allows(history, PID, 4096, 4 + 2 * HISTORY_REST));
    history_free(history);
}

static void test_forgets_a_program(void **state)
{
    (void)state;
    struct history *history = history_new(10);
    history_moved(history, PID, 4096, 1);
    history_forget(history, PID);
    assert_true(history_allows(history, PID, 4096, 2));
    history_free(history);
}

static void test_bounded(void **state)
{
    (void)state;
    struct history *history = history_new(100);
    for (uint64_t page = 0; page < 60; page++)
        history_moved(history, PID, page << 12, 1);
    for (uint64_t page = 1000; page < 1060; page++) /* the calm ones make room */
        history_moved(history, PID, page << 12, 1000);
    assert_int_equal(history_moves(history, PID, 5 << 12), 0);
    assert_int_equal(history_moves(history, PID, 1050 << 12), 1);
    for (uint64_t page = 2000; page < 12000; page++) /* all are fresh: forgotten rather than kept without bound */
        history_moved(history, PID, page << 12, 1001);
    assert_int_equal(history_moves(history, PID, 11999 << 12), 1);
    history_free(history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rests_after_a_move), cmocka_unit_test(test_backs_off),
        cmocka_unit_test(test_calm_is_forgiven),   cmocka_unit_test(test_failures_back_off_too),
        cmocka_unit_test(test_forgets_a_program),  cmocka_unit_test(test_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
