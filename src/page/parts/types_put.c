/* page/parts/types_put.c - types of objects' items and how their fields are used, most samples first. */
#include "page/parts/parts.h"
#include "page/parts/put.h"
#include "view/report/type_view.h"

#include <stdlib.h>

enum { MOST_FIELDS = 5000 }; /* of all types */

static void put_field(const struct type_use *use, uint32_t index, struct json *json)
{
    const struct symbol_field *field = &use->type->fields[index];
    const struct row *row = &use->fields.items.items[index];
    char *text = mem_format("%s%s%s", field->before, field->name, field->after);
    json_object(json, NULL);
    json_text(json, "text", text);
    json_number(json, "depth", field->depth);
    json_number(json, "inside", field->inside);
    json_number(json, "offset", field->offset);
    json_number(json, "size", field->size);
    put_totals(json, &row->totals);
    json_number(json, "threads", row->threads.count);
    json_number(json, "writers", row_writers(row));
    json_bool(json, "falsely", use->falsely[index] > 0);
    json_end(json);
    free(text);
}

static void put_type(const struct type_use *use, const struct row *row, struct json *json)
{
    json_object(json, NULL);
    json_number(json, "id", row->id);
    json_text(json, "name", use->type->name);
    json_text(json, "file", use->type->file);
    json_number(json, "line", use->type->line);
    json_number(json, "size", use->type->size);
    json_number(json, "objects", row->count);
    put_totals(json, &row->totals);
    json_array(json, "fields");
    for (uint32_t i = 0; i < use->type->field_count; i++)
        put_field(use, i, json);
    json_end(json);
    type_advice_put(use, row, json);
    json_end(json);
}

int types_begin(struct parts *parts, struct error *err)
{
    parts->types = mem_zalloc(sizeof *parts->types);
    int failed = type_uses_make(parts->types, parts->flow, parts->facts, parts->traffic, err);
    type_uses_sort(parts->types);
    return failed;
}

void types_end(struct parts *parts)
{
    if (parts->types)
        type_uses_free(parts->types);
    free(parts->types);
}

uint32_t types_of(const struct parts *parts, uint32_t object)
{
    return object < flow_sampled_object_count(parts->flow) ? parts->types->of_object[object] : FLOW_NONE;
}

void types_put(const struct parts *parts, struct json *json)
{
    size_t fields = 0;
    json_array(json, "types");
    array_each (&parts->types->rows.items, const struct row, row) {
        const struct type_use *use = &parts->types->items.items[row->id];
        fields += use->type->field_count;
        if (fields <= MOST_FIELDS)
            put_type(use, row, json);
    }
    json_end(json);
}
