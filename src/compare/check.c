#include "compare/check.h"

#include "analysis/facts/claim.h"
#include "analysis/thresholds.h"
#include "base/interval.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double SIDE = 2.33; /* of a normal deviate: "certain" on one side, and a bit */
static const double MOST_BURSTS = 1e9;

static const struct {
    const char *name, *text;
} kinds[CHECK_KINDS] = {
    [CHECK_MAX_REMOTE] = {"max-remote", "At most this part of the accesses is remote."},
    [CHECK_MAX_COST] = {"max-cost", "Remote memory costs at most this part of run time."},
    [CHECK_NOT_SLOWED] = {"not-slowed", "NUMA is not what slows the program."},
    [CHECK_NO_FINDINGS] = {"no-findings", "No NUMA problem is found."},
    [CHECK_NO_NEW_FINDINGS] = {"no-new-findings", "No NUMA problem is found that the other recording has not."},
};

const char *check_kind_name(enum check_kind kind)
{
    return kind < CHECK_KINDS ? kinds[kind].name : "?";
}

const char *check_kind_text(enum check_kind kind)
{
    return kind < CHECK_KINDS ? kinds[kind].text : "?";
}

const char *check_outcome_name(enum check_outcome outcome)
{
    static const char *const names[] = {"holds", "fails", "undecided"};
    return outcome <= CHECK_UNDECIDED ? names[outcome] : "?";
}

enum check_outcome check_share(double share, double limit, uint64_t bursts, uint64_t *needed)
{
    struct claim below = {.share = share, .null = limit, .bursts = (double)bursts, .below = true}, above = below;
    above.below = false;
    *needed = 0;
    if (claim_confidence(&below) >= 1 - thresholds.doubt_certain)
        return CHECK_HOLDS;
    if (claim_confidence(&above) >= 1 - thresholds.doubt_certain)
        return CHECK_FAILS;
    /* Close to the limit the distance is not known: a quarter of the interval is taken for it, as claim_needed does. */
    struct wilson interval = wilson_interval(share, (double)bursts);
    double distance = fmax(fabs(share - limit), (interval.high - interval.low) / 4);
    double enough = SIDE * SIDE * limit * (1 - limit) / (distance * distance);
    enough = fmax(enough, fmax(1.5 * (double)bursts, 2 * thresholds.bursts));
    *needed = claim_rounded(fmin(enough, MOST_BURSTS));
    return CHECK_UNDECIDED;
}

/* --- one rule after the other --- */

struct judge {
    const struct check_request *request;
    const struct profile *profile;
    struct findings *findings;
    struct check *check;
};

#define say(judge, ...) findings_text((judge)->findings, __VA_ARGS__)

/* "; record it with numalens record -F 400 -- ./app"; where more often would slow what it measures: "; record 30 times as long" */
static const char *longer(const struct judge *judge, uint64_t bursts, uint64_t needed)
{
    if (bursts == 0)
        return "; record longer";
    double factor = (double)needed / (double)bursts;
    const char *command = findings_record_more(judge->findings, factor);
    return *command ? say(judge, "; record it with %s", command)
                    : say(judge, "; record %.0f times as long", ceil(factor));
}

static void too_few(const struct judge *judge, struct check_rule *rule, const char *whose, uint64_t bursts,
                    uint64_t needed)
{
    rule->outcome = CHECK_UNDECIDED;
    rule->bursts = bursts;
    rule->needed = needed;
    rule->text = say(judge, "cannot be decided: %s%lu burst%s, %lu needed%s", whose, (unsigned long)bursts,
                     text_plural(bursts), (unsigned long)needed, longer(judge, bursts, needed));
}

/* What no number of bursts changes. NULL when placement can be judged. */
static const char *cannot_be_remote(const struct judge *judge)
{
    const struct facts *facts = judge->findings->facts;
    if (facts->totals.samples && facts->node_count < 2)
        return "cannot be decided: there is one memory node, where nothing is remote; add --topology \"numa:4 core:2\" "
               "to "
               "simulate four";
    if (facts->totals.samples && facts->totals.home_known == 0)
        return "cannot be decided: the home nodes of the pages are not known; add --topology \"numa:4 core:2\" to "
               "simulate "
               "four";
    return NULL;
}

static bool stops(const struct judge *judge, struct check_rule *rule)
{
    const char *why = cannot_be_remote(judge);
    if (why) {
        rule->outcome = CHECK_UNDECIDED;
        rule->text = why;
    }
    return why != NULL;
}

static void judge_remote(const struct judge *judge, struct check_rule *rule)
{
    const struct ratio *far = &judge->profile->far;
    uint64_t needed;
    rule->bursts = far->bursts;
    if (stops(judge, rule))
        return;
    rule->outcome = check_share(ratio_value(far), rule->limit, far->bursts, &needed);
    rule->measured = far->bursts > 0;
    rule->value = ratio_value(far);
    struct wilson interval = wilson_interval(rule->value, (double)far->bursts);
    rule->low = interval.low;
    rule->high = interval.high;
    if (rule->outcome == CHECK_UNDECIDED) {
        too_few(judge, rule, "", far->bursts, needed);
        if (rule->measured)
            rule->text = say(judge, "%.1f%% of the accesses are remote (%.1f%% to %.1f%%): %s", 100 * rule->value,
                             100 * rule->low, 100 * rule->high, rule->text);
        return;
    }
    rule->text = say(judge, "%.1f%% of the accesses are remote (%.1f%% to %.1f%%, from %lu bursts)", 100 * rule->value,
                     100 * rule->low, 100 * rule->high, (unsigned long)far->bursts);
}

static enum check_outcome cost_outcome(double low, double high, double limit)
{
    return high <= limit ? CHECK_HOLDS : low > limit ? CHECK_FAILS : CHECK_UNDECIDED;
}

/* 0: no number of bursts decides it, because one run differs from the next by more. */
static uint64_t cost_needed(const struct judge *judge, double limit, uint64_t bursts)
{
    for (double more = 1.5 * (double)(bursts ? bursts : 1); more < MOST_BURSTS; more *= 1.25) {
        double low, high;
        findings_cost_interval(judge->findings, more, &low, &high);
        if (cost_outcome(low, high, limit) != CHECK_UNDECIDED)
            return claim_rounded(fmax(more, 2 * thresholds.bursts));
    }
    return (double)bursts < thresholds.bursts ? claim_rounded(2 * thresholds.bursts)
                                              : 0; /* so few do not show how far it is from the limit */
}

static void judge_cost(const struct judge *judge, struct check_rule *rule)
{
    const struct findings *findings = judge->findings;
    uint64_t bursts = findings->facts->bursts;
    rule->bursts = bursts;
    if (stops(judge, rule))
        return;
    if (!findings->facts->timed && bursts) {
        rule->outcome = CHECK_UNDECIDED;
        if ((double)bursts < thresholds.bursts) { /* by chance, so few may hold no access that was timed */
            too_few(judge, rule, "", bursts, claim_rounded(2 * thresholds.bursts));
            return;
        }
        rule->text = "cannot be decided: no latency was recorded, so the cost is not known; --max-remote needs none";
        return;
    }
    rule->measured = bursts > 0;
    rule->value = findings->remote_time_share;
    rule->low = findings->remote_time_low;
    rule->high = findings->remote_time_high;
    rule->outcome =
        (double)bursts < thresholds.bursts ? CHECK_UNDECIDED : cost_outcome(rule->low, rule->high, rule->limit);
    const char *cost =
        say(judge, "remote memory costs %.1f%% to %.1f%% of run time", 100 * rule->low, 100 * rule->high);
    if (rule->outcome != CHECK_UNDECIDED) {
        rule->text = say(judge, "%s, from %lu bursts", cost, (unsigned long)bursts);
        return;
    }
    uint64_t needed = cost_needed(judge, rule->limit, bursts);
    if (needed) {
        too_few(judge, rule, "", bursts, needed);
        if (rule->measured)
            rule->text = say(judge, "%s: %s", cost, rule->text);
    } else {
        rule->text = say(judge,
                         "%s: cannot be decided: one run differs from the next by more than the distance to the limit; "
                         "choose a limit outside of it",
                         cost);
    }
}

/* The first line of a report, whichever number decides it. */
static void judge_verdict(const struct judge *judge, struct check_rule *rule)
{
    static const enum check_outcome outcomes[] = {
        [MATTERS_UNDECIDED] = CHECK_UNDECIDED, [MATTERS_NOT] = CHECK_HOLDS, [MATTERS] = CHECK_FAILS};
    struct findings *findings = judge->findings;
    rule->bursts = findings->facts->bursts;
    if (stops(judge, rule))
        return;
    if ((double)rule->bursts < thresholds.fewest_bursts) {
        too_few(judge, rule, "", rule->bursts, (uint64_t)thresholds.fewest_bursts);
        return;
    }
    bool more = findings->matters == MATTERS_UNDECIDED && *findings->decide;
    rule->outcome = outcomes[findings->matters];
    rule->text = say(judge, "%s%s%s", findings_first_line(findings), more ? "; record it with " : "",
                     more ? findings->decide : "");
}

static void judge_findings(const struct judge *judge, struct check_rule *rule)
{
    const struct findings *findings = judge->findings;
    uint64_t bursts = judge->profile->bursts, count = findings->items.count;
    rule->bursts = bursts;
    if (count) {
        rule->outcome = CHECK_FAILS;
        rule->text = say(judge, "%lu finding%s", (unsigned long)count, text_plural(count));
        array_each (&judge->check->findings, struct check_finding, finding)
            finding->fails = true;
    } else if (bursts < (uint64_t)thresholds.enough) {
        too_few(judge, rule, "", bursts, (uint64_t)thresholds.enough);
    } else if (stops(judge, rule)) {
        return;
    } else if (findings->undecided.count) {
        /* The first is the one with most remote samples; what it needs, of all bursts. */
        const struct undecided *worst = findings->undecided.items;
        double factor = worst->bursts ? (double)worst->needed / (double)worst->bursts : 2;
        too_few(judge, rule, "", bursts, claim_rounded(factor * (double)bursts));
        rule->text = say(judge, "no finding is sure, but %s has %.1f%% of the remote accesses: %s", worst->finding.name,
                         100 * worst->finding.share_of_remote, rule->text);
    } else {
        rule->text = say(judge, "no findings, from %lu bursts", (unsigned long)bursts);
    }
}

/* Fates of this recording's findings, into the check's. */
static void take_fates(const struct judge *judge)
{
    const struct profile_finding *first = judge->profile->findings.items;
    array_each (&judge->check->difference->findings, const struct difference_finding, fate) {
        if (!fate->after)
            continue;
        struct check_finding *finding = &judge->check->findings.items[fate->after - first];
        finding->compared = true;
        finding->fate = fate->fate;
        finding->why = fate->why;
        finding->fails |= fate->fate == FATE_NEW;
    }
}

static void judge_new(const struct judge *judge, struct check_rule *rule)
{
    const struct profile *before = judge->request->before, *after = judge->profile;
    rule->bursts = after->bursts;
    if (before->bursts < (uint64_t)thresholds.enough || after->bursts < (uint64_t)thresholds.enough) {
        bool other = before->bursts < (uint64_t)thresholds.enough;
        too_few(judge, rule, other ? say(judge, "%s has ", before->path) : "", other ? before->bursts : after->bursts,
                (uint64_t)thresholds.enough);
        return;
    }
    if (stops(judge, rule))
        return;
    judge->check->difference = difference_make(before, after);
    if (!judge->check->difference->comparable) {
        rule->outcome = CHECK_UNDECIDED;
        rule->text = say(judge, "cannot be decided: %s", judge->check->difference->note);
        return;
    }
    take_fates(judge);
    uint64_t fresh = 0, unsure = 0;
    array_each (&judge->check->findings, const struct check_finding, finding) {
        fresh += finding->compared && finding->fate == FATE_NEW;
        unsure += finding->compared && finding->fate == FATE_UNSURE;
    }
    const char *renamed = "";
    char names[2][96];
    array_each (&judge->check->difference->tables[PROFILE_OBJECTS], const struct difference_row, row)
        if (row->renamed && !*renamed)
            renamed = say(judge, "; %s is what was %s", profile_entry_text(row->sides[1], names[1], sizeof names[1]),
                          profile_entry_text(row->sides[0], names[0], sizeof names[0]));
    rule->outcome = fresh ? CHECK_FAILS : CHECK_HOLDS;
    rule->text =
        say(judge, "%lu new finding%s since %s%s%s", (unsigned long)fresh, text_plural(fresh), before->path, renamed,
            fresh    ? ""
            : unsure ? "; what is found now and was not then did not change significantly"
                     : "");
}

static void add_rule(const struct judge *judge, enum check_kind kind)
{
    static void (*const judges[CHECK_KINDS])(const struct judge *, struct check_rule *) = {
        judge_remote, judge_cost, judge_verdict, judge_findings, judge_new};
    struct check_rule rule = {.kind = kind, .limit = judge->request->limits[kind], .text = ""};
    if (kind == CHECK_MAX_REMOTE || kind == CHECK_MAX_COST)
        snprintf(rule.title, sizeof rule.title, "%s %.4g%%", check_kind_name(kind), 100 * rule.limit);
    else
        snprintf(rule.title, sizeof rule.title, "%s", check_kind_name(kind));
    judges[kind](judge, &rule);
    array_push(&judge->check->rules, rule);
}

struct check *check_make(const struct check_request *request, const struct profile *profile, struct findings *findings)
{
    struct check *check = mem_zalloc(sizeof *check);
    struct judge judge = {.request = request, .profile = profile, .findings = findings, .check = check};
    array_each (&findings->items, const struct finding, finding)
        array_push(&check->findings, (struct check_finding){.finding = finding, .why = ""});
    for (unsigned kind = 0; kind < CHECK_KINDS; kind++)
        if (request->wanted[kind])
            add_rule(&judge, (enum check_kind)kind);
    array_each (&check->rules, const struct check_rule, rule) {
        if (rule->outcome == CHECK_FAILS || check->outcome == CHECK_HOLDS)
            check->outcome = rule->outcome;
    }
    return check;
}

void check_free(struct check *check)
{
    if (!check)
        return;
    difference_free(check->difference);
    array_free(&check->rules);
    array_free(&check->findings);
    free(check);
}
