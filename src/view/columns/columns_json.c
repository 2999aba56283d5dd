/* view/columns/columns_json.c - rows for programs: a field for each column that has a name. */
#include "view/columns/columns.h"

#include <math.h>

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

static void put_number(struct json *json, const char *key, uint64_t number, bool known)
{
    json_number_if(json, key, known, number);
}

static double seconds_of(const struct flow *flow, uint64_t time)
{
    return time == UINT64_MAX ? NAN : time > flow_start(flow) ? (double)(time - flow_start(flow)) * 1e-9 : 0;
}

void value_put(struct json *json, const char *key, const struct value *value, const struct flow *flow)
{
    switch (value->type) {
    case VALUE_ABSENT:
        break;
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
        json_real(json, key, value->of ? share_of(value->number, value->of) : NAN, 1);
        break;
    case VALUE_TIME:
        json_real(json, key, seconds_of(flow, value->number), TIME_DECIMALS);
        break;
    case VALUE_SECONDS:
        json_real(json, key, value->real, TIME_DECIMALS);
        break;
    case VALUE_RATE:
        json_real(json, key, value->real, 0);
        break;
    case VALUE_TEXT:
        json_text(json, key, value->text);
        break;
    case VALUE_TEXT_OR_ABSENT:
        if (value->text)
            json_text(json, key, value->text);
        break;
    case VALUE_TEXT_OR_NULL:
        json_text(json, key, *value->text ? value->text : NULL);
        break;
    case VALUE_NODES:
        put_nodes(json, key, flow_topology(flow), value->counts);
        break;
    default:
        put_number(json, key, value->number,
                   value->type == VALUE_INDEX  ? value->number != FLOW_NONE
                   : value->type == VALUE_LINE ? value->number != 0
                                               : value->type != VALUE_UNKNOWN);
        break;
    }
}

static void columns_put(struct json *json, const struct column *columns, const struct rows *rows, const struct row *row)
{
    for (const struct column *column = columns; !column_is_end(column); column++) {
        if (row->is_bare && !(column->flags & COLUMN_BARE))
            continue;
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
