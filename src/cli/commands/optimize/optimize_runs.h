/* cli/commands/optimize/optimize_runs.h - runs a program under one placement and another, alternately, until it is sure which is faster. */
#pragma once

#include "cli/commands/compare/candidate.h"
#include "cli/commands/optimize/optimize_seen.h"
#include "compare/paired.h"

#include <regex.h>

struct trial { /* a placement that is tried against the default one */
    struct candidate candidate;
    struct paired pairs;
    struct paired_ratio gain;
    enum paired_answer answer;
    unsigned sharing; /* trials, this one too, that have one chance of a wrong "faster" together */
    struct trial_seen seen;
};

struct trial_run { /* one run, in their order */
    const char *name;
    double time_s, metric; /* metric: NAN without */
    const struct trial *trial;
};

struct trials {
    char **command;
    const char *agent;     /* its path; NULL: plans cannot be tried */
    const regex_t *metric; /* of what it prints: the last match, its first group; NULL: time */
    bool less_is_better, quiet;
    unsigned most; /* pairs of runs for each */
    double chance; /* of a wrong "faster" for each, or for those that share it */
    struct compare_child child;
    array_of(struct trial_run) runs;
    struct trial standard; /* the default placement */
    bool interrupted;
};

/* Compares a trial with the default placement: fills its pairs, gain and answer. Negative with `err` when the program fails; -EINTR when
 * this process was asked to end: then `interrupted` is set. */
int trials_compare(struct trials *trials, struct trial *trial, int *exit_status, struct error *err);

/* Records one run into `path`, under the trial's placement. */
int trials_record(struct trials *trials, const struct trial *trial, const char *path, int *exit_status,
                  struct error *err);

/* What is wanted of a trial: faster by this much at least, or it is not worth a plan. */
#define TRIAL_LEAST 1.01

/* Runs that do not exclude a gain of so much have not decided: what waiting must take for the report to say that NUMA slows a program. */
#define TRIAL_OPEN 1.05
