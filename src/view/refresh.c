#include "view/refresh.h"

#include "analysis/traffic/traffic.h"
#include "base/strtab.h"
#include "base/text.h"
#include "view/columns/columns.h"
#include "view/node_matrix.h"
#include "base/number.h"
#include "view/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

struct interval {
    const struct flow *flow;
    struct rows objects, threads, processes;
    struct row_facts facts;
    struct flow_totals totals;
};

static int interval_read(struct interval *interval, const struct flow *flow, const struct view_options *options,
                         struct error *err)
{
    *interval = (struct interval){.flow = flow, .totals = flow_totals(flow)};
    rows_make(&interval->objects, flow, VIEW_OBJECTS, options, NULL, options->limit);
    rows_make(&interval->threads, flow, VIEW_THREADS, options, NULL, options->limit);
    rows_make(&interval->processes, flow, VIEW_PROCESSES, options, NULL, options->limit);
    interval->objects.traffic = interval->threads.traffic = rows_traffic(flow, options);
    return rows_facts(&interval->objects, &interval->facts, err);
}

static void interval_free(struct interval *interval)
{
    traffic_free(interval->objects.traffic);
    row_facts_free(&interval->facts);
    rows_free(&interval->objects);
    rows_free(&interval->threads);
    rows_free(&interval->processes);
}

static uint64_t from_node(const struct row_facts *facts, uint32_t node)
{
    uint64_t sum = 0;
    for (uint32_t home = 0; home < facts->nodes; home++)
        sum += facts->matrix[node * facts->nodes + home];
    return sum;
}

static uint64_t to_node(const struct row_facts *facts, uint32_t node)
{
    uint64_t sum = 0;
    for (uint32_t from = 0; from < facts->nodes; from++)
        sum += facts->matrix[from * facts->nodes + node];
    return sum;
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static double bytes_s(const struct interval *interval)
{
    const struct traffic *traffic = interval->objects.traffic;
    return traffic && traffic->all.is_rated ? traffic_total(&traffic->all) : NAN;
}

static int put_line(const struct interval *interval, const struct view_refresh *refresh, FILE *out, struct error *err)
{
    enum { DECIMALS = 6 };
    const struct flow_totals *totals = &interval->totals;
    const struct row_facts *facts = &interval->facts;
    struct json *json = json_new_compact(out);
    json_object(json, NULL);
    json_number(json, "version", JSON_VERSION);
    json_real(json, "time", refresh->time, 3);
    json_number(json, "pid", refresh->pid);
    json_text(json, "name", refresh->name);
    json_number(json, "samples", totals->samples);
    json_real(json, "remote_share", ratio(totals->remote, totals->home_known), DECIMALS);
    json_real(json, "latency_mean", ratio(totals->latency_sum, totals->latency_count), 1);
    json_real(json, "bytes_s", bytes_s(interval), 0);
    rows_json_array(json, &interval->processes, NULL);
    rows_json_array(json, &interval->objects, NULL);
    rows_json_array(json, &interval->threads, NULL);
    json_array(json, "nodes");
    for (uint32_t i = 0; i < facts->nodes; i++) {
        uint64_t all = from_node(facts, i);
        json_object(json, NULL);
        json_integer(json, "node", flow_topology(interval->flow)->nodes[i].os_index);
        json_number(json, "from", all);
        json_number(json, "home", to_node(facts, i));
        json_real(json, "remote_share", ratio(all - facts->matrix[i * facts->nodes + i], all), DECIMALS);
        json_end(json);
    }
    json_end(json);
    report_json_traffic(json, interval->flow, facts, interval->objects.traffic);
    return json_finish(json, err);
}

static void print_nodes(const struct interval *interval, const struct view_options *options, FILE *out)
{
    node_matrix_accesses(flow_topology(interval->flow), interval->facts.matrix, interval->totals.home_known, out,
                         options->width, options->color);
}

static int print_tables(const struct interval *interval, const struct view_refresh *refresh,
                        const struct view_options *options, FILE *out, struct error *err)
{
    const struct flow_totals *totals = &interval->totals;
    time_t second = (time_t)refresh->time;
    struct tm local;
    char clock[16], *name = text_safe(refresh->name);
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&second, &local));
    size_t threads = flow_thread_count(interval->flow);
    fprintf(out, "%s  %s (%u): %s samples, %s, %s thread%s", clock, name, refresh->pid, number_count(totals->samples),
            number_remote(totals->remote, totals->home_known), number_count(threads), threads == 1 ? "" : "s");
    if (!isnan(bytes_s(interval)))
        fprintf(out, ", %.2f GB/s", bytes_s(interval) / 1e9);
    fprintf(out, "%s\n\n", flow_topology(interval->flow)->simulated ? " (simulated topology)" : "");
    free(name);
    if (interval->processes.matching > 1) {
        tables_print(&interval->processes, options, 2, out);
        fputc('\n', out);
    }
    tables_print(&interval->objects, options, 2, out);
    fputc('\n', out);
    tables_print(&interval->threads, options, 2, out);
    fputc('\n', out);
    if (interval->facts.nodes > 1 && totals->home_known) {
        print_nodes(interval, options, out);
        fputc('\n', out);
    }
    return report_flush(out, err);
}

int view_refresh(const struct flow *flow, const struct view_refresh *refresh, const struct view_options *options,
                 FILE *out, struct error *err)
{
    struct interval interval;
    int code = interval_read(&interval, flow, options, err);
    if (code == 0)
        code = options->json ? put_line(&interval, refresh, out, err)
                             : print_tables(&interval, refresh, options, out, err);
    interval_free(&interval);
    return code;
}

int view_nodes(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err)
{
    struct interval interval;
    int code = interval_read(&interval, flow, options, err);
    if (code == 0) {
        print_nodes(&interval, options, out);
        code = report_flush(out, err);
    }
    interval_free(&interval);
    return code;
}

/* A label's value: escaped as the format asks for. */
static void put_label(FILE *out, const char *label, const char *value)
{
    char *safe = text_safe(value);
    fprintf(out, "%s=\"", label);
    for (const char *at = safe; *at; at++)
        fprintf(out, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    fputc('"', out);
    free(safe);
}

static void put_metric(FILE *out, const char *name, const char *help)
{
    fprintf(out, "# TYPE numalens_%s gauge\n# UNIT numalens_%s ratio\n# HELP numalens_%s %s\n", name, name, name, help);
}

/* What a row's series has in braces. */
static char *row_labels(const struct rows *rows, const struct row *row)
{
    char *text;
    size_t size;
    FILE *out = mem_stream(&text, &size);
    fprintf(out, "pid=\"%u\",", row->pid);
    if (rows->table == VIEW_THREADS)
        fprintf(out, "tid=\"%u\",", flow_thread(rows->flow, row->id)->tid);
    else
        fprintf(out, "address=\"0x%llx\",", (unsigned long long)flow_object(rows->flow, row->object)->addr);
    put_label(out, rows->table == VIEW_THREADS ? "thread" : "object", row->name);
    mem_stream_end(out, &text);
    return text;
}

struct series {
    const char *labels;
    uint64_t part, whole;
};

/* What part of all accesses rows with samples have, or of their own are remote. Rows with the same labels are one series: blocks that had an
 * address after each other, threads that had a number. */
static void put_rows(FILE *out, const struct rows *rows, const char *name, bool of_remote)
{
    struct strtab *labels = strtab_new();
    array_of(struct series) all = {0};
    array_each (&rows->items, const struct row, row) {
        const struct flow_totals *totals = &row->totals;
        if (totals->samples == 0)
            continue;
        char *text = row_labels(rows, row);
        uint32_t number = strtab_add(labels, text); /* from 1 on */
        free(text);
        if (number > all.count)
            array_push(&all, (struct series){.labels = strtab_text(labels, number)});
        struct series *series = &all.items[number - 1];
        series->part += of_remote ? totals->remote : totals->samples;
        series->whole = of_remote ? series->whole + totals->home_known : rows->samples;
    }
    array_each (&all, struct series, series)
        if (series->whole)
            fprintf(out, "numalens_%s{%s} %.6f\n", name, series->labels, ratio(series->part, series->whole));
    array_free(&all);
    strtab_free(labels);
}

int view_metrics(const struct flow *flow, const struct view_refresh *refresh, const struct view_options *options,
                 FILE *out, struct error *err)
{
    struct interval interval;
    int code = interval_read(&interval, flow, options, err);
    const struct row_facts *facts = &interval.facts;
    const struct flow_totals *totals = &interval.totals;
    put_metric(out, "remote_ratio", "Accesses to memory of another node, of those whose home node is known.");
    if (code == 0 && totals->home_known) {
        fprintf(out, "numalens_remote_ratio{pid=\"%u\",", refresh->pid);
        put_label(out, "name", refresh->name);
        fprintf(out, "} %.6f\n", ratio(totals->remote, totals->home_known));
    }
    put_metric(out, "node_access_ratio", "Accesses from the CPUs of a node to the memory of a node, of all.");
    for (uint32_t i = 0; code == 0 && totals->home_known && i < facts->nodes * facts->nodes; i++)
        fprintf(out, "numalens_node_access_ratio{from=\"%d\",home=\"%d\"} %.6f\n",
                flow_topology(flow)->nodes[i / facts->nodes].os_index,
                flow_topology(flow)->nodes[i % facts->nodes].os_index, ratio(facts->matrix[i], totals->home_known));
    put_metric(out, "object_access_ratio", "Accesses to an object, of all.");
    put_rows(out, &interval.objects, "object_access_ratio", false);
    put_metric(out, "object_remote_ratio", "Remote accesses to an object, of those to it.");
    put_rows(out, &interval.objects, "object_remote_ratio", true);
    put_metric(out, "thread_access_ratio", "Accesses of a thread, of all.");
    put_rows(out, &interval.threads, "thread_access_ratio", false);
    put_metric(out, "thread_remote_ratio", "Remote accesses of a thread, of its own.");
    put_rows(out, &interval.threads, "thread_remote_ratio", true);
    if (!isnan(bytes_s(&interval)))
        fprintf(out,
                "# TYPE numalens_memory_bytes_per_second gauge\n# HELP numalens_memory_bytes_per_second Bytes from and "
                "to memory.\nnumalens_memory_bytes_per_second{pid=\"%u\"} %.0f\n",
                refresh->pid, bytes_s(&interval));
    fputs("# EOF\n", out);
    interval_free(&interval);
    return code ? code : report_flush(out, err);
}

static uint64_t mix(uint64_t key, uint64_t value)
{
    key = (key ^ value) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 32;
}

static uint64_t mix_text(uint64_t key, const char *text)
{
    for (; text && *text; text++)
        key = mix(key, (uint8_t)*text);
    return mix(key, 0);
}

/* Of what stays from one interval to the next: places, numbers of processes and threads, names. */
static uint64_t row_key(const struct flow *flow, enum view_table table, const struct row *row)
{
    uint64_t key = mix(table, row->pid);
    if (table == VIEW_THREADS)
        return mix(mix(key, flow_thread(flow, row->id)->pid), flow_thread(flow, row->id)->tid);
    if (table == VIEW_OBJECTS && row->id < flow_object_count(flow))
        return mix(mix(key, flow_object(flow, row->id)->addr), row->kind);
    return mix(mix_text(mix_text(mix_text(mix_text(key, row->name), row->label), row->file), row->module), row->line);
}

long view_screen(const struct flow *flow, enum view_table table, const struct view_options *options,
                 struct view_screen_row *shown, FILE *out, struct error *err)
{
    struct rows rows;
    rows_make(&rows, flow, table, options, NULL, options->limit);
    if (table != VIEW_PROCESSES)
        rows.traffic = rows_traffic(flow, options);
    long count = table == VIEW_FUNCTIONS ? 0 : rows_facts(&rows, NULL, err);
    if (count == 0) {
        columns_print(&rows, options, 0, out);
        for (size_t i = 0; i < rows.items.count; i++) {
            const struct row *row = &rows.items.items[i];
            const struct flow_totals *totals = &row->totals;
            shown[i] = (struct view_screen_row){
                .id = table == VIEW_SITES ? row->object : row->id,
                .key = row_key(flow, table, row),
                .remote = totals->home_known ? (double)totals->remote / (double)totals->home_known : -1};
        }
        count = (long)rows.items.count;
    }
    traffic_free(rows.traffic);
    rows_free(&rows);
    return count;
}
