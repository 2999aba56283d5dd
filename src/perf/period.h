/* perf/period.h - how many events one hardware sample stands for: loads, stores, or operations of which one was picked.
 *
 * 0 is "not known", never "none". What a PMU did not count is never in it: lost and throttled samples, and of Intel's load latency
 * facility the loads that it did not follow, as it follows one at a time. So sums of periods are lower bounds. */
#pragma once

#include "perf/sample.h"

struct perf_periods { /* of one event */
    bool other;       /* it counts cycles or page faults: its periods say nothing of how many accesses there were */
    uint64_t fixed;   /* of every sample that does not carry its own; 0: not known */
};

/* `source`: enum sample_source. */
struct perf_periods perf_periods_of(const struct perf_event_attr *attr, uint8_t source);

/* Of a sample; of a packet of SPE with NULL. */
uint32_t perf_period(const struct perf_periods *periods, const struct perf_sample *sample);
