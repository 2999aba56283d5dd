#include "capture/count/count_recorded.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { TEXT = 4096, LABEL = 64 };

/* Counters of CPUs say nothing of a node's memory, and events are no bytes. */
static bool is_memory(const struct count_plan *plan)
{
    return plan->side == COUNT_AT_MEMORY && plan->in_bytes;
}

static int open_counters(void *context, struct error *err)
{
    struct count_recorded *recorded = context;
    struct error why = {0};
    (void)err;
    recorded->session =
        count_session_open(&(struct count_request){.source = COUNT_UNCORE, .root = recorded->root}, &why);
    if (recorded->session && !is_memory(count_session_plan(recorded->session))) {
        snprintf(recorded->reason, sizeof recorded->reason, "%.100s does not count bytes of a node's memory",
                 count_session_plan(recorded->session)->devices);
        count_session_close(recorded->session);
        recorded->session = NULL;
    } else if (recorded->session) {
        count_session_read(recorded->session, &recorded->first);
    } else {
        snprintf(recorded->reason, sizeof recorded->reason, "%.399s", why.text);
    }
    return 0;
}

static void finish(void *context)
{
    struct count_recorded *recorded = context;
    if (recorded->session)
        count_session_read(recorded->session, &recorded->last);
}

static void close_counters(void *context)
{
    struct count_recorded *recorded = context;
    count_reading_free(&recorded->first);
    count_reading_free(&recorded->last);
    count_session_close(recorded->session);
    recorded->session = NULL;
}

struct source count_recorded_source(struct count_recorded *recorded)
{
    return (struct source){
        .kind = FROM_COUNTERS, .context = recorded, .open = open_counters, .finish = finish, .close = close_counters};
}

/* "0:1234 1:5678", of rows of several nodes "0-1:1234"; those that are not known are not there. */
static void put_column(const struct count_recorded *recorded, enum count_what what, const char *key,
                       struct trace_session *ending)
{
    const struct count_plan *plan = count_session_plan(recorded->session);
    char text[TEXT], label[LABEL];
    size_t used = 0;
    for (size_t row = 0; row < plan->rows.count && used + LABEL + 32 < sizeof text; row++) {
        double bytes = count_amount(&recorded->first, &recorded->last, row, what);
        if (isnan(bytes))
            continue;
        count_row_label(&plan->rows.items[row], label, sizeof label);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s:%.0f", used ? " " : "", label,
                                 bytes > 0 ? bytes : 0);
    }
    if (used)
        trace_session_set(ending, key, text);
}

void count_recorded_describe(const struct count_recorded *recorded, struct trace_session *ending)
{
    if (!recorded->session || !recorded->last.cells) {
        trace_session_set(ending, "memory_counters_reason", recorded->reason);
        return;
    }
    struct count_quality quality = count_session_quality(recorded->session);
    trace_session_set(ending, "memory_counters", count_session_plan(recorded->session)->devices);
    trace_session_setf(ending, "memory_counted_ns", "%" PRIu64, recorded->last.time - recorded->first.time);
    if (quality.never + quality.lost)
        trace_session_setf(ending, "memory_counters_missing", "%zu", quality.never + quality.lost);
    put_column(recorded, COUNT_READ, "memory_read_bytes", ending);
    put_column(recorded, COUNT_WRITE, "memory_written_bytes", ending);
    put_column(recorded, COUNT_TOTAL, "memory_moved_bytes", ending);
}
