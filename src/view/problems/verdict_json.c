/* view/problems/verdict_json.c - for programs: whether the placement of memory matters, and what each finding would bring. Field names
 * are a promise: docs/json.md. */
#include "analysis/traffic/traffic.h"
#include "base/json.h"
#include "view/problems/patterns.h"
#include "view/report/report.h"

#include <math.h>

/* What is not known is 0 in `value`, and null here. */
static void put_rate(struct json *json, const char *key, double value)
{
    json_real(json, key, value > 0 ? value : NAN, 0);
}

static void put_asked(struct json *json, const struct asked *asked)
{
    put_rate(json, "asked_bytes_s", asked->asked);
    put_rate(json, "low", asked->low);
    put_rate(json, "high", asked->high);
    put_rate(json, "can_bytes_s", asked->can);
}

/* What the judgement by latency alone rests on; all null without findings. */
static void put_remote_time(struct json *json, const struct findings *findings)
{
    json_bool_if(json, "numa_bound", findings, findings->numa_bound);
    json_bool_if(json, "decided", findings, findings->decided);
    json_real_if(json, "remote_time_share", findings, findings->remote_time_share, 6);
    json_real_if(json, "remote_time_low", findings, findings->remote_time_low, 6);
    json_real_if(json, "remote_time_high", findings, findings->remote_time_high, 6);
    json_real_if(json, "remote_time_bound", findings, findings->remote_time_bound, 6);
}

static void put_bytes(struct json *json, const struct findings *findings)
{
    bool known = findings->traffic && findings->traffic->all.is_rated;
    put_rate(json, "bytes_s", known ? findings->bytes : 0);
    put_rate(json, "bytes_low", known ? findings->bytes_low : 0);
    put_rate(json, "bytes_high", known ? findings->bytes_high : 0);
    bool remote = known && findings->remote_bytes >= 0;
    json_real_if(json, "remote_bytes_s", remote, findings->bytes * findings->remote_bytes, 0);
    json_real_if(json, "remote_bytes_share", remote, findings->remote_bytes, 4);
    json_real_if(json, "remote_bytes_share_low", remote, findings->remote_bytes_low, 4);
    json_real_if(json, "remote_bytes_share_high", remote, findings->remote_bytes_high, 4);
    json_number(json, "evidence_bursts", findings->traffic ? findings->traffic->bursts : 0);
}

void verdict_put_head(struct json *json, unsigned matters, const char *grade, const char *bottleneck)
{
    json_object(json, "verdict");
    json_bool_if(json, "matters", matters != MATTERS_UNDECIDED, matters == MATTERS);
    json_text(json, "grade", grade && *grade ? grade : NULL);
    json_text(json, "bottleneck", bottleneck && *bottleneck ? bottleneck : NULL);
}

static void put_verdict(struct json *json, enum matters matters, const struct findings *findings, const char *text)
{
    static const struct findings none = {.remote_bytes = -1};
    const struct findings *from = findings ? findings : &none;
    verdict_put_head(json, matters, from->grade, from->bottleneck);
    put_asked(json, &from->asked);
    json_text(json, "against", from->against);
    put_rate(json, "then_asked_bytes_s", from->then.asked);
    put_rate(json, "then_can_bytes_s", from->then.can);
    put_rate(json, "all_cpus_asked_bytes_s", from->on_all_cpus.asked);
    json_text(json, "all_cpus_grade", from->all_cpus_grade);
    put_bytes(json, from);
    json_text(json, "machine", from->machine);
    json_text(json, "text", text);
    put_remote_time(json, findings);
    json_end(json);
}

void verdict_put(struct json *json, const struct findings *findings)
{
    put_verdict(json, findings->matters, findings, findings->verdict);
}

void pattern_put_gain(struct json *json, const char *key, const struct findings *findings,
                      const struct finding *finding)
{
    if (finding->then.can <= 0) {
        json_null(json, key);
        return;
    }
    json_object(json, key);
    put_asked(json, &finding->then);
    json_text(json, "machine", findings->machine);
    json_end(json);
}

void report_json_verdict(struct json *json, const struct flow *flow, const struct findings *findings)
{
    bool one_node = flow_topology(flow)->node_count < 2;
    if (findings)
        verdict_put(json, findings);
    else if (one_node && flow_totals(flow).samples)
        put_verdict(json, MATTERS_NOT, NULL, "There is one memory node: nothing is remote.");
    else
        put_verdict(json, MATTERS_UNDECIDED, NULL,
                    flow_totals(flow).samples ? "The home nodes of the pages are not known, so no placement can be "
                                                "judged."
                                              : "No memory access was sampled.");
    json_array(json, "findings");
    for (size_t i = 0; findings && i < findings->items.count; i++) {
        const struct finding *finding = &findings->items.items[i];
        json_object(json, NULL);
        json_text(json, "pattern", pattern_name(finding->pattern));
        pattern_put_subject(json, findings, finding);
        json_real(json, "share_of_remote", finding->share_of_remote, 6);
        json_real(json, "lost_time_share", finding->lost_time_share, 6);
        pattern_put_gain(json, "gain", findings, finding);
        json_end(json);
    }
    json_end(json);
}
