#include "trace/heap_ways.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static uint64_t state = 7;

static uint64_t chance(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static void ways_are_found_as_one_by_one(void **ignored)
{
    (void)ignored;
    _Alignas(32) uint32_t ways[8];
    for (unsigned round = 0; round < 20000; round++) {
        uint32_t tag = ((uint32_t)chance(3) << 16) | 1u << 31;
        unsigned empty = 0, tagged = 0;
        for (unsigned i = 0; i < 8; i++) {
            ways[i] = chance(3) ? ((uint32_t)chance(3) << 16 | 1u << 31) + (uint32_t)(1 + chance(65535)) : 0;
            empty |= (unsigned)(ways[i] == 0) << i;
            tagged |= (unsigned)(ways[i] >> 16 == tag >> 16) << i;
        }
        assert_int_equal(ways_empty(ways), empty);
        assert_int_equal(ways_tagged(ways, tag), tagged);
    }
}

static void numbers_are_found_as_one_by_one(void **ignored)
{
    (void)ignored;
    _Alignas(64) uint64_t numbers[8];
    for (unsigned round = 0; round < 20000; round++) {
        uint64_t number = chance(2) << 63 | chance(3) << 32 | chance(3); /* halves that are equal are not enough */
        unsigned equal = 0;
        for (unsigned i = 0; i < 8; i++) {
            numbers[i] = chance(2) << 63 | chance(3) << 32 | chance(3);
            equal |= (unsigned)(numbers[i] == number) << i;
        }
        assert_int_equal(ways_equal(numbers, number), equal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_are_found_as_one_by_one),
        cmocka_unit_test(numbers_are_found_as_one_by_one),
    };
    return cmocka_run_group_tests_name("trace/ways", tests, NULL, NULL);
}
