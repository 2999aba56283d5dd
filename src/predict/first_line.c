/* See first_line.h. */
#include "predict/first_line.h"

#include "analysis/traffic/traffic.h"
#include "machine/model.h"
#include "predict/gain.h"
#include "predict/recorded_machine.h"
#include "trace/session.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double NEXT_TO_NOTHING =
    0.01; /* of the accesses are remote: whatever comes from memory, it is not another node's */

/* Part of the CPU time: docs/performance.md has what sampling takes within its budget, a fifth of this. */
static const double MUCH_SAMPLING = 0.1;

/* Of so many none shows what takes a tenth of the time once in 24 recordings (0.9 to the 30th). */
enum { FEWEST_BURSTS = 30 };

struct judge {
    struct findings *findings;
    const struct model *machine;
    const struct traffic *traffic;
    struct demand *demand;
    struct gains gains;
    struct capacity as_is, then;
    const char *with;             /* the placement of `then`, as a sentence has it */
    const char *on;               /* the machine, likewise */
    double share_low, share_high; /* of the time that waiting for remote memory takes there */
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

/* The placement under which least is asked for, of what findings advise, pages near their threads, and interleaved ones; the first of
 * those that differ by what is not clear. */
static void choose(struct judge *judge)
{
    static const struct {
        enum placing placement;
        const char *with;
    } others[] = {{PLACING_USERS, "with every page near its threads"},
                  {PLACING_INTERLEAVE, "with its pages interleaved over the nodes"}};
    judge->then = judge->gains.advised;
    judge->with = "with its memory placed as the findings advise";
    judge->findings->against = "advice";
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct capacity other =
            capacity_of(judge->machine, judge->demand, &(struct plan){.placement = others[i].placement});
        if (capacity_ratio(&other) > clearly_less * capacity_ratio(&judge->then))
            continue;
        judge->then = other;
        judge->with = others[i].with;
        judge->findings->against = placing_name(others[i].placement);
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

/* "4.1 GB/s (3.6 to 4.6)" */
static const char *rate(struct findings *findings, double value, double low, double high)
{
    const char *format = value < 10e9 ? "%.1f GB/s (%.1f to %.1f)" : "%.0f GB/s (%.0f to %.0f)";
    char text[96];
    snprintf(text, sizeof text, format, value / 1e9, low / 1e9, high / 1e9); /* NOLINT: one of the two above */
    return findings_text(findings, "%s", text);
}

/* "memory of node 0 would be asked for 26 GB/s (21 to 35) and can deliver 10" */
static const char *asked_text(const struct judge *judge, const struct capacity *capacity)
{
    char where[LIMIT_TEXT];
    struct findings *findings = judge->findings;
    return findings_text(findings, "%s would be asked for %s and can deliver %.0f", limit_text(&capacity->where, where),
                         rate(findings, capacity->asked, capacity->low, capacity->high), capacity->can / 1e9);
}

/* " Of the 4.1 GB/s (3.6 to 4.6) between its caches and memory 74% are another node's, most of them of plate." */
static const char *measured(const struct judge *judge)
{
    struct findings *findings = judge->findings;
    if (!judge->demand)
        return "";
    const char *all = rate(findings, findings->bytes, findings->bytes_low, findings->bytes_high);
    const char *causes = findings->remote_bytes > 0 ? gain_causes(findings, judge->demand) : "";
    return findings->remote_bytes < 0
               ? findings_text(findings, " %s pass between its caches and memory.", all)
               : findings_text(findings, " Of the %s between its caches and memory %.0f%% are another node's%s%s.", all,
                               100 * findings->remote_bytes, *causes ? ", most of them of " : "", causes);
}

static const char *latency_text(const struct judge *judge)
{
    return findings_text(judge->findings, "waiting for memory of other nodes takes %.1f%% to %.1f%% of its time",
                         100 * judge->share_low, 100 * judge->share_high);
}

static const char *capital(struct findings *findings, const char *text)
{
    return findings_text(findings, "%c%s", toupper((unsigned char)*text), text + (*text != 0));
}

/* What no one is asked for more of than it has: "" where that is not known. */
static const char *enough(const struct judge *judge)
{
    if (!judge->demand)
        return " How many bytes come from memory is not known.";
    if (judge->as_is.can <= 0)
        return " Next to nothing comes from memory.";
    return findings_text(judge->findings, " %s.", capital(judge->findings, asked_text(judge, &judge->as_is)));
}

static void say(struct judge *judge, enum matters matters, const char *bottleneck, const char *text)
{
    judge->findings->matters = matters;
    judge->findings->bottleneck = bottleneck;
    judge->findings->verdict = text;
}

/* Whether another placement asks clearly less of what is asked for most. */
static bool relieved(const struct judge *judge)
{
    return capacity_ratio(&judge->then) <= clearly_less * capacity_ratio(&judge->as_is);
}

static void by_capacity(struct judge *judge)
{
    struct findings *findings = judge->findings;
    char where[LIMIT_TEXT];
    say(judge, MATTERS, findings_text(findings, "%s", limit_text(&judge->as_is.where, where)),
        findings_text(
            findings,
            "NUMA slows this program on %s: %s; %s no memory or link is asked for more than %.0f%% of what it can.%s",
            judge->on, asked_text(judge, &judge->as_is), judge->with, 100 * capacity_ratio(&judge->then),
            measured(judge)));
}

static void undecided(struct judge *judge)
{
    struct findings *findings = judge->findings;
    const struct traffic *traffic = judge->traffic;
    bool near = judge->demand && relieved(judge) && capacity_grade(&judge->as_is) >= GRADE_NEAR;
    const char *why = "";
    if (judge->demand && traffic->at_most)
        why = findings_text(findings, " Long bursts show caches of up to %.0f MB, and a thread has %.0f there.",
                            traffic->known_cache / 1e6, traffic->cache / 1e6);
    say(judge, MATTERS_UNDECIDED, NULL,
        near ? findings_text(findings,
                             "Undecided whether NUMA slows this program on %s: %s, and %s (threshold: %.0f%%).%s%s",
                             judge->on, asked_text(judge, &judge->as_is), latency_text(judge),
                             100 * findings->remote_time_bound, measured(judge), why)
             : findings_text(findings, "Undecided whether NUMA slows this program on %s: %s (threshold: %.0f%%).%s%s",
                             judge->on, latency_text(judge), 100 * findings->remote_time_bound, enough(judge),
                             measured(judge)));
}

/* One rule: more is asked of a memory or a link than it can deliver, and another placement changes that; or waiting for
 * memory of other nodes takes its share of the time. Neither, where both are known not to be so. */
static void decide(struct judge *judge)
{
    struct findings *findings = judge->findings;
    double bound = findings->remote_time_bound;
    bool known = judge->demand != NULL;
    enum grade grade = known ? capacity_grade(&judge->as_is) : GRADE_UNKNOWN;
    bool harmless =
        known ? grade == GRADE_UNDER || !relieved(judge) : facts_remote_ratio(findings->facts) < NEXT_TO_NOTHING;
    if (grade == GRADE_OVER && relieved(judge))
        by_capacity(judge);
    else if (judge->share_low >= bound)
        say(judge, MATTERS, "latency of remote memory",
            findings_text(findings, "NUMA slows this program on %s: %s, if no latency overlaps with work.%s%s",
                          judge->on, latency_text(judge), measured(judge), enough(judge)));
    else if (harmless && judge->share_high < bound)
        say(judge, MATTERS_NOT, NULL,
            findings_text(findings, "NUMA is not what slows this program on %s: %s (threshold: %.0f%%).%s%s%s",
                          judge->on, latency_text(judge), 100 * bound, enough(judge),
                          grade == GRADE_UNDER ? "" : " No placement changes that.", measured(judge)));
    else
        undecided(judge);
}

/* " Let each thread initialise the part it uses (first touch): plate." */
static const char *to_do(struct findings *findings)
{
    const struct finding *first = findings->items.count ? findings->items.items : NULL;
    if (findings->matters != MATTERS || !first || first->advice.count == 0)
        return "";
    return findings_text(findings, " %s: %s.", capital(findings, action_text(first->advice.items[0].action)),
                         first->name);
}

/* " Sampling took 40% of its time, which slows what it measures." */
static const char *sampling_cost(struct findings *findings)
{
    const struct trace_session *ending = flow_ending(findings->facts->flow);
    uint64_t took = ending ? trace_session_number(ending, "handler_ns", 0) : 0;
    uint64_t cpu = ending ? trace_session_number(ending, "cpu_ns", 0) : 0;
    if (cpu == 0 || (double)took < MUCH_SAMPLING * (double)cpu)
        return "";
    return findings_text(findings, " Sampling took %.0f%% of its time, which slows what it measures.",
                         100 * (double)took / (double)cpu);
}

static void take(struct judge *judge, struct error *err)
{
    struct findings *findings = judge->findings;
    const struct traffic *traffic = judge->traffic;
    findings->bytes = traffic_total(&traffic->all);
    findings->bytes_low = fmax(traffic->all.least - 2 * traffic->all.error, 0);
    findings->bytes_high = findings->bytes + 2 * traffic->all.error;
    findings->remote_bytes = traffic_remote_share(traffic);
    judge->demand = demand_make(findings->facts->flow, traffic, err);
    if (!judge->demand)
        return;
    judge->as_is = capacity_of(judge->machine, judge->demand, &(struct plan){.placement = PLACING_AS_IS});
    gain_predict(findings, judge->machine, judge->demand, &judge->as_is, &judge->gains);
    gain_sort(findings);
    choose(judge);
    findings->asked = (struct asked){judge->as_is.asked, judge->as_is.low, judge->as_is.high, judge->as_is.can};
    findings->then = (struct asked){judge->then.asked, judge->then.low, judge->then.high, judge->then.can};
    findings->grade = grade_name(capacity_grade(&judge->as_is));
}

static void judge_on(struct findings *findings, const struct model *machine)
{
    struct error err = {0};
    struct judge judge = {
        .findings = findings, .machine = machine, .traffic = findings->traffic, .on = machine_text(findings, machine)};
    findings->machine = findings_text(findings, "%s", machine->name && *machine->name ? machine->name : judge.on);
    judge.share_low = share_there(&judge, findings->remote_time_low);
    judge.share_high = share_there(&judge, findings->remote_time_high);
    take(&judge, &err);
    if (findings->facts->bursts < FEWEST_BURSTS)
        say(&judge, MATTERS_UNDECIDED, NULL, "Too few samples to say.");
    else
        decide(&judge);
    findings->verdict = findings_text(findings, "%s%s%s", findings->verdict, to_do(findings), sampling_cost(findings));
    findings->decided = findings->matters != MATTERS_UNDECIDED;
    findings->numa_bound = findings->matters == MATTERS;
    if (!findings->decided && !*findings->decide && judge.traffic->recorded && judge.traffic->too_few)
        findings->decide =
            findings_record_more(findings, fmax(2, 2.0 * traffic_rules.bursts / (double)(judge.traffic->bursts + 1)));
    gains_free(&judge.gains);
    demand_free(judge.demand);
}

struct findings *findings_judged(const struct facts *facts, const struct model *machine)
{
    struct findings *findings = findings_make(facts);
    const struct flow *flow = facts->flow;
    struct model *own = machine ? NULL : recorded_machine(flow_session(flow), flow_topology(flow), NULL);
    machine = machine ? machine : own;
    if (machine && facts->node_count > 1 && facts->node_count == machine->node_count && facts->timed &&
        facts->totals.home_known) {
        findings->traffic = traffic_make(flow, machine_cache(machine, flow));
        judge_on(findings, machine);
    }
    model_free(own);
    return findings;
}
