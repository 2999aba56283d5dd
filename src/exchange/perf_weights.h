/* exchange/perf_weights.h - how many accesses each sample of a perf.data stands for (perf/period.h), so that none counts twice. */
#pragma once

#include "base/array.h"
#include "perf/memory_access.h"
#include "perf/perf_file.h"

struct perf_weighed { /* an event that stands for its PMU's loads, or stores */
    uint32_t type;
    uint64_t config, config1;
    uint8_t flags; /* SAMPLE_READ, SAMPLE_WRITE */
};

struct perf_weights {
    uint8_t source;    /* enum sample_source */
    bool by_registers; /* the access at hand was read from them */
    array_of(struct perf_weighed) events;
};

void perf_weights_free(struct perf_weights *weights);

/* Of an access in a record of `event`. 0: not known, or another event of the same PMU samples such accesses too. */
uint32_t perf_weight(struct perf_weights *weights, const struct perf_file_event *event,
                     const struct perf_sample *sample, const struct memory_access *access);

/* Of an access in a packet of SPE. */
uint32_t perf_weight_packet(const struct perf_weights *weights, const struct perf_file *file);

/* Cycles that a load had to take for a sample, as an event's name says ("cpu/mem-loads,ldlat=30/P"); 0: any. */
unsigned long perf_weights_threshold(const struct perf_file *file);
