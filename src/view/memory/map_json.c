/* view/memory/map_json.c - numalens report map --json: leaves, cells and phases (docs/json.md). */
#include "base/json.h"
#include "view/memory/map.h"
#include "view/report/report.h"

static double seconds(const struct memory_map *map, uint64_t time)
{
    return (double)(time - flow_start(map->flow)) * 1e-9;
}

static void put_leaf(struct json *json, const struct memory_map *map, const struct memory_leaf *leaf)
{
    json_object(json, NULL);
    if (leaf->process != FLOW_NONE)
        json_number(json, "pid", flow_process(map->flow, leaf->process)->pid);
    json_number(json, "addr", leaf->addr);
    json_number(json, "bytes", leaf->bytes);
    json_number_if(json, "object", leaf->object != FLOW_NONE, leaf->object);
    json_end(json);
}

static void put_cell(struct json *json, const struct memory_map *map, const struct memory_cell *cell)
{
    json_object(json, NULL);
    json_number(json, "leaf", cell->leaf);
    json_number(json, "slice", cell->slice);
    json_number(json, "tid", flow_thread(map->flow, cell->thread)->tid);
    json_number(json, "accesses", cell->accesses);
    json_number(json, "reads", cell->reads);
    json_number(json, "writes", cell->writes);
    json_number_if(json, "remote", flow_has_homes(map->flow), cell->remote);
    json_number(json, "home_known", cell->home_known);
    json_number(json, "latency_sum", cell->latency_sum);
    json_number(json, "latency_count", cell->latency_count);
    json_end(json);
}

int map_json(const struct memory_map *map, const struct phases *phases, const struct view_options *options, FILE *out,
             struct error *err)
{
    struct json *json = json_new(out);
    json_object(json, NULL);
    report_json_head(json, map->flow, options);
    json_text(json, "space", map->physical ? "physical" : "virtual");
    json_real(json, "start_s", seconds(map, map->start), 9);
    json_real(json, "slice_s", (double)map->slice_ns * 1e-9, 9);
    json_number(json, "slices", map->slices);
    json_number(json, "accesses", map->shown);
    json_number(json, "outside", map->outside);
    json_array(json, "phases");
    array_each (&phases->items, const struct phase, phase) {
        json_object(json, NULL);
        json_real(json, "start_s", seconds(map, phase->start), 6);
        json_real(json, "end_s", seconds(map, phase->end), 6);
        json_text(json, "name", phase->name);
        json_number(json, "threads", phase->threads);
        json_number(json, "accesses", phase->accesses);
        json_number_if(json, "remote", flow_has_homes(map->flow), phase->remote);
        json_end(json);
    }
    json_end(json);
    json_array(json, "leaves");
    array_each (&map->leaves, const struct memory_leaf, leaf)
        put_leaf(json, map, leaf);
    json_end(json);
    json_array(json, "cells");
    array_each (&map->cells, const struct memory_cell, cell)
        put_cell(json, map, cell);
    return json_finish(json, err);
}
