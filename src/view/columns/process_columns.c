/* view/columns/process_columns.c - the columns of processes, and of groups of them that run one program for one parent. */
#include "view/columns/columns.h"
#include "view/whole.h"

static struct value get_lasted(const struct rows *rows, const struct row *row)
{
    return (struct value){.type = VALUE_SECONDS, .real = whole_lasted(rows->flow, row->start, row->end)};
}

static struct value get_exit_status(const struct rows *rows, const struct row *row)
{
    int status = 0;
    bool known = whole_exit_status(flow_process(rows->flow, row->id), &status);
    return (struct value){.type = known ? VALUE_INTEGER : VALUE_UNKNOWN, .number = (uint64_t)(int64_t)status};
}

static void ended_cell(struct table *table, const struct rows *rows, const struct row *row)
{
    struct value status = get_exit_status(rows, row);
    if (flow_process(rows->flow, row->id)->replaced)
        table_cell(table, "%s", "by exec");
    else if (status.type == VALUE_INTEGER)
        table_cell(table, "%d", (int)status.number);
    else
        table_cell(table, "%s", "");
}

static void command_cell(struct table *table, const struct rows *rows, const struct row *row)
{
    (void)rows;
    table_cell(table, "%s", *row->name ? row->name : row->module);
}

static void program_cell(struct table *table, const struct rows *rows, const struct row *row)
{
    table_cell(table, "%u x %s", flow_group(rows->flow, row->id)->processes, *row->name ? row->name : row->module);
}

const struct column process_columns[] = {
    {"pid", PAGE("pid", 1), HEADING("pid", 21, TABLE_RIGHT), OF_ROW(NUMBER, pid)},
    {"parent", PAGE("parent", 2), HEADING("parent", 22, TABLE_RIGHT), OF_PROCESS(NUMBER, parent)},
    {"command", PAGE("command", 4), NAME("command"), .cell = command_cell, OF_ROW(TEXT, name)},
    {"exe", PAGE("exe", 3), OF_ROW(TEXT, module)},
    {"group", OF_PROCESS(NUMBER, group)},
    {"threads", PAGE("threads", 5), FIGURE("threads", 23), OF_ROW(COUNT, count)},
    {"duration_s", FIGURE("lasted", 24), .get = get_lasted},
    {"exit_status", PAGE("exit_status", 14), WORDS("ended", 25), .cell = ended_cell, .get = get_exit_status},
    {"replaced", PAGE("replaced", 15), OF_PROCESS(BOOL, replaced)},
    {0},
};

const struct column process_more_columns[] = {
    {"nodes", .get = row_homes},
    {0},
};

const struct column group_columns[] = {
    {"group", OF_ROW(NUMBER, id)},
    {"processes", NAME("program"), .cell = program_cell, OF_GROUP(COUNT, processes)},
    {"command", OF_ROW(TEXT, name)},
    {"exe", OF_ROW(TEXT, module)},
    {"threads", HEADING("threads", 23, TABLE_RIGHT), OF_ROW(COUNT, count)},
    {"duration_s", FIGURE("lasted", 24), .get = get_lasted},
    {0},
};
