/* predict/cluster.h - threads that share data on one node; for predict.c and its tests. */
#pragma once

#include "predict/demand.h"

/* Sets each thread's node: node by node, the thread with the most memory accesses that has none yet, then those that share most with the
 * node's threads, as many as a node has CPUs (or as are needed for all). Those that share with nobody fill up the nodes. */
void cluster_threads(const struct demand *demand, uint32_t cpus_per_node, struct demand_thread *threads);
