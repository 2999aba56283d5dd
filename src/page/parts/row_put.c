/* page/parts/row_put.c - rows for the page: a field for each column that has a name there. What is not known is an empty text,
 * 0 or -1, so that a field has one type. */
#include "page/parts/put.h"

static void put_value(struct json *json, const char *key, const struct value *value, const struct flow *flow)
{
    switch (value->type) {
    case VALUE_INDEX:
        put_index(json, key, (uint32_t)value->number);
        break;
    case VALUE_LINE:
        json_number(json, key, value->number);
        break;
    case VALUE_TEXT_OR_NULL:
        json_text(json, key, value->text);
        break;
    case VALUE_NODES:
        json_array(json, key);
        for (uint32_t node = 0; node < flow_topology(flow)->node_count; node++)
            json_number(json, NULL, value->counts[node]);
        json_end(json);
        break;
    default:
        value_put(json, key, value, flow);
        break;
    }
}

void row_put(struct json *json, const struct column_list *list, const struct rows *rows, const struct row *row)
{
    json_object(json, NULL);
    for (unsigned i = 0; i < list->count; i++) {
        struct value value = column_value(list->items[i], rows, row);
        put_value(json, column_page_name(list->items[i], rows->table), &value, rows->flow);
    }
    json_end(json);
}
