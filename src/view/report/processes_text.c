/* view/report/processes_text.c - processes as a table for people; those that are one program run several times, as groups. */
#include "view/number.h"
#include "view/report/rows.h"
#include "view/table.h"
#include "view/whole.h"

#include <stdlib.h>

static bool has_groups(const struct flow *flow)
{
    for (uint32_t i = 0; i < flow_group_count(flow); i++) {
        if (flow_group(flow, i)->processes > 1)
            return true;
    }
    return false;
}

static void put_totals(struct table *table, const struct flow_totals *totals, const struct rows *rows, const char *unit)
{
    bool nodes = flow_topology(rows->flow)->node_count > 1;
    table_cell(table, "%s", number_percent(totals->samples, rows->samples));
    table_cell(table, "%s", nodes ? number_percent(totals->remote, totals->home_known) : "");
    table_cell(table, "%s", number_latency(totals->latency_sum, totals->latency_count, unit));
}

static void totals_columns(struct table *table)
{
    table_column(table, "share", TABLE_RIGHT);
    table_column(table, "remote", TABLE_RIGHT);
    table_column(table, "latency", TABLE_RIGHT | TABLE_OPTIONAL);
}

static int by_samples(const void *left, const void *right)
{
    const struct flow_group *a = *(const struct flow_group *const *)left, *b = *(const struct flow_group *const *)right;
    if (a->totals.samples != b->totals.samples)
        return a->totals.samples > b->totals.samples ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static void print_groups(const struct rows *rows, const struct view_options *options, const char *unit, unsigned indent,
                         FILE *out)
{
    array_of(const struct flow_group *) groups = {0};
    for (uint32_t i = 0; i < flow_group_count(rows->flow); i++)
        array_push(&groups, flow_group(rows->flow, i));
    array_sort(&groups, by_samples);
    struct table *table = table_new();
    totals_columns(table);
    table_column(table, "threads", TABLE_RIGHT);
    table_column(table, "lasted", TABLE_RIGHT | TABLE_OPTIONAL);
    table_column(table, "program", TABLE_FLEX);
    array_each (&groups, const struct flow_group *, place) {
        const struct flow_group *group = *place;
        put_totals(table, &group->totals, rows, unit);
        table_cell(table, "%s", number_count(group->threads));
        table_cell(table, "%s", number_seconds(whole_lasted(rows->flow, group->born, group->died)));
        table_cell(table, "%u x %s", group->processes, *group->command ? group->command : group->exe);
    }
    array_free(&groups);
    table_print(table, out, indent, options->width, options->color);
    fputc('\n', out);
}

void processes_print(const struct rows *rows, const struct view_options *options, const char *unit, unsigned indent,
                     FILE *out)
{
    const struct flow *flow = rows->flow;
    if (has_groups(flow) && !options->filter.pid)
        print_groups(rows, options, unit, indent, out);
    struct table *table = table_new();
    totals_columns(table);
    table_column(table, "pid", TABLE_RIGHT);
    table_column(table, "parent", TABLE_RIGHT);
    table_column(table, "threads", TABLE_RIGHT | TABLE_OPTIONAL);
    table_column(table, "lasted", TABLE_RIGHT | TABLE_OPTIONAL);
    table_column(table, "ended", TABLE_LEFT | TABLE_OPTIONAL);
    table_column(table, "command", TABLE_FLEX);
    array_each (&rows->items, const struct row, row) {
        const struct flow_process *process = flow_process(flow, row->id);
        put_totals(table, &row->totals, rows, unit);
        table_cell(table, "%u", process->pid);
        table_cell(table, "%u", process->parent);
        table_cell(table, "%s", number_count(process->threads));
        table_cell(table, "%s", number_seconds(whole_lasted(flow, process->born, process->died)));
        int status;
        if (process->replaced)
            table_cell(table, "%s", "by exec");
        else if (whole_exit_status(process, &status))
            table_cell(table, "%d", status);
        else
            table_cell(table, "%s", "");
        table_cell(table, "%s", *process->command ? process->command : process->exe);
    }
    table_print(table, out, indent, options->width, options->color);
}
