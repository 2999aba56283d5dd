/* capture/faults/faults.h - which pages each thread used in each interval, from page faults: those that happen by
 * themselves, and those that a mechanism provokes (docs/pages.md). Appends EVENT_PAGE. Used by one thread. */
#pragma once

#include "capture/faults/code_files.h"
#include "capture/options.h"
#include "capture/sink.h"
#include "capture/source.h"
#include "isa/direction.h"
#include "wire/region.h"

#include <sys/types.h>

struct faults;

struct faults_fault {
    uint64_t time, addr, ip;
    uint32_t pid, tid;
    int cpu;
    bool first;                                  /* of this page, as far as is known */
    const struct direction_registers *registers; /* NULL: not known */
};

/* options->mechanism is in force: not MECHANISM_AUTO. */
struct faults *faults_new(const struct capture_options *options, struct wire_region *region, struct sink *sink);

/* Whose open is refused when the mechanism is. Drained, it ends intervals and arms pages for the next one when it is time to:
 * everything up to then was reported. Closed, it restores what was changed. */
struct source faults_source(struct faults *faults);

/* What the kernel reports, in order of time. */
void faults_fault(struct faults *faults, const struct faults_fault *fault);
void faults_process(struct faults *faults, uint32_t pid);
void faults_fork(struct faults *faults, uint32_t pid, uint32_t parent);
void faults_map(struct faults *faults, uint32_t pid, const struct code_map *map);
void faults_thread(struct faults *faults, uint32_t pid); /* has more than one now */
void faults_exec(struct faults *faults, uint32_t pid, uint64_t time);
void faults_exit(struct faults *faults, uint32_t pid, uint64_t time);
void faults_fresh(struct faults *faults, uint32_t pid, uint64_t addr, uint64_t size);

/* Often: agents may be waiting. */
void faults_serve(struct faults *faults, uint64_t now);

struct faults_totals {
    uint64_t faults;    /* seen */
    uint64_t own;       /* of the profiler itself: dropped */
    uint64_t armed;     /* pages made to fault again, where the mechanism counts them */
    uint64_t unseen;    /* written pages that no fault reported: the mechanism did */
    uint64_t pages;     /* reported, each for one thread and interval */
    uint64_t skipped;   /* passes that armed less than all there was, to stay inside the budget */
    uint64_t unguarded; /* processes that the mechanism could not watch */
    uint64_t lone;      /* processes with never more than one thread: see numa-hint in docs/pages.md */
    uint64_t fault_ns;  /* what one costs, as measured at the start */
    uint64_t cost_ns;   /* what those that were provoked took of the program's time */
};
struct faults_totals faults_totals(const struct faults *faults);
