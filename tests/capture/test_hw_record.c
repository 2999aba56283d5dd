/* test_hw_record.c - a whole recording with "hardware" samples: events chosen from a sysfs tree, opened on the target by a
 * real kernel, put into the trace beside what the agent reports. The tree's PMU is the kernel's own software one, and its
 * memory event the page fault. */
#include "../skip.h"
#include "soft_pmu.h"

#include "capture/recorder.h"
#include "trace/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { PAGE = 4096, BLOCK_PAGES = 256 };

static char folder[] = "/tmp/numalens-hw-XXXXXX";

/* What is recorded: touches a block, each page once. */
static int exercise(void)
{
    char *block = malloc(BLOCK_PAGES * PAGE);
    for (size_t i = 0; block && i < BLOCK_PAGES; i++)
        ((volatile char *)block)[i * PAGE] = 1;
    free(block);
    return 7;
}

struct found {
    uint64_t samples, in_block, stacks, touches;
    uint64_t pages[4096];    /* that faults reported of */
    size_t page_count, used; /* used: of the block */
    uint64_t block, size;
    bool wrong;
};

static struct found look_through(struct trace_reader *reader)
{
    struct found found = {0};
    struct event event;
    struct error err = {0};
    while (trace_reader_next(reader, &event, &err) > 0) {
        if (event.kind == EVENT_ALLOC && event.alloc.size == BLOCK_PAGES * PAGE) {
            found.block = event.alloc.addr;
            found.size = event.alloc.size;
        }
        found.stacks += event.kind == EVENT_STACK;
        found.touches += event.kind == EVENT_TOUCH;
        if (event.kind == EVENT_PAGE && found.page_count < 4096) /* an interval begins before what is used in it */
            found.pages[found.page_count++] = event.page.page;
        if (event.kind != EVENT_SAMPLE)
            continue;
        found.samples++;
        found.wrong |=
            event.sample.source != SOURCE_PEBS || !(event.sample.flags & SAMPLE_READ) || event.sample.period != 1;
        if (event.sample.addr - found.block < found.size)
            found.in_block += event.sample.stack != 0; /* after the allocation, and with its place */
    }
    assert_string_equal(err.text, "");
    for (size_t i = 0; i < found.page_count; i++)
        found.used += found.pages[i] - found.block < found.size;
    return found;
}

/* Of node 0, counting the clock of CPU 0. */
static void make_controller(void)
{
    static const char *const files[][2] = {
        {"bus/event_source/devices/uncore_imc_0/type", "1"},
        {"bus/event_source/devices/uncore_imc_0/cpumask", "0"},
        {"bus/event_source/devices/uncore_imc_0/format/event", "config:0-7"},
        {"bus/event_source/devices/uncore_imc_0/events/cas_count_read", "event=0x00"},
        {"bus/event_source/devices/uncore_imc_0/events/cas_count_read.scale", "1"},
        {"bus/event_source/devices/uncore_imc_0/events/cas_count_read.unit", "MiB"},
        {"bus/event_source/devices/uncore_imc_0/events/cas_count_write", "event=0x00"},
        {"bus/event_source/devices/uncore_imc_0/events/cas_count_write.scale", "1"},
        {"bus/event_source/devices/uncore_imc_0/events/cas_count_write.unit", "MiB"},
        {"devices/system/cpu/cpu0/topology/physical_package_id", "0"},
        {"devices/system/node/node0/cpulist", "0"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[128];
        snprintf(name, sizeof name, "../../../../%s", files[i][0]);
        assert_int_equal(soft_pmu_file(folder, name, files[i][1]), 0);
    }
}

static void test_recording(void **state)
{
    (void)state;
    assert_int_equal(soft_pmu_make(folder, 2), 0); /* PERF_COUNT_SW_PAGE_FAULTS */
    char sysfs[64], output[64], program[64];
    snprintf(sysfs, sizeof sysfs, "%s/sys", folder);
    snprintf(output, sizeof output, "%s/out.data", folder);
    snprintf(program, sizeof program, "%s/cli/test", folder);
    char *command[] = {program, "--exercise", NULL};
    struct error err = {0};
    struct topology *topology = topology_load(&err);
    assert_non_null(topology);
    struct capture_options options = {.output = output,
                                      .command = command,
                                      .tick_ns = 10000000,
                                      .burst = 16,
                                      .budget_ppm = 20000,
                                      .max_frames = 8,
                                      .loads = true,
                                      .stores = true,
                                      .latency = true,
                                      .follow = true,
                                      .memory = 32 << 20,
                                      .period = 1,
                                      .sysfs = sysfs,
                                      .topology = topology};
    struct recorder_result result;
    int code = recorder_run(&options, &result, &err);
    topology_free(topology);
    if (code == 0 && strstr(result.source, "soft"))
        skip_test("no perf events here: %s", result.source);
    if (code < 0)
        fail_msg("%s", err.text);
    assert_int_equal(result.exit_status, 7);
    assert_true(result.hardware);
    assert_non_null(strstr(result.source, "Intel PEBS: cpu/mem-loads/"));

    struct trace_reader *reader = trace_reader_open(output, &err);
    assert_non_null(reader);
    const struct trace_session *session = trace_reader_session(reader);
    assert_string_equal(trace_session_get(session, "source"), "pebs");
    assert_string_equal(trace_session_get(session, "latency_unit"), "cycles");
    assert_null(trace_session_get(session, "burst")); /* nor a tick: these are the soft sampler's */
    assert_non_null(strstr(trace_session_get(session, "source_reason"), "as the kernel names them"));
    struct found found = look_through(reader);
    trace_reader_close(reader);
    assert_false(found.wrong); /* the soft sampler is off: every sample is the kernel's */
    assert_int_equal(found.samples, result.samples);
    assert_int_equal(found.size, BLOCK_PAGES * PAGE); /* the agent still follows objects */
    size_t pages = BLOCK_PAGES * PAGE / (size_t)sysconf(_SC_PAGESIZE);
    if (found.in_block + 2 < pages) /* the first and the last page are shared with others */
        fail_msg("%lu of %zu pages", (unsigned long)found.in_block, pages);
    assert_true(found.stacks > 0 && found.touches >= pages - 2);
    assert_int_equal(found.used, 0);

    /* Pages from faults beside the hardware's samples, in one trace. */
    options.topology = topology = topology_load(&err);
    options.faults = true;
    options.mechanism = MECHANISM_NONE;
    options.interval_ns = 50000000;
    options.fault_budget_ppm = 50000;
    options.chunks = 1024;
    options.chunk_pages = 16384;
    assert_int_equal(recorder_run(&options, &result, &err), 0);
    topology_free(topology);
    assert_true(result.hardware);
    assert_true(result.samples > 0 && result.pages > 0);
    reader = trace_reader_open(output, &err);
    assert_non_null(reader);
    assert_string_equal(trace_session_get(trace_reader_session(reader), "source"), "pebs");
    assert_string_equal(trace_session_get(trace_reader_session(reader), "mechanism"), "none");
    found = look_through(reader);
    trace_reader_close(reader);
    assert_false(found.wrong);
    if (found.in_block + 2 < pages || found.used + 2 < pages)
        fail_msg("%lu samples, %lu pages of %zu", (unsigned long)found.in_block, (unsigned long)found.used, pages);
    options.faults = false;

    /* Why memory controllers are not counted; and what they counted, where there is one. Who named no source is not bothered. */
    options.traffic = true;
    options.topology = topology = topology_load(&err);
    assert_int_equal(recorder_run(&options, &result, &err), 0);
    topology_free(topology);
    assert_null(strstr(result.notes, "are not counted"));
    options.samples = SAMPLES_PEBS;
    for (int there = 0; there < 2; there++) {
        if (there)
            make_controller();
        options.topology = topology = topology_load(&err);
        assert_int_equal(recorder_run(&options, &result, &err), 0);
        topology_free(topology);
        reader = trace_reader_open(output, &err);
        assert_non_null(reader);
        const struct trace_session *ending = trace_reader_ending(reader);
        const char *reason = trace_session_get(ending, "memory_counters_reason");
        assert_string_equal(trace_session_get(trace_reader_session(reader), "traffic"), "samples");
        if (reason) { /* also where counters are for the administrator alone */
            assert_true(!there || strstr(reason, "perf_event"));
            assert_non_null(strstr(result.notes, "memory are not counted: "));
        } else {
            assert_true(there);
            assert_memory_equal(trace_session_get(ending, "memory_read_bytes"), "0:", 2);
            assert_true(trace_session_number(ending, "memory_counted_ns", 0) > 0);
        }
        trace_reader_close(reader);
    }
    options.traffic = false;

    soft_pmu_make(folder, 0xee); /* which the kernel does not have */
    options.topology = topology = topology_load(&err);
    unlink(output);
    options.samples = SAMPLES_PEBS;
    assert_true(recorder_run(&options, &result, &err) < 0);
    assert_int_equal(result.exit_status, 1);
    assert_non_null(strstr(err.text, "--source soft"));
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(access(output, F_OK), -1); /* no file is left */
    options.period = 0;
    options.samples = SAMPLES_AUTO;
    assert_int_equal(recorder_run(&options, &result, &err), 0);
    assert_non_null(strstr(result.source, "soft"));
    assert_non_null(strstr(result.source, "cpu/mem-loads/")); /* why not the better one */

    soft_pmu_make(folder, 8); /* emulation faults: can be opened, and never happen */
    assert_int_equal(recorder_run(&options, &result, &err), 0);
    assert_non_null(strstr(result.source, "soft"));
    assert_non_null(strstr(result.source, "reported no access"));
    topology_free(topology);
}

/* The agent is found beside the program: beside a copy of this one. */
static void make_beside(char *self, size_t size)
{
    char path[64], command[512];
    snprintf(path, sizeof path, "%s/cli", folder);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/agent", folder);
    snprintf(self, size, "%s/cli/test", folder);
    snprintf(command, sizeof command, "cp /proc/%d/exe %s", (int)getpid(), self);
    if (symlink(AGENT, path) != 0 || system(command) != 0)
        exit(1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--exercise") == 0)
        return exercise();
    if (argc > 2 && strcmp(argv[1], "--in") == 0) {
        strcpy(folder, argv[2]);
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_recording)};
        int failed = cmocka_run_group_tests(tests, NULL, NULL);
        char command[128];
        snprintf(command, sizeof command, "rm -rf %s", folder);
        return system(command) || failed;
    }
    char self[64];
    if (access(AGENT "/libnumalens-agent.so", R_OK) != 0)
        return 77; /* not where it was built */
    if (!mkdtemp(folder))
        return 1;
    make_beside(self, sizeof self);
    unsetenv("MALLOC_PERTURB_"); /* it would touch the block before it is one */
    execl(self, self, "--in", folder, NULL);
    return 1;
}
