/* trace/session.h - what is known of a recording as a whole: a few texts by key, kept in the trace's first block.
 *
 * Keys in use (docs/format.md): command, start_time (RFC 3339), host, kernel, cpu_model, source, tick, period_ns,
 * burst, accesses (loads|stores|all), latency_threshold_ns, latency_unit (ns|cycles), budget_ppm, topology
 * (topology_to_text), first_touch (faults|samples), homes (kernel|simulated|unknown), calibration
 * (calibration_to_text), sampled (when samples began and ended), version; of a job's processes rank, ranks, job, launcher. Unknown keys are kept. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct trace_session;

/* What a recording cannot have whose source is "outside". */
#define SESSION_NOT_OUTSIDE "call chains of allocations, lifetimes of objects, latencies and bytes from memory"

struct trace_session *trace_session_new(void);
void trace_session_free(struct trace_session *session);

/* Copies both texts; a key set again is replaced. */
void trace_session_set(struct trace_session *session, const char *key, const char *value);
void trace_session_setf(struct trace_session *session, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The value, or NULL. */
const char *trace_session_get(const struct trace_session *session, const char *key);
uint64_t trace_session_number(const struct trace_session *session, const char *key, uint64_t otherwise);

size_t trace_session_count(const struct trace_session *session);
const char *trace_session_key(const struct trace_session *session, size_t index);
