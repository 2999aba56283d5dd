#include "compare/difference_internal.h"

#include "analysis/thresholds.h"
#include "base/order.h"
#include "base/strtab.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- which entry is which --- */

struct candidate {
    const struct profile_entry *entry;
    uint32_t loose; /* in texts of both */
    bool taken;
};

struct candidates {
    array_of(struct candidate) items; /* by loose key, then order */
};

ORDER_BY(by_key, struct candidate, ORDER(a->loose, b->loose) ?: ORDER(a->entry->order, b->entry->order))

static struct candidates candidates_of(const struct profile *profile, enum profile_table table, struct strtab *texts)
{
    struct candidates candidates = {0};
    array_each (&profile->tables[table], const struct profile_entry, entry) {
        uint32_t loose = strtab_add(texts, profile_loose(profile, entry));
        if (entry->samples)
            array_push(&candidates.items, (struct candidate){.entry = entry, .loose = loose});
    }
    array_sort(&candidates.items, by_key);
    return candidates;
}

static void pair_up(struct difference *difference, enum profile_table table, struct candidate *left,
                    struct candidate *right)
{
    array_push(&difference->tables[table],
               (struct difference_row){.sides = {left ? left->entry : NULL, right ? right->entry : NULL}});
    if (left)
        left->taken = true;
    if (right)
        right->taken = true;
}

/* Entries of one loose key in both runs: equal order first; then, since lines move, the rest one after the other. */
static void pair_group(struct difference *difference, enum profile_table table, struct candidate *left, size_t lefts,
                       struct candidate *right, size_t rights)
{
    for (size_t i = 0, k = 0; i < lefts && k < rights;) {
        if (left[i].entry->order == right[k].entry->order)
            pair_up(difference, table, &left[i++], &right[k++]);
        else if (left[i].entry->order < right[k].entry->order)
            i++;
        else
            k++;
    }
    bool by_line = table != PROFILE_THREADS; /* of threads the order is the name */
    size_t k = 0;
    for (size_t i = 0; i < lefts; i++) {
        if (left[i].taken)
            continue;
        while (k < rights && right[k].taken)
            k++;
        pair_up(difference, table, &left[i], by_line && k < rights ? &right[k] : NULL);
    }
    for (k = 0; k < rights; k++)
        if (!right[k].taken)
            pair_up(difference, table, NULL, &right[k]);
}

static size_t group_end(const struct candidates *candidates, size_t at, uint32_t loose)
{
    while (at < candidates->items.count && candidates->items.items[at].loose == loose)
        at++;
    return at;
}

static void match_table(struct difference *difference, enum profile_table table)
{
    struct strtab *texts = strtab_new();
    struct candidates sides[2] = {candidates_of(difference->sides[0], table, texts),
                                  candidates_of(difference->sides[1], table, texts)};
    size_t at[2] = {0, 0};
    for (uint32_t loose = 0; loose < strtab_count(texts); loose++) {
        size_t end[2] = {group_end(&sides[0], at[0], loose), group_end(&sides[1], at[1], loose)};
        pair_group(difference, table, sides[0].items.items + at[0], end[0] - at[0], sides[1].items.items + at[1],
                   end[1] - at[1]);
        at[0] = end[0];
        at[1] = end[1];
    }
    array_free(&sides[0].items);
    array_free(&sides[1].items);
    strtab_free(texts);
}

/* --- what is more than chance --- */

static bool latency_differs(double before, double after)
{
    double more = fmax(before, after), less = fmin(before, after);
    return more - less >= thresholds.slow_usual && more >= thresholds.changed_factor * less;
}

static bool same_unit(const struct difference *difference)
{
    return strcmp(difference->sides[0]->unit, difference->sides[1]->unit) == 0;
}

static uint64_t bursts_with(const struct profile_entry *entry)
{
    return entry ? entry->far.bursts > entry->latency.bursts ? entry->far.bursts : entry->latency.bursts : 0;
}

/* How far the lost samples of both runs could have moved a share of all. */
static double lost_shares(const struct difference *difference)
{
    double sum = 0;
    for (unsigned side = 0; side < 2; side++) {
        double lost = (double)difference->sides[side]->lost;
        sum += lost > 0 ? lost / (lost + difference->sides[side]->all.n) : 0;
    }
    return sum;
}

static void chances_of(const struct difference *difference, struct difference_row *row)
{
    /* A run without the thing has looked for it in every burst, and not found it. */
    struct ratio none[2];
    const struct ratio *shares[2];
    for (unsigned side = 0; side < 2; side++) {
        none[side] = difference->sides[side]->all;
        none[side].x = none[side].xx = none[side].xn = 0;
        shares[side] = row->sides[side] ? &row->sides[side]->share : &none[side];
    }
    const struct profile_entry *a = row->sides[0], *b = row->sides[1];
    bool timed = same_unit(difference);
    uint64_t bursts[2] = {bursts_with(a), bursts_with(b)};
    row->judged = (double)(bursts[0] > bursts[1] ? bursts[0] : bursts[1]) >= thresholds.fewest_bursts;
    row->chances[DIFFERENCE_SHARE] = ratio_chance(shares[0], shares[1], true);
    row->chances[DIFFERENCE_REMOTE] = row->chances[DIFFERENCE_LATENCY] = 1;
    double share = ratio_value(shares[1]) - ratio_value(shares[0]), remote = 0;
    row->real[DIFFERENCE_SHARE] = fabs(share) >= thresholds.changed_share + lost_shares(difference);
    if (a && b && (double)a->far.bursts >= thresholds.fewest_bursts &&
        (double)b->far.bursts >= thresholds.fewest_bursts) {
        row->chances[DIFFERENCE_REMOTE] = ratio_chance(&a->far, &b->far, true);
        row->real[DIFFERENCE_REMOTE] = fabs(ratio_value(&a->far) - ratio_value(&b->far)) >= thresholds.changed;
    }
    if (timed && a && b && (double)a->latency.bursts >= thresholds.fewest_bursts &&
        (double)b->latency.bursts >= thresholds.fewest_bursts) {
        row->chances[DIFFERENCE_LATENCY] = ratio_chance(&a->latency, &b->latency, false);
        row->real[DIFFERENCE_LATENCY] = latency_differs(ratio_value(&a->latency), ratio_value(&b->latency));
    }
    remote = (b ? ratio_value(&b->of_all) : 0) - (a ? ratio_value(&a->of_all) : 0);
    row->weight = fmax(fabs(share), fabs(remote));
}

static int by_weight(const void *left, const void *right)
{
    const struct difference_row *a = left, *b = right;
    bool a_real = a->real[0] || a->real[1] || a->real[2], b_real = b->real[0] || b->real[1] || b->real[2];
    const struct profile_entry *x = a->sides[0] ? a->sides[0] : a->sides[1];
    const struct profile_entry *y = b->sides[0] ? b->sides[0] : b->sides[1];
    return ORDER(b_real, a_real) ?: ORDER(b->weight, a->weight) ?: strcmp(x->name, y->name)
           ?: ORDER(x->order, y->order);
}

static void judge_table(struct difference *difference, enum profile_table table)
{
    double tests = 0;
    array_each (&difference->tables[table], struct difference_row, row) {
        chances_of(difference, row);
        tests += row->judged ? DIFFERENCES : 0;
    }
    array_each (&difference->tables[table], struct difference_row, row)
        for (unsigned kind = 0; kind < DIFFERENCES; kind++)
            row->real[kind] &= row->judged && row->chances[kind] * tests < thresholds.doubt_least;
    array_sort(&difference->tables[table], by_weight);
}

static void judge_whole(struct difference *difference)
{
    const struct profile *a = difference->sides[0], *b = difference->sides[1];
    struct difference_row *whole = &difference->whole;
    whole->judged = (double)a->bursts >= thresholds.fewest_bursts && (double)b->bursts >= thresholds.fewest_bursts;
    whole->chances[DIFFERENCE_SHARE] = 1;
    whole->chances[DIFFERENCE_REMOTE] = ratio_chance(&a->far, &b->far, true);
    whole->chances[DIFFERENCE_LATENCY] = ratio_chance(&a->latency, &b->latency, false);
    whole->real[DIFFERENCE_REMOTE] =
        whole->judged && whole->chances[DIFFERENCE_REMOTE] < thresholds.doubt_least &&
        fabs(ratio_value(&a->far) - ratio_value(&b->far)) >= thresholds.changed + lost_shares(difference);
    whole->real[DIFFERENCE_LATENCY] = whole->judged && same_unit(difference) &&
                                      whole->chances[DIFFERENCE_LATENCY] < thresholds.doubt_least &&
                                      latency_differs(ratio_value(&a->latency), ratio_value(&b->latency));
    for (unsigned side = 0; side < 2; side++) {
        difference->latencies[side][0] = difference->sides[side]->near_latency;
        difference->latencies[side][1] = difference->sides[side]->far_latency;
    }
    for (unsigned far = 0; far < 2; far++) {
        const struct ratio *x = &difference->latencies[0][far], *y = &difference->latencies[1][far];
        difference->latency_real[far] = same_unit(difference) && (double)x->bursts >= thresholds.fewest_bursts &&
                                        (double)y->bursts >= thresholds.fewest_bursts &&
                                        ratio_chance(x, y, false) < thresholds.doubt_least &&
                                        latency_differs(ratio_value(x), ratio_value(y));
    }
}

static void judge_homes(struct difference *difference)
{
    const struct profile *a = difference->sides[0], *b = difference->sides[1];
    difference->nodes = a->nodes == b->nodes && a->simulated == b->simulated ? a->nodes : 0;
    difference->home_real = mem_zalloc(difference->nodes + 1ul);
    for (uint32_t node = 0; node < difference->nodes; node++) {
        const struct ratio *x = &a->homes[a->nodes + node],
                           *y = &b->homes[b->nodes + node]; /* without what the loader placed */
        difference->home_real[node] =
            difference->whole.judged &&
            fabs(ratio_value(x) - ratio_value(y)) >= thresholds.changed + lost_shares(difference) &&
            ratio_chance(x, y, true) * difference->nodes < thresholds.doubt_least;
    }
}

/* --- what became of the findings --- */

static const struct difference_row *row_of(const struct difference *difference, unsigned side, uint32_t entry)
{
    if (entry == FLOW_NONE)
        return NULL;
    const struct profile_entry *wanted = &difference->sides[side]->tables[PROFILE_OBJECTS].items[entry];
    array_each (&difference->tables[PROFILE_OBJECTS], const struct difference_row, row)
        if (row->sides[side] == wanted)
            return row;
    return NULL;
}

static bool same_subject(const struct difference *difference, const struct profile_finding *before,
                         const struct profile_finding *after)
{
    if (before->pattern != after->pattern)
        return false;
    const struct difference_row *row = row_of(difference, 0, before->entry);
    if (!row)
        return after->entry == FLOW_NONE && strcmp(before->name, after->name) == 0;
    return after->entry != FLOW_NONE &&
           row->sides[1] == &difference->sides[1]->tables[PROFILE_OBJECTS].items[after->entry];
}

static double shared_part(const struct profile_entry *entry, enum pattern pattern)
{
    return entry && entry->samples
               ? (double)entry->shared[pattern_lines(pattern) == LINES_TRUE] / (double)entry->samples
               : 0;
}

/* A finding that one run has and the other has not is absent, or new, only when something that it is made of has changed for
 * real. `side`: the run that has it. */
static void judge_absence(const struct difference *difference, struct difference_finding *fate, int side)
{
    const struct profile_finding *has = side == 0 ? fate->before : fate->after;
    const struct difference_row *row = row_of(difference, side, has->entry);
    const struct profile *other = difference->sides[!side], *const *sides = difference->sides;
    const char *which = side == 0 ? "second" : "first";
    enum finding_fate changed = side == 0 ? FATE_GONE : FATE_NEW;
    fate->fate = FATE_UNSURE;
    if ((double)other->bursts < thresholds.bursts) {
        snprintf(fate->why, sizeof fate->why, "the %s run has too few samples", which);
        return;
    }
    bool lines = pattern_lines(has->pattern) != LINES_NONE;
    const struct profile_entry *a = row ? row->sides[0] : NULL, *b = row ? row->sides[1] : NULL;
    const struct profile_entry *x = side == 0 ? a : b, *y = side == 0 ? b : a;
    if (row && (!y || (double)bursts_with(y) < thresholds.fewest_bursts) && row->real[DIFFERENCE_SHARE]) {
        fate->fate = changed;
        snprintf(fate->why, sizeof fate->why,
                 "the %s run rarely uses it: its share of all accesses was %.1f%%, it is %.1f%%", which,
                 a ? 100 * ratio_value(&a->share) : 0.0, b ? 100 * ratio_value(&b->share) : 0.0);
    } else if (lines && y && shared_part(x, has->pattern) >= thresholds.changed_factor * shared_part(y, has->pattern)) {
        fate->fate = changed;
        snprintf(fate->why, sizeof fate->why, "%.0f%% of its accesses were on such shared lines, %.0f%% are",
                 100 * shared_part(a, has->pattern), 100 * shared_part(b, has->pattern));
    } else if (row && row->real[DIFFERENCE_REMOTE] && side == 1 && ratio_value(&b->far) < ratio_value(&a->far)) {
        snprintf(fate->why, sizeof fate->why, "%.1f%% of its accesses were remote, %.1f%% are: less than before",
                 100 * ratio_value(&a->far), 100 * ratio_value(&b->far));
    } else if (row && row->real[DIFFERENCE_REMOTE]) {
        fate->fate = changed;
        snprintf(fate->why, sizeof fate->why, "%.1f%% of its accesses were remote, %.1f%% are",
                 100 * ratio_value(&a->far), 100 * ratio_value(&b->far));
    } else if (has->node >= 0 && (uint32_t)has->node < difference->nodes && difference->home_real[has->node]) {
        fate->fate = changed;
        snprintf(fate->why, sizeof fate->why, "%.0f%% of all accesses went to its memory, %.0f%% do",
                 100 * ratio_value(&sides[0]->homes[has->node]), 100 * ratio_value(&sides[1]->homes[has->node]));
    } else if (!row && (difference->whole.real[DIFFERENCE_REMOTE] || difference->whole.real[DIFFERENCE_LATENCY] ||
                        difference->latency_real[0] || difference->latency_real[1])) {
        fate->fate = changed;
        snprintf(fate->why, sizeof fate->why,
                 "%.1f%% of all accesses were remote, %.1f%% are; mean latency %.0f and %.0f %s",
                 100 * ratio_value(&sides[0]->far), 100 * ratio_value(&sides[1]->far), ratio_value(&sides[0]->latency),
                 ratio_value(&sides[1]->latency), sides[1]->unit);
    } else {
        snprintf(fate->why, sizeof fate->why, "not found in the %s run, but nothing about it changed significantly",
                 which);
    }
}

static void judge_findings(struct difference *difference)
{
    const struct profile *a = difference->sides[0], *b = difference->sides[1];
    bool *known = mem_zalloc(b->findings.count + 1);
    array_each (&a->findings, const struct profile_finding, before) {
        struct difference_finding fate = {.before = before};
        for (size_t i = 0; i < b->findings.count && !fate.after; i++) {
            if (!known[i] && same_subject(difference, before, &b->findings.items[i])) {
                fate.after = &b->findings.items[i];
                fate.fate = FATE_REMAINS;
                known[i] = true;
                snprintf(fate.why, sizeof fate.why, "its share of the remote accesses was %.1f%%, it is %.1f%%",
                         100 * before->share_of_remote, 100 * fate.after->share_of_remote);
            }
        }
        if (!fate.after)
            judge_absence(difference, &fate, 0);
        array_push(&difference->findings, fate);
    }
    for (size_t i = 0; i < b->findings.count; i++) {
        struct difference_finding fate = {.after = &b->findings.items[i]};
        if (known[i])
            continue;
        judge_absence(difference, &fate, 1);
        array_push(&difference->findings, fate);
    }
    free(known);
}

struct difference *difference_make(const struct profile *before, const struct profile *after)
{
    struct difference *difference = mem_zalloc(sizeof *difference);
    difference->sides[0] = before;
    difference->sides[1] = after;
    for (unsigned table = 0; table < PROFILE_TABLES; table++) {
        match_table(difference, (enum profile_table)table);
        if (table == PROFILE_OBJECTS)
            difference_join(difference);
        judge_table(difference, (enum profile_table)table);
    }
    judge_whole(difference);
    judge_homes(difference);
    judge_findings(difference);
    difference_sentences(difference);
    return difference;
}

void difference_free(struct difference *difference)
{
    if (!difference)
        return;
    for (unsigned table = 0; table < PROFILE_TABLES; table++)
        array_free(&difference->tables[table]);
    array_free(&difference->findings);
    free(difference->home_real);
    free(difference);
}

const char *finding_fate_name(enum finding_fate fate)
{
    static const char *const names[] = {"gone", "remains", "new", "unsure"};
    return fate <= FATE_UNSURE ? names[fate] : "?";
}
