/* capture/options.h - what a recording should be like: filled by the command, read by everything in this room. */
#pragma once

#include "topology/topology.h"
#include "wire/custom.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_observer;
struct placement;
struct job_rank;

enum capture_samples {
    SAMPLES_AUTO,
    SAMPLES_SOFT,
    SAMPLES_FAULTS,
    SAMPLES_NONE,
    SAMPLES_OUTSIDE, /* the soft source, with nothing in the program: capture/outside/outside.h */
    SAMPLES_PEBS,
    SAMPLES_IBS,
    SAMPLES_SPE
};
enum fault_mechanism { MECHANISM_AUTO, MECHANISM_NUMA_HINT, MECHANISM_SOFT_DIRTY, MECHANISM_UFFD_WP, MECHANISM_NONE };
enum capture_tick { TICK_AUTO, TICK_PERF, TICK_TIMER };

struct process_query {     /* what is NULL is not asked for */
    const char *name;      /* as in /proc/PID/comm, or the last part of its command's path */
    const char *cgroup;    /* its path, as in /proc/PID/cgroup, or one above it */
    const char *container; /* its ID, or the first 12 or more letters of it */
};

struct capture_options {
    const char *output; /* NULL: no trace is kept; then objects are not followed, and homes are not asked for */
    const struct capture_observer *observer; /* may be NULL */
    char **command;                          /* program and arguments, NULL at the end */
    uint64_t tick_ns;                        /* mean CPU time between bursts of a thread */
    uint32_t burst;                          /* accesses a burst */
    uint32_t budget_ppm;                     /* of a thread's CPU time */
    uint32_t budget_least_ppm;               /* from outside: of one CPU, where that is more */
    uint32_t max_frames;                     /* of a call chain */
    bool loads, stores;
    bool latency;
    bool traffic;               /* long bursts; with hardware samples, counters of memory: docs/traffic.md */
    uint32_t latency_threshold; /* ns */
    uint64_t period;            /* hardware sources: every so many events; 0: as often as tick_ns and burst say */
    enum capture_samples samples;
    enum capture_tick tick;
    bool
        faults; /* pages' use from page faults, beside the samples or (SAMPLES_FAULTS) instead of them: docs/pages.md */
    enum fault_mechanism mechanism; /* that makes pages fault again */
    bool write_protect;             /* uffd-wp beside numa-hint; set where auto finds that both work */
    uint64_t interval_ns;           /* how often */
    uint32_t fault_budget_ppm;      /* of the program's CPU time that this may cost; 1000000: no limit */
    uint32_t chunks, chunk_pages;   /* of pages kept in memory */
    bool follow;
    bool redact; /* nothing that names people or machines is written (trace/redact.h) */
    bool
        restrict_self; /* the recorder gives up rights and system calls once the program runs (base/sandbox.h): for good */
    const char *sysfs; /* where the machine's PMUs are described; NULL: /sys */
    size_t memory;     /* bytes that the recorder may use in all */
    const struct topology *topology;
    const struct wire_custom *custom; /* functions named by the user: capture/agent/custom_spec.h */
    uint32_t custom_count;
    const char *calibration;    /* kept with the trace: topology/calibration.h; or NULL */
    uint32_t start_threads;     /* samples begin once the program has so many threads; 0: at once */
    uint64_t start_ns;          /* after so much time; 0: at once */
    uint64_t stop_ns;           /* and end after so much time; 0: with the program */
    bool system;                /* everything that runs: capture/system_recorder.h; the command may be missing then */
    uint32_t pid;               /* a process that runs already, and all it starts: the same; 0: none */
    uint32_t pids[16];          /* from outside: further ones, up to the first 0 */
    struct process_query query; /* from outside: all such, later ones too; `pid` is one of them then */
    const char *cpus;           /* with system: on these CPUs only, "0-3,8"; NULL: on all */
    const struct placement *placement; /* of its threads and memory on this machine: topology/placement.h; or NULL */
    uint64_t rotate_ns;                /* a next file after each such time: capture/rotate/rotation.h; 0: one file */
    uint64_t rotate_first_ns;          /* the first file's time, where it is shorter; 0: like the others */
    uint32_t keep;                     /* of them, so many; 0: all */
    const char *machine,
        *machine_model;          /* kept with the trace: the machine that it is for, and its model as a text; or NULL */
    const struct job_rank *rank; /* kept with the trace: capture/job_rank.h; or NULL */
};
