/* page/parts/latencies.c - how latencies are distributed: of local accesses, remote ones, and those whose page's home is not known. */
#include "analysis/problems/latency.h"
#include "base/mem.h"
#include "page/parts/parts.h"
#include "topology/calibration.h"

enum { LOCAL, REMOTE, UNKNOWN, CLASSES };

struct latencies {
    const struct flow *flow;
    struct latency_histogram classes[CLASSES];
};

struct latencies *latencies_new(const struct flow *flow)
{
    struct latencies *latencies = mem_zalloc(sizeof *latencies);
    latencies->flow = flow;
    return latencies;
}

void latencies_note(struct latencies *latencies, const struct flow_access *access)
{
    if (!access->has_latency)
        return;
    struct latency_histogram *histogram = &latencies->classes[access->remote                           ? REMOTE
                                                              : access->home >= 0 && access->from >= 0 ? LOCAL
                                                                                                       : UNKNOWN];
    histogram->counts[latency_bucket(access->latency)]++;
    histogram->number++;
}

static void put_counts(struct json *json, const char *key, const struct latency_histogram *histogram, unsigned first,
                       unsigned end)
{
    json_array(json, key);
    for (unsigned i = first; i < end; i++)
        json_number(json, NULL, histogram->counts[i]);
    json_end(json);
}

static void put_unloaded(struct json *json, const struct flow *flow)
{
    const struct calibration *calibration = flow_calibration(flow);
    uint32_t nodes = flow_topology(flow)->node_count;
    if (!calibration) {
        json_null(json, "unloaded");
        return;
    }
    json_array(json, "unloaded");
    for (uint32_t from = 0; from < nodes; from++) {
        json_array(json, NULL);
        for (uint32_t to = 0; to < nodes; to++)
            json_real(json, NULL, calibration_memory(calibration, (int)from, (int)to), 1);
        json_end(json);
    }
    json_end(json);
}

void latencies_put(const struct latencies *latencies, struct json *json)
{
    struct latency_histogram all = {0};
    unsigned first = 0, end = 0;
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        for (unsigned class = 0; class < CLASSES; class ++)
            all.counts[i] += latencies->classes[class].counts[i];
        all.number += all.counts[i];
        if (all.counts[i])
            end = i + 1;
        else if (end == 0)
            first = i + 1;
    }
    if (end == 0)
        first = 0;
    json_object(json, "latency");
    json_text(json, "unit", accesses_unit(latencies->flow));
    json_number(json, "from", latency_bucket_start(first));
    json_array(json, "bounds");
    for (unsigned i = first; i < end; i++)
        json_number(json, NULL, i + 1 < LATENCY_BUCKETS ? latency_bucket_start(i + 1) : UINT32_MAX);
    json_end(json);
    put_counts(json, "local", &latencies->classes[LOCAL], first, end);
    put_counts(json, "remote", &latencies->classes[REMOTE], first, end);
    put_counts(json, "unknown", &latencies->classes[UNKNOWN], first, end);
    put_unloaded(json, latencies->flow);
    static const struct {
        const char *key;
        double part;
    } quantiles[] = {{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}};
    for (unsigned i = 0; i < 3; i++) {
        json_number_if(json, quantiles[i].key, all.number, latency_quantile(&all, quantiles[i].part));
    }
    json_end(json);
}

void latencies_free(struct latencies *latencies)
{
    free(latencies);
}
