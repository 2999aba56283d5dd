/* machine/stream.h - how many bytes a second some CPUs read from one node's memory; private to src/machine. */
#ifndef NUMALENS_MACHINE_STREAM_H
#define NUMALENS_MACHINE_STREAM_H

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
};

/* GB/s of all threads together, read and written; negative with `err`. */
double stream_run(const struct stream *stream, struct error *err);

#endif
