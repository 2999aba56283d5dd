/* Which of two ways is faster: quantiles of Student's t from its tables, and how often made-up runs are judged rightly. */
#include "compare/paired.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static double uniform(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

/* A run's time: noise of so much, and now and then a disturbance. */
static double run_time(double mean, double noise)
{
    double normal = sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
    return mean * exp(noise * normal) * (uniform() < 0.05 ? 1.5 : 1);
}

static enum paired_answer judge(double gain, double noise, unsigned *pairs)
{
    struct paired paired = {0};
    enum paired_answer answer = PAIRED_OPEN;
    while (answer == PAIRED_OPEN) {
        paired_add(&paired, run_time(gain, noise), run_time(1, noise));
        answer = paired_answer(&paired, 12, 0.002, 1.01);
    }
    *pairs += paired.count;
    return answer;
}

static void judged_rightly(void **state)
{
    (void)state;
    enum { PROGRAMS = 2000 };
    unsigned wrong = 0, harmful = 0, missed = 0, pairs = 0, sure = 0;
    for (unsigned i = 0; i < PROGRAMS; i++) {
        wrong += judge(1, 0.03, &pairs) == PAIRED_FASTER;
        harmful += judge(0.9, 0.03, &pairs) == PAIRED_FASTER;
        missed += judge(1.5, 0.02, &sure) != PAIRED_FASTER;
    }
    /* 0.002 of 2000 are 4; five standard deviations more are 14 */
    assert_true(wrong <= 14);
    assert_int_equal(harmful, 0);
    assert_true(missed < PROGRAMS / 50);
    assert_true(sure < 9 * PROGRAMS); /* and it is sure before all twelve are done */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judged_rightly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
