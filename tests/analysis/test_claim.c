/* Claims about shares: what few bursts may say, and what they may not. */
#include "analysis/facts/claim.h"
#include "analysis/thresholds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static double sure(double share, double null, double bursts, bool below)
{
    return claim_confidence(&(struct claim){.share = share, .null = null, .bursts = bursts, .below = below});
}

static void grows_with_bursts(void **state)
{
    (void)state;
    assert_true(sure(0.75, 0.5, 12, false) < sure(0.75, 0.5, 40, false));
    assert_true(sure(0.75, 0.5, 40, false) > 0.99);
    assert_true(sure(0.6, 0.5, 20, false) > 0.5 && sure(0.6, 0.5, 20, false) < 0.9);
    assert_true(sure(0.5, 0.5, 1000, false) > 0.49 && sure(0.5, 0.5, 1000, false) < 0.51);
    assert_true(sure(1, 0.1, 100000, false) <= 0.999); /* never quite */
}

static void has_two_sides(void **state)
{
    (void)state;
    double above = sure(0.6, 0.5, 50, false), below = sure(0.6, 0.5, 50, true);
    assert_true(above + below > 0.999 && above + below < 1.001);
}

static void few_say_nothing(void **state)
{
    (void)state;
    assert_true(sure(1, 0.1, thresholds.bursts - 1, false) <= 0);
    assert_true(sure(1, 0.1, thresholds.bursts, false) > 0.99);
    assert_true(sure(1, 0.1, 0, false) <= 0);
}

static void edges_can_be_tested(void **state)
{
    (void)state;
    assert_true(sure(0.2, 0, 20, false) > 0.99);
    assert_true(sure(0.8, 1, 20, true) > 0.99);
}

static uint64_t needed(double share, double null, double bursts)
{
    return claim_needed(&(struct claim){.share = share, .null = null, .bursts = bursts});
}

/* More than there are, never just one; enough that the claim would be reached; of a share at the null, not endless. */
static void says_how_many(void **state)
{
    (void)state;
    for (double bursts = 1; bursts < 500; bursts *= 1.7) {
        for (double share = 0; share <= 1; share += 0.05) {
            uint64_t more = needed(share, 0.5, bursts);
            assert_true((double)more >= 1.5 * bursts && more >= 2 * thresholds.bursts);
            assert_true(more < 4000000);
            if (share > 0.75)
                assert_true(sure(share, 0.5, (double)more, false) >= 0.95);
        }
    }
    assert_true(needed(0.6, 0.5, 20) >= 60 && needed(0.6, 0.5, 20) <= 100);
    assert_true(needed(0.5, 0.5, 0) >= 2 * thresholds.bursts);
}

static void intervals(void **state)
{
    (void)state;
    assert_true(claim_at_most(0, 100) > 0.02 && claim_at_most(0, 100) < 0.03); /* none of 100: at most 2.6% */
    assert_true(claim_at_most(0, 0) > 0.99);
}

static void words(void **state)
{
    (void)state;
    assert_string_equal(claim_word(0.995), "certain");
    assert_string_equal(claim_word(0.95), "likely");
    assert_string_equal(claim_word(0.8), "a hint");
    assert_string_equal(claim_word(0.5), "undecided");
    assert_int_equal(claim_rounded(1234), 1300);
    assert_int_equal(claim_rounded(24), 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_with_bursts),
        cmocka_unit_test(has_two_sides),
        cmocka_unit_test(few_say_nothing),
        cmocka_unit_test(edges_can_be_tested),
        cmocka_unit_test(says_how_many),
        cmocka_unit_test(intervals),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests_name("claim", tests, NULL, NULL);
}
