/* migrate/migrate_attach.h - migrates the pages of a process that runs already. It is not stopped, nothing is put into it, and when
 * numalens ends it goes on as before. */
#pragma once

#include "migrate/loop.h"

struct attach_result {
    bool ended; /* the process ended; else numalens was asked to stop */
    uint64_t samples, lost, threads;
    char sees[256], lacks[320]; /* as in thread_faults_means */
};

/* Returns 0 when either ended, negative with `err` when it cannot be done. `budget`: part of the process's CPU time that
 * watching may cost. */
int attach_run(uint32_t pid, double budget, const struct loop_options *options, const struct loop_listener *listener,
               struct attach_result *result, struct loop_summary *summary, struct error *err);
