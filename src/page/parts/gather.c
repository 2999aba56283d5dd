#include "page/parts/gather.h"

enum { MAX_CELLS = 400000 };

static void visit(void *context, const struct flow_access *access)
{
    struct gather *gather = context;
    series_note(gather->series, access);
    latencies_note(gather->latencies, access);
    chains_note(gather->chains, flame_note(gather->flame, access), access);
    gather->has_physical |= access->physical != 0;
}

int gather_maps(struct gather *gather, uint64_t max_cells, struct error *err)
{
    struct memory_map_options options = MEMORY_MAP_WHOLE;
    options.max_cells = gather->has_physical ? max_cells / 2 : max_cells;
    shown_map_free(&gather->virtual);
    shown_map_free(&gather->physical);
    int failed = shown_map_make(&gather->virtual, gather->flow, &options, err);
    if (failed == 0)
        failed = shown_map_aggregate(&gather->virtual, err);
    options.physical = true;
    if (failed == 0 && gather->has_physical)
        failed = shown_map_make(&gather->physical, gather->flow, &options, err);
    if (failed == 0 && gather->has_physical)
        failed = shown_map_aggregate(&gather->physical, err);
    return failed;
}

size_t gather_cells(const struct gather *gather)
{
    return gather->virtual.map->cells.count + (gather->physical.map ? gather->physical.map->cells.count : 0);
}

static void *gather_all(void *context)
{
    struct gather *gather = context;
    gather->failed = flow_each_access(gather->flow, visit, gather, &gather->err);
    if (gather->failed == 0)
        gather->failed = gather_maps(gather, MAX_CELLS, &gather->err);
    if (gather->failed == 0)
        gather->phases = phases_find(gather->virtual.map);
    return NULL;
}

void gather_begin(struct gather *gather, const struct parts *parts)
{
    *gather = (struct gather){.series = series_new(parts),
                              .latencies = latencies_new(parts->flow),
                              .flame = flame_new(parts->flow),
                              .chains = chains_new(parts),
                              .flow = flow_share(parts->flow)};
    gather->running = pthread_create(&gather->thread, NULL, gather_all, gather) == 0;
    if (!gather->running)
        gather_all(gather);
}

int gather_wait(struct gather *gather, struct error *err)
{
    if (gather->running)
        pthread_join(gather->thread, NULL);
    gather->running = false;
    if (gather->failed && err)
        *err = gather->err;
    return gather->failed;
}

void gather_free(struct gather *gather)
{
    gather_wait(gather, NULL);
    series_free(gather->series);
    latencies_free(gather->latencies);
    flame_free(gather->flame);
    chains_free(gather->chains);
    shown_map_free(&gather->virtual);
    shown_map_free(&gather->physical);
    phases_free(gather->phases);
    flow_share_free(gather->flow);
}
