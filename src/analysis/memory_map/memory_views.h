/* analysis/memory_map/memory_views.h - the two views of a memory map (SPEC C14, C15), and their aggregations.
 *
 * Cartography is the map's own tree. The Gantt view has the threads first: under each, those of the map's nodes that hold
 * something of this thread, so that its memory is in ranges, splits and pages of its own. */
#pragma once

#include "analysis/memory_map/aggregate.h"
#include "analysis/memory_map/memory_map.h"

struct
    gantt_node { /* in preorder, as of the map: kinds MEMORY_ALL, MEMORY_THREAD, MEMORY_RANGE, MEMORY_SPLIT, MEMORY_PAGES */
    uint32_t parent, first_leaf, leaves, object;
    uint32_t thread; /* FLOW_NONE of the root */
    uint8_t kind;
};

struct gantt_leaf { /* what one thread touches of one leaf of the map */
    uint32_t leaf, thread;
};

struct gantt {
    array_of(struct gantt_node) nodes;
    array_of(struct gantt_leaf) leaves; /* by thread, then leaf */
};

struct gantt *gantt_build(const struct memory_map *map); /* the caller frees */
void gantt_free(struct gantt *gantt);

/* aggregate() over all accesses of each cell. Blocks' nodes are those of the map, and of the gantt. */
struct aggregation *aggregate_map(const struct memory_map *map, const struct aggregate_options *options,
                                  struct error *err);
struct aggregation *aggregate_gantt(const struct memory_map *map, const struct gantt *gantt,
                                    const struct aggregate_options *options, struct error *err);
