/* page/page.c - a run's container, part by part, and as small as it has to be. */
#include "page/page.h"

#include "analysis/traffic/traffic.h"
#include "page/encode.h"
#include "page/parts/comparison.h"
#include "page/parts/gather.h"
#include "page/parts/parts.h"
#include "page/parts/put.h"
#include "predict/first_line.h"

#include <stdlib.h>

enum { FEWEST_CELLS = 1000 };

struct page {
    struct parts parts;
    struct findings *findings;
    struct gather gather;
};

static int page_begin(struct page *page, const struct page_run *run, struct error *err)
{
    struct parts *parts = &page->parts;
    parts->run = run;
    parts->flow = run->flow;
    parts->frames = frames_new(run->flow);
    rank_objects(&parts->objects, run->flow, PAGE_OBJECTS);
    rank_sites(&parts->sites, run->flow, PAGE_SITES);
    gather_begin(&page->gather, parts);
    page->findings = findings_of(run->flow, run->view ? run->view->machine : NULL, err);
    if (!page->findings)
        return -1;
    parts->facts = page->findings->own_facts;
    parts->findings = page->findings;
    parts->traffic = rows_traffic(run->flow, run->view);
    int failed = gather_chains(&page->gather, parts, err);
    if (failed == 0)
        failed = gather_wait(&page->gather, err);
    if (failed == 0)
        failed = types_begin(parts, err);
    return failed || !run->comparison ? failed : comparison_take(run->comparison, parts, err);
}

static void page_end(struct page *page)
{
    gather_free(&page->gather);
    rank_free(&page->parts.objects);
    rank_free(&page->parts.sites);
    frames_free(page->parts.frames);
    findings_free(page->findings);
    types_end(&page->parts);
    traffic_free(page->parts.traffic);
}

static void put_phases(const struct flow *flow, const struct phases *phases, struct json *json)
{
    json_array(json, "phases");
    array_each (&phases->items, const struct phase, phase) {
        json_object(json, NULL);
        put_time(json, "start_s", flow, phase->start);
        put_time(json, "end_s", flow, phase->end);
        json_text(json, "name", phase->name);
        json_number(json, "samples", phase->accesses);
        json_number(json, "remote", phase->remote);
        json_number(json, "threads", phase->threads);
        json_end(json);
    }
    json_end(json);
}

static int page_assemble(struct page *page, struct container_bytes *bytes, struct error *err)
{
    const struct parts *parts = &page->parts;
    const struct gather *gather = &page->gather;
    struct container *container = container_new();
    struct json *json = container_json(container);
    json_number(json, "version", 1);
    json_text(json, "generator", "numalens " NUMALENS_VERSION);
    run_put(parts, json);
    latencies_put(gather->latencies, json);
    verdicts_put(parts, json);
    if (parts->run->comparison)
        comparison_put(parts->run->comparison, json);
    tables_put(parts, json);
    sources_put(parts, json);
    things_put(parts, gather->series, gather->virtual.map, json);
    types_put(parts, json);
    put_phases(parts->flow, gather->phases, json);
    json_array(json, "maps");
    shown_map_put(&gather->virtual, &parts->objects, container);
    if (gather->physical.map)
        shown_map_put(&gather->physical, &parts->objects, container);
    json_end(json);
    series_put(gather->series, container);
    lines_put(parts, container);
    flame_put(gather->flame, parts->frames, container);
    struct chain_place *places = flame_places(gather->flame);
    chains_put(gather->chains, places, container);
    free(places);
    frames_put(parts->frames, json);
    return container_finish(container, bytes, err);
}

int page_container(const struct page_run *run, struct container_bytes *bytes, struct error *err)
{
    struct page page = {0};
    int failed = page_begin(&page, run, err);
    if (failed == 0)
        failed = page_assemble(&page, bytes, err);
    page_end(&page);
    return failed;
}

int page_packed(const struct page_run *run, size_t max_bytes, struct container_bytes *packed, struct error *err)
{
    struct page page = {0};
    int failed = page_begin(&page, run, err);
    while (failed == 0) {
        struct container_bytes bytes = {0};
        failed = page_assemble(&page, &bytes, err);
        if (failed == 0)
            failed = encode_deflate(&bytes, packed, err);
        free(bytes.data);
        uint64_t fewer = gather_cells(&page.gather) / 2;
        if (failed || encode_base64_size(packed->size) <= max_bytes || fewer < FEWEST_CELLS)
            break;
        free(packed->data);
        packed->data = NULL;
        failed = gather_maps(&page.gather, fewer, err);
    }
    page_end(&page);
    return failed;
}

int page_window(const struct flow *flow, const struct memory_map_options *window, struct container_bytes *bytes,
                struct error *err)
{
    struct shown_map map = {0};
    struct rank objects = {0};
    int failed = shown_map_make(&map, flow, window, err);
    if (failed == 0) {
        struct container *container = container_new();
        struct json *json = container_json(container);
        rank_objects(&objects, flow, PAGE_OBJECTS);
        json_number(json, "version", 1);
        json_array(json, "maps");
        shown_map_put(&map, &objects, container);
        json_end(json);
        failed = container_finish(container, bytes, err);
        rank_free(&objects);
    }
    shown_map_free(&map);
    return failed;
}
