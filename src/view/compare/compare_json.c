/* view/compare/compare_json.c - numalens compare A B as JSON. */
#include "base/json.h"
#include "view/compare/compare_rows.h"

#include <math.h>

static void put_ratio(struct json *json, const char *key, const struct ratio *ratio, int decimals)
{
    json_real(json, key, ratio && ratio->n > 0 ? ratio_value(ratio) : NAN, decimals);
}

static void put_side(struct json *json, const char *key, const struct profile *profile)
{
    json_object(json, key);
    json_text(json, "file", profile->path);
    json_text(json, "command", profile->command);
    json_text(json, "placement", *profile->placement ? profile->placement : NULL);
    json_number(json, "nodes", profile->nodes);
    json_bool(json, "simulated", profile->simulated);
    json_text(json, "latency_unit", profile->unit);
    json_number(json, "samples", profile->totals.samples);
    json_number(json, "bursts", profile->bursts);
    put_ratio(json, "remote_ratio", &profile->far, 6);
    put_ratio(json, "latency_mean", &profile->latency, 2);
    put_ratio(json, "local_latency_mean", &profile->near_latency, 2);
    put_ratio(json, "remote_latency_mean", &profile->far_latency, 2);
    if (profile->histogram.number) {
        json_number(json, "latency_median", latency_quantile(&profile->histogram, 0.5));
        json_number(json, "latency_p95", latency_quantile(&profile->histogram, 0.95));
        json_number(json, "latency_p99", latency_quantile(&profile->histogram, 0.99));
    }
    json_real(json, "duration_s", profile->duration_s > 0 ? profile->duration_s : NAN, 6);
    json_real(json, "cpu_s", profile->cpu_s > 0 ? profile->cpu_s : NAN, 6);
    json_bool(json, "numa_bound", profile->numa_bound);
    json_end(json);
}

static void put_entry(struct json *json, const char *key, const struct profile *profile,
                      const struct profile_entry *entry)
{
    if (!entry) {
        json_null(json, key);
        return;
    }
    json_object(json, key);
    json_text(json, "file", *entry->file ? entry->file : NULL);
    json_number_if(json, "line", entry->line, entry->line);
    json_number(json, "samples", entry->samples);
    json_number(json, "writes", entry->writes);
    json_number_if(json, "remote", flow_totals_have_homes(&profile->totals), entry->remote);
    put_ratio(json, "share", &entry->share, 6);
    put_ratio(json, "remote_share", &entry->far, 6);
    put_ratio(json, "remote_of_all", &entry->of_all, 6);
    json_real(json, "latency_mean", entry->latency_count ? entry->latency_mean : NAN, 2);
    json_end(json);
}

static void put_test(struct json *json, const char *key, const struct difference_row *row, enum difference_kind kind)
{
    json_object(json, key);
    json_real(json, "chance", row->chances[kind], 9);
    json_bool(json, "significant", row->real[kind]);
    json_end(json);
}

static void put_row(struct json *json, const struct difference *difference, const struct difference_row *row)
{
    const struct profile_entry *entry = row->sides[1] ? row->sides[1] : row->sides[0];
    json_object(json, NULL);
    json_text(json, "name", entry->name);
    json_text(json, "was", row->renamed ? row->sides[0]->name : NULL);
    json_text(json, "kind", entry->kind < OBJECT_KINDS ? view_kind_name(entry->kind) : NULL);
    json_text(json, "module", *entry->module ? entry->module : NULL);
    json_bool(json, "significant", difference_is_real(row));
    json_bool(json, "judged", row->judged);
    put_test(json, "share", row, DIFFERENCE_SHARE);
    put_test(json, "remote", row, DIFFERENCE_REMOTE);
    put_test(json, "latency", row, DIFFERENCE_LATENCY);
    put_entry(json, "before", difference->sides[0], row->sides[0]);
    put_entry(json, "after", difference->sides[1], row->sides[1]);
    json_end(json);
}

static void put_table(struct json *json, const struct difference *difference, enum profile_table which,
                      const struct compare_options *options)
{
    size_t matching = 0;
    const struct view_options *view = options->view;
    json_object(json, profile_table_name(which));
    json_array(json, "rows");
    array_each (&difference->tables[which], const struct difference_row, row) {
        if (!difference_passes(difference, row, &view->filter))
            continue;
        matching++;
        if (view->limit == 0 || matching <= view->limit)
            put_row(json, difference, row);
    }
    json_end(json);
    json_number(json, "matching", matching);
    json_end(json);
}

static void put_finding(struct json *json, const char *key, const struct profile_finding *finding)
{
    if (!finding) {
        json_null(json, key);
        return;
    }
    json_object(json, key);
    json_text(json, "file", *finding->file ? finding->file : NULL);
    json_number_if(json, "line", finding->line, finding->line);
    json_number(json, "remote", finding->remote);
    json_real(json, "share_of_remote", finding->share_of_remote, 6);
    json_real(json, "lost_time_share", finding->lost_time_share, 6);
    json_text(json, "evidence", finding->evidence);
    json_end(json);
}

static void put_findings(struct json *json, const struct difference *difference)
{
    json_array(json, "findings");
    array_each (&difference->findings, const struct difference_finding, fate) {
        const struct profile_finding *finding = fate->before ? fate->before : fate->after;
        json_object(json, NULL);
        json_text(json, "pattern", pattern_name(finding->pattern));
        json_text(json, "name", finding->name);
        json_text(json, "fate", finding_fate_name(fate->fate));
        json_text(json, "why", *fate->why ? fate->why : NULL);
        put_finding(json, "before", fate->before);
        put_finding(json, "after", fate->after);
        json_end(json);
    }
    json_end(json);
}

int difference_json(const struct difference *difference, const struct compare_options *options, FILE *out,
                    struct error *err)
{
    struct json *json = json_new(out);
    json_object(json, NULL);
    json_number(json, "version", JSON_VERSION);
    json_text(json, "what", difference->what);
    json_text(json, "proof", difference->proof);
    json_bool(json, "comparable", difference->comparable);
    json_text(json, "note", *difference->note ? difference->note : NULL);
    json_text(json, "damaged", options->damaged);
    put_side(json, "before", difference->sides[0]);
    put_side(json, "after", difference->sides[1]);
    json_object(json, "whole");
    put_test(json, "remote", &difference->whole, DIFFERENCE_REMOTE);
    put_test(json, "latency", &difference->whole, DIFFERENCE_LATENCY);
    json_array(json, "homes");
    for (uint32_t node = 0; node < difference->nodes; node++) {
        json_object(json, NULL);
        json_integer(json, "node", difference->sides[0]->node_numbers[node]);
        put_ratio(json, "before", &difference->sides[0]->homes[node], 6);
        put_ratio(json, "after", &difference->sides[1]->homes[node], 6);
        json_bool(json, "significant", difference->home_real[node]);
        json_end(json);
    }
    json_end(json);
    json_bool(json, "local_latency_significant", difference->latency_real[0]);
    json_bool(json, "remote_latency_significant", difference->latency_real[1]);
    json_end(json);
    put_findings(json, difference);
    for (unsigned table = 0; table < PROFILE_TABLES; table++)
        if (options->tables >> table & 1)
            put_table(json, difference, (enum profile_table)table, options);
    return json_finish(json, err);
}
