/* Profiles of made-up runs: sums by burst, names that do not depend on addresses, threads by order. */
#include "../analysis/bursts.h"

#include "compare/difference.h"
#include "compare/profile.h"

#include <math.h>

/* A table that worker 1 filled and all read, and a buffer of worker 2's own; at addresses of one's own. */
static struct profile *run(uint64_t base, unsigned bursts, bool far)
{
    struct feeding f = run_begin();
    struct error err = {0};
    uint64_t table = HEAP + base, buffer = HEAP + base + (1 << 22);
    feed_alloc(&f, table, 1 << 20, CHAIN);
    feed_alloc(&f, buffer, 1 << 20, CHAIN + 1);
    feed_touches(&f, far ? 1 : 2, table, 256);
    feed_touches(&f, 2, buffer, 256);
    for (unsigned i = 0; i < bursts; i++) {
        f.time += 2 * MS;
        feed_burst(&f,
                   (struct burst_of){.thread = 2, .addr = table + dice(1 << 19), .latency = 100, .stack = CHAIN + 2});
        feed_burst(&f, (struct burst_of){
                           .thread = 2, .addr = buffer + dice(1 << 19), .latency = 50, .count = 8, .stack = CHAIN + 3});
    }
    feeding_build(&f);
    struct profile *profile = profile_make(f.flow, "made up", NULL, &err);
    assert_non_null(profile);
    feeding_free(&f);
    return profile;
}

static void sums(void **state)
{
    (void)state;
    struct profile *profile = run(0, 50, true);
    assert_int_equal(profile->bursts, 100);
    assert_int_equal(profile->totals.samples, 50 * 24);
    assert_int_equal(profile->tables[PROFILE_OBJECTS].count, 2);
    const struct profile_entry *table = &profile->tables[PROFILE_OBJECTS].items[0], *buffer = table + 1;
    assert_int_equal(table->samples, 50 * BURST);
    assert_int_equal(buffer->samples, 50 * 8);
    assert_true(fabs(ratio_value(&table->share) - 2.0 / 3) < 1e-9);
    assert_int_equal(table->share.bursts, 100);
    assert_true(ratio_value(&table->far) == 1 && ratio_value(&buffer->far) == 0);
    assert_true(fabs(ratio_value(&profile->far) - 2.0 / 3) < 1e-9);
    assert_true(fabs(ratio_value(&table->of_all) - 2.0 / 3) < 1e-9);
    assert_true(ratio_value(&table->latency) == 100 && ratio_value(&buffer->latency) == 50);
    assert_true(ratio_value(&profile->near_latency) == 50 && ratio_value(&profile->far_latency) == 100);
    assert_true(fabs(ratio_value(&profile->homes[1]) - 2.0 / 3) < 1e-9);
    profile_free(profile);
}

static void same_run_at_other_addresses(void **state)
{
    (void)state;
    struct profile *before = run(0, 50, true), *after = run(1 << 26, 55, true);
    struct difference *difference = difference_make(before, after);
    assert_int_equal(difference->tables[PROFILE_OBJECTS].count, 2);
    for (unsigned table = 0; table < PROFILE_TABLES; table++) {
        array_each (&difference->tables[table], const struct difference_row, row) {
            assert_true(row->sides[0] && row->sides[1]);
            assert_false(row->real[0] || row->real[1] || row->real[2]);
        }
    }
    /* Only the thread that did something is there: the other two workers have no samples. */
    assert_int_equal(difference->tables[PROFILE_THREADS].count, 1);
    assert_int_equal(difference->tables[PROFILE_THREADS].items[0].sides[0]->order, 1);
    assert_false(difference->whole.real[DIFFERENCE_REMOTE]);
    assert_non_null(strstr(difference->what, "did not change"));
    difference_free(difference);
    profile_free(before);
    profile_free(after);
}

/* Half of the accesses go to a page of a library, which another thread touches first each time; or to one of the heap. */
static bool traffic_differs(bool library)
{
    struct profile *profiles[2];
    for (uint32_t run = 0; run < 2; run++) {
        struct feeding f = run_begin();
        struct error err = {0};
        uint64_t page = HEAP + (1 << 24);
        if (library)
            feed(&f, (struct event){
                         .kind = EVENT_MODULE_LOAD,
                         .module = {.start = page, .end = page + 4096, .bias = page, .path = "/usr/lib/none.so"}});
        else
            feed_alloc(&f, page, 4096, CHAIN);
        feed_touches(&f, 1 + run, page, 1);
        for (unsigned i = 0; i < 400; i++) {
            f.time += 2 * MS;
            feed_burst(&f, (struct burst_of){.thread = 1 + i % 2, .addr = page, .latency = 10, .stack = CHAIN + 2});
        }
        feeding_build(&f);
        profiles[run] = profile_make(f.flow, "made up", NULL, &err);
        assert_non_null(profiles[run]);
        feeding_free(&f);
    }
    struct difference *difference = difference_make(profiles[0], profiles[1]);
    bool differs = false;
    for (uint32_t node = 0; node < difference->nodes; node++)
        differs |= difference->home_real[node];
    difference_free(difference);
    profile_free(profiles[0]);
    profile_free(profiles[1]);
    return differs;
}

static void traffic_to_libraries_is_chance(void **state)
{
    (void)state;
    assert_true(traffic_differs(false));
    assert_false(traffic_differs(true));
}

static void a_repaired_run(void **state)
{
    (void)state;
    struct profile *before = run(0, 60, true), *after = run(1 << 26, 60, false);
    struct difference *difference = difference_make(before, after);
    const struct difference_row *row = &difference->tables[PROFILE_OBJECTS].items[0];
    assert_true(row->real[DIFFERENCE_REMOTE] && !row->real[DIFFERENCE_SHARE] && !row->real[DIFFERENCE_LATENCY]);
    assert_true(difference->whole.real[DIFFERENCE_REMOTE]);
    assert_non_null(strstr(difference->what, "fell from 66.7% to 0.0%; mostly"));
    assert_true(difference->home_real[1] && difference->home_real[2] && !difference->home_real[3]);
    assert_true(difference->findings.count > 0);
    array_each (&difference->findings, const struct difference_finding, fate)
        assert_int_equal(fate->fate, FATE_GONE);
    assert_non_null(strstr(difference->proof, "went away"));
    difference_free(difference);
    /* In the other order it is a new finding. */
    difference = difference_make(after, before);
    assert_true(difference->findings.count > 0);
    assert_int_equal(difference->findings.items[0].fate, FATE_NEW);
    assert_non_null(strstr(difference->what, "rose from 0.0% to 66.7%"));
    difference_free(difference);
    profile_free(before);
    profile_free(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums), cmocka_unit_test(same_run_at_other_addresses),
                                       cmocka_unit_test(traffic_to_libraries_is_chance),
                                       cmocka_unit_test(a_repaired_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
