/* The statistics: a value and variance worked out by hand, and how often chance is taken for more. */
#include "compare/ratio.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { BURST = 16 };

static uint64_t dice(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 11;
}

static void by_hand(void **state)
{
    (void)state;
    struct ratio ratio = {0};
    ratio_add(&ratio, 1, 4);
    ratio_add(&ratio, 3, 4);
    ratio_add(&ratio, 2, 8);
    ratio_add(&ratio, 0, 0); /* no look at all */
    assert_int_equal(ratio.bursts, 3);
    assert_true(fabs(ratio_value(&ratio) - 6.0 / 16) < 1e-12);
    /* distances from the ratio: 1-1.5, 3-1.5, 2-3; squares 0.25 + 2.25 + 1 = 3.5; by 16 squared, times 3/2 */
    assert_true(fabs(ratio_variance(&ratio, false) - 3.5 / 256 * 1.5) < 1e-12);
}

static void too_little_tells_nothing(void **state)
{
    (void)state;
    struct ratio none = {0}, one = {0}, many = {0};
    ratio_add(&one, 16, 16);
    for (unsigned i = 0; i < 100; i++)
        ratio_add(&many, 0, 16);
    assert_true(isinf(ratio_variance(&none, true)) && isinf(ratio_variance(&one, true)));
    assert_true(ratio_chance(&none, &many, true) == 1 && ratio_chance(&one, &many, true) == 1);
    assert_true(ratio_chance(&many, &many, true) == 1);
    assert_true(ratio_value(&none) == 0);
    /* None of 1600 is not certain to be none. */
    assert_true(ratio_variance(&many, true) > 0);
}

/* Bursts whose accesses are all alike, as in a loop over one object: a run of `bursts`, each remote with `chance`. */
static struct ratio alike(unsigned bursts, double chance)
{
    struct ratio ratio = {0};
    for (unsigned i = 0; i < bursts; i++)
        ratio_add(&ratio, (double)(dice() % 1000000) < chance * 1e6 ? BURST : 0, BURST);
    return ratio;
}

static void chance_is_chance(void **state)
{
    (void)state;
    enum { TRIES = 4000 };
    unsigned taken = 0, naive = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        struct ratio left = alike(200, 0.3), right = alike(200, 0.3);
        taken += ratio_chance(&left, &right, true) < 0.01;
        /* What one gets who counts every access: */
        double p = (left.x + right.x) / (left.n + right.n), deviation = sqrt(2 * p * (1 - p) / left.n);
        naive += erfc(fabs(ratio_value(&left) - ratio_value(&right)) / deviation / sqrt(2)) < 0.01;
    }
    assert_in_range(taken, TRIES * 0.005, TRIES * 0.02); /* 1% is wanted */
    assert_true(naive > TRIES / 4);
}

static void differences_are_found(void **state)
{
    (void)state;
    unsigned found = 0;
    for (unsigned i = 0; i < 200; i++) {
        struct ratio left = alike(200, 0.6), right = alike(200, 0.1);
        found += ratio_chance(&left, &right, true) < 1e-6;
    }
    assert_int_equal(found, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(too_little_tells_nothing),
                                       cmocka_unit_test(chance_is_chance), cmocka_unit_test(differences_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
