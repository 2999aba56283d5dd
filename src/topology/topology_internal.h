/* topology/topology_internal.h - what the files of topology share and nobody else needs. */
#pragma once

#include "topology/topology.h"

enum {
    TOPOLOGY_MAX_CPUS = 65536,
    DISTANCE_LOCAL = 10,
};

/* A topology with zeroed nodes and distances, and every CPU without a node. Counts must be within the limits. */
struct topology *topology_new(uint32_t node_count, uint32_t cpu_count, const char *spec);
