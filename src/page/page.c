/* page/page.c - a run's container: one pass over the accesses for all collectors, then each part in turn. */
#include "page/page.h"

#include "page/parts.h"

struct collectors {
    struct series *series;
    struct latencies *latencies;
    struct flame *flame;
};

static void visit(void *context, const struct flow_access *access)
{
    struct collectors *collectors = context;
    series_note(collectors->series, access);
    latencies_note(collectors->latencies, access);
    flame_note(collectors->flame, access);
}

static void put_parts(const struct parts *parts, const struct collectors *collectors, struct container *container)
{
    struct json *json = container_json(container);
    json_number(json, "version", 1);
    json_text(json, "generator", "numalens " NUMALENS_VERSION);
    run_put(parts, json);
    latencies_put(collectors->latencies, json);
    verdicts_put(parts, json);
    tables_put(parts, json);
    things_put(parts, collectors->series, NULL, json);
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
    struct collectors collectors = {series_new(&parts), latencies_new(flow), flame_new(flow)};
    int failed = flow_each_access(flow, visit, &collectors, err);
    if (failed == 0) {
        struct container *container = container_new();
        put_parts(&parts, &collectors, container);
        failed = container_finish(container, bytes, err);
    }
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
