/* page/page.c - a run's container: one pass over the accesses for all collectors, then each part in turn. */
#include "page/page.h"

#include "page/maps.h"
#include "page/parts.h"

enum { MAX_CELLS = 400000 };

struct collectors {
    struct series *series;
    struct latencies *latencies;
    struct flame *flame;
    bool physical; /* addresses are known */
};

struct maps {
    struct memory_map *virtual, *physical; /* physical: or NULL */
};

static void visit(void *context, const struct flow_access *access)
{
    struct collectors *collectors = context;
    series_note(collectors->series, access);
    latencies_note(collectors->latencies, access);
    flame_note(collectors->flame, access);
    collectors->physical |= access->physical != 0;
}

static int build_maps(const struct flow *flow, bool physical, uint64_t max_cells, struct maps *maps, struct error *err)
{
    struct memory_map_options options = MEMORY_MAP_WHOLE;
    options.max_cells = physical ? max_cells / 2 : max_cells;
    maps->virtual = memory_map_build(flow, &options, err);
    if (!maps->virtual)
        return -1;
    options.physical = true;
    if (physical && !(maps->physical = memory_map_build(flow, &options, err)))
        return -1;
    return 0;
}

static void free_maps(struct maps *maps)
{
    memory_map_free(maps->virtual);
    memory_map_free(maps->physical);
}

static void put_maps(const struct maps *maps, const struct rank *objects, struct container *container)
{
    json_array(container_json(container), "maps");
    maps_put_one(maps->virtual, objects, container);
    if (maps->physical)
        maps_put_one(maps->physical, objects, container);
    json_end(container_json(container));
}

static void put_parts(const struct parts *parts, const struct collectors *collectors, const struct maps *maps,
                      struct container *container)
{
    struct json *json = container_json(container);
    json_number(json, "version", 1);
    json_text(json, "generator", "numalens " NUMALENS_VERSION);
    run_put(parts, json);
    latencies_put(collectors->latencies, json);
    verdicts_put(parts, json);
    tables_put(parts, json);
    things_put(parts, collectors->series, maps->virtual, json);
    put_maps(maps, &parts->objects, container);
    series_put(collectors->series, container);
    lines_put(parts, container);
    flame_put(collectors->flame, parts->frames, container);
    frames_put(parts->frames, json);
}

int page_container(const struct page_run *run, size_t max_bytes, struct container_bytes *bytes, struct error *err)
{
    const struct flow *flow = run->flow;
    (void)max_bytes;
    struct facts *facts = facts_make(flow, err);
    if (!facts)
        return -1;
    struct findings *findings = findings_make(facts);
    struct parts parts = {.run = run, .flow = flow, .facts = facts, .findings = findings, .frames = frames_new(flow)};
    rank_objects(&parts.objects, flow, PAGE_OBJECTS);
    rank_sites(&parts.sites, flow, PAGE_SITES);
    struct collectors collectors = {series_new(&parts), latencies_new(flow), flame_new(flow), false};
    struct maps maps = {NULL, NULL};
    int failed = flow_each_access(flow, visit, &collectors, err);
    if (failed == 0)
        failed = build_maps(flow, collectors.physical, MAX_CELLS, &maps, err);
    if (failed == 0) {
        struct container *container = container_new();
        put_parts(&parts, &collectors, &maps, container);
        failed = container_finish(container, bytes, err);
    }
    free_maps(&maps);
    series_free(collectors.series);
    latencies_free(collectors.latencies);
    flame_free(collectors.flame);
    rank_free(&parts.objects);
    rank_free(&parts.sites);
    frames_free(parts.frames);
    findings_free(findings);
    facts_free(facts);
    return failed;
}
