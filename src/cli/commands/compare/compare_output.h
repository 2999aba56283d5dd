/* cli/commands/compare/compare_output.h - what a program prints in each of its runs: nothing is shown; where asked, all must print the
 * same bytes. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct compare_output {
    bool same;
    int first, now; /* files without a name, or /dev/null; -1: none */
    bool has_first;
};

int compare_output_open(struct compare_output *output, bool same, const char *folder, struct error *err);
void compare_output_close(struct compare_output *output);

/* A descriptor for the next run's standard output. It stays the output's own. */
int compare_output_begin(struct compare_output *output, struct error *err);

/* After a run that ended well: 0, or negative when it printed something else than the first one. */
int compare_output_end(struct compare_output *output, const char *what, struct error *err);
