#include "base/interval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void near(double found, double expected)
{
    assert_true(fabs(found - expected) < 0.0005);
}

/* Figures from Newcombe 1998, table I. */
static void intervals_are_wilsons(void **state)
{
    (void)state;
    struct wilson range = wilson_interval(81.0 / 263, 263);
    near(range.low, 0.2553);
    near(range.high, 0.3662);
    range = wilson_interval(15.0 / 148, 148);
    near(range.low, 0.0624);
    near(range.high, 0.1605);
    range = wilson_interval(0, 20);
    near(range.low, 0);
    near(range.high, 0.1611);
    range = wilson_interval(1.0 / 29, 29);
    near(range.low, 0.0061);
    near(range.high, 0.1718);
}

static void few_trials_say_little(void **state)
{
    (void)state;
    struct wilson range = wilson_interval(0, 0);
    assert_true(range.low == 0 && range.high == 1);
    assert_true(wilson_interval(0, 4).high > 0.4);
    assert_true(wilson_interval(1, 4).low < 0.6 && wilson_interval(1, 4).high > 0.999);
}

static void students_are_as_in_tables(void **state)
{
    (void)state;
    near(student_quantile(1, 0.05), 12.7062);
    near(student_quantile(2, 0.05), 4.3027);
    near(student_quantile(4, 0.05), 2.7764);
    near(student_quantile(10, 0.01), 3.1693);
    near(student_quantile(100, 0.05), 1.9840);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_are_wilsons),
        cmocka_unit_test(few_trials_say_little),
        cmocka_unit_test(students_are_as_in_tables),
    };
    return cmocka_run_group_tests_name("base/interval", tests, NULL, NULL);
}
