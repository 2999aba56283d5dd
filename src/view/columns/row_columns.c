/* view/columns/row_columns.c - the columns that rows of several tables have. */
#include "analysis/problems/traffic.h"
#include "view/columns/columns.h"

static struct value get_samples(const struct rows *rows, const struct row *row)
{
    return (struct value){.type = VALUE_PART, .number = row->totals.samples, .of = rows->samples};
}

static struct value get_share(const struct rows *rows, const struct row *row)
{
    return (struct value){.type = VALUE_SHARE, .number = row->totals.samples, .of = rows->samples};
}

static struct value get_remote(const struct rows *rows, const struct row *row)
{
    return (struct value){.type = VALUE_PART, .number = row->totals.remote, .of = rows->remote};
}

static struct value get_share_of_remote(const struct rows *rows, const struct row *row)
{
    return (struct value){.type = VALUE_SHARE, .number = row->totals.remote, .of = rows->remote};
}

struct value row_rate(const struct rows *rows, const struct row *row)
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
    {"samples", PAGE("samples", 31), SITE("samples", 31), HEADING("share", 2, TABLE_RIGHT), .get = get_samples},
    {"share", .get = get_share},
    {"reads", PAGE("reads", 32), SITE("reads", 32), OF_ROW(COUNT, totals.reads)},
    {"writes", PAGE("writes", 33), SITE("writes", 33), FIGURE("writes", 5), RATIO(PART, writes, samples)},
    {"remote", PAGE("remote", 34), SITE("remote", 34), FIGURE("of remote", 4), .flags = COLUMN_NODES,
     .get = get_remote},
    {"remote_share", HEADING("remote", 3, TABLE_RIGHT), .flags = COLUMN_NODES | COLUMN_HOT,
     RATIO(SHARE, remote, home_known)},
    {"share_of_remote", .get = get_share_of_remote},
    {"latency_mean", HEADING("latency", 6, TABLE_RIGHT), RATIO(MEAN, latency_sum, latency_count)},
    {NULL, PAGE("home_known", 35), SITE("home_known", 35), OF_ROW(COUNT, totals.home_known)},
    {NULL, PAGE("latency_sum", 36), SITE("latency_sum", 36), OF_ROW(COUNT, totals.latency_sum)},
    {NULL, PAGE("latency_count", 37), SITE("latency_count", 37), OF_ROW(COUNT, totals.latency_count)},
    {0},
};
