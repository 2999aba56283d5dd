/* cli/stat_text.h - what `numalens stat` counted, as a table for people or as JSON, while it goes on and at the end. */
#pragma once

#include "capture/count/count_run.h"

#include <stdio.h>

struct stat_text;

struct stat_text_options {
    FILE *out;
    bool json, quiet;     /* quiet: only the figures */
    char **command;       /* NULL: no program */
    uint64_t interval_ns; /* 0: none */
};

/* Says what will be counted and why nothing better. `session` stays until stat_text_end. */
struct stat_text *stat_text_begin(struct count_session *session, const struct stat_text_options *options);

/* False when nobody reads it any more. */
bool stat_text_interval(struct stat_text *writer, const struct count_reading *from, const struct count_reading *to);

/* The sums, and how good they are. Frees `writer`; negative with `err` when something could not be written. `result` is
 * NULL when nothing ran. */
int stat_text_end(struct stat_text *writer, const struct count_run_result *result, struct error *err);
