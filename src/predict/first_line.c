/* See first_line.h. */
#include "predict/first_line.h"

#include "analysis/thresholds.h"
#include "analysis/traffic/traffic.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/units.h"
#include "machine/model.h"
#include "predict/gain.h"
#include "predict/recorded_machine.h"
#include "topology/calibration.h"
#include "trace/session.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct judge {
    struct findings *findings;
    const struct model *machine;
    const struct traffic *traffic;
    struct demand *demand;
    struct gains gains;
    struct capacity as_is, then;
    const char *with;             /* the placement of `then`, as a sentence has it */
    const char *on;               /* the machine, likewise */
    bool by_latency;              /* the waiting for remote memory decides, or could not */
    bool full;                    /* with threads on all CPUs another placement would matter */
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
        return findings_text(findings, "%.*s", (int)length, length ? title : MACHINE_HERE);
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
        if (capacity_ratio(&other) > (1 - thresholds.off_by) * capacity_ratio(&judge->then))
            continue;
        judge->then = other;
        judge->with = others[i].with;
        judge->findings->against = placing_name(others[i].placement);
    }
}

/* How much longer a remote access takes than a local one that misses the caches too, on this machine and over the accesses that are
 * remote; the facts' own where none is. */
static double penalty_there(const struct facts *facts, const struct model *machine)
{
    uint32_t nodes = machine->node_count;
    double sum = 0, count = 0;
    for (uint32_t i = 0; i < nodes * nodes; i++) {
        double samples = i / nodes == i % nodes ? 0 : facts->weights.matrix[i];
        sum += samples * fmax(machine->latency[i] / machine->latency[i / nodes * nodes + i / nodes] - 1, 0);
        count += samples;
    }
    return count > 0 && facts->remote_penalty > 0 ? sum / count : facts->remote_penalty;
}

/* A share of run time that latency costs, at this machine's latencies instead of those it was estimated with. */
static double share_there(const struct findings *findings, double share)
{
    double own = findings->facts->remote_penalty, scale = own > 0 ? findings->penalty / own : 1;
    return fmin(scale * share / (1 + (scale - 1) * share), 0.99);
}

/* "4.1 GB/s of memory traffic (3.6 to 4.6)"; in MB/s where all of it is less than 1 GB/s. */
static const char *rate(struct findings *findings, const char *what, double value, double low, double high)
{
    bool small = high < 1e9;
    double unit = small ? 1e6 : 1e9;
    int digits = !small && value < 10e9;
    return findings_text(findings, "%.*f %s %s(%.*f to %.*f)", digits, value / unit, small ? "MB/s" : "GB/s", what,
                         digits, low / unit, digits, high / unit);
}

/* "memory of node 0 would be asked for 26 GB/s (21 to 35) and can deliver 10" */
static const char *asked_text(const struct judge *judge, const struct capacity *capacity)
{
    struct findings *findings = judge->findings;
    return findings_text(findings, "%s would be asked for %s and can deliver %.0f%s", gain_where(findings, capacity),
                         rate(findings, "", capacity->asked, capacity->low, capacity->high), capacity->can / 1e9,
                         capacity->high < 1e9 ? " GB/s" : "");
}

static const char *capital(struct findings *findings, const char *text)
{
    return findings_text(findings, "%c%s", toupper((unsigned char)*text), text + (*text != 0));
}

static void add(struct findings *findings, const char *sentence)
{
    bool first = !findings->verdict_lines;
    findings->verdict_lines = findings_text(findings, "%s%s%s", first ? "" : findings->verdict_lines, first ? "" : "\n",
                                            capital(findings, sentence));
}

/* Another sentence, on a line of its own. */
static void put(struct judge *judge, const char *sentence)
{
    add(judge->findings, sentence);
}

/* "Of its 4.1 GB/s of memory traffic (3.6 to 4.6), 74% is remote (70% to 78%), most of it in plate." */
static const char *measured(const struct judge *judge)
{
    struct findings *findings = judge->findings;
    if (!judge->demand)
        return findings_text(findings, "%.1f%% of its accesses are remote.", 100 * facts_remote_ratio(findings->facts));
    if (judge->as_is.can <= 0)
        return "next to nothing comes from memory.";
    const char *all = rate(findings, "of memory traffic ", findings->bytes, findings->bytes_low, findings->bytes_high);
    const char *causes = findings->remote_bytes > 0 ? gain_causes(findings, judge->demand) : "";
    return findings->remote_bytes < 0
               ? findings_text(findings, "it has %s; how much of it is remote is not known.", all)
               : findings_text(findings, "of its %s, %.0f%% is remote (%.0f%% to %.0f%%)%s%s.", all,
                               100 * findings->remote_bytes, 100 * findings->remote_bytes_low,
                               100 * findings->remote_bytes_high, *causes ? ", most of it in " : "", causes);
}

/* Bytes of the last cache that loads were timed with, where the machine has a smaller one; else 0. */
static double larger_cache(const struct judge *judge)
{
    const struct calibration *calibration = flow_calibration(judge->findings->facts->flow);
    double there = 0;
    for (uint32_t i = 0; i < judge->machine->cache_count; i++)
        there = fmax(there, (double)judge->machine->caches[i].bytes);
    double here =
        calibration && calibration->cache_count ? (double)calibration->caches[calibration->cache_count - 1].size : 0;
    return there > 0 && here > there ? here : 0;
}

/* "waiting for remote memory takes 1.2% to 3.4% of its time (threshold: 5%)" */
static const char *latency_text(const struct judge *judge)
{
    return findings_text(judge->findings,
                         "waiting for remote memory takes %.1f%% to %.1f%% of its time (threshold: %.0f%%)",
                         100 * judge->share_low, 100 * judge->share_high, 100 * judge->findings->remote_time_bound);
}

/* What the waiting is counted with. */
static void put_assumed(struct judge *judge)
{
    double cache = larger_cache(judge);
    if (judge->by_latency && judge->findings->matters == MATTERS)
        put(judge, "waiting is an upper bound: it assumes that no latency overlaps with work.");
    if (judge->by_latency && cache > 0)
        put(judge,
            findings_text(judge->findings, "Loads were timed with a last cache of %s, larger than that machine's.",
                          number_bytes((uint64_t)cache)));
}

/* Whether, on which machine, and the number that decides; then what was measured. */
static void say(struct judge *judge, enum matters matters, const char *bottleneck, const char *why)
{
    static const char *const words[] = {[MATTERS_UNDECIDED] = "Undecided whether NUMA slows this program",
                                        [MATTERS_NOT] = "NUMA is not what slows this program",
                                        [MATTERS] = "NUMA slows this program"};
    struct findings *findings = judge->findings;
    findings->matters = matters;
    findings->bottleneck = bottleneck;
    put(judge, findings_text(findings, "%s on %s: %s.", words[matters], judge->on, why));
    put(judge, measured(judge));
}

static bool less(const struct capacity *then, const struct capacity *as_is)
{
    return capacity_ratio(then) <= (1 - thresholds.off_by) * capacity_ratio(as_is);
}

/* Whether another placement asks clearly less of what is asked for most. */
static bool relieved(const struct judge *judge)
{
    return less(&judge->then, &judge->as_is);
}

static void by_capacity(struct judge *judge)
{
    struct findings *findings = judge->findings;
    const char *where = gain_where(findings, &judge->as_is);
    say(judge, MATTERS, where,
        findings_text(findings, "%s would be asked for %.1f times what it can deliver", where,
                      capacity_ratio(&judge->as_is)));
    put(judge, findings_text(findings, "%s.", asked_text(judge, &judge->as_is)));
    put(judge,
        findings_text(findings, "%s, no memory or link would be asked for more than %.1f times what it can deliver.",
                      judge->with, capacity_ratio(&judge->then)));
}

/* A PMU's samples show no prefetched bytes, nor what is written back. */
static const char *unknown_bytes(const struct judge *judge)
{
    return findings_text(judge->findings, "how many bytes come from memory is not known%s",
                         traffic_is_sampled(judge->traffic->flow) ? " (record --source soft counts them)" : "");
}

/* What is asked for of what can be delivered, besides or alone. */
static void put_asked(struct judge *judge, const char *besides)
{
    if (!judge->demand)
        put(judge, findings_text(judge->findings, "%s.", unknown_bytes(judge)));
    else if (judge->as_is.can > 0)
        put(judge, findings_text(judge->findings, "%s%s.", asked_text(judge, &judge->as_is), besides));
}

static void by_latency(struct judge *judge, enum matters matters, const char *besides)
{
    say(judge, matters, matters == MATTERS ? "latency of remote memory" : NULL, latency_text(judge));
    judge->by_latency = true;
    put_asked(judge, besides);
}

/* "memory of node 0 would be asked for 0.8 to 1.4 times what it can deliver" */
static const char *perhaps_asked(const struct judge *judge)
{
    const struct capacity *as_is = &judge->as_is;
    return findings_text(judge->findings, "%s would be asked for %.1f to %.1f times what it can deliver",
                         gain_where(judge->findings, as_is), as_is->low / as_is->can, as_is->high / as_is->can);
}

/* What is open is said first: waiting, what is asked for, or how many bytes there are. */
static void undecided(struct judge *judge)
{
    const struct traffic *traffic = judge->traffic;
    bool asked = judge->demand && judge->as_is.can > 0;
    if (judge->share_high >= judge->findings->remote_time_bound || (judge->demand && !asked)) {
        by_latency(judge, MATTERS_UNDECIDED, "");
    } else {
        say(judge, MATTERS_UNDECIDED, NULL, asked ? perhaps_asked(judge) : unknown_bytes(judge));
        put(judge, findings_text(judge->findings, "%s.", latency_text(judge)));
        judge->by_latency = true;
        if (asked)
            put_asked(judge, "");
    }
    if (judge->demand && traffic->at_most)
        put(judge, findings_text(judge->findings, "Long bursts show caches of up to %s, and a thread has %s there.",
                                 number_bytes((uint64_t)traffic->known_cache), number_bytes((uint64_t)traffic->cache)));
}

static void harmless_by_both(struct judge *judge, enum grade grade)
{
    by_latency(judge, MATTERS_NOT, grade <= GRADE_UNDER ? "" : ", which no placement changes");
    if (judge->demand)
        put(judge, "not counted: lines that threads share, waiting at barriers, moving pages.");
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
        known ? grade == GRADE_UNDER || !relieved(judge) : facts_remote_ratio(findings->facts) < thresholds.of_all;
    if (grade == GRADE_OVER && relieved(judge))
        by_capacity(judge);
    else if (judge->share_low >= bound)
        by_latency(judge, MATTERS, "");
    else if (harmless && judge->share_high < bound)
        harmless_by_both(judge, grade);
    else
        undecided(judge);
}

/* "memory of node 0 may be asked for 31 to 195 GB/s and can deliver 59" */
static const char *may_be_asked_text(const struct judge *judge, const struct capacity *capacity)
{
    struct findings *findings = judge->findings;
    return findings_text(findings, "%s may be asked for %.0f to %.0f GB/s and can deliver %.0f",
                         gain_where(findings, capacity), capacity->low / 1e9, capacity->high / 1e9,
                         capacity->can / 1e9);
}

/* What all CPUs would ask for, if each of their threads had so much of the caches, and did what those of the recording do. */
static bool ask_all_cpus(const struct judge *judge, double cache, struct capacity *full, bool *differs)
{
    const struct flow *flow = judge->findings->facts->flow;
    struct error ignored = {0};
    struct traffic *traffic = traffic_make(flow, cache);
    struct demand *demand = demand_make(flow, traffic, &ignored);
    if (demand) {
        *full = capacity_of(judge->machine, demand, &(struct plan){PLACING_AS_IS, .all_cpus = true});
        struct capacity near = capacity_of(judge->machine, demand, &(struct plan){PLACING_USERS, .all_cpus = true});
        struct capacity even =
            capacity_of(judge->machine, demand, &(struct plan){PLACING_INTERLEAVE, .all_cpus = true});
        *differs = less(&near, full) || less(&even, full);
    }
    bool known = demand != NULL;
    demand_free(demand);
    traffic_free(traffic);
    return known;
}

/* "With a thread on each of its 32 CPUs, memory of node 0 would be asked for 90 GB/s (67 to 120) and can deliver 60." Fewer threads than a
 * machine has CPUs say little of what it can take; who records on a small one cannot have more. More threads share the work out, so that
 * each uses less memory, or do more work: the interval has both. What to do is said where it is sure that more is asked for than can be
 * delivered; an interval from next to nothing on says nothing. */
static void put_all_cpus(struct judge *judge)
{
    struct findings *findings = judge->findings;
    const struct model *machine = judge->machine;
    uint32_t cpus = machine->cpus_per_node * machine->node_count;
    size_t threads = judge->demand ? judge->demand->threads.count : 0;
    if (threads < 2 || threads >= cpus)
        return;
    double cache = machine_cache(machine, findings->facts->flow, true), times = (double)cpus / (double)threads;
    struct capacity full, divided;
    bool differs, ignored;
    if (!ask_all_cpus(judge, cache, &full, &differs) || !ask_all_cpus(judge, times * cache, &divided, &ignored))
        return;
    full.low = fmin(full.low, divided.low);
    findings->on_all_cpus = (struct asked){full.asked, full.low, full.high, full.can};
    findings->all_cpus_grade = grade_name(capacity_grade(&full));
    judge->full = differs && capacity_grade(&full) == GRADE_OVER;
    if (judge->full || (differs && capacity_ratio(&full) > thresholds.near && full.low > thresholds.part * full.can))
        put(judge, findings_text(findings, "With a thread on each of its %u CPUs, %s.", cpus,
                                 judge->full ? asked_text(judge, &full) : may_be_asked_text(judge, &full)));
}

/* What shortens the waiting for data that all threads use: no place is near them all. */
static const char *instead_of_placing(struct findings *findings, const struct finding *finding)
{
    return findings_text(
        findings,
        finding->prove ? "Keep a copy of %s on each node, once it is proved that no thread writes it."
                       : "Give each thread a part of %s, or a copy, of its own: no place is near all that use it.",
        finding->name);
}

/* Interleaved, or on another node as a whole, an object is as remote as before. */
static bool leaves_remote(const struct advice *advice)
{
    return advice->action == ACTION_INTERLEAVE || advice->action == ACTION_SPREAD;
}

/* Where waiting decides, what leaves an object as remote comes last. */
static void advise_nearness(struct judge *judge)
{
    struct findings *findings = judge->findings;
    array_each (&findings->items, struct finding, finding) {
        struct advice *advice = finding->advice.items;
        size_t near = 0, count = finding->advice.count;
        for (size_t i = 0; i < count && finding->subject; i++) {
            struct advice one = advice[i];
            if (leaves_remote(&one)) {
                advice[i].why = findings_text(findings, "%s; as many accesses stay remote", one.why);
                continue;
            }
            memmove(&advice[near + 1], &advice[near], (i - near) * sizeof *advice);
            advice[near++] = one;
        }
        bool any = finding->subject && near < count;
        if (any && (finding->prove || near == 0) && finding->lost_time_share >= thresholds.worth_changing)
            finding->instead = instead_of_placing(findings, finding);
    }
}

/* "Let each thread initialise the part it uses (first touch): plate." */
static void put_to_do(struct judge *judge)
{
    struct findings *findings = judge->findings;
    size_t at = 0, count = findings->items.count;
    while (judge->full && at < count && findings->items.items[at].then.can <= 0)
        at++; /* it is not about what placing memory can change */
    const struct finding *first = at < count ? &findings->items.items[at] : NULL;
    if ((findings->matters != MATTERS && !judge->full) || !first)
        return;
    if (first->instead && first->prove)
        put(judge, findings_text(findings, "%s To prove it: %s", first->instead, first->prove));
    else if (first->instead)
        put(judge, first->instead);
    else if (first->advice.count)
        put(judge, findings_text(findings, "%s: %s.", action_text(first->advice.items[0].action), first->name));
}

/* "Sampling took 40% of its time (--budget: 2%), which slows what it measures." */
static void put_sampling_cost(struct judge *judge)
{
    struct findings *findings = judge->findings;
    const struct trace_session *session = flow_session(findings->facts->flow),
                               *ending = flow_ending(findings->facts->flow);
    double cpu = ending ? (double)trace_session_number(ending, "cpu_ns", 0) : 0;
    double took = cpu > 0 ? (double)trace_session_number(ending, "handler_ns", 0) / cpu : 0;
    double budget = session ? (double)trace_session_number(session, "budget_ppm", 0) * 1e-6 : 0;
    bool slows = took >= thresholds.part, over = budget > 0 && took > thresholds.over_budget * budget;
    if (!slows && !over)
        return;
    put(judge, findings_text(findings, "Sampling took %.*f%% of its time%s%s.", took < 0.1, 100 * took,
                             over ? findings_text(findings, " (--budget: %.4g%%)", 100 * budget) : "",
                             slows ? ", which slows what it measures" : ""));
}

static void take(struct judge *judge, struct error *err)
{
    struct findings *findings = judge->findings;
    const struct traffic *traffic = judge->traffic;
    double error;
    findings->bytes = traffic_total(&traffic->all);
    findings->bytes_low = fmax(traffic->all.lower_bound - 2 * traffic->all.error, 0);
    findings->bytes_high = findings->bytes + 2 * traffic->all.error;
    findings->remote_bytes = traffic_remote_share(traffic, &error);
    findings->remote_bytes_low = fmax(findings->remote_bytes - 2 * error, 0);
    findings->remote_bytes_high = fmin(findings->remote_bytes + 2 * error, 1);
    judge->demand = demand_make(findings->facts->flow, traffic, err);
    if (!judge->demand)
        return;
    judge->as_is = capacity_of(judge->machine, judge->demand, &(struct plan){.placement = PLACING_AS_IS});
    gain_predict(findings, judge->machine, judge->demand, &judge->as_is, &judge->gains);
    gain_sort(findings);
    choose(judge);
    findings->against = relieved(judge) ? findings->against : NULL;
    findings->asked = (struct asked){judge->as_is.asked, judge->as_is.low, judge->as_is.high, judge->as_is.can};
    if (findings->against)
        findings->then = (struct asked){judge->then.asked, judge->then.low, judge->then.high, judge->then.can};
    findings->grade = grade_name(capacity_grade(&judge->as_is));
}

/* Of the CPU time, what remote lines can take at most: each waits for no longer than its way from another node is longer, one after the
 * other. Loads that were timed may have missed a cache that others filled; how many lines a cache of that size leaves to memory is
 * known apart from that. Bytes are of all nodes' pairs alike read and written; `errors`: of them, standard ones that are added. */
static double waiting_at_most(const struct traffic *traffic, const struct model *machine, double errors)
{
    uint32_t nodes = machine->node_count;
    double total = traffic_total(&traffic->all), cpu_s = 0, ns = 0;
    array_each (&traffic->threads, const struct traffic_thread, thread)
        cpu_s += thread->user_s;
    if (traffic->source != TRAFFIC_BURSTS || traffic->too_few || !traffic->all.is_rated || total <= 0 || cpu_s <= 0)
        return 1;
    for (uint32_t i = 0; i < nodes * nodes; i++) {
        double near = machine->latency[i / nodes * nodes + i / nodes];
        ns += traffic->node_pairs[i] / CACHE_LINE * traffic->seconds * fmax(machine->latency[i] - near, 0);
    }
    double unplaced = traffic->unplaced < total ? total / (total - traffic->unplaced) : 1;
    return ns * unplaced * (traffic->all.read / total) * (1 + errors * traffic->all.error / total) * 1e-9 / cpu_s;
}

static const char *on_one_line(struct findings *findings)
{
    char *text = mem_strdup(findings->verdict_lines);
    for (char *end = strchr(text, '\n'); end; end = strchr(end, '\n'))
        *end = ' ';
    const char *kept = findings_text(findings, "%s", text);
    free(text);
    return kept;
}

/* What a machine with several nodes can measure need not be estimated. */
static void add_to_measure(struct findings *findings)
{
    const struct topology *topology = flow_topology(findings->facts->flow);
    if (topology->simulated || topology->node_count < 2 || findings->matters == MATTERS_NOT)
        return;
    const char *app = findings_app(findings);
    findings->verdict_lines = findings->verdict_lines ? findings->verdict_lines : findings->verdict;
    add(findings, findings_text(findings,
                                "To measure other placements: numalens compare -- %s (all of them), or numalens "
                                "optimize -- %s (keeps what helps).",
                                app, app));
    findings->verdict = on_one_line(findings);
}

static void judge_on(struct findings *findings, const struct model *machine)
{
    struct error err = {0};
    struct judge judge = {
        .findings = findings, .machine = machine, .traffic = findings->traffic, .on = machine_text(findings, machine)};
    judge.share_low = share_there(findings, findings->remote_time_low);
    judge.share_high = share_there(findings, findings->remote_time_high);
    take(&judge, &err);
    findings->remote_time_low = judge.share_low = fmin(judge.share_low, waiting_at_most(judge.traffic, machine, 0));
    findings->remote_time_high = judge.share_high = fmin(judge.share_high, findings->most);
    findings->remote_time_share = fmin(share_there(findings, findings->remote_time_share), findings->most);
    if ((double)findings->facts->bursts < thresholds.fewest_bursts) {
        findings->matters = MATTERS_UNDECIDED;
        put(&judge, "too few samples to say.");
    } else {
        decide(&judge);
        if (findings->matters != MATTERS)
            put_all_cpus(&judge);
        else if (judge.by_latency)
            advise_nearness(&judge);
        if (judge.demand || findings->matters == MATTERS_NOT)
            gain_drop_small(findings, &judge.as_is,
                            judge.full || (capacity_grade(&judge.as_is) > GRADE_UNDER && relieved(&judge)));
        put_to_do(&judge);
        put_assumed(&judge);
    }
    put_sampling_cost(&judge);
    findings->verdict = on_one_line(findings);
    findings->decided = findings->matters != MATTERS_UNDECIDED;
    findings->numa_bound = findings->matters == MATTERS;
    if (findings->undecided.count == 0 &&
        (judge.share_low >= findings->remote_time_bound || judge.share_high < findings->remote_time_bound))
        findings->decide = ""; /* what is open is no matter of more bursts */
    if (!findings->decided && !*findings->decide && judge.traffic->recorded && judge.traffic->too_few)
        findings->decide =
            findings_deciding(findings, fmax(2, 2.0 * thresholds.long_bursts / (double)(judge.traffic->bursts + 1)));
    gains_free(&judge.gains);
    demand_free(judge.demand);
}

struct findings *findings_judged(const struct facts *facts, const struct model *machine)
{
    const struct flow *flow = facts->flow;
    struct model *own = machine ? NULL : recorded_machine(flow_session(flow), flow_topology(flow), NULL);
    machine = machine ? machine : own;
    if (!machine || facts->node_count < 2 || facts->node_count != machine->node_count || !facts->timed ||
        !facts->totals.home_known) {
        model_free(own);
        struct findings *findings = findings_make(facts);
        add_to_measure(findings);
        return findings;
    }
    const char *name = machine->name && *machine->name ? machine->name : MACHINE_HERE;
    struct traffic *traffic = traffic_make(flow, machine_cache(machine, flow, false));
    struct findings *findings = findings_make_on(
        facts, &(struct judged_on){name, penalty_there(facts, machine), waiting_at_most(traffic, machine, 2)});
    findings->traffic = traffic;
    judge_on(findings, machine);
    add_to_measure(findings);
    model_free(own);
    return findings;
}

struct findings *findings_of(const struct flow *flow, const struct model *machine, struct error *err)
{
    struct facts *facts = facts_make(flow, err);
    struct findings *findings = facts ? findings_judged(facts, machine) : NULL;
    if (findings)
        findings->own_facts = facts;
    return findings;
}
