/* capture/count/count_session.h - counting the memory traffic of each node: the best counters that can be had here, opened and read.
 *
 *     struct count_session *session = count_session_open(&(struct count_request){.source = COUNT_AUTO}, &err);
 *     count_session_read(session, &before);
 *     ...
 *     count_session_read(session, &after);
 *     double bytes = count_amount(&before, &after, row, COUNT_READ);
 *
 * Counters run from the opening on and are the machine's: whoever causes traffic is counted. A reading holds sums since
 * then, so differences of two are exact whatever happened in between. One thread at a time uses a session. */
#pragma once

#include "base/error.h"
#include "capture/count/count_plan.h"

enum { COUNT_AUTO = -1 };

struct count_request {
    int source;       /* enum count_source, or COUNT_AUTO: the best that can be had */
    const char *root; /* NULL: this machine; else a folder that holds `sys` and `proc` of one */
};

struct count_session;

/* NULL with `err` when nothing can be counted, or not by the source that was asked for. */
struct count_session *count_session_open(const struct count_request *request, struct error *err);
void count_session_close(struct count_session *session);

/* What is counted, and how rows and columns are to be understood. */
const struct count_plan *count_session_plan(const struct count_session *session);

/* The columns that are really counted or computed, a bit for each: some of the plan's counters are optional. */
uint32_t count_session_whats(const struct count_session *session);

/* Better sources that could not be had, in order of preference, and parts of the one that was taken. */
struct count_refusal {
    enum count_source source;
    const char *devices, *reason;
};
size_t count_session_refusals(const struct count_session *session, const struct count_refusal **refusals);

struct count_cell {
    double amount; /* since the session was opened */
    bool known;    /* false: no counter, or none that could be read */
};

struct count_reading {
    uint64_t time;            /* clock_now_ns() */
    struct count_cell *cells; /* rows * COUNT_WHATS; count_reading_free */
};

/* `reading` is all zero at first and may be used again. */
void count_session_read(struct count_session *session, struct count_reading *reading);
void count_reading_free(struct count_reading *reading);

/* What was counted from one reading to a later one; NAN when it is not known. */
double count_amount(const struct count_reading *from, const struct count_reading *to, size_t row, enum count_what what);

/* How well it went, up to the last reading. */
struct count_quality {
    double
        running; /* the smallest share of its time that a counter was on the hardware; below 1 figures are scaled up */
    size_t shared; /* counters with less than all of it */
    size_t never;  /* counters with none of it: others hold the hardware. Their part is missing */
    size_t lost;   /* counters of devices or CPUs that were removed. What they had counted still stands */
    size_t counters;
    const char *first_lost; /* NULL: none */
};
struct count_quality count_session_quality(const struct count_session *session);
