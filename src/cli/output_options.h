/* cli/output_options.h - -o and -q of the commands that convert one file into another: a child of their own argp, with struct
 * output_options as its input. */
#pragma once

#include <argp.h>
#include <stdbool.h>

struct output_options {
    const char *path; /* as it was before, when no -o is given */
    bool quiet;
};

extern const struct argp output_argp;
