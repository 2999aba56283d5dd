/* capture/process/launch.h - starts the target: forked first and held, so that counters can be opened on it, then let go. */
#pragma once

#include "base/error.h"

#include <signal.h>
#include <sys/types.h>

struct placement;

struct launch {
    pid_t pid;
    int go;      /* written to: exec now; closed without: leave */
    int trouble; /* the errno of an exec that failed */
};

/* A child that waits before exec. `region` and `agent` go into its environment (each may be NULL). Signals are as they
 * were when the caller started: `mask` is the signal mask to give it. */
int launch_prepare(struct launch *launch, char **command, const char *region, const char *agent, const sigset_t *mask,
                   struct error *err);

/* Likewise, with threads and memory where `placement` (topology/placement.h) says; it may be NULL. A placement that the
 * kernel refuses is reported by launch_go. */
int launch_prepare_placed(struct launch *launch, char **command, const char *region, const char *agent,
                          const sigset_t *mask, const struct placement *placement, struct error *err);

/* Lets it go; 0 once the program runs. On failure `*exit_status` is what a shell would say, and the child has ended. */
int launch_go(struct launch *launch, const char *name, int *exit_status, struct error *err);

/* Instead of launch_go: the child leaves without having run anything. */
void launch_cancel(struct launch *launch);
