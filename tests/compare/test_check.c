/* When a share is called below or above a limit, and how many bursts would decide it. */
#include "compare/check.h"

#include "base/interval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static void clear_shares(void **state)
{
    (void)state;
    uint64_t needed;
    assert_int_equal(check_share(0.08, 0.2, 500, &needed), CHECK_HOLDS);
    assert_int_equal(needed, 0);
    assert_int_equal(check_share(0.6, 0.2, 500, &needed), CHECK_FAILS);
    assert_int_equal(check_share(0, 0.2, 500, &needed), CHECK_HOLDS);
    assert_int_equal(check_share(1, 0.2, 30, &needed), CHECK_FAILS);
}

static void too_few_bursts(void **state)
{
    (void)state;
    uint64_t needed;
    assert_int_equal(check_share(0, 0.2, 0, &needed), CHECK_UNDECIDED);
    assert_true(needed >= 24);
    assert_int_equal(check_share(0, 0.2, 11, &needed), CHECK_UNDECIDED);
    assert_int_equal(check_share(1, 0.2, 11, &needed), CHECK_UNDECIDED);
    assert_int_equal(check_share(0.15, 0.2, 100, &needed), CHECK_UNDECIDED);
}

/* As many as it says are enough, if the share is what it seems: not closer to the limit than can be seen. */
static void needed_is_enough(void **state)
{
    (void)state;
    for (unsigned percent = 0; percent <= 100; percent++) {
        for (uint64_t bursts = 0; bursts < 2000; bursts += 37) {
            uint64_t needed, again;
            double share = percent / 100.0, distance = percent > 20 ? share - 0.2 : 0.2 - share;
            struct wilson interval = wilson_interval(share, (double)bursts);
            double width = interval.high - interval.low;
            if (check_share(share, 0.2, bursts, &needed) != CHECK_UNDECIDED || distance < width / 4)
                continue;
            assert_true(needed > bursts);
            assert_int_not_equal(check_share(share, 0.2, needed, &again), CHECK_UNDECIDED);
        }
    }
}

/* A program whose share is the limit itself is called below it, or above it, once in a hundred recordings each. With 20,000
 * recordings the bounds are more than ten standard deviations away; the numbers are the same every time. */
static void at_the_limit(void **state)
{
    (void)state;
    enum { RECORDINGS = 20000, BURSTS = 400 };
    unsigned outcomes[CHECK_UNDECIDED + 1] = {0};
    unsigned long seed = 17;
    for (unsigned i = 0; i < RECORDINGS; i++) {
        unsigned remote = 0;
        for (unsigned burst = 0; burst < BURSTS; burst++) {
            seed = seed * 6364136223846793005ul + 1442695040888963407ul;
            remote += (seed >> 33) % 5 == 0;
        }
        uint64_t needed;
        outcomes[check_share((double)remote / BURSTS, 0.2, BURSTS, &needed)]++;
    }
    assert_in_range(outcomes[CHECK_HOLDS], 1, RECORDINGS / 50);
    assert_in_range(outcomes[CHECK_FAILS], 1, RECORDINGS / 50);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(check_kind_name(CHECK_NO_NEW_FINDINGS), "no-new-findings");
    assert_string_equal(check_outcome_name(CHECK_UNDECIDED), "undecided");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clear_shares), cmocka_unit_test(too_few_bursts), cmocka_unit_test(needed_is_enough),
        cmocka_unit_test(at_the_limit), cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
