#include "view/problems/traffic_memory.h"

#include "base/json.h"
#include "view/paragraph.h"
#include "view/problems/problems.h"
#include "view/problems/traffic_words.h"
#include "view/table.h"

enum { LABEL = 256, NODES_MOST = 64 };

const struct traffic_memory *traffic_memory_of(const struct traffic *traffic, uint32_t node)
{
    array_each (&traffic->counted.items, const struct traffic_memory, row)
        if (node < NODES_MOST && row->nodes == 1ULL << node)
            return row;
    return NULL;
}

/* What samples show of it is a lower bound, and so this is an upper one. */
static double hidden(const struct traffic_memory *row)
{
    return row->exposed < 0 ? -1 : row->read - row->exposed;
}

/* At least nothing is not known. */
static double exposed(const struct traffic_memory *row)
{
    return row->exposed > 0 ? row->exposed : -1;
}

static void rate_cell(struct table *table, const char *sign, double value)
{
    if (value < 0)
        table_cell(table, "unknown");
    else
        table_cell(table, "%s%.2f", sign, value / 1e9);
}

static const char *label_of(const struct traffic *traffic, const struct traffic_memory *row, char text[static LABEL])
{
    size_t used = 0;
    for (uint32_t i = 0; i < traffic->node_count && i < NODES_MOST && used + 16 < LABEL; i++)
        if (row->nodes >> i & 1)
            used +=
                (size_t)snprintf(text + used, LABEL - used, "%s%d", used ? "," : "", node_os(traffic->flow, (int)i));
    return text;
}

void traffic_memory_text(const struct traffic *traffic, const struct view_options *options, FILE *out)
{
    const struct traffic_counted *counted = &traffic->counted;
    if (!counted->devices) {
        if (counted->reason)
            paragraph(out, 2, options->width, "", "The bytes of each node's memory were not counted: %s.",
                      counted->reason);
        return;
    }
    struct table *table = table_new();
    char label[LABEL];
    problem_heading(options, out, "GB/s of each node's memory, counted by the %s, whoever caused them",
                    counted->devices);
    table_column(table, counted->missing ? "GB/s at least" : "GB/s", TABLE_RIGHT);
    table_columns(table, TABLE_RIGHT, "read", "write", "exposed", "hidden");
    table_column(table, "node", TABLE_LEFT);
    array_each (&counted->items, const struct traffic_memory, row) {
        rate_cell(table, "", row->moved);
        rate_cell(table, "", row->read);
        rate_cell(table, "", row->written);
        rate_cell(table, ">= ", exposed(row));
        rate_cell(table, "<= ", hidden(row));
        table_cell(table, "%s", label_of(traffic, row, label));
    }
    table_print(table, out, 2, options->width, options->color);
    paragraph(out, 2, options->width, "",
              "Hidden: read, and in no sample: prefetched, read for stores, or by other programs.%s",
              counted->missing ? " Some counters were not there all the time." : "");
}

void traffic_memory_json(const struct traffic *traffic, struct json *json)
{
    const struct traffic_counted *counted = &traffic->counted;
    json_object(json, "memory");
    json_text(json, "counters", counted->devices);
    json_text(json, "reason", counted->reason);
    json_bool(json, "missing", counted->missing);
    json_array(json, "rows");
    array_each (&counted->items, const struct traffic_memory, row) {
        json_object(json, NULL);
        json_array(json, "nodes");
        for (uint32_t i = 0; i < traffic->node_count && i < NODES_MOST; i++)
            if (row->nodes >> i & 1)
                json_integer(json, NULL, node_os(traffic->flow, (int)i));
        json_end(json);
        traffic_put_rate(json, "bytes_s", row->moved);
        traffic_put_rate(json, "read_bytes_s", row->read);
        traffic_put_rate(json, "write_bytes_s", row->written);
        traffic_put_rate(json, "exposed_bytes_s", exposed(row));
        traffic_put_rate(json, "hidden_bytes_s", hidden(row));
        json_end(json);
    }
    json_end(json);
    json_end(json);
}
