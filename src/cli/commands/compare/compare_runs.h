/* cli/commands/compare/compare_runs.h - runs a program under each placement again and again, in alternating order, and keeps the figures of
 * each run. Each run is a `numalens record` of its own, started as a user would start it. */
#pragma once

#include "cli/commands/compare/candidate.h"
#include "compare/verdict.h"

struct compare_runs_options {
    uint32_t repeat;
    bool same_output; /* standard output and exit status must be those of the first run */
    bool plain;       /* run it without recording too, before each recorded run */
    bool quiet;
    const char *keep;     /* a folder for the recordings, or NULL: they are temporary */
    const char *topology; /* simulated, or NULL */
    const char *agent;    /* for plans, or NULL */
    char **record_options;
    unsigned record_option_count;
    char **command;
    struct figures_options figures;
};

struct compare_runs {
    struct placed *items;
    struct candidate *candidates; /* of the items */
    uint32_t count;
    char unit[16]; /* of latencies */
};

/* Runs those of the items that are possible. 0; or negative with `err` and the exit status that the command should end
 * with: the program's when it failed. `*signal`: what the command itself was asked to end by, or 0. */
int compare_runs_make(struct compare_runs *runs, const struct compare_runs_options *options, int *exit_status,
                      int *signal, struct error *err);

void compare_runs_free(struct compare_runs *runs);
