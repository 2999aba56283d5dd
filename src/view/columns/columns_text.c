/* view/columns/columns_text.c - rows for people: a table of the columns that have a heading. */
#include "view/columns/columns.h"
#include "view/number.h"

/* "0: 61.2%  1: 38.8%" */
static void put_nodes(struct table *table, const struct topology *topology, const struct value *value)
{
    enum { ENOUGH = 48 };
    char text[96] = "";
    size_t used = 0;
    for (uint32_t i = 0; value->counts && i < topology->node_count && used < ENOUGH; i++) {
        if (value->counts[i])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d: %s", used ? "  " : "",
                                     topology->nodes[i].os_index, number_percent(value->counts[i], value->of));
    }
    table_cell(table, "%s", text);
}

static void put_value(struct table *table, const struct flow *flow, const struct value *value)
{
    switch (value->type) {
    case VALUE_UNKNOWN:
        table_cell(table, "%s", value->text ? value->text : "-");
        break;
    case VALUE_COUNT:
        table_cell(table, "%s", number_count(value->number));
        break;
    case VALUE_BYTES:
        table_cell(table, "%s", number_bytes(value->number));
        break;
    case VALUE_PART:
    case VALUE_SHARE:
        table_cell(table, "%s", number_percent(value->number, value->of));
        break;
    case VALUE_LATENCY:
        table_cell(table, "%s", number_latency(value->number, 1, latency_unit(flow)));
        break;
    case VALUE_MEAN:
        table_cell(table, "%s", number_latency(value->number, value->of, latency_unit(flow)));
        break;
    case VALUE_SECONDS:
        table_cell(table, "%s", number_seconds(value->real));
        break;
    case VALUE_RATE:
        table_cell(table, "%.2f", value->real / 1e9);
        break;
    case VALUE_NODES:
        put_nodes(table, flow_topology(flow), value);
        break;
    case VALUE_TEXT:
    case VALUE_TEXT_OR_NULL:
    case VALUE_TEXT_OR_ABSENT:
        table_cell(table, "%s", value->text ? value->text : "");
        break;
    case VALUE_NUMBER:
    case VALUE_INDEX:
        table_cell(table, "%lu", (unsigned long)value->number);
        break;
    default:
        table_cell(table, "%s", "");
        break;
    }
}

static void put_cell(struct table *table, const struct column *column, const struct rows *rows, const struct row *row)
{
    const struct flow_totals *totals = &row->totals;
    struct value value = {0};
    if (!(column->flags & COLUMN_NODES) || flow_topology(rows->flow)->node_count > 1)
        value = column_value(column, rows, row);
    if (column->cell)
        column->cell(table, rows, row);
    else
        put_value(table, rows->flow, &value);
    if (column->flags & COLUMN_HOT && value.type != VALUE_ABSENT && totals->remote * 2 > totals->home_known &&
        totals->samples * 100 > rows->samples)
        table_hot(table);
}

void columns_print(const struct rows *rows, const struct view_options *options, unsigned indent, FILE *out)
{
    struct column_list list;
    struct table *table = table_new();
    columns_text(&list, rows->table);
    for (unsigned i = 0; i < list.count; i++)
        table_column(table, list.items[i]->text.heading, list.items[i]->text.align);
    array_each (&rows->items, const struct row, row) {
        for (unsigned i = 0; i < list.count; i++)
            put_cell(table, list.items[i], rows, row);
    }
    table_print(table, out, indent, options->width, options->color);
}
