/* view/columns/columns_text.c - rows for people: a table of the columns that have a heading. */
#include "view/columns/columns.h"
#include "base/number.h"

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

/* One of the reused buffers of base/number.h, or the value's own text. */
static const char *text_of(const struct flow *flow, const struct value *value)
{
    switch (value->type) {
    case VALUE_UNKNOWN:
        return value->text ? value->text : "-";
    case VALUE_BOOL:
        return value->number ? "yes" : "no";
    case VALUE_COUNT:
        return number_count(value->number);
    case VALUE_BYTES:
        return number_bytes(value->number);
    case VALUE_PART:
    case VALUE_SHARE:
        return number_percent(value->number, value->of);
    case VALUE_LATENCY:
        return number_latency(value->number, 1, latency_unit(flow));
    case VALUE_MEAN:
        return number_latency(value->number, value->of, latency_unit(flow));
    case VALUE_TIME:
        return value->number == UINT64_MAX ? "-" : number_seconds((double)(value->number - flow_start(flow)) * 1e-9);
    case VALUE_SECONDS:
        return number_seconds(value->real);
    default:
        return value->text ? value->text : "";
    }
}

static void put_value(struct table *table, const struct flow *flow, const struct value *value)
{
    bool none =
        (value->type == VALUE_INDEX && value->number == FLOW_NONE) || (value->type == VALUE_LINE && value->number == 0);
    switch (none ? VALUE_ABSENT : value->type) {
    case VALUE_NUMBER:
    case VALUE_INDEX:
    case VALUE_LINE:
        table_cell(table, "%lu", (unsigned long)value->number);
        break;
    case VALUE_INTEGER:
        table_cell(table, "%ld", (long)value->number);
        break;
    case VALUE_RATE:
        table_cell(table, value->of ? ">= %.2f" : "%.2f", value->real / 1e9);
        break;
    case VALUE_NODES:
        put_nodes(table, flow_topology(flow), value);
        break;
    default:
        table_cell(table, "%s", text_of(flow, value));
        break;
    }
}

static void put_cell(struct table *table, const struct column *column, const struct rows *rows, const struct row *row)
{
    const struct flow_totals *totals = &row->totals;
    struct value value = {0};
    if (!(column->flags & COLUMN_NODES) || flow_topology(rows->flow)->node_count > 1)
        value = column_value(column, rows, row);
    if (row->is_bare && !(column->flags & COLUMN_BARE))
        table_cell(table, "%s", "");
    else if (column->cell)
        column->cell(table, rows, row);
    else
        put_value(table, rows->flow, &value);
    if (column->flags & COLUMN_HOT && !row->is_bare && value.type != VALUE_ABSENT &&
        totals->remote * 2 > totals->home_known && totals->samples * 100 > rows->samples)
        table_hot(table);
}

void columns_print(const struct rows *rows, const struct view_options *options, unsigned indent, FILE *out)
{
    struct column_list list = columns_text(rows->table);
    struct table *table = table_new();
    for (unsigned i = 0; i < list.count; i++)
        table_column(table, list.items[i]->text.heading, list.items[i]->text.align);
    array_each (&rows->items, const struct row, row) {
        for (unsigned i = 0; i < list.count; i++)
            put_cell(table, list.items[i], rows, row);
    }
    table_print(table, out, indent, options->width, options->color);
}
