/* analysis/findings/findings_verdict.c - whether NUMA slows the program at all, as an interval; and the command that would decide what is
 * undecided.
 *
 * The cost is a mean over bursts. Its interval is the mean's, at 90%, and as wide again as what so many bursts may not have
 * seen: with none of n showing something, 3 of n bursts may still have it (95%), each with all the time that distance can
 * take. So few bursts that all show nothing do not prove that there is nothing. Two runs of one program differ by more than
 * that: by how threads were scheduled, and by what else used the caches. What that makes is added to both sides. Hardware samples of
 * different periods are worth fewer that weigh the same: what the others may not have seen widens both sides, too. */
#include "analysis/findings/findings_internal.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double UNSEEN = 3; /* the rule of three */

enum { COMMAND_MAX = 400 };

/* What placement can change: not what threads write in turn, nor tables of libraries, whose place is the loader's and which stay in
 * the caches of every node that reads them. */
static double placement_time(const struct facts *facts)
{
    double lost = facts->remote_time;
    array_each (&facts->objects, const struct facts_subject, object)
        lost -= object->remote_time - (subject_loaded(facts, object) ? 0 : placement_loss(object));
    return lost > 0 ? lost : 0;
}

/* The part of a burst's time that distance can take at most. */
static double most_of_a_burst(const struct facts *facts)
{
    double penalty = facts->remote_penalty > 0 ? facts->remote_penalty : 1;
    return penalty / (1 + penalty);
}

void findings_cost_interval(const struct findings *findings, double bursts, double *low, double *high)
{
    const struct facts *facts = findings->facts;
    double mean = findings->remote_time_share;
    double part = facts->remote_time > 0 ? mean / facts->remote_time : 1; /* without lines that threads write in turn */
    double side =
        hypot(NORMAL_95_ONE_SIDE * part * sqrt(facts->remote_time_variance / bursts), thresholds.run_to_run * mean);
    double unseen = UNSEEN * most_of_a_burst(facts) / facts_bursts_worth(facts, bursts);
    *high = fmin(mean + side + unseen, 1);
    *low = fmax(mean - side - (unseen - UNSEEN * most_of_a_burst(facts) / bursts), 0);
}

static const char *burst_count(struct findings *findings)
{
    return findings_text(findings, "%lu burst%s", (unsigned long)findings->facts->bursts,
                         findings->facts->bursts == 1 ? "" : "s");
}

static void judge_untimed(struct findings *findings, double ratio)
{
    double bound = thresholds.remote_time,
           bursts = facts_bursts_worth(findings->facts, (double)findings->facts->bursts);
    struct wilson interval = wilson_interval(ratio, bursts);
    findings->remote_time_bound = bound;
    findings->numa_bound = ratio >= bound;
    findings->decided = interval.low >= bound || interval.high < bound;
    findings->matters = findings->decided && !findings->numa_bound ? MATTERS_NOT : MATTERS_UNDECIDED;
    const char *verdict = !findings->decided     ? "Undecided whether NUMA slows this program"
                          : findings->numa_bound ? "NUMA may slow this program"
                                                 : "NUMA is not what slows this program";
    findings->verdict = findings_text(findings,
                                      "%s: %.1f%% of the accesses are remote (%.1f%% to %.1f%%, from %s; threshold: "
                                      "%.0f%%). No latency was recorded, so their time is not known.",
                                      verdict, 100 * ratio, 100 * interval.low, 100 * interval.high,
                                      burst_count(findings), 100 * bound);
}

static const char *slows(struct findings *findings)
{
    const struct facts *facts = findings->facts;
    return findings_text(findings,
                         "NUMA slows this program: waiting for memory of other nodes takes %.0f%% to %.0f%% of its "
                         "time (a remote access "
                         "that misses the caches takes %.1f times as long as a local one, %s).",
                         100 * findings->remote_time_low, 100 * findings->remote_time_high, 1 + facts->remote_penalty,
                         facts->penalty_measured ? "as measured" : "estimated from the node distances");
}

/* What prefetching hides may use all the bandwidth there is: that is for who knows the bytes (src/predict). */
static const char *slows_not(struct findings *findings, double ratio)
{
    findings->matters = ratio < thresholds.of_all ? MATTERS_NOT : MATTERS_UNDECIDED;
    return findings_text(
        findings,
        "%s: %.1f%% of its accesses are remote, and waiting for them takes %.1f%% to %.1f%% of its time "
        "(threshold: %.0f%%).",
        ratio < thresholds.of_all ? "NUMA is not what slows this program"
                                  : "Latency of remote memory is not what slows this program",
        100 * ratio, 100 * findings->remote_time_low, 100 * findings->remote_time_high,
        100 * findings->remote_time_bound);
}

void findings_judge_whole(struct findings *findings)
{
    const struct facts *facts = findings->facts;
    double ratio = facts_remote_ratio(facts);
    findings->remote_time_bound = thresholds.remote_time;
    findings->decided = true;
    findings->remote_time_share = placement_time(facts);
    findings_cost_interval(findings, (double)(facts->bursts ? facts->bursts : 1), &findings->remote_time_low,
                           &findings->remote_time_high);
    if (facts->node_count < 2 || facts->totals.home_known == 0) {
        findings->verdict = facts->node_count < 2 ? "There is one memory node: nothing is remote."
                                                  : "The home nodes of the pages are not known, so no placement can be "
                                                    "judged.";
        findings->matters = facts->node_count < 2 ? MATTERS_NOT : MATTERS_UNDECIDED;
        return;
    }
    if (!facts->timed) {
        judge_untimed(findings, ratio);
        return;
    }
    findings->numa_bound = findings->remote_time_share >= findings->remote_time_bound;
    findings->matters = findings->remote_time_low >= findings->remote_time_bound   ? MATTERS
                        : findings->remote_time_high < findings->remote_time_bound ? MATTERS_NOT
                                                                                   : MATTERS_UNDECIDED;
    if (findings->remote_time_low >= findings->remote_time_bound) {
        findings->verdict = slows(findings);
    } else if (findings->remote_time_high < findings->remote_time_bound) {
        findings->verdict = slows_not(findings, ratio);
    } else {
        findings->decided = false;
        findings->verdict = findings_text(
            findings,
            "Undecided whether NUMA slows this program: waiting for memory of other nodes takes %.1f%% to "
            "%.1f%% of its time, from %s, and the threshold is %.0f%%; %.1f%% of the accesses are remote.",
            100 * findings->remote_time_low, 100 * findings->remote_time_high, burst_count(findings),
            100 * findings->remote_time_bound, 100 * ratio);
    }
}

const char *findings_first_line(struct findings *findings)
{
    const char *line = findings->verdict_lines ? findings->verdict_lines : findings->verdict;
    size_t length = strcspn(line, "\n");
    length -= length && line[length - 1] == '.';
    return findings_text(findings, "%.*s", (int)length, line);
}

const char *findings_app(const struct findings *findings)
{
    const struct trace_session *session = flow_session(findings->facts->flow);
    const char *command = session ? trace_session_get(session, "command") : NULL;
    bool typed = command && *command && *command != '(' && strlen(command) <= COMMAND_MAX;
    return typed ? command : "./app ...";
}

/* Sampling that already costs its budget gets a larger one, as long as it takes no good part of the time. */
const char *findings_record_more(struct findings *findings, double factor)
{
    enum { MOST_HZ = 10000 };
    const struct trace_session *session = flow_session(findings->facts->flow);
    const struct topology *topology = flow_topology(findings->facts->flow);
    if (!session)
        return "";
    double period = (double)trace_session_number(session, "period_ns", 10000000);
    double budget = (double)trace_session_number(session, "budget_ppm", 20000) * 1e-4;
    double hz = factor * 1e9 / (period > 0 ? period : 10000000), percent = ceil(factor * budget);
    const char *machine = trace_session_get(session, "machine");
    if (hz > MOST_HZ || percent > fmax(100 * thresholds.part, budget))
        return ""; /* it would slow what it measures, and still not decide */
    bool simulated = topology->simulated && *topology->spec;
    char *spec = text_shell(machine ? machine : topology->spec);
    const char *more =
        findings_text(findings, "numalens record -F %lu --budget %.0f%s%s%s -- %s", (unsigned long)claim_rounded(hz),
                      percent, trace_session_get(session, "traffic") ? "" : " --no-traffic",
                      !simulated ? ""
                      : machine  ? " --machine "
                                 : " --topology ",
                      simulated ? spec : "", findings_app(findings));
    free(spec);
    return more;
}

/* How many times as many bursts would decide whether waiting for remote memory matters; 1: no number of them. */
static double findings_more_bursts(const struct findings *findings)
{
    enum { MOST = 16 };
    double low, high, own = findings->facts->remote_penalty, scale = own > 0 ? findings->penalty / own : 1;
    for (double factor = 2; factor <= MOST && findings->facts->timed; factor++) {
        findings_cost_interval(findings, factor * (double)findings->facts->bursts, &low, &high);
        if (scale * low >= findings->remote_time_bound || scale * high < findings->remote_time_bound)
            return factor;
    }
    return findings->facts->timed ? 1 : 2;
}

double findings_needed(const struct findings *findings, double factor)
{
    double bursts = (double)findings->facts->bursts;
    array_each (&findings->undecided, const struct undecided, undecided) {
        double wanted = undecided->bursts ? (double)undecided->needed / (double)undecided->bursts : 1;
        factor = wanted > factor ? wanted : factor;
    }
    return fmax(factor, thresholds.fewest_bursts / fmax(bursts, 1));
}

const char *findings_deciding(struct findings *findings, double factor)
{
    factor = findings_needed(findings, factor);
    return factor > 1 ? findings_record_more(findings, factor) : "";
}

/* Bursts as many times more often as the worst case needs. */
void findings_decide(struct findings *findings)
{
    bool open = !findings->decided && findings->facts->node_count > 1;
    findings->decide =
        open || findings->undecided.count ? findings_deciding(findings, open ? findings_more_bursts(findings) : 1) : "";
}
