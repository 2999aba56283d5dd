#include "cli/input/time_window.h"
#include "cli/usage/option_value.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS INT64_C(1000000000)
#define DAY_NS    (86400 * SECOND_NS)

/* "90s", "1.5m"; the whole text. */
static bool parse_duration(const char *text, int64_t *ns)
{
    double time;
    bool is_time = option_parse_time(text, &time) && time < 9e18;
    *ns = is_time ? (int64_t)time : 0;
    return is_time;
}

/* "15:30" or "15:30:20.5" at `*text`, which moves behind it. */
static bool parse_clock(const char **text, int64_t *ns)
{
    int hour, minute, length = 0;
    double second = 0;
    if (sscanf(*text, "%2d:%2d%n", &hour, &minute, &length) < 2 || length == 0)
        return false;
    *text += length;
    if (**text == ':') {
        char *end;
        if ((*text)[1] < '0' || (*text)[1] > '9')
            return false;
        second = strtod(*text + 1, &end);
        *text = end;
    }
    if (hour < 0 || hour > 24 || minute < 0 || minute > 59 || !(second >= 0 && second < 61))
        return false;
    *ns = (hour * 3600 + minute * 60) * SECOND_NS + (int64_t)(second * 1e9);
    return true;
}

/* "Z", "+01:00" or nothing, to the text's end. */
static bool parse_zone(const char *text, bool *has_zone, int64_t *offset)
{
    int hour, minute, length = 0;
    *offset = 0;
    *has_zone = *text != 0;
    if (*text == 0 || strcmp(text, "Z") == 0)
        return true;
    if ((*text != '+' && *text != '-') || sscanf(text + 1, "%2d:%2d%n", &hour, &minute, &length) < 2 || length != 5 ||
        text[6] || hour > 24 || minute > 59)
        return false;
    *offset = (hour * 3600 + minute * 60) * SECOND_NS * (*text == '-' ? -1 : 1);
    return true;
}

static bool parse_date(const char *text, struct time_bound *bound)
{
    struct tm day = {0};
    int64_t clock = 0, offset;
    const char *rest = strptime(text, "%Y-%m-%d", &day);
    if (!rest)
        return false;
    if (*rest == 'T' || *rest == ' ') {
        rest++;
        if (!parse_clock(&rest, &clock))
            return false;
    }
    if (!parse_zone(rest, &bound->has_zone, &offset))
        return false;
    bound->ns = (int64_t)timegm(&day) * SECOND_NS + clock - offset;
    bound->kind = TIME_DATE;
    return true;
}

/* False when the text is no time. It must live as long as the bound. */
static bool time_bound_parse(struct time_bound *bound, const char *text)
{
    const char *rest = text;
    *bound = (struct time_bound){.text = text};
    if (parse_duration(text, &bound->ns)) {
        bound->kind = TIME_AFTER_START;
        return true;
    }
    if (*text == '-' && parse_duration(text + 1, &bound->ns)) {
        bound->kind = TIME_BEFORE_END;
        return true;
    }
    if (parse_clock(&rest, &bound->ns) && *rest == 0) {
        bound->kind = TIME_OF_DAY;
        return true;
    }
    return parse_date(text, bound);
}

void time_window_option(struct argp_state *state, const char *option, const char *text, struct time_bound *bound)
{
    if (!time_bound_parse(bound, text))
        argp_error(state,
                   "--%s: '%s' is no time: 90s is after the start, -90s before the end, 15:30 a time of day, "
                   "2026-11-16T15:30 a date",
                   option, text);
}

struct clocks {         /* of a recording */
    int64_t start, end; /* CLOCK_MONOTONIC_RAW, as all times of events */
    int64_t to_wall;    /* to be added for the time since 1970 */
    int64_t zone;       /* to be added for the machine's own time */
    bool known;         /* to_wall is */
};

static struct clocks clocks_of(const struct trace_reader *reader)
{
    const struct trace_session *session = trace_reader_session(reader);
    uint64_t start, end, wall = trace_session_number(session, "start_wall_ns", 0);
    uint64_t own = trace_session_number(session, "start_clock_ns", 0);
    const char *text = trace_session_get(session, "start_time");
    size_t length = text ? strlen(text) : 0;
    bool has_zone;
    trace_reader_span(reader, &start, &end);
    struct clocks clocks = {.start = (int64_t)start,
                            .end = (int64_t)end,
                            .to_wall = (int64_t)(wall - own),
                            .known = wall && own && wall < INT64_MAX && own < INT64_MAX};
    if (length < 6 || !parse_zone(text + length - 6, &has_zone, &clocks.zone))
        clocks.zone = 0;
    return clocks;
}

static int64_t day_of(int64_t local)
{
    return (local >= 0 ? local : local - DAY_NS + 1) / DAY_NS * DAY_NS;
}

/* The bound as a time of events. */
static int64_t time_of(const struct time_bound *bound, const struct clocks *clocks)
{
    int64_t shift = clocks->to_wall + clocks->zone, local;
    switch (bound->kind) {
    case TIME_AFTER_START:
        return clocks->start + bound->ns;
    case TIME_BEFORE_END:
        return clocks->end - bound->ns;
    case TIME_OF_DAY:
        local = day_of(clocks->end + shift) + bound->ns;
        return (local > clocks->end + shift ? local - DAY_NS : local) - shift;
    default:
        return bound->ns - (bound->has_zone ? clocks->to_wall : shift);
    }
}

static int nothing(const struct clocks *clocks, const char *when, const char *text, struct error *err)
{
    char from[64] = "", to[64] = "";
    if (!clocks->known)
        return error_set(err, -ENODATA, "nothing was recorded %s %s: the recording lasts %.3f s", when, text,
                         (double)(clocks->end - clocks->start) * 1e-9);
    const int64_t times[] = {clocks->start, clocks->end};
    char *const texts[] = {from, to};
    for (unsigned i = 0; i < 2; i++) {
        struct tm parts;
        time_t seconds = (time_t)((times[i] + clocks->to_wall + clocks->zone) / SECOND_NS);
        gmtime_r(&seconds, &parts);
        strftime(texts[i], 64, i ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &parts);
    }
    return error_set(err, -ENODATA, "nothing was recorded %s %s: the recording lasts from %s to %s (%.3f s)", when,
                     text, from, to, (double)(clocks->end - clocks->start) * 1e-9);
}

int time_window_apply(const struct time_window *window, struct trace_reader *reader, struct error *err)
{
    const struct time_bound *since = &window->since, *until = &window->until;
    if (since->kind == TIME_OPEN && until->kind == TIME_OPEN)
        return 0;
    struct clocks clocks = clocks_of(reader);
    if (!clocks.known && (since->kind >= TIME_OF_DAY || until->kind >= TIME_OF_DAY))
        return error_set(err, -EINVAL,
                         "the recording does not say at what time of day it was made: use a time after its start, such "
                         "as 90s, or before its end, such as -90s");
    int64_t from = since->kind ? time_of(since, &clocks) : clocks.start;
    int64_t to = until->kind ? time_of(until, &clocks) : INT64_MAX;
    if (since->kind && from > clocks.end)
        return nothing(&clocks, "since", since->text, err);
    if (until->kind && to <= clocks.start)
        return nothing(&clocks, "until", until->text, err);
    if (from >= to)
        return error_set(err, -EINVAL, "--since %s is not before --until %s", since->text ? since->text : "the start",
                         until->text);
    trace_reader_window(reader, from < clocks.start ? (uint64_t)clocks.start : (uint64_t)from,
                        to == INT64_MAX ? UINT64_MAX : (uint64_t)to);
    return 0;
}
