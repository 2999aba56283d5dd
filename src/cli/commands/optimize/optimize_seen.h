/* cli/commands/optimize/optimize_seen.h - what a recorded run under one placement shows beside its time. */
#pragma once

#include "base/error.h"
#include "plan/plan_file.h"

#include <stdio.h>

struct trial_seen {                 /* in a recorded run; negative: not known */
    double remote_share, low, high; /* of the accesses, and its interval at 95% */
    double remote_bytes;            /* share of the bytes from memory that come from other nodes */
    double latency_ns;              /* of a sampled load */
};
#define TRIAL_UNSEEN ((struct trial_seen){-1, -1, -1, -1, -1})

/* Reads a recording; also fills the plan that it asks for, unless `plan` is NULL. Negative with `err` when it cannot be read. */
int optimize_seen(const char *path, struct trial_seen *seen, struct placement_plan *plan, struct error *err);

/* A line for each thing that is known of both. */
void optimize_seen_print(FILE *out, const struct trial_seen *before, const struct trial_seen *now);
