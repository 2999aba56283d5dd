/* capture/perf/perf_source.h - what the kernel reports of the target without any privilege: every page fault with its address
 * (first touch), and processes, threads, names and mappings as they come and go.
 *
 * One software event per CPU on the held child, inherited by all its descendants. Used by one thread. */
#ifndef NUMALENS_CAPTURE_PERF_PERF_SOURCE_H
#define NUMALENS_CAPTURE_PERF_PERF_SOURCE_H

#include "capture/agent/agent_source.h"
#include "capture/faults/faults.h"
#include "capture/options.h"
#include "capture/process/process_table.h"
#include "capture/sink.h"

#include <sys/types.h>

struct perf_source;

/* NULL with `err` when the kernel refuses: the recording goes on without. */
struct perf_source *perf_source_open(pid_t child, const struct capture_options *options, struct error *err);
void perf_source_close(struct perf_source *source);

/* Where events go; must be called before the first drain. `faults` may be NULL; with them the listener
 * gets the first fault of each page. */
void perf_source_connect(struct perf_source *source, struct sink *sink, struct process_table *processes,
                         struct faults *faults, const struct source_listener *listener);

/* Takes records up to time `until`; returns how full the fullest buffer was, of 1.0. What agents report up to then
 * must have been drained: a page is a new one when its mapping is. */
double perf_source_drain(struct perf_source *source, uint64_t until);

/* Its buffers' descriptors, at most `most`: poll() says when one is filled by an eighth. Returns how many. */
unsigned perf_source_descriptors(const struct perf_source *source, int *fds, unsigned most);

/* New memory at these addresses; see capture/perf/touched_pages.h. */
void perf_source_fresh(struct perf_source *source, uint32_t pid, uint64_t addr, uint64_t size);

/* No more will come: reports programs that no agent spoke for, but for `explained` (capture/tasks.h). Returns how many. */
uint64_t perf_source_finish(struct perf_source *source, uint64_t explained);

#endif
