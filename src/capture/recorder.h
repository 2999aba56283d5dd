/* capture/recorder.h - one recording from start to end: starts the target, drains all sources, writes the trace. */
#pragma once

#include "capture/options.h"

struct recorder_result {
    int exit_status;    /* what the command should end with when nothing failed: the program's */
    int signal;         /* that killed the program, or 0 */
    bool ran;           /* the program was started */
    bool hardware;      /* the processor took the samples */
    bool never_sampled; /* what samples should have begun with did not come */
    uint64_t samples, objects, threads, processes;
    uint64_t pages, faults;         /* pages' use as reported, and faults seen; 0 when not asked for */
    enum fault_mechanism mechanism; /* that made pages fault again */
    bool write_protect;             /* and uffd-wp beside it */
    uint64_t untracked;             /* programs that no agent spoke for */
    uint64_t apart;                 /* of those: the agent was kept away, and the cause is counted */
    uint64_t bytes;                 /* of the file, or of all files */
    uint64_t files, removed;        /* with --rotate: there, and no longer kept; 0 without */
    uint64_t rotate_most_ns;        /* the longest that beginning a next file took */
    uint64_t drops;                 /* things lost that weigh: see recorder.c */
    uint64_t duration_ns, target_cpu_ns, recorder_cpu_ns, handler_ns;
    uint64_t
        tracking_ns; /* in hooks of the heap, of mappings and threads: from calls that were timed; for records of perf */
    uint64_t faults_ns;         /* in page faults that were provoked */
    char source[768];           /* which sampler is in force and why */
    uint64_t refused;           /* processes from outside that were found and not looked at */
    char notes[1024];           /* what could not be had, one after the other; "" when nothing */
    char custom_missing[1024];  /* functions the user named that no program had; "" when none */
    char custom_refused[2048];  /* those that could not be hooked, each with the reason */
    struct error write_failure; /* code 0, or why the file is not whole */
};

/* 0 once the program has run, whatever became of it; negative with `err` and result->exit_status when it could not be
 * started. No file is left then. */
int recorder_run(const struct capture_options *options, struct recorder_result *result, struct error *err);
