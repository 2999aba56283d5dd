/* lib/sampling/collect.h - what the sampler's rings and the processor's report becomes samples of numalens/capture.h; what is no
 * sample is kept for files, and losses are counted. Guarded by the engine. */
#pragma once

#include "capture/hardware/hw_reader.h"
#include "capture/process/running.h"
#include "lib/sampling/kept_events.h"
#include "lib/sampling/sample_session.h"

enum { COLLECT_LEVELS = 1024 };

struct collect {
    struct sink sink; /* for the soft sampler's side */
    struct process_table processes;
    struct running known; /* this process, as sessions on hardware report it in their files */
    struct kept kept;
    uint8_t
        levels[COLLECT_LEVELS]; /* enum sample_level by the latency of a soft sample; all 0: no calibration is kept */
    bool several_nodes;         /* then memory may be any node's */
    taken_array taken;          /* of one pass over the rings */
    _Atomic uint64_t overrun;   /* samples that found no room on their way */
    _Atomic uint64_t skipped;   /* bursts skipped */
};

/* `collect` must stay where it is. */
void collect_init(struct collect *collect);

/* Takes what the processor reports for one session; with a file, its process, threads and mappings too. */
double collect_hardware(struct collect *collect, const nlens_session *session, uint64_t until,
                        const struct counter_clock *clock);
