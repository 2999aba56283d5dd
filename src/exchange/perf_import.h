/* exchange/perf_import.h - a recording of `perf mem record` or `perf c2c record` becomes a numalens.data.
 *
 * Read twice: once for the processes that have memory samples and for when it all began (perf says what ran before it
 * with time 0), once for the samples. Static objects, files and sections are attributed later as in any trace; where an
 * access went is what the hardware said. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct perf_import {
    uint64_t samples; /* memory accesses taken over */
    uint64_t loads, stores;
    uint64_t other;      /* samples that are no memory accesses */
    uint64_t unreadable; /* samples of no known event, or cut short */
    uint64_t lost;       /* that the recording says it lost */
    uint64_t threads;    /* that made them */
    uint64_t skipped;    /* processes without samples */
    uint64_t span_ns;
    char source[16];    /* "pebs", "ibs", "spe", "faults" or "perf" */
    char topology[128]; /* "2 nodes, 112 CPUs", and where that comes from */
    char damage[512];   /* where and why reading ended early, or "" */
};

/* `symfs`: a directory with the other machine's binaries, or NULL. 0, or negative with `err`: not a recording, no memory
 * samples in it, `output` cannot be written. No output is left then. */
int perf_import(const char *path, const char *symfs, const char *output, struct perf_import *result, struct error *err);
