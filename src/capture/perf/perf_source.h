/* capture/perf/perf_source.h - what the kernel reports of the target without any privilege: every page fault with its address
 * (first touch), and processes, threads, names and mappings as they come and go.
 *
 * One software event per CPU on the held child, inherited by all its descendants. Used by one thread. */
#pragma once

#include "capture/faults/faults.h"
#include "capture/options.h"
#include "capture/process/process_table.h"
#include "capture/sink.h"
#include "capture/source.h"

#include <sys/types.h>

struct perf_source;

/* `options` must outlive it. */
struct perf_source *perf_source_new(pid_t child, const struct capture_options *options);

/* Whose open is refused when the kernel refuses. What agents report up to the time of a drain must have been drained: a page
 * is a new one when its mapping is. Finished, it reports programs that no agent spoke for. */
struct source perf_source_events(struct perf_source *source);

/* Where events go; must be called before the first drain. `region`: says how many programs' agents gave up by themselves. `faults` may be NULL; with them the listener
 * gets the first fault of each page. */
void perf_source_connect(struct perf_source *source, struct sink *sink, struct process_table *processes,
                         struct faults *faults, const struct source_listener *listener, struct wire_region *region);

/* Its buffers' descriptors, at most `most`: poll() says when one is filled by an eighth. Returns how many. */
unsigned perf_source_descriptors(const struct perf_source *source, int *fds, unsigned most);

/* New memory at these addresses; see capture/perf/touched_pages.h. */
void perf_source_fresh(struct perf_source *source, uint32_t pid, uint64_t addr, uint64_t size);

/* Programs that no agent spoke for, once it is finished; but for those whose agents gave up (capture/perf/tasks.h). */
uint64_t perf_source_untracked(const struct perf_source *source);

/* What the target spent on records so far, but for those of faults that were provoked (struct faults_totals has what these take). */
uint64_t perf_source_cost_ns(const struct perf_source *source);
