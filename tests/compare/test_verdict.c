/* Which placement is best, and why, on made-up figures. */
#include "placements.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const double fast[] = {1.0, 1.1, 1.05}, slow[] = {2.0, 2.2, 2.1}, between[] = {1.0, 1.12, 1.11};
static const struct figures near_figures = {
    .home_known = 1000, .remote = 10, .private_data = {.accesses = 900}, .shared = {.accesses = 100}};

static void every_round_begins_elsewhere(void **state)
{
    (void)state;
    static const uint32_t wanted[4][3] = {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}, {0, 1, 2}};
    for (uint32_t round = 0; round < 4; round++)
        for (uint32_t turn = 0; turn < 3; turn++)
            assert_int_equal(placement_at(round, turn, 3), wanted[round][turn]);
}

static void medians(void **state)
{
    (void)state;
    struct made made = {0};
    static const double times[] = {3, 1, 2, 10};
    struct figures *runs = add(&made, PLACEMENT_LOCAL, near_figures, 4, times);
    for (unsigned i = 0; i < 4; i++)
        runs[i].remote = i * 10;
    runs[0].unbalanced = runs[1].unbalanced = runs[2].unbalanced = true;
    struct middle middle = placed_middle(&made.items[0], figure_recorded);
    assert_true(middle.median == 2.5 && middle.min == 1 && middle.max == 10);
    struct figures median = placed_median(&made.items[0], 0);
    assert_int_equal(median.remote, 15);
    assert_true(median.unbalanced);
    finish(&made);
}

static void best_only_beyond_the_spread(void **state)
{
    (void)state;
    struct made made = {0};
    add(&made, PLACEMENT_DISTRIBUTED, near_figures, 3, slow);
    add(&made, PLACEMENT_CLUSTER, near_figures, 3, fast);
    add(&made, PLACEMENT_LOCAL, near_figures, 3, between);
    struct verdict verdict = judge(&made, false);
    assert_true(verdict.differ);
    assert_int_equal(verdict.best, 1);
    assert_int_equal(verdict.worst, 0);
    assert_int_equal(verdict.as_good, 1 << 1 | 1 << 2);
    assert_non_null(strstr(verdict.text, "cluster and local, which do not differ"));
    assert_non_null(strstr(verdict.text, "with recording"));
    assert_int_equal(verdict.problem, PROBLEM_NONE);
    finish(&made);

    made = (struct made){0};
    add(&made, PLACEMENT_CLUSTER, near_figures, 3, fast);
    add(&made, PLACEMENT_LOCAL, near_figures, 3, between);
    verdict = judge(&made, false);
    assert_false(verdict.differ);
    assert_non_null(strstr(verdict.text, "do not differ"));
    assert_string_equal(verdict.why, "");
    finish(&made);

    made = (struct made){0};
    add(&made, PLACEMENT_CLUSTER, near_figures, 1, fast);
    add(&made, PLACEMENT_DISTRIBUTED, near_figures, 1, slow);
    verdict = judge(&made, false);
    assert_false(verdict.differ);
    assert_non_null(strstr(verdict.text, "--repeat"));
    finish(&made);
}

static enum problem problem_of(struct figures bad)
{
    struct made made = {0};
    add(&made, PLACEMENT_CLUSTER, near_figures, 3, fast);
    add(&made, PLACEMENT_DISTRIBUTED, bad, 3, slow);
    struct verdict verdict = judge(&made, false);
    assert_true(verdict.differ && *verdict.why);
    finish(&made);
    return verdict.problem;
}

static void problems(void **state)
{
    (void)state;
    struct figures bad = near_figures;
    assert_int_equal(problem_of(bad), PROBLEM_NONE);
    bad.remote = 700;
    assert_int_equal(problem_of(bad), PROBLEM_DISTANCE);
    bad.cross_node.accesses = 100;
    assert_int_equal(problem_of(bad), PROBLEM_SHARING);
    bad.unbalanced = true;
    assert_int_equal(problem_of(bad), PROBLEM_IMBALANCE);
    bad.contention = CONTENTION_LINK;
    assert_int_equal(problem_of(bad), PROBLEM_CONTENTION);
}

static void simulated_machines_are_judged_by_homes(void **state)
{
    (void)state;
    struct made made = {0};
    struct figures far = near_figures;
    far.remote = 750;
    add(&made, PLACEMENT_CLUSTER, near_figures, 3, slow);
    add(&made, PLACEMENT_DISTRIBUTED, far, 3, fast);
    struct verdict verdict = judge(&made, true);
    assert_int_equal(verdict.by, BY_REMOTE);
    assert_true(verdict.differ);
    assert_int_equal(verdict.best, 0);
    assert_non_null(strstr(verdict.text, "run time says nothing"));
    finish(&made);

    made = (struct made){0};
    far.remote = 40; /* 3 points: chance */
    add(&made, PLACEMENT_CLUSTER, near_figures, 3, slow);
    add(&made, PLACEMENT_DISTRIBUTED, far, 3, fast);
    assert_false(judge(&made, true).differ);
    finish(&made);
}

static void without_samples_nothing_is_judged(void **state)
{
    (void)state;
    struct made made = {0};
    struct figures few = near_figures;
    few.samples = 5;
    add(&made, PLACEMENT_CLUSTER, few, 3, fast);
    add(&made, PLACEMENT_DISTRIBUTED, few, 3, slow);
    struct verdict verdict = judge(&made, false);
    assert_true(verdict.unsampled && !verdict.differ);
    assert_non_null(strstr(verdict.text, "Too little was sampled"));
    finish(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_round_begins_elsewhere),
        cmocka_unit_test(medians),
        cmocka_unit_test(best_only_beyond_the_spread),
        cmocka_unit_test(problems),
        cmocka_unit_test(simulated_machines_are_judged_by_homes),
        cmocka_unit_test(without_samples_nothing_is_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
