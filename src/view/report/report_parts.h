/* view/report/report_parts.h - what the one-screen report and its long form have in common; private to src/view. */
#pragma once

#include "view/paragraph.h"
#include "view/report/report.h"
#include "view/whole.h"

struct report {
    const struct flow *flow;
    const struct view_options *options;
    const struct topology *topology;
    struct flow_totals totals;
    struct whole whole;
    struct rows sites, threads, functions, processes;
    struct row_facts facts;
    struct traffic *traffic; /* bytes from memory, where they were recorded, or NULL */
    const char *unit;
    bool by_remote; /* rows are in order of remote accesses */
    FILE *out;
};

#define say(report, ...) paragraph((report)->out, 2, (report)->options->width, "", __VA_ARGS__)

void report_heading(const struct report *report, const char *text);

/* report_notes.c: whatever limits the trust in the figures, one sentence each; nothing where nothing does. */
void report_notes(const struct report *report);

/* report_notes.c: how it was measured: in one line, or all of it with every loss by its cause. */
void report_measured_short(const struct report *report);
void report_measured(const struct report *report);
void report_bursts(const struct report *report);

/* report_full.c: which few objects and threads make most of it; the tables; the traffic between nodes. */
void report_answer(const struct report *report);
void report_tables(const struct report *report);
