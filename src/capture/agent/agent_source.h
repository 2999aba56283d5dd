/* capture/agent/agent_source.h - drains the rings that agents fill: checks every record, makes events of them, frees
 * rings whose threads have ended, and keeps the agents' counters. Used by one thread. */
#pragma once

#include "capture/agent/counter.h"
#include "capture/process/process_table.h"
#include "capture/agent/region_make.h"
#include "capture/sink.h"
#include "capture/source.h"

struct agent_source;

struct agent_totals {
    uint64_t ticks, bursts, steps, accesses, handler_ns;
    uint64_t hook_calls, hook_timed, hook_time, hook_rare_time; /* as in wire_counters */
    uint64_t corrupt;                                           /* rings given up because their bytes were no records */
    uint64_t rings;                                             /* ever claimed: threads seen */
};

/* `listener` may be NULL. */
struct agent_source *agent_source_new(const struct capture_region *region, struct process_table *processes,
                                      struct sink *sink, struct counter_clock *clock,
                                      const struct source_listener *listener, size_t memory);
void agent_source_free(struct agent_source *source);

/* Samples later than `at` are dropped: agents take some until the recorder gets to stop them. */
void agent_source_stop_samples(struct agent_source *source, uint64_t at);

/* Takes what is there; returns how many bytes that were. Wakes threads that wait for room. */
size_t agent_source_drain(struct agent_source *source, uint64_t now);

/* Frees rings of threads that ended without closing them, and passes counters on. About every 100 ms. */
void agent_source_tend(struct agent_source *source, uint64_t now);

/* Sleeps until an agent calls or `timeout_ns` are over. agent_source_wake is async-signal-safe. */
void agent_source_sleep(struct agent_source *source, uint64_t timeout_ns);
void agent_source_wake(struct agent_source *source);

/* The rings as a source. At the end they are drained several times, for rings whose process is not known yet. */
struct source agent_source_events(struct agent_source *source);

const struct agent_totals *agent_source_totals(const struct agent_source *source);
size_t agent_source_memory(const struct agent_source *source);
