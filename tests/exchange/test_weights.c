/* test_weights.c - which samples of a perf.data stand for how many accesses, when several events were recorded. */
#include "exchange/perf_weights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { RAW = 4, ATOM = 10 };

static const struct perf_sample sample = {.present = PERF_SAMPLE_PERIOD, .period = 500};

static uint32_t weigh(struct perf_weights *weights, uint32_t type, uint64_t config, uint8_t flags)
{
    struct perf_file_event event = {.attr = {.type = type, .config = config}, .name = "made up"};
    struct memory_access access = {.flags = flags};
    return perf_weight(weights, &event, &sample, &access);
}

static void loads_and_stores_are_two_events(void **state)
{
    (void)state;
    struct perf_weights weights = {.source = SOURCE_PEBS};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(weigh(&weights, RAW, 0x1cd, SAMPLE_READ), 500);
        assert_int_equal(weigh(&weights, RAW, 0x82d0, SAMPLE_WRITE), 500);
    }
    perf_weights_free(&weights);
}

static void the_same_loads_count_once(void **state)
{
    (void)state;
    struct perf_weights weights = {.source = SOURCE_PEBS};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(weigh(&weights, RAW, 0x1cd, SAMPLE_READ), 500);
        assert_int_equal(weigh(&weights, RAW, 0x20d1, SAMPLE_READ), 0); /* those that miss the L3 */
    }
    perf_weights_free(&weights);
}

static void two_kinds_of_cores_are_two_pmus(void **state)
{
    (void)state;
    struct perf_weights weights = {.source = SOURCE_PEBS};
    assert_int_equal(weigh(&weights, RAW, 0x1cd, SAMPLE_READ), 500);
    assert_int_equal(weigh(&weights, ATOM, 0x5d0, SAMPLE_READ), 500);
    perf_weights_free(&weights);
}

static void ibs_without_registers_is_unclear(void **state)
{
    (void)state;
    struct perf_weights weights = {.source = SOURCE_IBS};
    assert_int_equal(weigh(&weights, ATOM, 1 << 19, SAMPLE_READ), 0);
    weights.by_registers = true;
    assert_int_equal(weigh(&weights, ATOM, 1 << 19, SAMPLE_READ), 500);
    assert_int_equal(weigh(&weights, ATOM, 1 << 19, SAMPLE_WRITE), 500); /* one event samples both */
    perf_weights_free(&weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_and_stores_are_two_events),
        cmocka_unit_test(the_same_loads_count_once),
        cmocka_unit_test(two_kinds_of_cores_are_two_pmus),
        cmocka_unit_test(ibs_without_registers_is_unclear),
    };
    return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
