/* capture/hardware/hw_source.h - hardware events on a process, a thread or all CPUs: opens what pmu/choose.h chose, as good as this
 * kernel allows, and drains their rings in order of time. Used by one thread. */
#pragma once

#include "capture/hardware/hw_reader.h"
#include "capture/hardware/choose.h"

struct hw_target {
    pid_t pid;            /* of the first thread; 0: the caller; -1: everything on each CPU */
    const pid_t *threads; /* or several that run already, with `inherit`; those that end meanwhile are skipped */
    size_t thread_count;
    bool inherit;        /* and all it starts. Then, as for -1, a ring per CPU, else one for the thread */
    bool enable_on_exec; /* else hw_source_enable does */
    bool tasks;          /* hw_listener.other hears of processes, threads and mappings too */
    const char *cpus;    /* "0-3,8": rings on these only; NULL: on all */
    uint32_t max_frames; /* of call chains, 0: none */
    size_t memory;       /* that all rings may take */
    size_t pages;        /* of a ring, a power of two; 0: as perf_event_mlock_kb allows, with half left for others */
};

struct hw_source;

/* NULL with `err`: refused, and what would change that. */
struct hw_source *hw_source_open(const struct pmu_choice *choice, const struct hw_target *target, struct error *err);
void hw_source_close(struct hw_source *source);

/* Opens it on the calling thread and makes that work for some milliseconds: 0 when a sample came. Some virtual machines
 * let a PMU be opened that never reports anything. */
int hw_source_try(const struct pmu_choice *choice, struct error *err);

int hw_source_enable(struct hw_source *source, bool on); /* 0 or -errno */

/* Reports what happened up to time `until`; returns how full the fullest ring was, of 1.0. With UINT64_MAX everything, and
 * what was lost since the kernel last reported it (Linux 6.0). */
double hw_source_drain(struct hw_source *source, uint64_t until, const struct hw_listener *listener);

struct hw_totals {
    uint64_t samples, other, unreadable;
    unsigned rings;
    size_t bytes;     /* of all rings */
    unsigned precise; /* the precise_ip that was had */
    bool physical;    /* addresses too */
};

struct hw_totals hw_source_totals(const struct hw_source *source);
