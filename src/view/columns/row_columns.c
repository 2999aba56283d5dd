/* view/columns/row_columns.c - the columns that rows of several tables have. */
#include "analysis/problems/traffic.h"
#include "view/columns/columns.h"

static struct value get_rate(const struct rows *rows, const struct row *row)
{
    const struct traffic_bytes *bytes = rows->traffic ? row_traffic(rows, row) : NULL;
    if (!rows->traffic)
        return (struct value){.type = VALUE_ABSENT};
    if (!bytes || !bytes->is_rated)
        return (struct value){.type = VALUE_UNKNOWN, .text = bytes ? "unknown" : "-"};
    return (struct value){.type = VALUE_RATE, .real = traffic_total(bytes)};
}

struct value row_homes(const struct rows *rows, const struct row *row)
{
    (void)rows;
    return (struct value){.type = VALUE_NODES, .counts = row->homes, .of = row->totals.samples};
}

const struct column totals_columns[] = {
    {"samples", PAGE("samples", 31), SITE("samples", 31), HEADING("share", 2, TABLE_RIGHT), OF_ALL(PART, samples)},
    {"share", OF_ALL(SHARE, samples)},
    {"reads", PAGE("reads", 32), SITE("reads", 32), OF_ROW(COUNT, totals.reads)},
    {"writes", PAGE("writes", 33), SITE("writes", 33), FIGURE("writes", 5), RATIO(PART, writes, samples)},
    {"remote", PAGE("remote", 34), SITE("remote", 34), FIGURE("of remote", 4), .flags = COLUMN_NODES,
     OF_ALL(PART, remote)},
    {"remote_share", HEADING("remote", 3, TABLE_RIGHT), .flags = COLUMN_NODES | COLUMN_HOT,
     RATIO(SHARE, remote, home_known)},
    {"share_of_remote", OF_ALL(SHARE, remote)},
    {"latency_mean", HEADING("latency", 6, TABLE_RIGHT), RATIO(MEAN, latency_sum, latency_count)},
    {"bytes_s", FIGURE("GB/s", 7), .get = get_rate},
    {NULL, PAGE("home_known", 35), SITE("home_known", 35), OF_ROW(COUNT, totals.home_known)},
    {NULL, PAGE("latency_sum", 36), SITE("latency_sum", 36), OF_ROW(COUNT, totals.latency_sum)},
    {NULL, PAGE("latency_count", 37), SITE("latency_count", 37), OF_ROW(COUNT, totals.latency_count)},
    {0},
};

const struct column life_columns[] = {
    {"start_s", OF_ROW(TIME, born)},
    {"end_s", OF_ROW(TIME, died)},
    {"born_s", PAGE("born_s", 12), SITE("born_s", 13), OF_ROW(TIME, born)}, /* JSON: version 1 */
    {"died_s", PAGE("died_s", 13), SITE("died_s", 14), OF_ROW(TIME, died)},
    {0},
};
