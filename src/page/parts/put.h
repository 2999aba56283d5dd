/* page/parts/put.h - how single values are reported in the page's JSON. Private to src/page. */
#pragma once

#include "view/columns/columns.h"

static inline double put_seconds(const struct flow *flow, uint64_t time)
{
    return time > flow_start(flow) ? (double)(time - flow_start(flow)) * 1e-9 : 0;
}

static inline void put_time(struct json *json, const char *key, const struct flow *flow, uint64_t time)
{
    json_real_if(json, key, time != UINT64_MAX, put_seconds(flow, time), 6);
}

/* FLOW_NONE is -1. */
static inline void put_index(struct json *json, const char *key, uint32_t index)
{
    json_integer(json, key, index == FLOW_NONE ? -1 : (int64_t)index);
}

/* Into the open object. */
static inline void put_totals(struct json *json, const struct flow_totals *totals)
{
    json_number(json, "samples", totals->samples);
    json_number(json, "reads", totals->reads);
    json_number(json, "writes", totals->writes);
    json_number(json, "remote", totals->remote);
    json_number(json, "home_known", totals->home_known);
    json_number(json, "latency_sum", totals->latency_sum);
    json_number(json, "latency_count", totals->latency_count);
}

/* row_put.c: a row with the columns of columns_page(). */
void row_put(struct json *json, const struct column_list *list, const struct rows *rows, const struct row *row);
