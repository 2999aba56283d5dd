/* page/parts/map_columns.h - memory maps in a container. Private to src/page. */
#pragma once

#include "analysis/memory_map/memory_views.h"
#include "page/container.h"
#include "page/parts/rank.h"

struct shown_map {
    struct memory_map *map;
    struct gantt *gantt; /* NULL, as the next two, when it is not aggregated */
    struct aggregation *by_address, *by_thread;
};

int shown_map_make(struct shown_map *map, const struct flow *flow, const struct memory_map_options *options,
                   struct error *err);
int shown_map_aggregate(struct shown_map *map, struct error *err);
void shown_map_free(struct shown_map *map); /* may be made again afterwards */

/* One map, into the open array "maps". `objects`: the page's numbers of objects. */
void shown_map_put(const struct shown_map *map, const struct rank *objects, struct container *container);
