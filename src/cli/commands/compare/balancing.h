/* cli/commands/compare/balancing.h - kernel.numa_balancing on or off for a while. It is the whole machine's, so that it is set back however
 * this process ends: another process waits for that. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct balancing_hold {
    pid_t keeper; /* 0: nothing is held */
    int alive;    /* a pipe that ends with this process */
};

/* "" when it can be set here; else why not. */
const char *balancing_refused(void);

int balancing_hold(struct balancing_hold *hold, int value, struct error *err);
void balancing_release(struct balancing_hold *hold);
