/* perf/ibs.h - AMD IBS op samples: the registers as PERF_SAMPLE_RAW carries them.
 *
 * Kernels before 6.1 leave data_src empty for IBS, and no kernel reports all of it: the registers do. Layout and encodings
 * as in AMD's Processor Programming References of families 10h, 17h, 19h and 1Ah. */
#pragma once

#include "perf/memory_access.h"

struct ibs_cpu {           /* that recorded it */
    uint8_t family, model; /* 0x10 to 0x1a */
};

/* False when the op was no load or store, its address is not known, or the registers are cut short. */
bool memory_from_ibs(struct memory_access *access, const struct perf_sample *sample, const struct ibs_cpu *cpu);

/* "AuthenticAMD-25-1-1" as perf's header reports it. False for other makers. */
bool ibs_cpu_of(const char *cpuid, struct ibs_cpu *cpu);
