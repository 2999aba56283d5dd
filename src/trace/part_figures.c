#include "trace/part_figures.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* Of describe_ending and describe_fault_totals (capture/describe.h), but "unwritten", which is each file's own already. */
static const char *const figures[] = {
    "duration_ns",
    "samples",
    "ticks",
    "bursts",
    "steps",
    "accesses",
    "handler_ns",
    "tracking_ns",
    "cpu_ns",
    "corrupt_rings",
    "recorder_cpu_ns",
    "faults",
    "faults_own",
    "pages_reported",
    "pages_armed",
    "pages_unseen",
    "intervals_skipped",
    "unguarded",
    "one_thread",
    "fault_cost_ns",
    "faults_ns",
};

static bool adds_up(const char *key)
{
    for (unsigned i = 0; i < sizeof figures / sizeof *figures; i++)
        if (strcmp(figures[i], key) == 0)
            return true;
    return strcmp(key, "unwritten") == 0;
}

/* Takes from the figures of `ending`, which are of the run so far, those of `before`, which were of the run up to the file's start. */
static void trace_parts_subtract(struct trace_session *ending, const struct trace_session *before)
{
    for (unsigned i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (!trace_session_get(ending, figures[i]))
            continue;
        uint64_t all = trace_session_number(ending, figures[i], 0), less = trace_session_number(before, figures[i], 0);
        trace_session_setf(ending, figures[i], "%" PRIu64, all > less ? all - less : 0);
    }
}

void trace_parts_add(struct trace_session *sum, const struct trace_session *ending)
{
    for (size_t i = 0; i < trace_session_count(ending); i++) {
        const char *key = trace_session_key(ending, i);
        if (adds_up(key))
            trace_session_setf(sum, key, "%" PRIu64,
                               trace_session_number(sum, key, 0) + trace_session_number(ending, key, 0));
        else if (strcmp(key, "write_error") == 0 && !trace_session_get(sum, key))
            trace_session_set(sum, key, trace_session_get(ending, key));
    }
}

void trace_parts_take(struct trace_session *ending, struct trace_session **before)
{
    struct trace_session *all = trace_session_new();
    trace_parts_add(all, ending);
    if (*before)
        trace_parts_subtract(ending, *before);
    trace_session_free(*before);
    *before = all;
}
