/* view/problems/latency_report.c - numalens report latency: how latencies are distributed, what is in the tail; for programs. */
#include "view/problems/latency_report.h"

#include "base/json.h"
#include "topology/calibration.h"
#include "view/problems/problems.h"

#include <math.h>

static void put_at(struct json *json, const struct latency *latency, const struct latency_at *at)
{
    put_tally(json, "all", &at->above[latency->threshold_count]);
    json_array(json, "above");
    for (unsigned i = 0; i < latency->threshold_count; i++) {
        json_object(json, NULL);
        json_number(json, "threshold", latency->thresholds[i]);
        json_number(json, "TL", at->above[i].latency);
        json_number(json, "TN", at->above[i].timed);
        json_real(json, "AL", at->above[i].timed ? tally_mean(&at->above[i]) : NAN, 2);
        json_end(json);
    }
    json_end(json);
}

static void put_histogram(struct json *json, const struct latency_histogram *histogram)
{
    json_array(json, "histogram");
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        if (histogram->counts[i] == 0)
            continue;
        json_object(json, NULL);
        json_number(json, "from", latency_bucket_start(i));
        json_number(json, "number", histogram->counts[i]);
        json_end(json);
    }
    json_end(json);
}

static void put_quantiles(struct json *json, const struct latency_histogram *histogram)
{
    json_number_if(json, "median", histogram->number, latency_quantile(histogram, 0.5));
    json_number_if(json, "p95", histogram->number, latency_quantile(histogram, 0.95));
    json_number_if(json, "p99", histogram->number, latency_quantile(histogram, 0.99));
}

static void put_pair(struct json *json, const struct latency *latency, const struct latency_pair *pair)
{
    const struct flow *flow = latency->accesses->flow;
    json_object(json, NULL);
    json_integer(json, "from", node_os(flow, pair->from));
    json_integer(json, "home", node_os(flow, pair->home));
    json_real(json, "unloaded", pair->unloaded > 0 ? pair->unloaded : NAN, 1);
    json_bool(json, "calibrated", pair->calibrated);
    json_number(json, "beyond_caches", pair->memory);
    json_number(json, "tail", pair->tail);
    json_bool(json, "contended", pair->contended);
    put_quantiles(json, &pair->histogram);
    put_at(json, latency, &pair->at);
    put_histogram(json, &pair->histogram);
    json_end(json);
}

static void put_verdict(struct json *json, const struct latency *latency)
{
    static const char *const names[] = {[CONTENTION_UNKNOWN] = "unknown",
                                        [CONTENTION_NONE] = "none",
                                        [CONTENTION_MEMORY] = "memory",
                                        [CONTENTION_LINK] = "link"};
    const struct flow *flow = latency->accesses->flow;
    bool found = latency->contention == CONTENTION_MEMORY || latency->contention == CONTENTION_LINK;
    json_object(json, "contention");
    json_text(json, "on", names[latency->contention]);
    json_integer_if(json, "node", found, node_os(flow, latency->node));
    json_integer_if(json, "from", latency->contention == CONTENTION_LINK, node_os(flow, latency->link_from));
    json_real(json, "tail_share", latency->tail_share, 4);
    json_real_if(json, "start_s", found, (double)(latency->start - flow_start(flow)) * 1e-9, 6);
    json_real_if(json, "end_s", found, (double)(latency->end - flow_start(flow)) * 1e-9, 6);
    json_text(json, "text", latency->why);
    json_end(json);
}

static void put_row(struct json *json, const struct latency *latency, const struct latency_row *row)
{
    put_at(json, latency, &row->at);
    if (row->histogram) {
        put_quantiles(json, row->histogram);
        put_histogram(json, row->histogram);
    }
    json_end(json);
}

static void put_rows(struct json *json, const struct latency *latency, const struct view_options *options)
{
    const struct accesses *accesses = latency->accesses;
    size_t shown = 0;
    json_array(json, "objects");
    array_each (&latency->things, const struct latency_row, row) {
        if (!thing_passes(accesses, row->index, options) || (options->limit && shown++ >= options->limit))
            continue;
        json_object(json, NULL);
        put_thing(json, accesses, row->index);
        put_row(json, latency, row);
    }
    json_end(json);
    json_array(json, "threads");
    array_each (&latency->threads, const struct latency_row, row) {
        if (row->at.above[latency->threshold_count].accesses == 0)
            continue;
        json_object(json, NULL);
        json_number(json, "tid", flow_thread(accesses->flow, row->index)->tid);
        json_text(json, "name", flow_thread(accesses->flow, row->index)->name);
        put_row(json, latency, row);
    }
    json_end(json);
    json_array(json, "functions");
    array_each (&latency->functions, const struct latency_row, row) {
        json_object(json, NULL);
        json_text(json, "function", flow_function(accesses->flow, row->index)->function);
        json_text(json, "file", flow_function(accesses->flow, row->index)->file);
        put_row(json, latency, row);
    }
    json_end(json);
}

static void put_latency(struct json *json, const struct latency *latency, const struct calibration *calibration,
                        const struct view_options *options)
{
    put_verdict(json, latency);
    json_bool(json, "calibrated", calibration_shows(calibration));
    json_number(json, "beyond_caches_from", latency->slow);
    json_number_if(json, "tail_threshold", latency->tail < latency->threshold_count,
                   latency->thresholds[latency->tail]);
    put_at(json, latency, &latency->at);
    put_quantiles(json, &latency->histogram);
    put_histogram(json, &latency->histogram);
    json_object(json, "levels");
    for (unsigned i = 0; i < LATENCY_LEVELS; i++)
        if (latency->levels[i].accesses)
            put_tally(json, sample_level_name(i), &latency->levels[i]);
    json_end(json);
    json_array(json, "pairs");
    array_each (&latency->pairs, const struct latency_pair, pair)
        put_pair(json, latency, pair);
    json_end(json);
    put_rows(json, latency, options);
}

void latency_show(const struct accesses *accesses, const struct view_options *options, struct json *json, FILE *out)
{
    unsigned count;
    const uint32_t *thresholds = view_thresholds(options, &count);
    const struct calibration *calibration = flow_calibration(accesses->flow);
    struct latency *latency = latency_make(accesses, thresholds, count, calibration);
    if (json)
        put_latency(json, latency, calibration, options);
    else
        latency_text(latency, calibration, options, out);
    latency_free(latency);
}
