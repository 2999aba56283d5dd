/* page/maps.h - memory maps in a container. Private to src/page. */
#ifndef NUMALENS_PAGE_MAPS_H
#define NUMALENS_PAGE_MAPS_H

#include "analysis/memory_map.h"
#include "page/container.h"
#include "page/rank.h"

/* One map, into the open array "maps". `objects`: the page's numbers of objects. */
void maps_put_one(const struct memory_map *map, const struct rank *objects, struct container *container);

#endif
