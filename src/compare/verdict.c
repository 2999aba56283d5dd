#include "compare/verdict.h"

#include "base/order.h"
#include "analysis/thresholds.h"
#include "base/interval.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

uint32_t placement_at(uint32_t repetition, uint32_t position, uint32_t count)
{
    return (position + count - repetition % count) % count;
}

double figure_recorded(const struct figures *figures)
{
    return figures->recorded_s;
}

double figure_plain(const struct figures *figures)
{
    return figures->plain_s;
}

ORDER_BY(by_value, double, ORDER(*a, *b))

static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

struct middle placed_middle(const struct placed *placed, double (*figure)(const struct figures *figures))
{
    size_t count = placed->runs.count;
    double *values = mem_alloc((count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = figure(&placed->runs.items[i]);
    double median = count ? median_of(values, count) : 0;
    struct middle middle = {median, count ? values[0] : 0, count ? values[count - 1] : 0};
    free(values);
    return middle;
}

static uint64_t median_count(const struct placed *placed, size_t offset)
{
    size_t count = placed->runs.count;
    double *values = mem_alloc((count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = (double)*(const uint64_t *)((const char *)&placed->runs.items[i] + offset);
    uint64_t median = (uint64_t)median_of(values, count);
    free(values);
    return median;
}

static void median_tally(struct access_tally *tally, const struct placed *placed, size_t offset)
{
    tally->latency = median_count(placed, offset + offsetof(struct access_tally, latency));
    tally->timed = median_count(placed, offset + offsetof(struct access_tally, timed));
    tally->accesses = median_count(placed, offset + offsetof(struct access_tally, accesses));
}

static double figure_deviation(const struct figures *figures)
{
    return figures->deviation;
}

static double figure_variation(const struct figures *figures)
{
    return figures->variation;
}

struct figures placed_median(const struct placed *placed, unsigned threshold_count)
{
    struct figures middle = placed->runs.items[0]; /* for words */
    unsigned unbalanced = 0, contended = 0;
    middle.recorded_s = placed_middle(placed, figure_recorded).median;
    middle.plain_s = placed_middle(placed, figure_plain).median;
    middle.deviation = placed_middle(placed, figure_deviation).median;
    middle.variation = placed_middle(placed, figure_variation).median;
    middle.samples = median_count(placed, offsetof(struct figures, samples));
    middle.mixed = median_count(placed, offsetof(struct figures, mixed));
    middle.remote = median_count(placed, offsetof(struct figures, remote));
    middle.home_known = median_count(placed, offsetof(struct figures, home_known));
    median_tally(&middle.private_data, placed, offsetof(struct figures, private_data));
    median_tally(&middle.shared, placed, offsetof(struct figures, shared));
    median_tally(&middle.cross_node, placed, offsetof(struct figures, cross_node));
    median_tally(&middle.all, placed, offsetof(struct figures, all));
    for (unsigned i = 0; i < threshold_count; i++)
        middle.above[i] = median_count(placed, offsetof(struct figures, above) + i * sizeof middle.above[0]);
    array_each (&placed->runs, const struct figures, run) {
        unbalanced += run->unbalanced;
        bool is_contended = run->contention == CONTENTION_MEMORY || run->contention == CONTENTION_LINK;
        contended += is_contended;
        if (is_contended)
            middle.contention = run->contention;
    }
    middle.unbalanced = 2 * unbalanced > placed->runs.count;
    if (2 * contended <= placed->runs.count)
        middle.contention = CONTENTION_NONE;
    return middle;
}

const char *problem_name(enum problem problem)
{
    static const char *const names[PROBLEMS] = {"none", "sharing", "contention", "imbalance", "distance"};
    return problem < PROBLEMS ? names[problem] : "?";
}

/* Remote shares are samples' shares: few points are chance, however close the runs happen to be. */
static bool they_differ(const struct middle *left, const struct middle *right, enum verdict_by by)
{
    double spread = fmax(left->max - left->min, right->max - right->min);
    spread = by == BY_REMOTE ? fmax(spread, thresholds.changed) : spread;
    return fabs(left->median - right->median) > spread;
}

/* Accesses to what several nodes share: by the grain that was asked for, or by objects, whichever sees more of it. */
static double cross_part(const struct figures *figures)
{
    double lines = share_of(figures->cross_node.accesses, figures->private_data.accesses + figures->shared.accesses);
    return fmax(lines, share_of(figures->mixed, figures->samples));
}

/* Shared data that got slower by more than private data did. */
static bool shared_is_slower(const struct figures *good, const struct figures *bad)
{
    double shared = tally_mean(&bad->shared), before = tally_mean(&good->shared);
    double own = tally_mean(&bad->private_data), own_before = tally_mean(&good->private_data);
    if (before <= 0 || shared <= 0 || (double)good->shared.timed < thresholds.enough ||
        (double)bad->shared.timed < thresholds.enough)
        return false;
    double drift = own > own_before && own_before > 0 ? own / own_before : 1;
    return shared / before >= (1 + thresholds.part) * drift;
}

static void explain(struct verdict *verdict, const struct figures *good, const struct figures *bad, const char *best,
                    const char *worst)
{
    double remote[2] = {figures_remote(good), figures_remote(bad)};
    double shared[2] = {cross_part(good), cross_part(bad)};
    bool good_contended = good->contention == CONTENTION_MEMORY || good->contention == CONTENTION_LINK;
    bool bad_contended = bad->contention == CONTENTION_MEMORY || bad->contention == CONTENTION_LINK;
    bool slower = verdict->by != BY_REMOTE && shared_is_slower(good, bad);
    verdict->has[PROBLEM_CONTENTION] = bad_contended && !good_contended;
    verdict->has[PROBLEM_IMBALANCE] = bad->unbalanced && !good->unbalanced;
    verdict->has[PROBLEM_SHARING] = shared[1] - shared[0] >= thresholds.changed;
    verdict->has[PROBLEM_DISTANCE] = remote[1] - remote[0] >= thresholds.changed;
    static const enum problem order[] = {PROBLEM_CONTENTION, PROBLEM_IMBALANCE, PROBLEM_SHARING, PROBLEM_DISTANCE};
    for (unsigned i = 0; i < sizeof order / sizeof *order && verdict->problem == PROBLEM_NONE; i++)
        if (verdict->has[order[i]])
            verdict->problem = order[i];
    char *why = verdict->why;
    size_t size = sizeof verdict->why;
    switch (verdict->problem) {
    case PROBLEM_CONTENTION:
        snprintf(why, size,
                 "Contention explains it: under %s, %s has to serve more than it can, under %s it does not; mean "
                 "latency is %.0f against %.0f. Spread threads and memory, or bring them together where the link "
                 "between nodes is the bottleneck.",
                 worst, bad->contention == CONTENTION_LINK ? "a link between nodes" : "a node's memory", best,
                 tally_mean(&bad->all), tally_mean(&good->all));
        break;
    case PROBLEM_IMBALANCE:
        snprintf(why, size,
                 "Imbalance explains it: under %s, a few threads make most remote accesses (deviation %.1f over %u "
                 "threads, most of them %s), under %s they do not (%.1f). Place threads and data evenly on all nodes.",
                 worst, bad->deviation, bad->threads, *bad->critical ? bad->critical : "one thread", best,
                 good->deviation);
        break;
    case PROBLEM_SHARING:
        snprintf(why, size,
                 "Sharing explains it: under %s %.0f%% of the accesses go to data that threads of several nodes use, "
                 "under %s %.0f%%%s. Keep threads that share data on one node.",
                 worst, 100 * shared[1], best, 100 * shared[0],
                 slower ? ", and shared data got slower by more than private data did" : "");
        break;
    case PROBLEM_DISTANCE:
        snprintf(why, size,
                 "Distance explains it, not sharing, contention or imbalance: the data's home nodes are not those of "
                 "its threads. %.0f%% of the accesses are remote under %s, %.0f%% under %s.",
                 100 * remote[1], worst, 100 * remote[0], best);
        break;
    default:
        snprintf(why, size,
                 "Memory does not explain it: remote accesses, sharing, slow accesses and balance are the same (%.0f%% "
                 "and %.0f%% remote). What also differs is the number of CPUs that the threads have.",
                 100 * remote[0], 100 * remote[1]);
        break;
    }
}

static void name_group(const struct verdict *verdict, const struct placed *const *items, uint32_t count, char *text,
                       size_t size)
{
    uint32_t remaining = (uint32_t)__builtin_popcountll(verdict->as_good);
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < count && used < size; i++) {
        if (!(verdict->as_good >> i & 1))
            continue;
        remaining--;
        used += (size_t)snprintf(text + used, size - used, "%s%s", items[i]->name,
                                 remaining > 1    ? ", "
                                 : remaining == 1 ? " and "
                                                  : "");
    }
}

static void say_figure(char *text, size_t size, enum verdict_by by, const struct middle *middle)
{
    if (by == BY_REMOTE)
        snprintf(text, size, "%.0f%% remote", 100 * middle->median);
    else
        snprintf(text, size, "%.3g s", middle->median);
}

static void describe(struct verdict *verdict, const struct placed *const *items, uint32_t count,
                     const struct middle *middles)
{
    char group[256], best[48], worst[48];
    const char *by = verdict->by == BY_REMOTE ? "by remote accesses (run time says nothing about a simulated topology)"
                     : verdict->by == BY_PLAIN_TIME ? "by run time without recording"
                                                    : "by run time with recording";
    const char *worst_name = items[verdict->worst]->name;
    name_group(verdict, items, count, group, sizeof group);
    say_figure(best, sizeof best, verdict->by, &middles[verdict->best]);
    say_figure(worst, sizeof worst, verdict->by, &middles[verdict->worst]);
    if (verdict->unsampled) {
        snprintf(verdict->text, sizeof verdict->text,
                 "Too little was sampled: the program is too short, or accesses too little memory, for a verdict.");
    } else if (count < 2) {
        snprintf(verdict->text, sizeof verdict->text, "Only %s could be run: there is nothing to compare it with.",
                 group);
    } else if (!verdict->spread_known) {
        snprintf(verdict->text, sizeof verdict->text,
                 "With one run of each, the spread between runs is not known: no placement is named best; use --repeat "
                 "3. The smallest figure %s is %s's (%s), the largest %s's (%s).",
                 by, items[verdict->best]->name, best, worst_name, worst);
    } else if (!verdict->differ) {
        snprintf(
            verdict->text, sizeof verdict->text,
            "The placements do not differ %s: from %s to %s, which is within the spread of the runs of one placement.",
            by, best, worst);
    } else if (verdict->as_good & (verdict->as_good - 1)) {
        snprintf(verdict->text, sizeof verdict->text, "Best %s are %s, which do not differ (%s); worst is %s (%s).", by,
                 group, best, worst_name, worst);
    } else {
        snprintf(verdict->text, sizeof verdict->text, "Best %s is %s (%s); worst is %s (%s).", by, group, best,
                 worst_name, worst);
    }
}

void verdict_make(struct verdict *verdict, const struct placed *const *items, uint32_t count, bool simulated)
{
    bool plain = true;
    *verdict = (struct verdict){.spread_known = true};
    for (uint32_t i = 0; i < count; i++) {
        verdict->spread_known &= items[i]->runs.count > 1;
        array_each (&items[i]->runs, const struct figures, run)
            plain &= run->plain_s >= 0;
    }
    for (uint32_t i = 0; i < count; i++)
        verdict->unsampled |= (double)placed_median(items[i], 0).samples < thresholds.enough;
    verdict->by = simulated ? BY_REMOTE : plain ? BY_PLAIN_TIME : BY_TIME;
    struct middle *middles = mem_alloc((count + 1ul) * sizeof *middles);
    for (uint32_t i = 0; i < count; i++) {
        middles[i] = placed_middle(items[i], verdict->by == BY_REMOTE       ? figures_remote
                                             : verdict->by == BY_PLAIN_TIME ? figure_plain
                                                                            : figure_recorded);
        if (middles[i].median < middles[verdict->best].median)
            verdict->best = i;
        if (middles[i].median > middles[verdict->worst].median)
            verdict->worst = i;
    }
    for (uint32_t i = 0; i < count; i++)
        if (i == verdict->best || !they_differ(&middles[i], &middles[verdict->best], verdict->by))
            verdict->as_good |= (uint64_t)1 << i;
    verdict->differ = verdict->spread_known && !verdict->unsampled && !(verdict->as_good >> verdict->worst & 1);
    describe(verdict, items, count, middles);
    if (verdict->differ) {
        struct figures good = placed_median(items[verdict->best], 0), bad = placed_median(items[verdict->worst], 0);
        explain(verdict, &good, &bad, items[verdict->best]->name, items[verdict->worst]->name);
    }
    free(middles);
}
