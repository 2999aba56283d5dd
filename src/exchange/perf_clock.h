/* exchange/perf_clock.h - how far the clock of a perf recording is from the one of an agent's trace of the same run.
 *
 * perf's usual clock is the scheduler's, which starts at boot and is no other clock of the system's. But both recordings report
 * the same events: the kernel of an exec, a new thread or a mapping at the moment of it, the agent shortly before or after.
 * Each such pair bounds the distance of the clocks from one side, and together they leave little room between. */
#pragma once

#include "exchange/perf_tasks.h"
#include "trace/reader.h"

struct perf_clock {
    int64_t offset; /* ns to be added to perf's times */
    uint64_t error; /* by how much that may be wrong, ns */
    unsigned pairs; /* events that both report */
    char how[160];  /* for people */
};

/* 0, or negative with `err`: nothing fits, or it contradicts itself. Reads through `agent` and leaves it rewound. */
int perf_clock_align(struct perf_clock *clock, const struct perf_tasks *tasks, const struct perf_file *file,
                     struct trace_reader *agent, struct error *err);

static inline uint64_t perf_clock_time(const struct perf_clock *clock, uint64_t time)
{
    return time + (uint64_t)clock->offset;
}
