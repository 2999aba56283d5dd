/* cli/report_html.h - report --html: one page of a recording, or of two. */
#pragma once

#include "base/error.h"
#include "cli/input/input_files.h"
#include "cli/input/time_window.h"
#include "flow/flow.h"

struct report_html {
    const char *out;
    struct input *input;   /* the recording */
    struct input *against; /* another one to compare with, or NULL */
    struct flow_options flow;
    const struct time_window *window; /* or NULL */
    const struct model *machine;      /* or NULL */
};

/* Says on stdout where the page is. */
int report_html(const struct report_html *html, struct error *err);
