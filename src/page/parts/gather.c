#include "page/parts/gather.h"

enum { MAX_CELLS = 400000 };

static void visit(void *context, const struct flow_access *access)
{
    struct gather *gather = context;
    series_note(gather->series, access);
    latencies_note(gather->latencies, access);
    gather->has_physical |= access->physical != 0;
}

struct chains_pass {
    struct flame *flame;
    struct chains *chains;
    struct stalls *stalls;
    const struct findings *findings;
};

static void visit_chain(void *context, const struct flow_access *access)
{
    struct chains_pass *pass = context;
    uint32_t chain = flame_note(pass->flame, access);
    chains_note(pass->chains, chain, access);
    stalls_note(pass->stalls, access, chain);
}

static void visit_stall(void *context, const struct stall *stall)
{
    struct chains_pass *pass = context;
    double share = stall->remote / pass->findings->facts->time_weight;
    if (share <= 0)
        return;
    share = findings_stall(pass->findings, stall->object, share);
    flame_note_stall(pass->flame, stall->tag, share);
    chains_note_stall(pass->chains, stall, share);
}

int gather_chains(struct gather *gather, const struct parts *parts, struct error *err)
{
    struct chains_pass pass = {.flame = gather->flame, .chains = gather->chains, .findings = parts->findings};
    pass.stalls = stalls_new(parts->facts, visit_stall, &pass);
    int failed = flow_each_access(parts->flow, visit_chain, &pass, err);
    stalls_end(pass.stalls);
    stalls_free(pass.stalls);
    return failed;
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
