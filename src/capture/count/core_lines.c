#include "capture/count/core_lines.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "capture/kernel_probe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LAST_CACHE(op)                                                                                                 \
    (PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_##op << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct core_event of_intel[] = {
    {CORE_PREFETCHED, 0, "LLC-prefetch-misses", PERF_TYPE_HW_CACHE, LAST_CACHE(PREFETCH)},
    {CORE_DEMANDED, 0, "LLC-load-misses", PERF_TYPE_HW_CACHE, LAST_CACHE(READ)},
    {CORE_MISSED, 1, "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {0}};

/* cache-misses is of the first cache there. */
static const struct core_event of_arm[] = {{CORE_MISSED, 0, "LLC-load-misses", PERF_TYPE_HW_CACHE, LAST_CACHE(READ)},
                                           {0}};

static bool has_device(const char *root, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%.300s/sys/bus/event_source/devices/%s", root, name);
    return access(path, F_OK) == 0;
}

const struct core_event *core_events_of(enum sample_source source, const char *root, const char **why)
{
    *why = "no generic event counts lines from memory on this processor";
    if (source == SOURCE_IBS)
        *why = "the kernel's generic cache events are of the second cache on AMD's processors, not of memory";
    /* A generic event opens on the PMU of one kind of core, and counts nothing on the other. */
    else if (has_device(root, "cpu_core") && has_device(root, "cpu_atom"))
        *why = "the processor has two kinds of cores, and a generic event counts on one of them";
    else if (source == SOURCE_PEBS)
        return of_intel;
    else if (source == SOURCE_SPE)
        return of_arm;
    return NULL;
}

static void add_name(char *names, size_t size, const char *name)
{
    size_t used = strlen(names);
    snprintf(names + used, size - used, "%s%s", used ? ", " : "", name);
}

static int open_one(struct core_lines *lines, const struct core_event *event, pid_t task)
{
    struct count_counter *counter = &lines->counters[lines->count];
    *counter = (struct count_counter){.scale = CACHE_LINE, .cpu = -1, .task = (int32_t)task};
    counter->attr =
        (struct perf_event_attr){.size = sizeof counter->attr,
                                 .type = event->type,
                                 .config = event->config,
                                 .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
                                 .disabled = 1,
                                 .enable_on_exec = 1,
                                 .inherit = 1,
                                 .exclude_kernel = 1,
                                 .exclude_hv = 1};
    int code = count_reader_open(&lines->readers[lines->count], counter);
    if (code < 0)
        return code;
    lines->kinds[lines->count++] = event->kind;
    add_name(lines->names, sizeof lines->names, event->name);
    return 0;
}

/* Why nothing counts: what the kernel said of the last event that it refused. */
static void explain(struct core_lines *lines, int code)
{
    struct error why = {0};
    if (code == -EACCES || code == -EPERM || code == -ENOSYS) {
        probe_explain_perf(code, &why);
        snprintf(lines->reason, sizeof lines->reason, "%.399s", why.text);
        return;
    }
    snprintf(lines->reason, sizeof lines->reason,
             "the kernel does not count %s here (%s): most virtual machines hide the processor's counters",
             lines->absent, strerror(-code));
}

void core_lines_open(struct core_lines *lines, const struct core_event *events, pid_t task)
{
    int code = 0;
    for (const struct core_event *event = events; event->name; event++) {
        bool first = event == events || event[-1].group != event->group;
        if (lines->count && first)
            break; /* a better group counts already */
        if (!first && lines->count == 0)
            continue;
        int refused = open_one(lines, event, task);
        if (refused < 0) {
            code = refused;
            add_name(lines->absent, sizeof lines->absent, event->name);
        }
    }
    lines->from = clock_now_ns();
    if (lines->count == 0)
        explain(lines, code);
}

void core_lines_read(struct core_lines *lines)
{
    struct count_file unused = {.path = NULL};
    for (size_t i = 0; i < lines->count; i++)
        count_reader_update(&lines->readers[i], &unused);
    lines->until = clock_now_ns();
}

void core_lines_close(struct core_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        count_reader_close(&lines->readers[i]);
}

/* The part of its time that a counter was on the hardware; negative: none. */
static double part_running(const struct count_reader *reader)
{
    if (!count_reader_known(reader))
        return -1;
    return reader->enabled > reader->running ? (double)reader->running / (double)reader->enabled : 1;
}

void core_lines_describe(const struct core_lines *lines, struct trace_session *ending)
{
    static const char *const keys[CORE_KINDS] = {[CORE_PREFETCHED] = "core_prefetched_bytes",
                                                 [CORE_DEMANDED] = "core_demanded_bytes",
                                                 [CORE_MISSED] = "core_missed_bytes"};
    double running = 1;
    size_t known = 0;
    for (size_t i = 0; i < lines->count; i++) {
        double part = part_running(&lines->readers[i]);
        if (part < 0)
            continue;
        trace_session_setf(ending, keys[lines->kinds[i]], "%.0f", lines->readers[i].sum);
        running = part < running ? part : running;
        known++;
    }
    if (known == 0) {
        trace_session_set(ending, "core_counters_reason",
                          lines->count ? "other profilers held the counters all the time" : lines->reason);
        return;
    }
    trace_session_set(ending, "core_counters", lines->names);
    trace_session_setf(ending, "core_counted_ns", "%" PRIu64, lines->until - lines->from);
    if (*lines->absent)
        trace_session_set(ending, "core_counters_absent", lines->absent);
    if (running < 1)
        trace_session_setf(ending, "core_counters_running_ppm", "%.0f", running * 1e6);
}
