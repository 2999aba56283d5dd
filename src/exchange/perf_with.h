/* exchange/perf_with.h - an agent's trace beside a recording of perf of the same run: objects, sites and threads from the
 * one, samples from the other, on the agent's clock.
 *
 * Samples are held in memory until all are known, and then put between the agent's events in order of time: a process may
 * become another program, whose call chains are others. */
#pragma once

#include "exchange/perf_clock.h"

struct perf_with;

/* NULL with `err`: no trace, or one that has no objects to give. */
struct perf_with *perf_with_open(const char *path, struct error *err);
void perf_with_close(struct perf_with *with);

/* Finds the clocks' distance; before anything below. `sampled` processes that the agent knows are its from then on. */
int perf_with_align(struct perf_with *with, struct perf_tasks *tasks, const struct perf_file *file, struct error *err);
const struct perf_clock *perf_with_clock(const struct perf_with *with);

/* Whether the agent was in that process. */
bool perf_with_knows(const struct perf_with *with, uint32_t pid);

/* Keeps a sample of such a process; its time is the agent's. */
void perf_with_hold(struct perf_with *with, const struct event *sample, const uint64_t *frames, uint16_t depth,
                    bool cut);

/* Samples of threads that perf says began later, by up to `*most_ns`: their times are not on its clock. Since Linux
 * 6.2 a page fault that two recorders watch on different clocks has one time for both. They are kept, but by their times no
 * object may have been there. */
uint64_t perf_with_early(const struct perf_with *with, uint64_t *most_ns);

/* The agent's session with `source` in place of its own samples. The caller frees it. */
struct trace_session *perf_with_session(const struct perf_with *with, const char *source);

/* Reports everything. 0, or negative with `err`: the agent's trace is damaged. */
int perf_with_report(struct perf_with *with, struct process_table *processes, struct error *err);
