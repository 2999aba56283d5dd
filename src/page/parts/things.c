/* page/parts/things.c - objects and allocation sites, most samples first. */
#include "analysis/memory_map/memory_map.h"
#include "analysis/names/sources.h"
#include "base/bisect.h"
#include "base/map64.h"
#include "page/parts/parts.h"
#include "page/parts/put.h"

#include <string.h>

/* What the source calls what the site allocates: "grid (grid.c:41)"; else `otherwise`. The caller frees it. */
static char *label_of(const struct flow *flow, struct sources *sources, uint32_t index, const char *otherwise)
{
    const struct flow_site *site = flow_site(flow, index);
    const struct flow_process *process = site ? flow_process(flow, site->process) : NULL;
    char name[SOURCE_NAME_MAX];
    if (!site || !site->line ||
        !sources_name(sources, site->file, site->line, (struct source_twin){site->twin, site->twins},
                      process ? process->exe : "", name))
        return mem_strdup(otherwise);
    const char *slash = strrchr(site->file, '/');
    return mem_format("%s (%s:%u)", name, slash ? slash + 1 : site->file, site->line);
}

static char **labels_of_sites(const struct parts *parts, struct sources *sources)
{
    char **labels = mem_alloc((parts->sites.count + 1ul) * sizeof *labels);
    for (uint32_t i = 0; i < parts->sites.count; i++)
        labels[i] =
            label_of(parts->flow, sources, parts->sites.items[i], flow_site(parts->flow, parts->sites.items[i])->label);
    return labels;
}

struct leaves {
    uint32_t first, count;
};

static bool ends_by(const struct memory_leaf *leaf, const struct flow_object *object)
{
    return leaf->process != object->process ? leaf->process < object->process
                                            : leaf->addr + leaf->bytes <= object->addr;
}

/* The leaves of the map that an object lies on: those of its process between its first and its last byte. */
static struct leaves leaves_of(const struct memory_map *map, const struct flow_object *object)
{
    if (!map)
        return (struct leaves){FLOW_NONE, 0};
    const struct memory_leaf *leaves = map->leaves.items;
    size_t low = bisect(map->leaves.count, i, ends_by(&leaves[i], object)), end;
    uint64_t after = object->addr + (object->size ? object->size : 1);
    for (end = low; end < map->leaves.count; end++)
        if (leaves[end].process != object->process || leaves[end].addr >= after)
            break;
    return end > low ? (struct leaves){(uint32_t)low, (uint32_t)(end - low)} : (struct leaves){FLOW_NONE, 0};
}

static void put_facts(const struct facts_subject *subject, struct json *json)
{
    json_text(json, "use", fact_use_name(subject->use));
    json_text(json, "sharing", fact_sharing_name(subject->sharing));
    json_text(json, "turns", fact_turns_name(subject->turns));
    json_text(json, "shape", fact_shape_name(subject->shape));
    json_number(json, "false_sharing", subject->false_sharing);
}

static void put_object(const struct parts *parts, uint32_t index, const uint64_t *homes, const struct memory_map *map,
                       char **labels, struct json *json)
{
    const struct flow *flow = parts->flow;
    struct flow_object object = flow_object_copy(flow, parts->objects.items[index]);
    const struct flow_site *site = object.site != FLOW_NONE ? flow_site(flow, object.site) : NULL;
    uint32_t site_index = rank_of(&parts->sites, object.site);
    const struct facts_subject *subject = facts_of_object(parts->facts, parts->objects.items[index]);
    struct leaves leaves = leaves_of(map, &object);
    json_object(json, NULL);
    json_number(json, "id", index);
    json_number(json, "number", object.id);
    json_text(json, "kind", object_kind_name(object.kind));
    json_text(json, "name", object.name);
    json_text(json, "label", site_index != FLOW_NONE ? labels[site_index] : object.name);
    put_index(json, "site", site_index);
    put_index(json, "process", object.process);
    put_index(json, "alloc_thread", object.alloc_thread);
    json_text(json, "alloc_fn", object.alloc_name);
    json_number(json, "addr", object.addr);
    json_number(json, "size", object.size);
    put_time(json, "born_s", flow, object.born);
    put_time(json, "died_s", flow, object.died);
    json_text(json, "file", object.file);
    json_number(json, "line", object.line);
    json_text(json, "module", object.module);
    put_index(json, "stack", site ? frames_add_stack(parts->frames, site->process, site->stack) : FLOW_NONE);
    put_index(json, "leaf_first", leaves.first);
    json_number(json, "leaf_count", leaves.count);
    json_array(json, "homes");
    for (uint32_t node = 0; node < flow_topology(flow)->node_count; node++)
        json_number(json, NULL, homes[node]);
    json_end(json);
    if (subject)
        put_facts(subject, json);
    put_totals(json, &object.totals);
    json_end(json);
}

static void put_site(const struct parts *parts, uint32_t index, const char *label, struct json *json)
{
    const struct flow *flow = parts->flow;
    const struct flow_site *site = flow_site(flow, parts->sites.items[index]);
    json_object(json, NULL);
    json_number(json, "id", index);
    json_text(json, "label", label);
    json_text(json, "function", site->function);
    json_text(json, "file", site->file);
    json_number(json, "line", site->line);
    json_text(json, "module", site->module);
    json_text(json, "via", site->via);
    json_text(json, "kind", object_kind_name(site->kind));
    json_number(json, "count", site->count);
    json_number(json, "live_peak", site->live_peak);
    json_number(json, "bytes", site->bytes);
    json_number(json, "peak_bytes", site->peak_bytes);
    put_time(json, "born_s", flow, site->born);
    put_time(json, "died_s", flow, site->died);
    put_index(json, "stack", frames_add_stack(parts->frames, site->process, site->stack));
    if (parts->sites.items[index] < parts->facts->sites.count)
        put_facts(&parts->facts->sites.items[parts->sites.items[index]], json);
    put_totals(json, &site->totals);
    json_end(json);
}

void things_put(const struct parts *parts, const struct series *series, const struct memory_map *map, struct json *json)
{
    struct sources *sources = sources_new();
    char **labels = labels_of_sites(parts, sources);
    sources_free(sources);
    json_array(json, "objects");
    for (uint32_t i = 0; i < parts->objects.count; i++)
        put_object(parts, i, series_homes(series, i), map, labels, json);
    json_end(json);
    json_number(json, "objects_left_out", parts->objects.left_out);
    json_array(json, "sites");
    for (uint32_t i = 0; i < parts->sites.count; i++)
        put_site(parts, i, labels[i], json);
    json_end(json);
    json_number(json, "sites_left_out", parts->sites.left_out);
    for (uint32_t i = 0; i < parts->sites.count; i++)
        free(labels[i]);
    free(labels);
}
