/* view/report/report_span.h - which part of a run a report is of, when it is not of all of it: a window of time, or some files of a
 * recording in several. */
#pragma once

#include "base/json.h"
#include "view/view.h"

struct span {
    double start_s, end_s; /* since the run's start */
    uint64_t first, last;  /* numbers of files; 0: the recording is one file */
    bool windowed;
    bool goes_on; /* there are later files */
};

/* One sentence, or "" for a whole run. */
void span_text(const struct flow *flow, const struct view_options *options, char *text, size_t room);

/* A field "span", when there is something to say. */
void span_json(struct json *json, const struct flow *flow, const struct view_options *options);
