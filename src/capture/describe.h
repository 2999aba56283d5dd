/* capture/describe.h - a recording in words: the trace's first and last block, and the figures for the user. */
#pragma once

#include "capture/agent/agent_source.h"
#include "capture/faults/faults.h"
#include "capture/kernel_probe.h"
#include "capture/recorder.h"

#include <sys/resource.h>

/* The caller frees what these return. */
struct trace_session *describe_session(const struct capture_options *options, const struct capture_means *means);
/* exit_status negative: the program still runs. */
struct trace_session *describe_ending(const struct recorder_result *result, const struct sink *sink,
                                      const struct agent_totals *totals);

/* The instructions before which bursts ended, most frequent first, as key "stops": "0f05 812, cd 3, other 1". */
void describe_stops(struct trace_session *ending, const struct wire_region *region);

/* Fills the figures of `result` that come from the sink and from `usage` of the target. */
void describe_result(struct recorder_result *result, const struct sink *sink, const struct agent_totals *totals,
                     const struct rusage *usage);

/* What the hooks took in all, from those of their calls that were timed. */
uint64_t describe_tracking_ns(const struct agent_totals *totals, uint32_t ticks_per_us);

/* Fills result->source and result->notes. */
void describe_means(struct recorder_result *result, const struct capture_options *options,
                    const struct capture_means *means);

/* Notes of what kept processes from being recorded, and of pauses of the recorder itself. */
void describe_losses(struct recorder_result *result, const struct sink *sink);

/* The same for page faults: what could not be had, and figures for the trace's last block. */
void describe_faults(struct recorder_result *result, const struct capture_means *means,
                     const struct faults_totals *totals);
void describe_fault_totals(struct trace_session *ending, const struct faults_totals *totals);
