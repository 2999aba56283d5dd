/* capture/recorder_sources.h - what one recording with an agent has its events from: found out, opened on the target, and connected to
 * each other. Private to recorder.c and recorder_sources.c. */
#pragma once

#include "capture/agent/agent_source.h"
#include "capture/count/count_recorded.h"
#include "capture/faults/faults.h"
#include "capture/hardware/hw_record.h"
#include "capture/homes.h"
#include "capture/kernel_probe.h"
#include "capture/perf/perf_source.h"
#include "capture/process/cpu_account.h"
#include "capture/process/process_maps.h"
#include "capture/process/runtime_names.h"

struct recorder_sources {
    struct capture_options options; /* as given, but with a mechanism that was chosen */
    struct sources list;
    struct source_listener listener;
    struct capture_means means; /* what is in force */
    struct pmu_choice choice;   /* of hardware; count 0: none, or not wanted */
    pid_t pid;                  /* the target */
    struct capture_region *region;
    struct sink *sink;
    struct counter_clock clock;
    struct process_table processes;
    struct agent_source *agents;
    struct perf_source *perf;       /* NULL: refused, or not wanted */
    struct faults *faults;          /* NULL: not wanted */
    struct homes *homes;            /* NULL: nothing to ask, or no answer */
    struct capture_maps *maps;      /* NULL: nothing is kept */
    struct runtime_names *runtimes; /* likewise */
    bool counting;                  /* of the memory controllers, with hardware samples */
    struct count_recorded counters;
    char counters_root[256];
    struct cpu_account others; /* CPU time that is not in what wait4 reports of the target */
};

/* Finds out what can be had here, before the target exists: `options` are set, the rest is zero. 0, or negative with `err`. */
int recorder_sources_find(struct recorder_sources *sources, struct error *err);

/* All sources, on the child that waits. Events may go into `sink` from the first drain on. Neither this nor what is given may be
 * moved. */
int recorder_sources_open(struct recorder_sources *sources, pid_t child, struct capture_region *region,
                          struct sink *sink, struct error *err);

void recorder_sources_close(struct recorder_sources *sources);
