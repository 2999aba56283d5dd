/* capture/count/count_run.h - counts while a program runs, or for a time, or until a signal; reports each interval.
 *
 * The program is started as a shell would: nothing in it, same signals, same descriptors. What is sent to numalens alone
 * is passed on to it. Intervals end at multiples of their length from the start, so that lateness never adds up. */
#pragma once

#include "capture/count/count_session.h"

struct count_run {
    char **command;       /* NULL: no program */
    uint64_t interval_ns; /* 0: none */
    uint64_t duration_ns; /* 0: until a signal; only without a program */
    void *context;
    /* False: nobody listens any more, which ends the counting unless a program runs. */
    bool (*interval)(void *context, const struct count_reading *from, const struct count_reading *to);
};

struct count_run_result {
    struct count_reading first, last; /* the caller frees them */
    uint64_t merged; /* intervals that could not be distinguished: reading the counters took too long */
    int exit_status; /* the program's, as a shell shows it; 0 without one */
    int signal;      /* that killed it; 0: none */
};

/* On failure the program did not run, and exit_status is what a shell would say. */
int count_run(struct count_session *session, const struct count_run *run, struct count_run_result *result,
              struct error *err);

/* The end of the interval that contains `now`, when the first began at `start`. */
uint64_t count_run_next(uint64_t start, uint64_t interval_ns, uint64_t now);
