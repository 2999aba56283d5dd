/* view/report/report_json.c - the same rows for programs. Field names are a promise: docs/json.md. */
#include "analysis/findings/findings.h"
#include "analysis/traffic/traffic.h"
#include "base/json.h"
#include "view/columns/columns.h"
#include "view/report/report_span.h"
#include "view/report/report.h"
#include "view/whole.h"

#include <math.h>

enum { SHARE_DECIMALS = 6 };

void rows_json_array(struct json *json, const struct rows *rows, const char *key)
{
    static const char *const keys[] = {"objects", "sites",     "threads", "functions", "lines",
                                       "types",   "processes", "groups",  "source",    "fields"};
    json_array(json, key ? key : keys[rows->table]);
    array_each (&rows->items, const struct row, row) {
        json_object(json, NULL);
        columns_put_row(json, rows, row);
        json_end(json);
    }
    json_end(json);
}

static void put_topology(struct json *json, const struct topology *topology)
{
    json_object(json, "topology");
    json_number(json, "nodes", topology->node_count);
    json_number(json, "cpus", topology->cpu_count);
    json_bool(json, "simulated", topology->simulated);
    if (topology->simulated) {
        json_text(json, "spec", topology->spec);
        json_text(json, "assign", whole_assign(topology));
        json_text(json, "homes", whole_homes(topology));
    }
    json_end(json);
}

static void put_gaps(struct json *json, const struct flow *flow)
{
    const struct flow_gap *gaps;
    size_t count = flow_gaps(flow, &gaps);
    uint64_t start = flow_start(flow);
    if (count == 0)
        return;
    json_array(json, "gaps");
    for (size_t i = 0; i < count; i++) {
        json_object(json, NULL);
        json_text(json, "cause", loss_name(gaps[i].cause));
        json_number(json, "pid", gaps[i].pid);
        json_real(json, "from_s", gaps[i].from > start ? (double)(gaps[i].from - start) / 1e9 : 0, 6);
        json_real(json, "until_s",
                  gaps[i].until == UINT64_MAX ? NAN
                  : gaps[i].until > start     ? (double)(gaps[i].until - start) / 1e9
                                              : 0,
                  6);
        json_end(json);
    }
    json_end(json);
}

static void put_missing(struct json *json, const struct flow *flow)
{
    const struct flow_missing *missing;
    size_t count = flow_missing(flow, &missing);
    if (count == 0)
        return;
    json_array(json, "missing_binaries");
    for (size_t i = 0; i < count; i++) {
        json_object(json, NULL);
        json_text(json, "path", missing[i].path);
        json_text(json, "why", missing[i].why);
        json_number(json, "samples", missing[i].samples);
        json_end(json);
    }
    json_end(json);
}

void report_json_head(struct json *json, const struct flow *flow, const struct view_options *options)
{
    struct flow_totals totals = flow_totals(flow);
    struct whole whole = whole_of(flow, options);
    json_number(json, "version", JSON_VERSION);
    json_text(json, "command", whole.command);
    json_integer_if(json, "exit_status", whole.has_exit_status, whole.exit_status);
    json_real(json, "duration_s", whole.duration, 6);
    json_text(json, "source", whole.source);
    json_number(json, "period", whole.period_ns);
    json_text(json, "latency_unit", latency_unit(flow));
    put_topology(json, flow_topology(flow));
    json_number(json, "samples", totals.samples);
    json_number(json, "attributed", flow_attributed(flow));
    json_number_if(json, "reads", flow_totals_have_direction(&totals), totals.reads);
    json_number_if(json, "writes", flow_totals_have_direction(&totals), totals.writes);
    json_number_if(json, "remote", flow_totals_have_homes(&totals), totals.remote);
    json_number(json, "home_known", totals.home_known);
    json_real(json, "remote_ratio", share_of(totals.remote, totals.home_known), SHARE_DECIMALS);
    json_real(json, "latency_mean", totals.latency_count ? share_of(totals.latency_sum, totals.latency_count) : NAN, 1);
    json_object(json, "dropped");
    for (unsigned i = 0; i < LOSS_CAUSES; i++) {
        if (flow_losses(flow)[i])
            json_number(json, loss_name(i), flow_losses(flow)[i]);
    }
    json_end(json);
    put_gaps(json, flow);
    span_json(json, flow, options);
    put_missing(json, flow);
    const char *const *reasons;
    const uint64_t *counts;
    size_t count = flow_unattributed(flow, &reasons, &counts);
    json_object(json, "unattributed");
    for (size_t i = 0; i < count; i++)
        json_number(json, reasons[i], counts[i]);
    json_end(json);
    json_text(json, "damage", options->damage);
}

static void put_session(struct json *json, const struct flow *flow)
{
    const struct trace_session *session = flow_session(flow);
    json_object(json, "session");
    for (size_t i = 0; session && i < trace_session_count(session); i++)
        json_text(json, trace_session_key(session, i), trace_session_get(session, trace_session_key(session, i)));
    json_end(json);
}

void report_json_traffic(struct json *json, const struct flow *flow, const struct row_facts *facts,
                         const struct traffic *traffic)
{
    json_array(json, "traffic");
    for (uint32_t from = 0; from < facts->nodes; from++) {
        for (uint32_t home = 0; home < facts->nodes; home++) {
            uint32_t pair = from * facts->nodes + home;
            if (facts->matrix[pair] == 0 && !(traffic && traffic->all.is_rated && traffic->node_pairs[pair] > 0))
                continue;
            json_object(json, NULL);
            json_integer(json, "from", flow_topology(flow)->nodes[from].os_index);
            json_integer(json, "home", flow_topology(flow)->nodes[home].os_index);
            json_number(json, "samples", facts->matrix[pair]);
            if (traffic)
                json_real_if(json, "bytes_s", traffic->all.is_rated, traffic->node_pairs[pair], 0);
            json_end(json);
        }
    }
    json_end(json);
}

int report_json(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err)
{
    enum { TOP_OBJECTS = 20 };
    struct rows threads = {0}, objects = {0};
    struct row_facts facts = {0};
    struct findings *findings = NULL;
    rows_make(&threads, flow, VIEW_THREADS, options, NULL, 0);
    rows_make(&objects, flow, VIEW_OBJECTS, options, NULL, options->limit ? options->limit : TOP_OBJECTS);
    threads.traffic = objects.traffic = rows_traffic(flow, options);
    int failed = rows_facts(&objects, &facts, err);
    failed = failed ? failed : report_judge(&findings, flow, options, err);
    if (failed == 0) {
        array_each (&threads.items, struct row, row) {
            row->homes = mem_zalloc(facts.nodes * sizeof *row->homes);
            for (uint32_t node = 0; node < facts.nodes; node++)
                row->homes[node] = facts.thread_nodes[(size_t)row->id * facts.nodes + node];
        }
        struct json *json = json_new(out);
        json_object(json, NULL);
        report_json_head(json, flow, options);
        report_json_verdict(json, flow, findings);
        rows_json_array(json, &threads, NULL);
        rows_json_array(json, &objects, NULL);
        report_json_traffic(json, flow, &facts, objects.traffic);
        put_session(json, flow);
        failed = json_finish(json, err);
    }
    findings_free(findings);
    row_facts_free(&facts);
    traffic_free(objects.traffic);
    rows_free(&threads);
    rows_free(&objects);
    return failed;
}

int rows_json(const struct rows *rows, const struct view_options *options, FILE *out, struct error *err)
{
    struct json *json = json_new(out);
    json_object(json, NULL);
    report_json_head(json, rows->flow, options);
    json_number(json, "matching", rows->matching);
    rows_json_array(json, rows, NULL);
    if (rows->table == VIEW_PROCESSES) {
        struct rows groups = rows_groups(rows);
        rows_json_array(json, &groups, NULL);
        array_free(&groups.items);
    }
    return json_finish(json, err);
}
