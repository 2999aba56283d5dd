/* test_core_lines.c - lines that the target's own CPUs bring from memory. Page faults stand in for them: every kernel counts those, of one
 * task and all it starts, as it counts the events of a core. */
#include "../skip.h"
#include "tree.h"

#include "capture/count/core_lines.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { TOUCHED = 64, BEFORE = 16384, NO_SUCH_EVENT = 0x7777 };

#define FAULTS  PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS
#define REFUSED PERF_TYPE_SOFTWARE, NO_SUCH_EVENT

static void touch(size_t pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    madvise(memory, pages * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < pages; i++)
        ((volatile char *)memory)[i * page] = 1;
}

static void *touch_in_thread(void *unused)
{
    touch(TOUCHED);
    return unused;
}

/* The target: as many pages in a thread, and in a child, as in itself. */
static int target(void)
{
    pthread_t thread;
    touch(TOUCHED);
    if (pthread_create(&thread, NULL, touch_in_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        touch(TOUCHED);
        _exit(0);
    }
    int status;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

/* Counts a run of the target, from its exec on. */
static struct trace_session *count_target(const struct core_event *events)
{
    struct trace_session *ending = trace_session_new();
    struct core_lines lines = {0};
    int gate[2], status;
    assert_int_equal(pipe(gate), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(gate[1]);
        touch(BEFORE); /* what the recorder's own child does before the exec is not the target's */
        while (read(gate[0], &byte, 1) < 0 && errno == EINTR)
            ;
        execl("/proc/self/exe", "target", "touch", (char *)NULL);
        _exit(127);
    }
    close(gate[0]);
    core_lines_open(&lines, events, child);
    assert_int_equal(write(gate[1], "", 1), 1);
    close(gate[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    core_lines_read(&lines);
    core_lines_describe(&lines, ending);
    core_lines_close(&lines);
    return ending;
}

/* A container may forbid perf events, and user emulation has none. */
static void skip_without_perf(void)
{
    struct perf_event_attr attr = {
        .size = sizeof attr, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_kernel = 1};
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return;
    }
    skip_test("no perf events here: %s", strerror(errno));
}

static void threads_and_children_count(void **state)
{
    (void)state;
    static const struct core_event events[] = {{CORE_PREFETCHED, 0, "prefetched", FAULTS},
                                               {CORE_DEMANDED, 0, "demanded", FAULTS},
                                               {CORE_MISSED, 1, "missed", FAULTS},
                                               {0}};
    skip_without_perf();
    struct trace_session *ending = count_target(events);
    assert_null(trace_session_get(ending, "core_counters_reason"));
    assert_null(trace_session_get(ending, "core_counters_absent"));
    assert_string_equal(trace_session_get(ending, "core_counters"), "prefetched, demanded");
    assert_true(trace_session_number(ending, "core_counted_ns", 0) > 0);
    uint64_t bytes = trace_session_number(ending, "core_prefetched_bytes", 0);
    assert_true(bytes >= 3ul * TOUCHED * 64 && bytes < BEFORE * 64ul);
    assert_int_equal(bytes % 64, 0);
    assert_true(trace_session_number(ending, "core_demanded_bytes", 0) >= 3ul * TOUCHED * 64);
    assert_null(trace_session_get(ending, "core_missed_bytes")); /* a better group counts */
    trace_session_free(ending);
}

static void the_next_group_takes_its_place(void **state)
{
    (void)state;
    static const struct core_event events[] = {{CORE_PREFETCHED, 0, "prefetched", REFUSED},
                                               {CORE_DEMANDED, 0, "demanded", FAULTS},
                                               {CORE_MISSED, 1, "missed", FAULTS},
                                               {0}};
    skip_without_perf();
    struct trace_session *ending = count_target(events);
    assert_string_equal(trace_session_get(ending, "core_counters"), "missed");
    assert_string_equal(trace_session_get(ending, "core_counters_absent"), "prefetched");
    assert_null(trace_session_get(ending, "core_prefetched_bytes")); /* absent, not 0 */
    assert_null(trace_session_get(ending, "core_demanded_bytes"));
    assert_true(trace_session_number(ending, "core_missed_bytes", 0) >= 3ul * TOUCHED * 64);
    trace_session_free(ending);
}

static void a_second_one_may_be_absent(void **state)
{
    (void)state;
    static const struct core_event events[] = {{CORE_PREFETCHED, 0, "prefetched", FAULTS},
                                               {CORE_DEMANDED, 0, "demanded", REFUSED},
                                               {CORE_MISSED, 1, "missed", FAULTS},
                                               {0}};
    skip_without_perf();
    struct trace_session *ending = count_target(events);
    assert_string_equal(trace_session_get(ending, "core_counters"), "prefetched");
    assert_string_equal(trace_session_get(ending, "core_counters_absent"), "demanded");
    assert_null(trace_session_get(ending, "core_demanded_bytes"));
    trace_session_free(ending);
}

static void what_is_refused_is_a_reason(void **state)
{
    (void)state;
    static const struct core_event events[] = {
        {CORE_PREFETCHED, 0, "LLC-prefetch-misses", REFUSED}, {CORE_MISSED, 1, "cache-misses", REFUSED}, {0}};
    skip_without_perf();
    struct trace_session *ending = count_target(events);
    assert_non_null(strstr(trace_session_get(ending, "core_counters_reason"),
                           "the kernel does not count LLC-prefetch-misses, cache-misses here"));
    assert_null(trace_session_get(ending, "core_counters"));
    assert_null(trace_session_get(ending, "core_counted_ns"));
    assert_null(trace_session_get(ending, "core_missed_bytes"));
    trace_session_free(ending);
}

/* A counter as the kernel would report it: 1,000 lines, on the hardware for a part of its time. */
static struct trace_session *describe_times(uint64_t enabled, uint64_t running)
{
    struct trace_session *ending = trace_session_new();
    struct core_lines lines = {.count = 1, .kinds = {CORE_MISSED}, .names = "cache-misses", .from = 1, .until = 1001};
    lines.counters[0].scale = 64;
    lines.readers[0] = (struct count_reader){.counter = &lines.counters[0], .fd = -1};
    count_reader_take(&lines.readers[0], 0, 0, 0);
    count_reader_take(&lines.readers[0], running ? 1000 : 0, enabled, running);
    core_lines_describe(&lines, ending);
    return ending;
}

static void shared_counters_are_scaled(void **state)
{
    (void)state;
    struct trace_session *ending = describe_times(4000, 1000);
    assert_string_equal(trace_session_get(ending, "core_missed_bytes"), "256000");
    assert_string_equal(trace_session_get(ending, "core_counters_running_ppm"), "250000");
    trace_session_free(ending);
    ending = describe_times(4000, 4000);
    assert_string_equal(trace_session_get(ending, "core_missed_bytes"), "64000");
    assert_null(trace_session_get(ending, "core_counters_running_ppm"));
    trace_session_free(ending);
    ending = describe_times(4000, 0);
    assert_null(trace_session_get(ending, "core_missed_bytes"));
    assert_non_null(strstr(trace_session_get(ending, "core_counters_reason"), "held the counters"));
    trace_session_free(ending);
}

static void events_are_those_of_the_processor(void **state)
{
    (void)state;
    struct tree tree = {"/tmp/numalens-core-XXXXXX"};
    const char *why = NULL;
    assert_non_null(mkdtemp(tree.root));
    const struct core_event *events = core_events_of(SOURCE_PEBS, tree.root, &why);
    assert_string_equal(events[0].name, "LLC-prefetch-misses");
    assert_string_equal(events[2].name, "cache-misses");
    events = core_events_of(SOURCE_SPE, tree.root, &why);
    assert_string_equal(events[0].name, "LLC-load-misses");
    assert_null(events[1].name); /* cache-misses is of the first cache there */
    assert_null(core_events_of(SOURCE_IBS, tree.root, &why));
    assert_non_null(strstr(why, "second cache"));
    tree_write(&tree, "sys/bus/event_source/devices/cpu_core/type", "4");
    assert_non_null(core_events_of(SOURCE_PEBS, tree.root, &why));
    tree_write(&tree, "sys/bus/event_source/devices/cpu_atom/type", "10");
    assert_null(core_events_of(SOURCE_PEBS, tree.root, &why));
    assert_non_null(strstr(why, "two kinds of cores"));
    tree_remove(&tree);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_children_count), cmocka_unit_test(the_next_group_takes_its_place),
        cmocka_unit_test(a_second_one_may_be_absent), cmocka_unit_test(what_is_refused_is_a_reason),
        cmocka_unit_test(shared_counters_are_scaled), cmocka_unit_test(events_are_those_of_the_processor),
    };
    if (argc > 1 && strcmp(argv[1], "touch") == 0)
        return target();
    return cmocka_run_group_tests_name("core_lines", tests, NULL, NULL);
}
