/* calibrate/calibrate.h - measures memory fields (topology/calibration.h): load latencies from each node's CPUs to each
 * node's memory, and to the caches (SPEC L13).
 *
 * Loads depend on each other in random order, so that no prefetcher and no second load in flight hides anything. Lines
 * are flushed before they are read from memory: then few of them do, and all of it takes well under a second, with at
 * most some MiB of memory. Threads of its own do it: affinity and memory policy of the caller stay as they are. */
#pragma once

#include "topology/calibration.h"
#include "topology/topology.h"

/* Of the machine at hand; `topology` must be the real one. NULL with `err` when nothing could be measured. What was
 * refused (a CPU, a node) or not reached within a second is 0. */
struct calibration *calibrate(const struct topology *topology, struct error *err);

/* The one that an earlier call kept for this boot of this machine (in XDG_CACHE_HOME or ~/.cache), else a new one, which is
 * kept. NULL when there is none. */
struct calibration *calibrate_cached(const struct topology *topology);

/* Likewise, but none is measured: NULL then. `topology` may be NULL: of this boot, whatever part of the machine it saw. */
struct calibration *calibrate_kept(const struct topology *topology);

/* Keeps it for calibrate_cached. Failing to is no error: then the next one measures again. */
void calibrate_keep(const struct topology *topology, const struct calibration *calibration);
