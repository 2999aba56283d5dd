/* page/maps.c - a memory map as columns: its leaves, its tree, its cells (v.* of virtual addresses, p.* of physical ones). */
#include "page/maps.h"

#include "base/mem.h"
#include "page/parts.h"
#include "page/put.h"

#include <stdlib.h>

/* A column of a map: its name behind the map's prefix. */
static void *column(struct container *container, const char *prefix, const char *name, enum column_type type,
                    size_t count)
{
    char *whole = mem_format("%s.%s", prefix, name);
    void *room = container_column(container, whole, type, count);
    free(whole);
    return room;
}

/* One field of every item of an array, as a column. */
#define put_field(container, prefix, name, column_type, c_type, array, item_type, value)                               \
    do {                                                                                                               \
        c_type *to_ = column(container, prefix, name, column_type, (array)->count);                                    \
        array_each (array, const item_type, item)                                                                      \
            *to_++ = (c_type)(value);                                                                                  \
    } while (0)

static void put_leaves(const struct memory_map *map, const struct rank *objects, const char *prefix,
                       struct container *container)
{
    put_field(container, prefix, "leaf.addr", COLUMN_F64, double, &map->leaves, struct memory_leaf, item->addr);
    put_field(container, prefix, "leaf.bytes", COLUMN_F64, double, &map->leaves, struct memory_leaf, item->bytes);
    put_field(container, prefix, "leaf.process", COLUMN_U32, uint32_t, &map->leaves, struct memory_leaf, item->process);
    put_field(container, prefix, "leaf.object", COLUMN_U32, uint32_t, &map->leaves, struct memory_leaf,
              rank_of(objects, item->object));
}

static void put_tree(const struct memory_map *map, const struct rank *objects, const char *prefix,
                     struct container *container)
{
    put_field(container, prefix, "node.parent", COLUMN_U32, uint32_t, &map->nodes, struct memory_node, item->parent);
    put_field(container, prefix, "node.first", COLUMN_U32, uint32_t, &map->nodes, struct memory_node, item->first_leaf);
    put_field(container, prefix, "node.leaves", COLUMN_U32, uint32_t, &map->nodes, struct memory_node, item->leaves);
    put_field(container, prefix, "node.kind", COLUMN_U8, uint8_t, &map->nodes, struct memory_node, item->kind);
    put_field(container, prefix, "node.object", COLUMN_U32, uint32_t, &map->nodes, struct memory_node,
              rank_of(objects, item->object));
}

static void put_cells(const struct memory_map *map, const char *prefix, struct container *container)
{
    put_field(container, prefix, "cell.leaf", COLUMN_U32, uint32_t, &map->cells, struct memory_cell, item->leaf);
    put_field(container, prefix, "cell.slice", COLUMN_U16, uint16_t, &map->cells, struct memory_cell, item->slice);
    put_field(container, prefix, "cell.thread", COLUMN_U16, uint16_t, &map->cells, struct memory_cell,
              parts_thread(item->thread));
    put_field(container, prefix, "cell.reads", COLUMN_U32, uint32_t, &map->cells, struct memory_cell, item->reads);
    put_field(container, prefix, "cell.writes", COLUMN_U32, uint32_t, &map->cells, struct memory_cell, item->writes);
    put_field(container, prefix, "cell.remote", COLUMN_U32, uint32_t, &map->cells, struct memory_cell, item->remote);
    put_field(container, prefix, "cell.latency", COLUMN_F32, float, &map->cells, struct memory_cell, item->latency_sum);
    put_field(container, prefix, "cell.timed", COLUMN_U32, uint32_t, &map->cells, struct memory_cell,
              item->latency_count);
}

int shown_map_make(struct shown_map *map, const struct flow *flow, const struct memory_map_options *options,
                   struct error *err)
{
    map->map = memory_map_build(flow, options, err);
    return map->map ? 0 : -1;
}

void shown_map_free(struct shown_map *map)
{
    memory_map_free(map->map);
    *map = (struct shown_map){0};
}

void shown_map_put(const struct shown_map *shown, const struct rank *objects, struct container *container)
{
    const struct memory_map *map = shown->map;
    struct json *json = container_json(container);
    const char *prefix = map->physical ? "p" : "v";
    json_object(json, NULL);
    json_text(json, "space", map->physical ? "physical" : "virtual");
    put_time(json, "start_s", map->flow, map->start);
    put_time(json, "end_s", map->flow, map->end);
    json_real(json, "slice_s", (double)map->slice_ns * 1e-9, 9);
    json_number(json, "slices", map->slices);
    json_number(json, "page_bytes", map->page_bytes);
    json_number(json, "shown", map->shown);
    json_number(json, "outside", map->outside);
    json_text(json, "prefix", prefix);
    json_array(json, "aggregations");
    json_end(json);
    json_end(json);
    put_leaves(map, objects, prefix, container);
    put_tree(map, objects, prefix, container);
    put_cells(map, prefix, container);
}
