/* lib/sampling/soft.h - the soft sampler of this process: the region that its threads' rings are in, and who has ticks. A part
 * of the engine's; what its locks guard here is said there. */
#pragma once

#include "capture/agent/agent_source.h"
#include "capture/kernel_probe.h"
#include "lib/sampling/sample_session.h"

struct soft {
    struct capture_region region;
    struct capture_means means;
    struct counter_clock clock;
    struct agent_source *agents;
    _Atomic bool joined; /* the sampler is in the process */
    int failure;         /* of the joining, not to be tried again; 0: none */
};

/* What a session gets that does not say. */
enum { SOFT_TICK_NS = 2000000, SOFT_BUDGET_PPM = 20000, SOFT_BURST = 8 };

/* The region and who reads it; nothing is sampled and no signal taken yet. */
int soft_make(struct soft *soft, struct process_table *processes, struct sink *sink, struct error *err);

/* Puts the sampler into the process, once. */
int soft_join(struct soft *soft, struct error *err);

/* Gives the sampler the most that any running session wants. With the sessions' lock held. */
void soft_configure(struct soft *soft, const nlens_session *sessions);

/* Whether it could still be given ticks; false when the program took its signals away. */
bool soft_keep(struct soft *soft);

/* Whether every thread that the session names has ticks. */
bool soft_is_armed(const nlens_session *session);

/* Gives ticks to threads whose ticks ended, that were busy when they were called, or that are new. */
void soft_arm(const uint32_t *tids, size_t count, bool all, uint32_t own_tid);

/* Its rings as a source, and whether ticks start bursts: once soft_make has made it. */
struct source soft_source(struct soft *soft);

/* Reports libraries that came and went. Without locks: it may have to wait for room in a ring. */
void soft_refresh(struct soft *soft);
