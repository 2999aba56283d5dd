/* view/columns/columns_json.c - rows for programs: a field for each column that has a name. */
#include "view/columns/columns.h"

enum { SHARE_DECIMALS = 6, TIME_DECIMALS = 6 };

static void put_nodes(struct json *json, const char *key, const struct topology *topology, const uint64_t *counts)
{
    json_object(json, key);
    for (uint32_t i = 0; counts && i < topology->node_count; i++) {
        char node[16];
        snprintf(node, sizeof node, "%d", topology->nodes[i].os_index);
        if (counts[i])
            json_number(json, node, counts[i]);
    }
    json_end(json);
}

static bool is_null(const struct value *value)
{
    switch (value->type) {
    case VALUE_UNKNOWN:
        return true;
    case VALUE_INDEX:
        return value->number == FLOW_NONE;
    case VALUE_LINE:
        return value->number == 0;
    case VALUE_MEAN:
        return value->of == 0;
    case VALUE_TIME:
        return value->number == UINT64_MAX;
    case VALUE_TEXT_OR_NULL:
        return !*value->text;
    default:
        return false;
    }
}

static void put_known(struct json *json, const char *key, const struct value *value, const struct flow *flow)
{
    uint64_t start = flow_start(flow);
    switch (value->type) {
    case VALUE_INTEGER:
        json_integer(json, key, (int64_t)value->number);
        break;
    case VALUE_BOOL:
        json_bool(json, key, value->number);
        break;
    case VALUE_SHARE:
        json_real(json, key, share_of(value->number, value->of), SHARE_DECIMALS);
        break;
    case VALUE_MEAN:
        json_real(json, key, share_of(value->number, value->of), 1);
        break;
    case VALUE_TIME:
        json_real(json, key, value->number > start ? (double)(value->number - start) * 1e-9 : 0, TIME_DECIMALS);
        break;
    case VALUE_SECONDS:
        json_real(json, key, value->real, TIME_DECIMALS);
        break;
    case VALUE_RATE:
        json_real(json, key, value->real, 0);
        break;
    case VALUE_TEXT:
    case VALUE_TEXT_OR_NULL:
    case VALUE_TEXT_OR_ABSENT:
        json_text(json, key, value->text);
        break;
    case VALUE_NODES:
        put_nodes(json, key, flow_topology(flow), value->counts);
        break;
    default:
        json_number(json, key, value->number);
        break;
    }
}

void value_put(struct json *json, const char *key, const struct value *value, const struct flow *flow)
{
    if (value->type == VALUE_ABSENT || (value->type == VALUE_TEXT_OR_ABSENT && !value->text))
        return;
    if (is_null(value))
        json_null(json, key);
    else
        put_known(json, key, value, flow);
}

void columns_put(struct json *json, const struct column *columns, const struct rows *rows, const struct row *row)
{
    for (const struct column *column = columns; !column_is_end(column); column++) {
        if (column->put) {
            column->put(json, rows, row);
        } else if (column->json) {
            struct value value = column_value(column, rows, row);
            value_put(json, column->json, &value, rows->flow);
        }
    }
}

void columns_put_row(struct json *json, const struct rows *rows, const struct row *row)
{
    for (const struct column *const *columns = columns_of(rows->table); *columns; columns++)
        columns_put(json, *columns, rows, row);
}
