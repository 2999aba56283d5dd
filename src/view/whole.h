/* view/whole.h - what is known of a recording as a whole, from its session and its end. */
#pragma once

#include "view/view.h"

struct whole {
    const char *command, *source, *tick;
    double duration; /* seconds */
    uint64_t period_ns, burst;
    bool has_exit_status;
    int exit_status; /* as a shell shows it: 128 + signal */
};

struct whole whole_of(const struct flow *flow, const struct view_options *options);

/* How a process ended, as a shell shows it; false when that is not known. */
bool whole_exit_status(const struct flow_process *process, int *status);

/* Seconds from `start` to `end`, or to the recording's end. */
double whole_lasted(const struct flow *flow, uint64_t start, uint64_t end);

/* "packed", "round-robin", "node:2" of a simulated topology. */
const char *whole_assign(const struct topology *topology);

/* "first-touch", "interleave", "bind:2" of a simulated topology. */
const char *whole_homes(const struct topology *topology);
