/* capture/process/running.h - processes that no agent introduces, in samples of a whole machine or of a program that runs already:
 * each is looked at when its first sample comes, and followed by the kernel's records from then on. One that ends before
 * that look keeps its samples, but has no names. Used by one thread. */
#pragma once

#include "capture/process/process_table.h"
#include "symbols/symbols.h"

#include <linux/perf_event.h>

struct running {
    struct process_table *processes;
    struct symbols *symbols; /* made with the first process */
    struct map64 threads;    /* pid << 32 | tid, reported */
    struct map64 roots;      /* of procfs_files(), to a process that sees them: binaries are read once for all such */
    struct map64 code;       /* pid, to struct running_code * */
    struct map64 looked;     /* pid, to when it was looked at: records of before are old news */
};

void running_init(struct running *running, struct process_table *processes);
void running_free(struct running *running);

/* The process of a sample; it and the thread are reported when they are new. */
struct capture_process *running_process(struct running *running, uint32_t pid, uint32_t tid, uint64_t time);

/* It runs code at `pc`, whose binary may have been loaded since the process was looked at: then that is reported. */
void running_runs(struct running *running, uint32_t pid, uint64_t pc, uint64_t time);

/* It runs another program now: that is reported as if it was seen for the first time. */
void running_renew(struct running *running, uint32_t pid, uint64_t time);

/* Somebody else reported this thread. */
void running_knows(struct running *running, uint32_t pid, uint32_t tid);

/* A record that is no sample, with TID, TIME and CPU at its end. */
void running_record(struct running *running, const struct perf_event_header *record, uint64_t time);
