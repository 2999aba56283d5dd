/* See costs.h. Three ways to a verdict: run time, where traffic is known; latency alone, where it is not; and neither, where too
 * little was sampled, with the command that samples more. */
#include "predict/costs.h"

#include "analysis/traffic/traffic.h"
#include "machine/model.h"
#include "predict/bounds.h"
#include "predict/gain.h"

#include <math.h>
#include <string.h>

const double verdict_bound = 1.05;

static const double NEXT_TO_NOTHING = 0.01; /* of the accesses are remote */

struct judge {
    struct findings *findings;
    const struct model *machine;
    struct demand *demand;
    struct gains gains;
    struct prediction as_is;
    struct plan best; /* what it is compared with */
    const char *with; /* the same, as a sentence has it */
    const char *on;   /* the machine, likewise */
};

/* "generic-4 (generic machine with 4 nodes)": of the title what comes before details. */
static const char *machine_text(struct findings *findings, const struct model *machine)
{
    const char *title = machine->title ? machine->title : "";
    size_t length = strcspn(title, ",(");
    while (length && title[length - 1] == ' ')
        length--;
    if (!machine->name || !*machine->name || !length)
        return findings_text(findings, "%.*s", (int)length, length ? title : "this machine");
    return findings_text(findings, "%s (%.*s)", machine->name, (int)length, title);
}

static void compare_with(struct judge *judge, struct plan plan, const char *name, const char *with)
{
    judge->best = plan;
    judge->with = with;
    judge->findings->against = name;
}

/* What the program is compared with: as all findings advise, which is every page near the threads that use it where they say nothing
 * else, unless another placement is clearly faster: a tenth is what the model may be wrong by, and two recordings of one
 * program are to say the same. */
static void choose(struct judge *judge)
{
    const double clearly = 0.9, as_fast = 0.98;
    const struct gains *gains = &judge->gains;
    bool advice = as_fast * gains->largest > 1; /* one at least makes it faster */
    double users = predict(judge->machine, judge->demand, PLACING_USERS).time_s[ASSUME_LIKELY];
    double interleaved = predict(judge->machine, judge->demand, PLACING_INTERLEAVE).time_s[ASSUME_LIKELY];
    double advised = advice ? gains->advised.time_s[ASSUME_LIKELY] : users;
    judge->as_is = predict(judge->machine, judge->demand, PLACING_AS_IS);
    bool near = !advice || users < clearly * advised ||
                (gains->near && as_fast * users <= judge->as_is.time_s[ASSUME_LIKELY] / gains->largest &&
                 clearly * users <= advised);
    if (interleaved < clearly * (near ? users : advised))
        compare_with(judge, (struct plan){.placement = PLACING_INTERLEAVE}, placing_name(PLACING_INTERLEAVE),
                     "with its pages interleaved over the nodes");
    else if (near)
        compare_with(judge, (struct plan){.placement = PLACING_USERS}, placing_name(PLACING_USERS),
                     "with every page near its threads");
    else
        compare_with(judge, gains->advice, "advice", "with its memory placed as the findings advise");
}

/* The whole is no less than the largest of its parts, not even by what choose() takes for as fast. */
static struct factor compare(const struct judge *judge)
{
    struct prediction as_is = predict(judge->machine, judge->demand, PLACING_AS_IS);
    struct prediction best = predict_plan(judge->machine, judge->demand, &judge->best);
    struct factor factor = prediction_factor(&as_is, &best);
    double likely = fmax(factor.likely, judge->gains.largest);
    return (struct factor){likely, fmax(factor.low, 1), fmax(factor.high, likely)};
}

static enum matters matters_of(const struct factor *factor)
{
    return factor->low >= verdict_bound ? MATTERS : factor->high < verdict_bound ? MATTERS_NOT : MATTERS_UNDECIDED;
}

/* Whether more bursts would decide: what else is not known stays so. */
static bool more_would_decide(struct judge *judge)
{
    const double many = 1e6;
    struct demand *demand = judge->demand;
    double *errors = mem_zalloc((demand->threads.count + 1) * sizeof *errors);
    for (size_t i = 0; i < demand->threads.count; i++) {
        errors[i] = demand->threads.items[i].error;
        demand->threads.items[i].error = fmin(errors[i], demand_error(many));
    }
    struct factor factor = compare(judge);
    for (size_t i = 0; i < demand->threads.count; i++)
        demand->threads.items[i].error = errors[i];
    free(errors);
    return matters_of(&factor) != MATTERS_UNDECIDED;
}

/* ": a, b and c are on node 0, whose memory is the bottleneck"; "" when nothing stands out. */
static const char *cause(const struct judge *judge)
{
    struct findings *findings = judge->findings;
    const struct topology *topology = flow_topology(findings->facts->flow);
    const struct limit *limit = &judge->as_is.limit;
    int home = -1;
    const char *names = gain_causes(findings, judge->demand, &home);
    const char *end = "";
    if (limit->kind == LIMIT_MEMORY && *names && (int)limit->to == home)
        end = ", whose memory is the bottleneck";
    else if (limit->kind == LIMIT_MEMORY)
        end = findings_text(findings, "%s memory of node %d is the bottleneck", *names ? "; the" : ": the",
                            topology->nodes[limit->to].os_index);
    else if (limit->kind == LIMIT_LINK)
        end = findings_text(findings, "%s link from node %d to node %d is the bottleneck", *names ? "; the" : ": the",
                            topology->nodes[limit->from].os_index, topology->nodes[limit->to].os_index);
    return findings_text(findings, "%s%s", names, end);
}

static void by_run_time(struct judge *judge, const struct traffic *traffic)
{
    struct findings *findings = judge->findings;
    choose(judge);
    struct factor factor = compare(judge);
    findings->run_time = (struct run_time){factor.likely, factor.low, factor.high};
    findings->matters = matters_of(&factor);
    if (findings->matters == MATTERS)
        findings->verdict =
            findings_text(findings, "On %s this program would run about %.1f times as long as %s (%.1f to %.1f)%s.",
                          judge->on, factor.likely, judge->with, factor.low, factor.high, cause(judge));
    else if (findings->matters == MATTERS_NOT)
        findings->verdict =
            findings_text(findings,
                          "NUMA is not what slows this program on %s: %s it would save at most %.1f%% of "
                          "run time, bandwidth included (threshold: %.0f%%).",
                          judge->on, judge->with, findings_at_most(1 - 1 / factor.high), 100 * (1 - 1 / verdict_bound));
    else {
        bool more = more_would_decide(judge);
        findings->verdict = findings_text(
            findings,
            "Undecided whether NUMA slows this program on %s: it would run %.2f to %.2f times as long as "
            "%s, most likely %.2f times, and %.2f is the threshold%s.",
            judge->on, factor.low, factor.high, judge->with, factor.likely, verdict_bound,
            more ? findings_text(findings, " (from %llu pairs of bursts)", (unsigned long long)traffic->pairs)
                 : bounds_reason(findings, traffic));
        if (more && !*findings->decide)
            findings->decide = findings_record_more(findings, 4);
    }
}

/* A share of run time that latency costs, at this machine's latencies instead of those it was estimated with. */
static double share_there(const struct judge *judge, double share)
{
    const struct facts *facts = judge->findings->facts;
    const struct model *machine = judge->machine;
    uint32_t nodes = machine->node_count;
    double sum = 0, count = 0;
    for (uint32_t i = 0; i < nodes * nodes; i++) {
        double samples = i / nodes == i % nodes ? 0 : facts->weights.matrix[i];
        sum += samples * fmax(machine->latency[i] / machine->latency[i / nodes * nodes + i / nodes] - 1, 0);
        count += samples;
    }
    double scale = count > 0 && facts->remote_penalty > 0 ? sum / count / facts->remote_penalty : 1;
    return fmin(scale * share / (1 + (scale - 1) * share), 0.99);
}

static void by_latency(const struct judge *judge, const struct traffic *traffic, const char *why)
{
    struct findings *findings = judge->findings;
    double remote = facts_remote_ratio(findings->facts);
    double bound = findings->remote_time_bound, share = share_there(judge, findings->remote_time_share);
    double low = share_there(judge, findings->remote_time_low), high = share_there(judge, findings->remote_time_high);
    findings->run_time = (struct run_time){.factor = 1 / (1 - share), .low = 1 / (1 - low)};
    findings->matters = MATTERS_UNDECIDED;
    if (low >= bound) {
        findings->matters = MATTERS;
        findings->verdict =
            findings_text(findings,
                          "On %s latency alone makes this program run about %.1f times as long as with "
                          "every page near its threads (%.1f to %.1f). What bandwidth adds is not known: "
                          "%s.",
                          judge->on, 1 / (1 - share), 1 / (1 - low), 1 / (1 - high), why);
    } else if (high < bound && remote < NEXT_TO_NOTHING) {
        findings->matters = MATTERS_NOT;
        findings->run_time.high = 1 / (1 - high);
        findings->verdict =
            findings_text(findings,
                          "NUMA is not what slows this program on %s: %.1f%% of its accesses are remote; "
                          "their latency costs at most %.1f%% of run time (threshold: %.0f%%).",
                          judge->on, 100 * remote, findings_at_most(high), 100 * bound);
    } else {
        findings->verdict =
            findings_text(findings,
                          "Undecided whether NUMA slows this program on %s: latency alone costs %s%.1f%% "
                          "of run time (threshold: %.0f%%), and what bandwidth costs is not known: %s.",
                          judge->on, high < bound ? "at most " : "up to ", 100 * high, 100 * bound, why);
    }
    if (traffic->recorded && traffic->too_few && !*findings->decide)
        findings->decide =
            findings_record_more(findings, fmax(2, 2.0 * traffic_rules.pairs / (double)(traffic->pairs + 1)));
}

void verdict_predict(struct findings *findings, const struct model *machine)
{
    const struct facts *facts = findings->facts;
    struct error err = {0};
    if (facts->node_count < 2 || facts->node_count != machine->node_count || !facts->timed ||
        facts->totals.home_known == 0)
        return;
    struct judge judge = {.findings = findings, .machine = machine, .on = machine_text(findings, machine)};
    struct traffic *own = findings->traffic ? NULL : traffic_make(facts->flow);
    const struct traffic *traffic = own ? own : findings->traffic;
    judge.demand = demand_make(facts->flow, traffic, &err);
    findings->machine = findings_text(findings, "%s", machine->name && *machine->name ? machine->name : judge.on);
    if (judge.demand) {
        gain_predict(findings, machine, judge.demand, &judge.gains);
        gain_sort(findings);
        by_run_time(&judge, traffic);
        gains_free(&judge.gains);
    } else {
        const char *why = err.text;
        if (!bounds_verdict(findings, machine, traffic, judge.on, &why))
            by_latency(&judge, traffic, why);
    }
    findings->decided = findings->matters != MATTERS_UNDECIDED;
    findings->numa_bound = findings->matters == MATTERS;
    demand_free(judge.demand);
    traffic_free(own);
}
