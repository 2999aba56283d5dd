/* perf/memory_access.h - what any hardware sampler says of one memory access, in one shape.
 *
 * Intel's PEBS and every other source that the kernel has decoded speak through data_src and weight; AMD's IBS through
 * its registers (raw), when data_src does not report; Arm's SPE through packets in an AUX buffer. */
#pragma once

#include "perf/sample.h"
#include "wire/event.h"

struct memory_access {
    uint64_t time, ip, addr, physical;
    uint32_t pid, tid;
    uint32_t latency; /* cycles */
    uint32_t period;  /* events that it stands for (perf/period.h); 0 when not known */
    uint16_t cpu, size;
    uint8_t level; /* enum sample_level */
    uint8_t flags; /* enum sample_flag */
    bool has_cpu;
};

/* data_src of the kernel: new fields (mem_lvl_num, mem_remote, mem_hops) first, the old bits second: on Skylake and
 * later the old ones never say remote. Fills level and flags. */
void memory_from_data_src(struct memory_access *access, uint64_t data_src);

/* A parsed sample whose data_src and weight report all. False when it is no memory access (no address, no operation). */
bool memory_from_sample(struct memory_access *access, const struct perf_sample *sample);

/* The same of a page fault: it reports who touched which address, but not how. */
bool memory_from_fault(struct memory_access *access, const struct perf_sample *sample);
