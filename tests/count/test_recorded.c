/* test_recorded.c - what memory controllers moved during a recording. Their PMU is the kernel's own software one, whose clock of a CPU
 * counts on every machine. */
#include "../skip.h"
#include "tree.h"

#include "base/clock.h"
#include "capture/count/count_recorded.h"

#include <math.h>

/* One controller of one node: nanoseconds of CPU 0 as bytes read, and the same as bytes written. */
static struct tree controller(void)
{
    struct tree tree = {"/tmp/numalens-count-XXXXXX"};
    assert_non_null(mkdtemp(tree.root));
    tree_write(&tree, "sys/devices/system/node/node0/cpulist", "0-1");
    tree_write_each(&tree, "sys/devices/system/cpu/cpu{0-1}/topology/physical_package_id", "0");
    static const char *const files[][2] = {{"type", "1"},
                                           {"cpumask", "0"},
                                           {"format/event", "config:0-7"},
                                           {"format/umask", "config:8-15"},
                                           {"events/cas_count_read", "event=0x00,umask=0x00"},
                                           {"events/cas_count_read.scale", "9.5367431640625e-07"},
                                           {"events/cas_count_read.unit", "MiB"},
                                           {"events/cas_count_write", "event=0x00,umask=0x00"},
                                           {"events/cas_count_write.scale", "9.5367431640625e-07"},
                                           {"events/cas_count_write.unit", "MiB"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        snprintf(path, sizeof path, "sys/bus/event_source/devices/uncore_imc_0/%s", files[i][0]);
        tree_write(&tree, path, files[i][1]);
    }
    return tree;
}

static struct trace_session *record_for(const char *root, uint64_t ns)
{
    struct count_recorded recorded = {.root = root};
    struct source source = count_recorded_source(&recorded);
    struct error err = {0};
    struct trace_session *ending = trace_session_new();
    assert_int_equal(source.open(source.context, &err), 0);
    for (uint64_t until = clock_now_ns() + ns; clock_now_ns() < until;)
        ;
    source.finish(source.context);
    count_recorded_describe(&recorded, ending);
    source.close(source.context);
    return ending;
}

static void bytes_of_a_node_are_kept(void **state)
{
    (void)state;
    struct tree tree = controller();
    struct trace_session *ending = record_for(tree.root, 5000000);
    const char *reason = trace_session_get(ending, "memory_counters_reason");
    if (reason && strstr(reason, "perf_event")) {
        char why[128];
        snprintf(why, sizeof why, "%s", reason);
        trace_session_free(ending);
        tree_remove(&tree);
        skip_test("no counters for the whole machine here: %s", why);
    }
    assert_null(reason);
    assert_string_equal(trace_session_get(ending, "memory_counters"), "Intel memory controllers");
    uint64_t ns = trace_session_number(ending, "memory_counted_ns", 0);
    assert_true(ns >= 5000000);
    static const char *const keys[] = {"memory_read_bytes", "memory_written_bytes", "memory_moved_bytes"};
    for (size_t i = 0; i < 3; i++) {
        const char *text = trace_session_get(ending, keys[i]);
        assert_non_null(text);
        assert_memory_equal(text, "0:", 2);
        assert_true(strtod(text + 2, NULL) > 0);
    }
    trace_session_free(ending);
    tree_remove(&tree);
}

static void without_counters_there_is_a_reason(void **state)
{
    (void)state;
    struct tree tree = tree_make("graviton3");
    struct trace_session *ending = record_for(tree.root, 0);
    assert_non_null(strstr(trace_session_get(ending, "memory_counters_reason"), "virtual machines hide them"));
    assert_null(trace_session_get(ending, "memory_counters"));
    assert_null(trace_session_get(ending, "memory_read_bytes"));
    trace_session_free(ending);
    tree_remove(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_a_node_are_kept),
        cmocka_unit_test(without_counters_there_is_a_reason),
    };
    return cmocka_run_group_tests_name("recorded", tests, NULL, NULL);
}
