/* test_session.c - from counters to figures: differences, shared hardware, restarts, counters that go away. */
#include "../skip.h"
#include "tree.h"

#include "base/clock.h"
#include "capture/count/count_reader.h"
#include "capture/count/count_run.h"
#include "capture/count/count_session.h"

#include <errno.h>

static void update(struct count_reader *reader)
{
    struct count_file last = {.path = NULL};
    count_reader_update(reader, &last);
}

static void shared_hardware_is_scaled(void **state)
{
    (void)state;
    struct count_counter counter = {.scale = 64};
    struct count_reader reader = {.counter = &counter, .fd = -1};
    count_reader_take(&reader, 1000, 500, 400); /* where it starts does not matter */
    assert_amount(reader.sum, 0);
    count_reader_take(&reader, 1100, 1500, 900); /* 100 events in half of the time */
    assert_amount(reader.sum, 200 * 64);
    count_reader_take(&reader, 1100, 2500, 900); /* never on: nothing is known, not even zero */
    assert_amount(reader.sum, 200 * 64);
    assert_true(reader.starved);
    count_reader_take(&reader, 1150, 3500, 1900); /* 50 in half of what passed since it last was */
    assert_amount(reader.sum, 300 * 64);
    assert_false(reader.starved);
    count_reader_take(&reader, 1160, 4500, 2900); /* the whole time: as it is */
    assert_amount(reader.sum, 310 * 64);
}

static void no_turn_is_not_zero(void **state)
{
    (void)state;
    struct count_counter counter = {.scale = 64};
    struct count_reader reader = {.counter = &counter, .fd = -1};
    assert_false(count_reader_known(&reader));
    count_reader_take(&reader, 0, 10, 0);
    assert_true(count_reader_known(&reader));
    count_reader_take(&reader, 0, 1000, 0);
    assert_false(count_reader_known(&reader));
    count_reader_take(&reader, 5, 2010, 1000);
    assert_true(count_reader_known(&reader));
    assert_amount(reader.sum, 10 * 64);
    count_reader_take(&reader, 5, 3010, 1000); /* what it had still stands */
    assert_true(count_reader_known(&reader));
    assert_amount(reader.sum, 10 * 64);
}

static void a_restart_counts_from_zero(void **state)
{
    (void)state;
    struct count_counter counter = {.scale = 1, .path = (char *)"file"};
    struct count_reader reader = {.counter = &counter, .fd = -1};
    count_reader_take(&reader, UINT64_MAX - 10, 0, 0);
    count_reader_take(&reader, UINT64_MAX, 0, 0);
    assert_amount(reader.sum, 10);
    count_reader_take(&reader, 7, 0, 0);
    assert_amount(reader.sum, 17);
}

static void what_falls_may_fall(void **state)
{
    (void)state;
    struct count_counter counter = {.scale = -4096, .path = (char *)"file"};
    struct count_reader reader = {.counter = &counter, .fd = -1};
    count_reader_take(&reader, 1000, 0, 0);
    count_reader_take(&reader, 900, 0, 0);
    assert_amount(reader.sum, 100 * 4096);
    count_reader_take(&reader, 1500, 0, 0);
    assert_amount(reader.sum, -500 * 4096);
}

static void texts(void **state)
{
    (void)state;
    uint64_t value = 5;
    assert_true(count_reader_parse("123\n", NULL, &value));
    assert_int_equal(value, 123);
    assert_false(count_reader_parse("Unavailable\n", NULL, &value));
    assert_false(count_reader_parse("", NULL, &value));
    assert_false(count_reader_parse("99999999999999999999999\n", NULL, &value));
    assert_false(count_reader_parse("12x\n", NULL, &value));
    const char *lines = "numa_hit 1\nnuma_hit_more 2\nother_node 3\n";
    assert_true(count_reader_parse(lines, "numa_hit", &value));
    assert_int_equal(value, 1);
    assert_true(count_reader_parse(lines, "other_node", &value));
    assert_int_equal(value, 3);
    assert_false(count_reader_parse(lines, "numa", &value));
    assert_false(count_reader_parse(lines, "absent", &value));
}

static void intervals_do_not_drift(void **state)
{
    (void)state;
    assert_int_equal(count_run_next(1000, 100, 1000), 1100);
    assert_int_equal(count_run_next(1000, 100, 1099), 1100);
    assert_int_equal(count_run_next(1000, 100, 1100), 1200);
    assert_int_equal(count_run_next(1000, 100, 1457), 1500);
    assert_int_equal(count_run_next(1000, 100, 10), 1100);
}

static struct count_session *open_tree(const struct tree *tree, int source)
{
    struct error err = {0};
    struct count_session *session = count_session_open(&(struct count_request){source, tree->root}, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static void resctrl_counts(void **state)
{
    (void)state;
    struct tree tree = tree_make("zen2");
    struct count_session *session = open_tree(&tree, COUNT_RESCTRL);
    struct count_reading before = {0}, after = {0};
    count_session_read(session, &before);
    tree_write(&tree, "sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "5000");         /* 4000 more */
    tree_write(&tree, "sys/fs/resctrl/mon_data/mon_L3_00/mbm_local_bytes", "1900");         /* 1000 more */
    tree_write(&tree, "sys/fs/resctrl/database/mon_data/mon_L3_00/mbm_total_bytes", "150"); /* 100 more */
    tree_write(&tree, "sys/fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes", "Unavailable");
    tree_write(&tree, "sys/fs/resctrl/mon_data/mon_L3_03/mbm_local_bytes", "8");
    count_session_read(session, &after);
    assert_amount(count_amount(&before, &after, 0, COUNT_TOTAL), 4100);
    assert_amount(count_amount(&before, &after, 0, COUNT_LOCAL), 1000);
    assert_amount(count_amount(&before, &after, 0, COUNT_REMOTE), 3100);
    assert_amount(count_amount(&before, &after, 1, COUNT_TOTAL), 0);
    assert_true(isnan(count_amount(&before, &after, 0, COUNT_READ)));
    assert_true(after.time >= before.time);
    struct count_quality quality = count_session_quality(session);
    assert_int_equal(quality.lost, 0);
    assert_amount(quality.running, 1);
    count_reading_free(&before);
    count_reading_free(&after);
    count_session_close(session);
    tree_remove(&tree);
}

/* As when the CPUs of a cache are taken away and come back: a new file, which counts from zero. */
static void a_file_that_comes_back(void **state)
{
    (void)state;
    struct tree tree = tree_make("zen2");
    struct count_counter counter = {.scale = 1};
    struct count_reader reader;
    char path[256];
    snprintf(path, sizeof path, "%s/sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", tree.root);
    counter.path = path;
    assert_int_equal(count_reader_open(&reader, &counter), 0);
    tree_write(&tree, "sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "1500");
    update(&reader);
    assert_amount(reader.sum, 500);
    count_reader_close(&reader);
    assert_int_equal(unlink(path), 0);
    update(&reader);
    assert_int_equal(reader.fd, -1);
    assert_amount(reader.sum, 500);
    tree_write(&tree, "sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "40");
    update(&reader);
    assert_amount(reader.sum, 540);
    count_reader_close(&reader);
    tree_remove(&tree);
}

/* Nobody has these PMUs here: what is next best is taken, and why is reported. */
static void the_next_best_is_taken(void **state)
{
    (void)state;
    struct tree tree = tree_make("skylake-sp");
    struct count_session *session = open_tree(&tree, COUNT_AUTO);
    assert_int_equal(count_session_plan(session)->source, COUNT_NUMASTAT);
    const struct count_refusal *refusals;
    assert_int_equal(count_session_refusals(session, &refusals), 2);
    assert_int_equal(refusals[0].source, COUNT_UNCORE);
    assert_true(strlen(refusals[0].reason) > 0);
    assert_int_equal(refusals[1].source, COUNT_RESCTRL);
    struct count_reading before = {0}, after = {0};
    count_session_read(session, &before);
    tree_write(&tree, "sys/devices/system/node/node1/numastat",
               "numa_hit 150\\nnuma_miss 5\\nnuma_foreign 9\\ninterleave_hit 7\\nlocal_node 90\\nother_node 65");
    tree_write(&tree, "sys/devices/system/node/node1/vmstat", "nr_free_pages 900\\nnr_zone_inactive_anon 5");
    count_session_read(session, &after);
    assert_amount(count_amount(&before, &after, 1, COUNT_HIT), 50);
    assert_amount(count_amount(&before, &after, 1, COUNT_FOREIGN), 3);
    assert_amount(count_amount(&before, &after, 1, COUNT_NEAR), 10);
    assert_amount(count_amount(&before, &after, 1, COUNT_FAR), 40);
    assert_amount(count_amount(&before, &after, 1, COUNT_NET), 100.0 * (double)sysconf(_SC_PAGESIZE));
    assert_amount(count_amount(&before, &after, 0, COUNT_HIT), 0);
    count_reading_free(&before);
    count_reading_free(&after);
    count_session_close(session);
    tree_remove(&tree);
}

static void what_cannot_be_had_is_explained(void **state)
{
    (void)state;
    struct tree tree = tree_make("graviton3");
    struct error err = {0};
    assert_null(count_session_open(&(struct count_request){COUNT_UNCORE, tree.root}, &err));
    assert_true(err.code < 0);
    assert_non_null(strstr(err.text, "virtual machines hide them"));
    assert_null(count_session_open(&(struct count_request){COUNT_RESCTRL, tree.root}, &err));
    assert_non_null(strstr(err.text, "/sys/fs/resctrl"));
    tree_remove(&tree);
}

/* The way of the uncore's counters with an event that every kernel has: for one CPU, whoever runs there. */
static void a_real_counter(void **state)
{
    (void)state;
    struct count_counter counter = {
        .scale = 1,
        .attr = {.type = PERF_TYPE_SOFTWARE,
                 .size = sizeof counter.attr,
                 .config = PERF_COUNT_SW_CPU_CLOCK,
                 .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING},
    };
    struct count_reader reader;
    int code = count_reader_open(&reader, &counter);
    if (code == -EACCES || code == -EPERM || code == -ENOSYS)
        skip_test("only the administrator may count for the whole machine");
    assert_int_equal(code, 0);
    double last = 0;
    for (uint64_t until = clock_now_ns() + 5000000; clock_now_ns() < until;) {
        update(&reader);
        assert_true(reader.sum >= last);
        last = reader.sum;
    }
    assert_true(last > 0);
    assert_int_equal(reader.running - reader.first_running, reader.enabled - reader.first_enabled);
    /* A counter whose device was removed ends in an end of file, here made by closing it behind the reader's back. */
    close(reader.fd);
    update(&reader);
    assert_int_equal(reader.fd, -1);
    assert_amount(reader.sum, last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_hardware_is_scaled),
        cmocka_unit_test(no_turn_is_not_zero),
        cmocka_unit_test(a_restart_counts_from_zero),
        cmocka_unit_test(what_falls_may_fall),
        cmocka_unit_test(texts),
        cmocka_unit_test(intervals_do_not_drift),
        cmocka_unit_test(resctrl_counts),
        cmocka_unit_test(a_file_that_comes_back),
        cmocka_unit_test(the_next_best_is_taken),
        cmocka_unit_test(what_cannot_be_had_is_explained),
        cmocka_unit_test(a_real_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
