/* capture/hardware/hw_reader.h - one ring of hardware samples made into memory accesses: PEBS and IBS from the records, SPE from
 * the AUX buffer beside them. What the kernel says it lost is passed on. Meets any bytes without harm.
 *
 * Records must carry IP, TID, TIME and CPU first (hw_source.h sees to that). */
#pragma once

#include "capture/agent/counter.h"
#include "capture/perf/perf_ring.h"
#include "perf/ibs.h"
#include "perf/period.h"
#include "perf/spe.h"

enum { HW_FRAMES_MOST = 64 };

struct hw_sample {
    struct memory_access access;
    uint8_t source; /* enum sample_source */
    bool cut;       /* the chain goes on */
    uint16_t depth;
    const uint64_t *frames; /* frames[0] is the instruction itself */
    uint64_t data_src;      /* as the kernel wrote it, 0 when it did not */
};

struct hw_listener {
    void *context;
    void (*sample)(void *context, const struct hw_sample *sample);
    void (*loss)(void *context, uint64_t time, enum loss_cause cause, uint64_t count);
    const struct counter_clock *clock; /* for SPE's ticks; NULL: a stretch gets the time at which it ended */
    void (*other)(void *context, const struct perf_event_header *record, uint64_t time); /* what is neither; or NULL */
};

struct hw_reader {
    struct perf_layout layout;
    struct perf_periods periods;
    struct ibs_cpu ibs;
    struct spe_stream spe;
    uint8_t source, flags; /* as in pmu_event */
    uint16_t cpu;          /* that the ring belongs to; UINT16_MAX: any */
    uint64_t samples;      /* reported */
    uint64_t other;        /* samples that were no memory access of the program: the kernel's, or without an address */
    uint64_t unreadable;
};

uint64_t hw_reader_time(const struct perf_event_header *record);

/* Takes one record of `ring`. */
void hw_reader_take(struct hw_reader *reader, struct perf_ring *ring, const struct perf_event_header *record,
                    const struct hw_listener *listener);

void hw_reader_free(struct hw_reader *reader);
