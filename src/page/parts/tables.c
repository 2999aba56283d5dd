/* page/parts/tables.c - processes, threads, functions and lines. Processes and threads keep the flow's numbers: cells name them. */
#include "page/parts/parts.h"
#include "page/parts/put.h"

/* No columns of the page's own. */
static const struct column *const none[] = {NULL};

static void put_processes(const struct flow *flow, struct json *json)
{
    const struct rows rows = {.table = VIEW_PROCESSES, .flow = flow};
    const struct column_list list = columns_page(VIEW_PROCESSES, none);
    json_array(json, "processes");
    for (uint32_t i = 0; i < flow_process_count(flow); i++) {
        const struct row row = rows_process(flow, i);
        row_put(json, &list, &rows, &row);
    }
    json_end(json);
}

static void put_threads(const struct parts *parts, struct json *json)
{
    const struct rows rows = {.table = VIEW_THREADS, .flow = parts->flow, .traffic = parts->traffic};
    const struct column_list list = columns_page(VIEW_THREADS, none);
    json_array(json, "threads");
    for (uint32_t i = 0; i < flow_thread_count(parts->flow) && i < UINT16_MAX; i++) {
        struct row row = rows_thread(parts->flow, i);
        row.homes = parts->facts->threads[i].homes;
        row_put(json, &list, &rows, &row);
    }
    json_end(json);
}

static void put_functions(const struct parts *parts, struct json *json)
{
    const struct flow *flow = parts->flow;
    const struct rows rows = {.table = VIEW_FUNCTIONS, .flow = flow, .traffic = parts->traffic};
    const struct column_list list = columns_page(VIEW_FUNCTIONS, none);
    size_t count = flow_function_count(flow);
    json_array(json, "functions");
    for (uint32_t i = 0; i < count && i < PAGE_FUNCTIONS; i++) {
        const struct row row = rows_function(flow, i);
        row_put(json, &list, &rows, &row);
    }
    json_end(json);
    json_number(json, "functions_skipped", count > PAGE_FUNCTIONS ? count - PAGE_FUNCTIONS : 0);
}

static void put_lines(const struct parts *parts, struct json *json)
{
    const struct flow *flow = parts->flow;
    const struct rows rows = {.table = VIEW_LINES, .flow = flow, .traffic = parts->traffic};
    const struct column_list list = columns_page(VIEW_LINES, none);
    size_t count = flow_line_count(flow);
    json_array(json, "lines");
    for (uint32_t i = 0; i < count && i < PAGE_CODE_LINES; i++) {
        const struct row row = rows_line(flow, i);
        row_put(json, &list, &rows, &row);
    }
    json_end(json);
    json_number(json, "lines_skipped", count > PAGE_CODE_LINES ? count - PAGE_CODE_LINES : 0);
}

void tables_put(const struct parts *parts, struct json *json)
{
    put_processes(parts->flow, json);
    put_threads(parts, json);
    put_functions(parts, json);
    put_lines(parts, json);
}
