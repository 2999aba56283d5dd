/* view/problems/verdict_json.c - for programs: whether the placement of memory matters, and what each finding would bring. Field names
 * are a promise: docs/json.md. */
#include "analysis/traffic/traffic.h"
#include "base/json.h"
#include "view/problems/patterns.h"
#include "view/report/report.h"

/* What is not known is 0 in `value`, and null here. */
static void put_rate(struct json *json, const char *key, double value)
{
    if (value > 0)
        json_real(json, key, value, 0);
    else
        json_null(json, key);
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
    static const char *const names[] = {"numa_bound",      "decided",          "remote_time_share",
                                        "remote_time_low", "remote_time_high", "remote_time_bound"};
    for (size_t i = 0; !findings && i < sizeof names / sizeof *names; i++)
        json_null(json, names[i]);
    if (!findings)
        return;
    json_bool(json, names[0], findings->numa_bound);
    json_bool(json, names[1], findings->decided);
    json_real(json, names[2], findings->remote_time_share, 6);
    json_real(json, names[3], findings->remote_time_low, 6);
    json_real(json, names[4], findings->remote_time_high, 6);
    json_real(json, names[5], findings->remote_time_bound, 6);
}

static void put_bytes(struct json *json, const struct findings *findings)
{
    bool known = findings->traffic && findings->traffic->all.is_rated;
    put_rate(json, "bytes_s", known ? findings->bytes : 0);
    put_rate(json, "bytes_low", known ? findings->bytes_low : 0);
    put_rate(json, "bytes_high", known ? findings->bytes_high : 0);
    if (known && findings->remote_bytes >= 0) {
        json_real(json, "remote_bytes_s", findings->bytes * findings->remote_bytes, 0);
        json_real(json, "remote_bytes_share", findings->remote_bytes, 4);
    } else {
        json_null(json, "remote_bytes_s");
        json_null(json, "remote_bytes_share");
    }
    json_number(json, "evidence_bursts", findings->traffic ? findings->traffic->bursts : 0);
}

static void put_verdict(struct json *json, enum matters matters, const struct findings *findings, const char *text)
{
    static const struct findings none = {.remote_bytes = -1};
    const struct findings *from = findings ? findings : &none;
    json_object(json, "verdict");
    if (matters == MATTERS_UNDECIDED)
        json_null(json, "matters");
    else
        json_bool(json, "matters", matters == MATTERS);
    json_text(json, "grade", from->grade);
    json_text(json, "bottleneck", from->bottleneck);
    put_asked(json, &from->asked);
    json_text(json, "against", from->against);
    put_rate(json, "then_asked_bytes_s", from->then.asked);
    put_rate(json, "then_can_bytes_s", from->then.can);
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

void report_json_verdict(struct json *json, const struct flow *flow, const struct report_judgement *judgement)
{
    const struct findings *findings = judgement->findings;
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
