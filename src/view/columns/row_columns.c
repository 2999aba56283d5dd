/* view/columns/row_columns.c - the columns that rows of several tables have; those of threads. */
#include "analysis/traffic/traffic.h"
#include "base/text.h"
#include "view/columns/columns.h"

static struct value get_rate(const struct rows *rows, const struct row *row)
{
    const struct traffic_bytes *bytes = rows->traffic ? row_traffic(rows, row) : NULL;
    if (!rows->traffic)
        return (struct value){.type = VALUE_ABSENT};
    if (!bytes || !bytes->is_rated)
        return (struct value){.type = VALUE_UNKNOWN, .text = bytes ? "unknown" : "-"};
    bool at_least = rows->traffic->source == TRAFFIC_DATA_SOURCES;
    return (struct value){.type = VALUE_RATE, .real = traffic_total(bytes), .of = at_least};
}

struct value row_homes(const struct rows *rows, const struct row *row)
{
    (void)rows;
    return (struct value){.type = VALUE_NODES, .counts = row->homes, .of = row->totals.samples};
}

/* Page faults of perf, and some processors' samples, have no direction: then there is no figure, not 0. */
static struct value get_direction(const struct row *row, uint64_t number)
{
    bool known = flow_totals_have_direction(&row->totals);
    return (struct value){.type = known ? VALUE_PART : VALUE_UNKNOWN, .number = number, .of = row->totals.samples};
}

static struct value get_reads(const struct rows *rows, const struct row *row)
{
    (void)rows;
    return get_direction(row, row->totals.reads);
}

static struct value get_writes(const struct rows *rows, const struct row *row)
{
    (void)rows;
    return get_direction(row, row->totals.writes);
}

/* Nor where the recording has no home nodes: what is remote is not known then. */
static struct value get_remote(const struct rows *rows, const struct row *row)
{
    return (struct value){.type = flow_has_homes(rows->flow) ? VALUE_PART : VALUE_UNKNOWN,
                          .number = row->totals.remote,
                          .of = rows->remote};
}

const struct column totals_columns[] = {
    {"samples", PAGE("samples", 31), SITE("samples", 31), HEADING("share", 2, TABLE_RIGHT), OF_ALL(PART, samples)},
    {"share", OF_ALL(SHARE, samples)},
    {"reads", .get = get_reads},
    {"writes", FIGURE("writes", 5), OTHERS, .get = get_writes},
    {NULL, PAGE("reads", 32), SITE("reads", 32), OF_ROW(COUNT, totals.reads)},
    {NULL, PAGE("writes", 33), SITE("writes", 33), OF_ROW(COUNT, totals.writes)},
    {"remote", FIGURE("of remote", 4), .tables = OTHER_TABLES & ~(1u << VIEW_SOURCE), .flags = COLUMN_NODES,
     .get = get_remote},
    {NULL, PAGE("remote", 34), SITE("remote", 34), OF_ROW(COUNT, totals.remote)},
    {"remote_share", HEADING("remote", 3, TABLE_RIGHT), OTHERS, .flags = COLUMN_NODES | COLUMN_HOT,
     RATIO(SHARE, remote, home_known)},
    {"share_of_remote", OF_ALL(SHARE, remote)},
    {"latency_mean", HEADING("latency", 6, TABLE_RIGHT), OTHERS, RATIO(MEAN, latency_sum, latency_count)},
    {NULL, HEADING("remote", 3, TABLE_RIGHT), PROGRAMS, .flags = COLUMN_NODES, RATIO(SHARE, remote, home_known)},
    {NULL, FIGURE("latency", 6), PROGRAMS, RATIO(MEAN, latency_sum, latency_count)},
    {"bytes_s", PAGE("bytes_s", 38), SITE("bytes_s", 38), FIGURE("GB/s", 7), NO_SOURCE, .get = get_rate},
    {NULL, HEADING("GB/s", 7, TABLE_RIGHT), ONLY(SOURCE), .get = get_rate},
    {NULL, PAGE("home_known", 35), SITE("home_known", 35), OF_ROW(COUNT, totals.home_known)},
    {NULL, PAGE("latency_sum", 36), SITE("latency_sum", 36), OF_ROW(COUNT, totals.latency_sum)},
    {NULL, PAGE("latency_count", 37), SITE("latency_count", 37), OF_ROW(COUNT, totals.latency_count)},
    {0},
};

const struct column life_columns[] = {
    {"start_s", PAGE("start_s", 12), SITE("start_s", 13), OF_ROW(TIME, start)},
    {"end_s", PAGE("end_s", 13), SITE("end_s", 14), OF_ROW(TIME, end)},
    {0},
};

static struct value get_node(const struct rows *rows, const struct row *row)
{
    return (struct value){.type = VALUE_INTEGER, .number = (uint64_t)(int64_t)flow_thread_node(rows->flow, row->id)};
}

static void thread_cell(struct table *table, const struct rows *rows, const struct row *row)
{
    (void)rows;
    table_cell(table, "%s", *row->name ? row->name : text_file_name(row->module));
}

const struct column thread_columns[] = {
    {"tid", PAGE("tid", 1), HEADING("tid", 22, TABLE_RIGHT), OF_THREAD(NUMBER, tid)},
    {"pid", PAGE("pid", 2), HEADING("pid", 21, TABLE_RIGHT), OF_ROW(NUMBER, pid)},
    {NULL, PAGE("process", 3), OF_ROW(INDEX, process)},
    {"name", PAGE("name", 4), NAME("thread"), .cell = thread_cell, OF_ROW(TEXT, name)},
    {"binary", OF_ROW(TEXT, module)},
    {NULL, PAGE("node", 5), .get = get_node},
    {0},
};

const struct column thread_more_columns[] = {
    {"nodes", PAGE("homes", 20), WORDS("memory on nodes", 23), .flags = COLUMN_NODES, .get = row_homes},
    {0},
};
