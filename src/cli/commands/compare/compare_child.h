/* cli/commands/compare/compare_child.h - starts one program after the other with the same standard input, waits, and passes signals on.
 * A signal to end is noted; nothing more is started then. */
#pragma once

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct placement;

struct compare_child {
    int input;      /* a file that is wound back for each run; -1: standard input as it is */
    off_t input_at; /* where it began */
    struct sigaction old[4];
    const char *const *environment; /* NAME=value of the next runs, up to NULL; or NULL */
};

/* With `again`, each run gets the same standard input: what cannot be wound back (a pipe) is read to its end and kept in a file without
 * a name. */
int compare_child_open(struct compare_child *child, bool again, struct error *err);

/* Returns the signal that this process was asked to end by, or 0. */
int compare_child_close(struct compare_child *child);

/* Runs a command with standard output to `out`, placed as said unless that is NULL. `*status` is as wait gives it,
 * `*seconds` (may be NULL) the time from start to end. */
int compare_child_run(struct compare_child *child, char **command, int out, const struct placement *placement,
                      int *status, double *seconds, struct error *err);
