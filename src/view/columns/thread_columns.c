/* view/columns/thread_columns.c - the columns of threads. */
#include "view/columns/columns.h"

static struct value get_node(const struct rows *rows, const struct row *row)
{
    return (struct value){.type = VALUE_INTEGER, .number = (uint64_t)(int64_t)flow_thread_node(rows->flow, row->id)};
}

static void name_cell(struct table *table, const struct rows *rows, const struct row *row)
{
    (void)rows;
    table_cell(table, "%s", *row->name ? row->name : base_name(row->module));
}

const struct column thread_columns[] = {
    {"tid", PAGE("tid", 1), HEADING("tid", 22, TABLE_RIGHT), OF_THREAD(NUMBER, tid)},
    {"pid", PAGE("pid", 2), HEADING("pid", 21, TABLE_RIGHT), OF_ROW(NUMBER, pid)},
    {NULL, PAGE("process", 3), OF_ROW(INDEX, process)},
    {"name", PAGE("name", 4), NAME("thread"), .cell = name_cell, OF_ROW(TEXT, name)},
    {"binary", OF_ROW(TEXT, module)},
    {NULL, PAGE("node", 5), .get = get_node},
    {0},
};

const struct column thread_more_columns[] = {
    {"nodes", PAGE("homes", 20), WORDS("memory on nodes", 23), .flags = COLUMN_NODES, .get = row_homes},
    {0},
};
