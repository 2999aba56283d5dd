/* machine/stream.h - how many bytes a second some CPUs read from one node's memory, and what a load takes meanwhile; private to
 * src/machine. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct stream {
    const uint32_t *cpus; /* a thread on each */
    uint32_t cpu_count;
    int node;       /* the kernel's number; -1: wherever */
    uint64_t bytes; /* that each thread reads over and over: more than its share of the caches */
    bool copies;    /* one write for each read, half of the memory to the other half */
    double seconds; /* how long */
    uint64_t
        chase_bytes; /* 0: nobody chases. Else a thread on `chase_cpu` goes from load to load through so many of that node */
    uint32_t chase_cpu;
    double chased_ns; /* set then: what a load takes, in the thread's CPU time */
};

/* GB/s of all threads together, read and written, but for the one that chases; negative with `err`. */
double stream_run(struct stream *stream, struct error *err);
