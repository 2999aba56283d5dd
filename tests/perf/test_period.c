/* test_period.c - how many events a sample stands for. */
#include "perf/period.h"

#include "wire/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static uint32_t period_of(struct perf_event_attr attr, uint8_t source, const struct perf_sample *sample)
{
    struct perf_periods periods = perf_periods_of(&attr, source);
    return perf_period(&periods, sample);
}

static const struct perf_sample own = {.present = PERF_SAMPLE_PERIOD, .period = 70001}, without = {0};

static void a_sample_says_it_itself(void **state)
{
    (void)state;
    struct perf_event_attr by_frequency = {.freq = 1, .sample_freq = 4000}, fixed = {.sample_period = 1000};
    assert_int_equal(period_of(by_frequency, SOURCE_PEBS, &own), 70001);
    assert_int_equal(period_of(fixed, SOURCE_PEBS, &own), 70001);
}

static void else_its_event_does(void **state)
{
    (void)state;
    struct perf_event_attr by_frequency = {.freq = 1, .sample_freq = 4000}, fixed = {.sample_period = 1000};
    assert_int_equal(period_of(fixed, SOURCE_PEBS, &without), 1000);
    assert_int_equal(period_of(by_frequency, SOURCE_PEBS, &without), 0); /* a frequency is no period */
}

static void ibs_counts_operations_or_cycles(void **state)
{
    (void)state;
    struct perf_event_attr operations = {.config = 1 << 19, .sample_period = 4096}, cycles = {.sample_period = 4096};
    assert_int_equal(period_of(operations, SOURCE_IBS, &own), 70001);
    assert_int_equal(period_of(cycles, SOURCE_IBS, &own), 0);
    assert_int_equal(period_of(cycles, SOURCE_PEBS, &own), 70001); /* the bit is IBS's alone */
}

static void packets_of_spe_have_their_events(void **state)
{
    (void)state;
    struct perf_event_attr attr = {.sample_period = 4096 + 255};
    assert_int_equal(period_of(attr, SOURCE_SPE, NULL), 4096);
}

static void faults_are_no_accesses(void **state)
{
    (void)state;
    struct perf_event_attr attr = {.sample_period = 1};
    assert_int_equal(period_of(attr, SOURCE_FAULTS, &own), 0);
}

static void a_long_one_is_cut(void **state)
{
    (void)state;
    struct perf_event_attr attr = {.sample_period = 1ULL << 40};
    assert_int_equal(period_of(attr, SOURCE_PEBS, &without), SAMPLE_PERIOD_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_says_it_itself),         cmocka_unit_test(else_its_event_does),
        cmocka_unit_test(ibs_counts_operations_or_cycles), cmocka_unit_test(packets_of_spe_have_their_events),
        cmocka_unit_test(faults_are_no_accesses),          cmocka_unit_test(a_long_one_is_cut),
    };
    return cmocka_run_group_tests_name("period", tests, NULL, NULL);
}
