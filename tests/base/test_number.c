#include "base/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void numbers_for_people(void **state)
{
    (void)state;
    assert_string_equal(number_count(0), "0");
    assert_string_equal(number_count(999), "999");
    assert_string_equal(number_count(1234567), "1,234,567");
    assert_string_equal(number_bytes(0), "0 B");
    assert_string_equal(number_bytes(1023), "1023 B");
    assert_string_equal(number_bytes(1536), "1.5 KiB");
    assert_string_equal(number_bytes(1ul << 40), "1.0 TiB");
    assert_string_equal(number_bytes(200ul << 20), "200 MiB");
    assert_string_equal(number_percent(1, 3), "33.3%");
    assert_string_equal(number_percent(0, 3), "0%");
    assert_string_equal(number_percent(1, 100000), "<0.1%");
    assert_string_equal(number_percent(3, 3), "100%");
    assert_string_equal(number_percent(99999, 100000), "99.9%");
    assert_string_equal(number_percent(0, 0), "-");
    assert_string_equal(number_remote(1, 3), "33.3% remote");
    assert_string_equal(number_remote(0, 0), "remote unknown");
    assert_string_equal(number_seconds(185), "3 m 05 s");
    assert_string_equal(number_seconds(1.26), "1.3 s");
    assert_string_equal(number_seconds(0.0125), "12 ms");
    assert_string_equal(number_latency(10, 4, "ns"), "3 ns");
    assert_string_equal(number_latency(0, 0, "ns"), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_for_people)};
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
