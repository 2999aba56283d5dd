/* cli/commands/report/report_words.h - what the words and options of numalens report ask for. */
#pragma once

#include "analysis/problems/latency.h"
#include "cli/input/input_files.h"
#include "cli/input/time_window.h"
#include "cli/machine_option.h"
#include "cli/terminal.h"
#include "view/view.h"

typedef int view_problem(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err);

struct report_arguments {
    struct input words; /* a table, files */
    struct input input, against;
    struct time_window window;
    struct machine_options machine;
    const char *symfs;
    bool has_limit, ascii, for_map;
    struct view_options view;
    struct terminal_options terminal;
    uint32_t thresholds[LATENCY_THRESHOLDS];

    const char *html;

    /* what the words mean */
    enum view_table table; /* VIEW_TABLES: the whole report */
    bool one_object;
    const char *annotated, *type; /* a file or function; a type; or NULL */
    view_problem *problem;        /* one of the reports that are no table, or NULL */
    unsigned accesses;            /* enum view_problem: the reports of what accesses are like */
    uint32_t object;
};

/* [TABLE | object ID] [FILE...]: fills what the words mean, and finds the files. A file that is named like a table can be given as
 * ./objects. Negative with `err` where they, or options, do not go together. */
int report_understand(struct report_arguments *arguments, struct error *err);
