#include "view/problems/problems.h"

#include "base/json.h"
#include "base/number.h"
#include "view/table.h"

#include <math.h>
#include <stdarg.h>

struct row thing_row(const struct accesses *accesses, uint32_t index)
{
    const struct thing *thing = &accesses->things.items[index];
    struct row row = thing->site != FLOW_NONE ? rows_site(accesses->flow, thing->site, thing->object)
                                              : rows_object(accesses->flow, thing->object);
    if (thing->site == FLOW_NONE)
        row.count = thing->objects;
    row.variable = "";
    return row;
}

bool thing_passes(const struct accesses *accesses, uint32_t thing, const struct view_options *options)
{
    struct row row = thing_row(accesses, thing);
    return row_passes(&options->filter, &row, flow_totals(accesses->flow).samples);
}

void put_tally(struct json *json, const char *key, const struct access_tally *tally)
{
    json_object(json, key);
    json_number(json, "TL", tally->latency);
    json_number(json, "TN", tally->timed);
    json_real(json, "AL", tally->timed ? tally_mean(tally) : NAN, 2);
    json_number(json, "accesses", tally->accesses);
    json_end(json);
}

void tally_columns(struct table *table, const char *total, const char *number, const char *mean)
{
    table_column(table, total, TABLE_RIGHT);
    table_column(table, number, TABLE_RIGHT);
    table_column(table, mean, TABLE_RIGHT);
}

void tally_cells(struct table *table, const struct access_tally *tally)
{
    table_cell(table, "%s", number_count(tally->latency));
    table_cell(table, "%s", number_count(tally->timed));
    if (tally->timed)
        table_cell(table, "%.2f", tally_mean(tally));
    else
        table_cell(table, "-");
}

void put_thing(struct json *json, const struct accesses *accesses, uint32_t thing)
{
    struct row row = thing_row(accesses, thing);
    json_text(json, "kind", view_kind_name(row.kind));
    json_text(json, "name", row.name);
    json_text(json, "site", row.label);
    json_text(json, "file", *row.file ? row.file : NULL);
    json_number_if(json, "line", row.line, row.line);
    json_number(json, "object", accesses->things.items[thing].object);
    json_number(json, "objects", accesses->things.items[thing].objects);
}

void problem_heading(const struct view_options *options, FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(out, "\n%s", options->color ? "\033[1m" : "");
    vfprintf(out, format, args);
    fprintf(out, "%s\n", options->color ? "\033[0m" : "");
    va_end(args);
}

void thread_cell(struct table *table, const struct flow *flow, uint32_t index)
{
    const struct flow_thread *thread = flow_thread(flow, index);
    table_cell(table, "%s (%u)", *thread->name ? thread->name : "thread", thread->tid);
}

const uint32_t *view_thresholds(const struct view_options *options, unsigned *count)
{
    static const uint32_t usual[] = {100, 300, 1000};
    *count = options->thresholds ? options->threshold_count : sizeof usual / sizeof *usual;
    return options->thresholds ? options->thresholds : usual;
}

int node_os(const struct flow *flow, int node)
{
    const struct topology *topology = flow_topology(flow);
    return node >= 0 && (uint32_t)node < topology->node_count ? topology->nodes[node].os_index : -1;
}
