/* page/parts/map_columns.c - a memory map as columns: its leaves, its tree, its cells (v.* of virtual addresses, p.* of physical ones). */
#include "page/parts/map_columns.h"

#include "base/mem.h"
#include "page/parts/parts.h"
#include "page/parts/put.h"

#include <stdlib.h>

enum { MAX_BLOCKS = 250000 }; /* of all partitions of an aggregation */

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
    put_field(container, prefix, "cell.samples", COLUMN_U32, uint32_t, &map->cells, struct memory_cell, item->accesses);
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

int shown_map_aggregate(struct shown_map *map, struct error *err)
{
    const struct aggregate_options options = {.max_blocks = MAX_BLOCKS};
    map->gantt = gantt_build(map->map);
    map->by_address = aggregate_map(map->map, &options, err);
    map->by_thread = map->by_address ? aggregate_gantt(map->map, map->gantt, &options, err) : NULL;
    return map->by_thread ? 0 : -1;
}

void shown_map_free(struct shown_map *map)
{
    aggregation_free(map->by_address);
    aggregation_free(map->by_thread);
    gantt_free(map->gantt);
    memory_map_free(map->map);
    *map = (struct shown_map){0};
}

static void put_gantt(const struct gantt *gantt, const struct rank *objects, const char *prefix,
                      struct container *container)
{
    put_field(container, prefix, "node.parent", COLUMN_U32, uint32_t, &gantt->nodes, struct gantt_node, item->parent);
    put_field(container, prefix, "node.first", COLUMN_U32, uint32_t, &gantt->nodes, struct gantt_node,
              item->first_leaf);
    put_field(container, prefix, "node.leaves", COLUMN_U32, uint32_t, &gantt->nodes, struct gantt_node, item->leaves);
    put_field(container, prefix, "node.kind", COLUMN_U8, uint8_t, &gantt->nodes, struct gantt_node, item->kind);
    put_field(container, prefix, "node.object", COLUMN_U32, uint32_t, &gantt->nodes, struct gantt_node,
              rank_of(objects, item->object));
    put_field(container, prefix, "node.thread", COLUMN_U32, uint32_t, &gantt->nodes, struct gantt_node, item->thread);
    put_field(container, prefix, "leaf.leaf", COLUMN_U32, uint32_t, &gantt->leaves, struct gantt_leaf, item->leaf);
    put_field(container, prefix, "leaf.thread", COLUMN_U16, uint16_t, &gantt->leaves, struct gantt_leaf,
              parts_thread(item->thread));
}

static void put_aggregation(const struct aggregation *aggregation, const char *view, const char *prefix,
                            struct container *container)
{
    struct json *json = container_json(container);
    json_object(json, NULL);
    json_text(json, "view", view);
    json_text(json, "prefix", prefix);
    json_bool(json, "exact", aggregation->exact);
    json_bool(json, "complete", aggregation->complete);
    json_real(json, "bound", aggregation->bound, 6);
    json_number(json, "group", aggregation->group);
    json_number(json, "least_leaves", aggregation->least_leaves);
    json_array(json, "partitions");
    array_each (&aggregation->partitions, const struct aggregate_partition, partition) {
        json_object(json, NULL);
        json_real(json, "p", partition->p, 9);
        json_real(json, "gain", partition->gain, 6);
        json_real(json, "loss", partition->loss, 6);
        json_number(json, "first_block", partition->first_block);
        json_number(json, "blocks", partition->blocks);
        json_bool(json, "skipped", partition->skipped);
        json_end(json);
    }
    json_end(json);
    json_end(json);
    put_field(container, prefix, "block.node", COLUMN_U32, uint32_t, &aggregation->blocks, struct aggregate_block,
              item->node);
    put_field(container, prefix, "block.first", COLUMN_U16, uint16_t, &aggregation->blocks, struct aggregate_block,
              item->first);
    put_field(container, prefix, "block.last", COLUMN_U16, uint16_t, &aggregation->blocks, struct aggregate_block,
              item->last);
}

static void put_aggregations(const struct shown_map *shown, const struct rank *objects, struct container *container)
{
    bool physical = shown->map->physical;
    json_array(container_json(container), "aggregations");
    if (shown->by_thread) {
        put_aggregation(shown->by_address, "cartography", physical ? "p.c" : "v.c", container);
        put_aggregation(shown->by_thread, "gantt", physical ? "p.g" : "v.g", container);
        put_gantt(shown->gantt, objects, physical ? "p.g" : "v.g", container);
    }
    json_end(container_json(container));
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
    put_aggregations(shown, objects, container);
    json_end(json);
    put_leaves(map, objects, prefix, container);
    put_tree(map, objects, prefix, container);
    put_cells(map, prefix, container);
}
