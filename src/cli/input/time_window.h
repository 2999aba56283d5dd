/* cli/input/time_window.h - --since and --until: from when to when samples count.
 *
 * A time is one after the start of the recording (90s, 5m), one before its end (-90s), a time of day (15:30 or 15:30:20: the latest
 * one before the recording's end), or a date (2026-11-16, 2026-11-16T15:30, with Z or an offset; else in the zone of the
 * recorded machine). */
#pragma once

#include "trace/reader.h"

enum time_kind { TIME_OPEN, TIME_AFTER_START, TIME_BEFORE_END, TIME_OF_DAY, TIME_DATE };

struct time_bound {
    enum time_kind kind;
    const char *text;
    int64_t ns;    /* of the time, of the day, or since 1970 in the zone below */
    bool has_zone; /* TIME_DATE: `ns` is of UTC */
};

struct time_window { /* zeroed = all */
    struct time_bound since, until;
};

/* The same for an option, which it names when it complains. */
struct argp_state;
void time_window_option(struct argp_state *state, const char *option, const char *text, struct time_bound *bound);

/* Leaves in the reader what is within the window. Negative with `err` when nothing can be, or the recording does not say when it was. */
int time_window_apply(const struct time_window *window, struct trace_reader *reader, struct error *err);
