/* view/memory/map.h - numalens report map: memory over time in the terminal; private to src/view. */
#pragma once

#include "analysis/memory_map/memory_map.h"
#include "analysis/names/object_name.h"
#include "analysis/memory_map/phases.h"
#include "view/view.h"

/* Adjacent leaves that are drawn as one named stretch of the axis. */
struct map_region {
    uint32_t first_leaf, leaves;
    uint32_t object; /* that all of them mostly belong to, or FLOW_NONE: several things */
    uint32_t rows;   /* that it is drawn in */
    uint64_t bytes, accesses;
};

struct map_regions {
    array_of(struct map_region) items;    /* in order of the leaves */
    uint64_t accesses, skipped, filtered; /* all, not drawn because they are few, and because of the filter */
};

/* What is worth a place on an axis of so many rows, of one thread (or FLOW_NONE for all). */
void map_regions_make(struct map_regions *regions, const struct memory_map *map, uint32_t thread, unsigned rows,
                      struct object_names *names, const struct view_options *options);

/* What one place of the picture shows. */
struct map_spot {
    uint32_t accesses, writes, remote, home_known;
    uint32_t shared; /* accesses to pages that several threads use */
};

/* spots[row * columns + column] of all regions' rows, each `fine` times as many; they must be zero. */
void map_spots(struct map_spot *spots, const struct map_regions *regions, const struct memory_map *map, uint32_t thread,
               const bool *shared, unsigned fine, unsigned columns);

int map_json(const struct memory_map *map, const struct phases *phases, const struct view_options *options, FILE *out,
             struct error *err);
