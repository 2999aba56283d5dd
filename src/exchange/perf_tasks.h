/* exchange/perf_tasks.h - processes, threads and mappings of a recording, reported in order of time. */
#pragma once

#include "base/array.h"
#include "base/map64.h"
#include "base/strtab.h"
#include "capture/process/process_table.h"
#include "perf/perf_file.h"
#include "symbols/symbols.h"

struct perf_task { /* one FORK, EXIT, COMM or mapping */
    uint64_t time;
    uint32_t order; /* in the file: ties keep it */
    uint32_t pid, tid, parent;
    uint8_t type; /* PERF_RECORD_FORK, EXIT, COMM, MMAP */
    bool exec;
    uint32_t text; /* name or path in `texts` */
    uint64_t addr, size, offset;
    uint32_t prot, flags;
    uint8_t build_id[20], build_id_size;
};

struct perf_tasks {
    struct strtab *texts;
    array_of(struct perf_task) items;
    struct map64 sampled; /* pids that have samples, and their parents */
    struct map64 seen;    /* every pid */
    struct map64 threads; /* pid << 32 | tid, reported */
};

void perf_tasks_init(struct perf_tasks *tasks);
void perf_tasks_free(struct perf_tasks *tasks);

/* Keeps the record if it is one of a task. `time` 0: from before the recording. */
void perf_tasks_keep(struct perf_tasks *tasks, const struct perf_file_record *record, uint64_t time);
void perf_tasks_sampled(struct perf_tasks *tasks, uint32_t pid);

/* Reports all of the sampled processes; times before `start` become `start`. Modules' build ids come from `file` where
 * the mapping has none, their places from the binaries where they are at hand. */
void perf_tasks_report(struct perf_tasks *tasks, uint64_t start, const struct perf_file *file, struct symbols *symbols,
                       struct process_table *processes);

/* The process of a sample, started at `time` when the recording never reported it. */
struct capture_process *perf_tasks_process(struct perf_tasks *tasks, struct process_table *processes, uint64_t time,
                                           uint32_t pid, uint32_t tid);
