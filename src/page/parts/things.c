/* page/parts/things.c - objects and allocation sites, most samples first. */
#include "analysis/memory_map/memory_map.h"
#include "base/bisect.h"
#include "base/strtab.h"
#include "base/text.h"
#include "page/parts/parts.h"
#include "page/parts/put.h"

struct leaves {
    uint32_t first, count;
};

static bool ends_by(const struct memory_leaf *leaf, const struct flow_object *object)
{
    return leaf->process != object->process ? leaf->process < object->process
                                            : leaf->addr + leaf->bytes <= object->addr;
}

/* The leaves of the map that an object covers: those of its process between its first and its last byte. */
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

/* Rows with what the page's own columns need. */
struct things {
    struct rows rows; /* the first: columns are given these */
    const struct parts *parts;
    const struct memory_map *map;
    struct strtab *labels;
};

static const struct things *things_of(const struct rows *rows)
{
    return (const struct things *)rows;
}

static struct value index_value(uint32_t index)
{
    return (struct value){.type = VALUE_INDEX, .number = index};
}

static struct value get_id(const struct rows *rows, const struct row *row)
{
    const struct parts *parts = things_of(rows)->parts;
    return index_value(rows->table == VIEW_SITES ? rank_of(&parts->sites, row->site)
                                                 : rank_of(&parts->objects, row->object));
}

static struct value get_site(const struct rows *rows, const struct row *row)
{
    return index_value(rank_of(&things_of(rows)->parts->sites, row->site));
}

/* What the source calls what the site allocates: "grid (grid.c:41)"; else the site's own. */
static struct value get_label(const struct rows *rows, const struct row *row)
{
    const struct things *things = things_of(rows);
    bool is_site = rank_of(&things->parts->sites, row->site) != FLOW_NONE;
    struct value value = {.type = VALUE_TEXT, .text = is_site ? row->label : row->name};
    if (is_site && *row->variable) {
        const struct flow_site *site = flow_site(rows->flow, row->site);
        char *label = mem_format("%s (%s:%u)", row->variable, text_file_name(site->file), site->line);
        value.text = strtab_intern(things->labels, label);
        free(label);
    }
    return value;
}

static struct value get_stack(const struct rows *rows, const struct row *row)
{
    struct frames *frames = things_of(rows)->parts->frames;
    const struct flow_site *site = row->site != FLOW_NONE ? flow_site(rows->flow, row->site) : NULL;
    const struct flow_object *object =
        site && rows->table == VIEW_OBJECTS ? flow_object(rows->flow, row->object) : NULL;
    return index_value(object ? frames_add_stack(frames, object->stack_process, object->stack)
                       : site ? frames_add_stack(frames, site->process, site->stack)
                              : FLOW_NONE);
}

static struct value get_leaf_first(const struct rows *rows, const struct row *row)
{
    return index_value(leaves_of(things_of(rows)->map, flow_object(rows->flow, row->object)).first);
}

static struct value get_leaf_count(const struct rows *rows, const struct row *row)
{
    struct leaves leaves = leaves_of(things_of(rows)->map, flow_object(rows->flow, row->object));
    return (struct value){.type = VALUE_COUNT, .number = leaves.count};
}

static struct value get_type(const struct rows *rows, const struct row *row)
{
    return index_value(types_of(things_of(rows)->parts, row->object));
}

static const struct column own_columns[] = {
    {NULL, PAGE("id", 1), SITE("id", 1), .get = get_id},
    {NULL, PAGE("label", 5), SITE("label", 2), .get = get_label},
    {NULL, PAGE("site", 6), .get = get_site},
    {NULL, PAGE("stack", 17), SITE("stack", 15), .get = get_stack},
    {NULL, PAGE("type", 17), .get = get_type},
    {NULL, PAGE("leaf_first", 18), .get = get_leaf_first},
    {NULL, PAGE("leaf_count", 19), .get = get_leaf_count},
    {0},
};

static const struct column *const more[] = {facts_columns, own_columns, NULL};

void things_put(const struct parts *parts, const struct series *series, const struct memory_map *map, struct json *json)
{
    struct things things = {
        .rows = {.table = VIEW_OBJECTS, .flow = parts->flow, .facts = parts->facts, .traffic = parts->traffic},
        .parts = parts,
        .map = map,
        .labels = strtab_new()};
    struct column_list list = columns_page(VIEW_OBJECTS, more);
    json_array(json, "objects");
    for (uint32_t i = 0; i < parts->objects.count; i++) {
        struct row row = rows_object(parts->flow, parts->objects.items[i]);
        row.homes = series_homes(series, i);
        row_put(json, &list, &things.rows, &row);
    }
    json_end(json);
    json_number(json, "objects_skipped", parts->objects.skipped);
    things.rows.table = VIEW_SITES;
    list = columns_page(VIEW_SITES, more);
    json_array(json, "sites");
    for (uint32_t i = 0; i < parts->sites.count; i++) {
        struct row row = rows_site(parts->flow, parts->sites.items[i], FLOW_NONE);
        row_put(json, &list, &things.rows, &row);
    }
    json_end(json);
    json_number(json, "sites_skipped", parts->sites.skipped);
    strtab_free(things.labels);
}
