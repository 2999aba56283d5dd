/* view/report/report_notes.c - how a report was measured and what limits the trust in it: in one line, or all of it. */
#include "base/text.h"
#include "base/number.h"
#include "view/report/report_parts.h"
#include "view/report/report_span.h"

#include <stdlib.h>
#include <string.h>

static const char *session_text(const struct trace_session *session, const char *key)
{
    const char *text = session ? trace_session_get(session, key) : NULL;
    return text ? text : "";
}

/* A sample of a page fault is a page that was used, not an access. */
static void note_faults(const struct report *report)
{
    if (report->totals.samples && strcmp(report->whole.source, "faults") == 0)
        say(report,
            "Samples are page faults: each is one page that a thread read or wrote in an interval, however often. "
            "numalens report pages lists them.");
}

static void note_first_touch(const struct report *report)
{
    const struct trace_session *session = flow_session(report->flow);
    const char *reason = session_text(session, "first_touch_reason");
    if (report->topology->simulated && strcmp(session_text(session, "first_touch"), "samples") == 0)
        say(report, "Page faults could not be recorded%s%s%s: the first sampled access counts as the first touch.",
            *reason ? " (" : "", reason, *reason ? ")" : "");
}

/* Functions that the user named and that were not hooked. Names come from the trace: hostile. */
static void named_functions(const struct report *report)
{
    static const char *const keys[][2] = {{"custom_missing", "Never found in the program or its libraries"},
                                          {"custom_refused", "Found, but not hooked"}};
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *names = report->options->ending ? trace_session_get(report->options->ending, keys[i][0]) : NULL;
        char *safe = names ? text_safe(names) : NULL;
        if (safe)
            say(report, "%s: %s.", keys[i][1], safe);
        free(safe);
    }
}

/* Times of which something is missing; the first few. */
static void note_gaps(const struct report *report)
{
    enum { SHOWN = 5 };
    const struct flow_gap *gaps;
    size_t count = flow_gaps(report->flow, &gaps);
    uint64_t start = flow_start(report->flow);
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        double from = gaps[i].from > start ? (double)(gaps[i].from - start) / 1e9 : 0;
        double until = gaps[i].until > start ? (double)(gaps[i].until - start) / 1e9 : 0;
        if (gaps[i].until != UINT64_MAX)
            say(report, "Missing from %.1f s to %.1f s: %s.", from, until, loss_text(gaps[i].cause, 1));
        else if (!gaps[i].pid) /* it gave up before it knew its number */
            say(report, "Missing from %.1f s on: %s.", from, loss_text(gaps[i].cause, 1));
        else
            say(report, "Missing from %.1f s on, process %u: %s.", from, gaps[i].pid, loss_text(gaps[i].cause, 1));
    }
    if (count > SHOWN)
        say(report, "%s more such times are missing.", number_count(count - SHOWN));
}

/* Binaries that are not at hand as they were recorded: the first, and others that matter. Paths come from the trace: hostile. */
static void note_missing(const struct report *report)
{
    enum { SHOWN = 3 };
    const struct flow_missing *missing;
    size_t count = flow_missing(report->flow, &missing), shown = 0;
    for (; shown < count && shown < SHOWN; shown++) {
        const struct flow_missing *row = &missing[shown];
        if (shown && row->samples * 100 < report->totals.samples)
            break;
        char *path = text_safe(row->path), part[64] = "";
        if (row->samples)
            snprintf(part, sizeof part, " (code of %s of the samples)",
                     number_percent(row->samples, report->totals.samples));
        say(report, "No names from %s%s: it %s.", path, part, row->why);
        free(path);
    }
    if (count)
        say(report,
            "%s%sPut the recorded file%s back, or below DIR for --symfs DIR, or into ~/.debug (perf buildid-cache "
            "--add FILE).",
            count > shown ? number_count(count - shown) : "",
            count > shown ? " more missing: --json has the list. " : "", text_plural(count));
}

void report_notes(const struct report *report)
{
    char span[320];
    span_text(report->flow, report->options, span, sizeof span);
    if (*span)
        say(report, "%s", span);
    const char *namespaces = session_text(flow_session(report->flow), "namespaces");
    if (*namespaces)
        say(report, "The program has namespaces of its own (%s): process numbers are those of the host.", namespaces);
    if (strcmp(report->whole.source, "outside") == 0)
        say(report, "Sampled from outside: " SESSION_NOT_OUTSIDE " are not known.");
    note_gaps(report);
    note_missing(report);
    note_faults(report);
    note_first_touch(report);
    if (report->topology->node_count > 1 && report->totals.home_known < report->totals.samples)
        say(report, "The page's home node is known for %s of the samples.",
            number_percent(report->totals.home_known, report->totals.samples));
    named_functions(report);
    if (report->options->damage && report->totals.samples) /* else that came first */
        say(report, "The file is incomplete: %s", report->options->damage);
}

/* How many losses there are, of how many causes, and the last of these. */
static uint64_t losses(const struct report *report, unsigned *causes, unsigned *last)
{
    uint64_t sum = 0;
    *causes = *last = 0;
    for (unsigned i = 0; i < LOSS_CAUSES; i++) {
        if (flow_losses(report->flow)[i] == 0)
            continue;
        sum += flow_losses(report->flow)[i];
        ++*causes;
        *last = i;
    }
    return sum;
}

/* Into `text` the part of the program's CPU time that the ending's `key` took, or "" where it was not measured. */
static bool cost_of(const struct report *report, const char *key, char text[32])
{
    const struct trace_session *ending = report->options->ending;
    uint64_t part = ending ? trace_session_number(ending, key, 0) : 0;
    uint64_t cpu = ending ? trace_session_number(ending, "cpu_ns", 0) : 0;
    snprintf(text, 32, "%s", part && cpu ? number_percent(part, cpu) : "");
    return *text;
}

/* "soft, tick perf, 16 accesses every 10 ms of a thread's CPU time" */
static char *source_text(const struct report *report)
{
    const struct whole *whole = &report->whole;
    char burst[64] = "", period[64] = "";
    if (whole->burst)
        snprintf(burst, sizeof burst, ", bursts of %lu accesses", (unsigned long)whole->burst);
    if (whole->period_ns)
        snprintf(period, sizeof period, "%s every %s of a thread's CPU time", whole->burst ? "" : ", a burst",
                 number_seconds((double)whole->period_ns * 1e-9));
    return mem_format("%s%s%s%s%s", whole->source, *whole->tick ? ", tick " : "", whole->tick, burst, period);
}

/* "the names of 2 binaries are missing", or "" */
static void names_text(const struct report *report, char text[64])
{
    const struct flow_missing *ignored;
    const size_t missing = flow_missing(report->flow, &ignored);
    *text = 0;
    if (missing)
        snprintf(text, 64, "the names of %s %s are missing", number_count(missing),
                 missing == 1 ? "binary" : "binaries");
}

void report_measured_short(const struct report *report)
{
    unsigned causes, cause;
    const uint64_t lost = losses(report, &causes, &cause);
    const uint64_t missed = report->totals.samples - flow_attributed(report->flow);
    char *source = source_text(report), part[32];
    char cost[64] = "", unnamed[96] = "", names[64], lost_text[128] = "";
    names_text(report, names);
    if (report->options->damage)
        snprintf(lost_text, sizeof lost_text, "the file is incomplete");
    if (cost_of(report, "handler_ns", part))
        snprintf(cost, sizeof cost, "; sampling took %s of CPU time", part);
    if (missed)
        snprintf(unnamed, sizeof unnamed, "; %s of the samples belong to no known object",
                 number_percent(missed, report->totals.samples));
    if (causes == 1)
        snprintf(lost_text, sizeof lost_text, "%s %s", number_count(lost), loss_text(cause, lost));
    else if (causes)
        snprintf(lost_text, sizeof lost_text, "%s events lost or skipped, %u causes (-v)", number_count(lost), causes);
    else if (!report->options->damage)
        snprintf(lost_text, sizeof lost_text, "%s was lost", *names ? "no event" : "nothing");
    fputc('\n', report->out);
    paragraph_labelled(report->out, "Measured", 0, 10, report->options->width, "%s%s%s; %s%s%s.", source, cost, unnamed,
                       lost_text, *names ? ", " : "", names);
    free(source);
}

/* How pages were made to fault, and which faults do not count. */
static void how_faults(const struct report *report)
{
    const struct trace_session *session = flow_session(report->flow), *ending = report->options->ending;
    const char *mechanism = session ? trace_session_get(session, "mechanism") : NULL;
    uint64_t interval = session ? trace_session_number(session, "interval_ns", 0) : 0;
    uint64_t own = ending ? trace_session_number(ending, "faults_own", 0) : 0;
    if (!mechanism || !interval)
        return;
    if (strcmp(mechanism, "none") == 0)
        say(report, "Page faults: those that occur anyway, in intervals of %s.",
            number_seconds((double)interval * 1e-9));
    else
        say(report, "Page faults: every %s, pages are made to fault again by %s.",
            number_seconds((double)interval * 1e-9), mechanism);
    if (own)
        say(report, "%s faults of the profiler itself are not counted.", number_count(own));
}

static void where_from(const struct report *report)
{
    const struct trace_session *session = flow_session(report->flow);
    const char *hardware = *report->whole.tick ? "" : session_text(session, "source_reason");
    char *source = source_text(report);
    say(report, "Source: %s.", source);
    if (*hardware && strcmp(report->whole.source, "faults") == 0)
        say(report, "The samples are page faults, as the kernel reported them.");
    else if (*hardware)
        say(report, "The processor took the samples, by %s.", hardware);
    how_faults(report);
    if (report->topology->simulated)
        say(report, "Simulated topology: threads are assigned %s to its CPUs, a page's home node is set by %s.",
            whole_assign(report->topology), whole_homes(report->topology));
    char sampling[32], tracking[32];
    if (cost_of(report, "handler_ns", sampling) && cost_of(report, "tracking_ns", tracking))
        say(report, "Sampling took %s of the program's CPU time, tracking its objects %s.", sampling, tracking);
    else if (*sampling)
        say(report, "Sampling took %s of the program's CPU time.", sampling);
    free(source);
}

/* Samples without an object, and what was lost, each with its count and cause. */
static void not_known(const struct report *report)
{
    FILE *out = report->out;
    unsigned causes, cause;
    const char *const *reasons;
    const uint64_t *counts;
    size_t count = flow_unattributed(report->flow, &reasons, &counts);
    uint64_t missed = report->totals.samples - flow_attributed(report->flow);
    if (missed)
        say(report, "%s of the samples belong to no known object:", number_percent(missed, report->totals.samples));
    for (size_t i = 0; i < count; i++)
        fprintf(out, "    %12s  %s\n", number_count(counts[i]), reasons[i]);
    char names[64];
    names_text(report, names);
    const bool whole = !losses(report, &causes, &cause) && !report->options->damage;
    if (whole)
        say(report, "%s was lost%s%s.", *names ? "No event" : "Nothing", *names ? "; " : "", names);
    else if (causes)
        fputs("  Lost or skipped:\n", out);
    for (unsigned i = 0; i < LOSS_CAUSES; i++) {
        if (flow_losses(report->flow)[i])
            fprintf(out, "    %12s  %s\n", number_count(flow_losses(report->flow)[i]),
                    loss_text(i, flow_losses(report->flow)[i]));
    }
    if (!whole && *names)
        say(report, "Besides, %s.", names);
}

void report_measured(const struct report *report)
{
    report_heading(report, "How this was measured");
    where_from(report);
    report_bursts(report);
    not_known(report);
}
