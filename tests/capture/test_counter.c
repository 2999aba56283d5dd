#include "capture/agent/counter.h"
#include "base/clock.h"
#include "wire/region.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void time_goes_on_without_a_jump_when_lines_change(void **state)
{
    (void)state;
    struct counter_clock clock;
    counter_clock_start(&clock, false);
    uint64_t last = 0;
    for (int round = 0; round < 40; round++) {
        uint64_t before = wire_counter(), converted = counter_clock_ns(&clock, before);
        counter_clock_renew(&clock, UINT64_MAX); /* as if a second had passed */
        uint64_t start = clock.lines[0].from;
        assert_int_equal(counter_line_ns(&clock.lines[0], start), counter_line_ns(&clock.lines[1], start));
        /* What was made before keeps its time. */
        assert_int_equal(counter_clock_ns(&clock, before), converted);
        for (int i = 0; i < 100; i++) {
            uint64_t now = counter_clock_ns(&clock, wire_counter());
            assert_true(now >= last);
            last = now;
        }
    }
    assert_int_equal(clock.count, COUNTER_LINES);
}

/* A machine that was suspended: its counter went on and its clock did not, or vice versa. */
static void a_step_is_followed(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct counter_clock clock;
        counter_clock_start(&clock, false);
        if (i == 0)
            clock.lines[0].ns += 3600000000000; /* the line is an hour ahead */
        else if (i == 1)
            clock.lines[0].ns -= clock.lines[0].ns / 2;
        else
            clock.lines[0].from = UINT64_MAX / 2; /* the counter begins again */
        counter_clock_renew(&clock, UINT64_MAX);
        uint64_t before = clock_now_ns(), ns = counter_clock_ns(&clock, wire_counter()), after = clock_now_ns();
        assert_true(ns + 50000000 > before && ns < after + 50000000);
    }
}

static void counters_become_the_clocks_time(void **state)
{
    (void)state;
    struct counter_clock clock;
    counter_clock_start(&clock, false);
    /* The tightest of some tries: anything may come between two instructions. */
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        uint64_t before = clock_now_ns(), ns = counter_clock_ns(&clock, wire_counter()), after = clock_now_ns();
        uint64_t off = ns < before ? before - ns : ns > after ? ns - after : 0;
        best = off < best ? off : best;
    }
    assert_true(best < 20000);
    assert_true(counter_ticks_per_us() > 0);
}

static void nanoseconds_stay_what_they_are(void **state)
{
    (void)state;
    struct counter_clock clock;
    counter_clock_start(&clock, true);
    counter_clock_renew(&clock, UINT64_MAX);
    assert_int_equal(counter_clock_ns(&clock, 0), 0);
    assert_int_equal(counter_clock_ns(&clock, 123456789012345), 123456789012345);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_goes_on_without_a_jump_when_lines_change),
        cmocka_unit_test(a_step_is_followed),
        cmocka_unit_test(counters_become_the_clocks_time),
        cmocka_unit_test(nanoseconds_stay_what_they_are),
    };
    return cmocka_run_group_tests_name("counter", tests, NULL, NULL);
}
