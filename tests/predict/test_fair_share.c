/* Bandwidth among threads: whoever wants little gets it, the others share the rest evenly. */
#include "predict/fair_share.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Two nodes: memory of 10 each, links of 4. */
static double memory[] = {10, 10}, links[] = {10, 4, 4, 10};
static const struct share_machine machine = {.node_count = 2, .memory = memory, .link = links};
static const double on_0[] = {1, 0}, on_1[] = {0, 1}, on_both[] = {0.5, 0.5};

static void near(double got, double right)
{
    assert_true(fabs(got - right) < 1e-6);
}

static void enough_for_all(void **state)
{
    (void)state;
    struct share_user users[] = {{.node = 0, .active = true, .limit = 3, .parts = on_0},
                                 {.node = 1, .active = true, .limit = 2, .parts = on_both}};
    share_bandwidth(&machine, users, 2);
    near(users[0].rate, 3);
    near(users[1].rate, 2);
    assert_int_equal(users[0].full, SHARE_NOTHING);
    assert_int_equal(users[1].full, SHARE_NOTHING);
}

static void who_wants_little_gets_it(void **state)
{
    (void)state;
    struct share_user users[] = {{.node = 0, .active = true, .limit = 2, .parts = on_0},
                                 {.node = 0, .active = true, .limit = 20, .parts = on_0},
                                 {.node = 0, .active = true, .limit = 30, .parts = on_0},
                                 {.node = 0, .active = false, .limit = 30, .parts = on_0}};
    share_bandwidth(&machine, users, 4);
    near(users[0].rate, 2);
    near(users[1].rate, 4);
    near(users[2].rate, 4);
    near(users[3].rate, 0);
    assert_int_equal(users[0].full, SHARE_NOTHING);
    assert_int_equal(users[1].full, 0);
}

/* Those behind a full link leave the rest of the memory to those beside it. */
static void a_full_link(void **state)
{
    (void)state;
    struct share_user users[] = {{.node = 1, .active = true, .limit = 9, .parts = on_0},
                                 {.node = 1, .active = true, .limit = 9, .parts = on_0},
                                 {.node = 0, .active = true, .limit = 9, .parts = on_0}};
    share_bandwidth(&machine, users, 3);
    near(users[0].rate, 2);
    near(users[1].rate, 2);
    near(users[2].rate, 6);
    assert_int_equal(users[0].full, 2 + 1 * 2 + 0);
    assert_int_equal(users[2].full, 0);
}

/* Half of its bytes go over the link: 4 there are 8 in all. Its own node's memory has 6 for the other. */
static void spread_over_nodes(void **state)
{
    (void)state;
    struct share_user users[] = {{.node = 0, .active = true, .limit = 100, .parts = on_both},
                                 {.node = 0, .active = true, .limit = 100, .parts = on_0}};
    share_bandwidth(&machine, users, 2);
    near(users[0].rate, 20 / 3.0); /* memory of node 0 is full first: 1.5 of the level are 10 */
    near(users[1].rate, 20 / 3.0);
    assert_int_equal(users[0].full, 0);
    users[1].parts = on_1;
    users[1].node = 1;
    share_bandwidth(&machine, users, 2);
    near(users[0].rate, 20 / 3.0);
    near(users[1].rate, 20 / 3.0);
    assert_int_equal(users[0].full, 1);
    users[1].active = false;
    share_bandwidth(&machine, users, 2);
    near(users[0].rate, 8);
    assert_int_equal(users[0].full, 2 + 0 * 2 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enough_for_all),
        cmocka_unit_test(who_wants_little_gets_it),
        cmocka_unit_test(a_full_link),
        cmocka_unit_test(spread_over_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
