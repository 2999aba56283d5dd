/* cli/stat_text.h - what `numalens stat` counted, as a table for people or as JSON, while it goes on and at the end. */
#ifndef NUMALENS_CLI_STAT_TELL_H
#define NUMALENS_CLI_STAT_TELL_H

#include "capture/count/count_run.h"

#include <stdio.h>

struct stat_tell;

struct stat_telling {
    FILE *out;
    bool json, quiet;     /* quiet: only the figures */
    char **command;       /* NULL: no program */
    uint64_t interval_ns; /* 0: none */
};

/* Says what will be counted and why nothing better. `session` stays until stat_tell_end. */
struct stat_tell *stat_tell_begin(struct count_session *session, const struct stat_telling *telling);

/* False when nobody reads it any more. */
bool stat_tell_interval(struct stat_tell *tell, const struct count_reading *from, const struct count_reading *to);

/* The sums, and how good they are. Frees `tell`; negative with `err` when something could not be written. `result` is
 * NULL when nothing ran. */
int stat_tell_end(struct stat_tell *tell, const struct count_run_result *result, struct error *err);

#endif
