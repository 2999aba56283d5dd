/* analysis/problems/contention.c - a tail that memory without load does not have, on which way, and when (LaProf, IV.B). */
#include "analysis/problems/contention.h"

#include "analysis/thresholds.h"
#include "base/interval.h"
#include "topology/calibration.h"

#include <stdio.h>

/* Of accesses beyond the caches the latency of the fastest tenth: without load, or nearly. */
static double fastest(const struct latency_histogram *histogram, uint64_t slow)
{
    struct latency_histogram beyond = {0};
    for (unsigned i = latency_bucket((uint32_t)slow); i < LATENCY_BUCKETS; i++)
        beyond.number += beyond.counts[i] = histogram->counts[i];
    return beyond.number ? latency_quantile(&beyond, thresholds.part) : 0;
}

static void find_unloaded(struct latency *latency, const struct calibration *calibration)
{
    bool simulated = flow_topology(latency->accesses->flow)->simulated;
    array_each (&latency->pairs, struct latency_pair, pair) {
        /* A simulated machine's memory is all this machine's own. */
        pair->unloaded = calibration_shows(calibration)
                             ? calibration_memory(calibration, simulated ? 0 : pair->from, simulated ? 0 : pair->home)
                             : 0;
        /* Where even the fastest are in the tail it was not this memory that was measured: a cache, an emulator's. */
        if (pair->unloaded > 0 && fastest(&pair->histogram, latency->slow) > thresholds.tail_factor * pair->unloaded)
            pair->unloaded = 0;
        pair->calibrated = pair->unloaded > 0;
        if (!pair->calibrated)
            pair->unloaded = fastest(&pair->histogram, latency->slow);
    }
}

static unsigned slice_of(const struct flow *flow, uint64_t time)
{
    uint64_t start = flow_start(flow), length = flow_end(flow) - start + 1;
    uint64_t slice = time > start ? (time - start) * LATENCY_SLICES / length : 0;
    return slice < LATENCY_SLICES ? (unsigned)slice : LATENCY_SLICES - 1;
}

static void count_tails(struct latency *latency)
{
    const struct accesses *accesses = latency->accesses;
    uint32_t nodes = accesses->node_count;
    struct latency_pair **table = mem_zalloc((size_t)nodes * nodes * sizeof *table + 1);
    array_each (&latency->pairs, struct latency_pair, pair)
        table[(uint32_t)pair->from * nodes + (uint32_t)pair->home] = pair;
    array_each (&accesses->items, const struct one_access, access) {
        if (!(access->flags & ACCESS_TIMED) || access->latency < latency->slow || access->from < 0 || access->home < 0)
            continue;
        struct latency_pair *pair = table[(uint32_t)access->from * nodes + (uint32_t)access->home];
        bool tail = access->latency >= thresholds.tail_factor * pair->unloaded;
        unsigned slice = slice_of(accesses->flow, access->time);
        pair->memory++;
        pair->tail += tail;
        pair->slices[0][slice]++;
        pair->slices[1][slice] += tail;
    }
    free(table);
}

static void judge_pair(const struct latency *latency, struct latency_pair *pair)
{
    const struct flow *flow = latency->accesses->flow;
    uint64_t start = flow_start(flow), length = flow_end(flow) - start;
    pair->contended = pair->unloaded > 0 && (double)pair->tail >= thresholds.fewest_bursts &&
                      share_of(pair->tail, pair->memory) >= thresholds.worth_saying;
    pair->start = UINT64_MAX;
    for (unsigned i = 0; pair->contended && i < LATENCY_SLICES; i++) {
        if (pair->slices[1][i] == 0 || share_of(pair->slices[1][i], pair->slices[0][i]) < thresholds.worth_saying)
            continue;
        if (pair->start == UINT64_MAX)
            pair->start = start + length * i / LATENCY_SLICES;
        pair->end = start + length * (i + 1) / LATENCY_SLICES;
    }
}

struct at_node { /* the contended ways to one node's memory */
    uint64_t tail, memory, all;
    unsigned ways;
    bool local;
    const struct latency_pair *worst;
    uint64_t start, end;
};

static struct at_node look_at_node(const struct latency *latency, uint32_t node)
{
    struct at_node at = {.start = UINT64_MAX};
    array_each (&latency->pairs, const struct latency_pair, pair) {
        if ((uint32_t)pair->home != node || !pair->contended)
            continue;
        at.tail += pair->tail;
        at.memory += pair->memory;
        at.ways++;
        at.local |= pair->from == pair->home;
        at.start = pair->start < at.start ? pair->start : at.start;
        at.end = pair->end > at.end ? pair->end : at.end;
        if (!at.worst || pair->tail > at.worst->tail)
            at.worst = pair;
    }
    return at;
}

static int number(const struct latency *latency, int node)
{
    return flow_topology(latency->accesses->flow)->nodes[node].os_index;
}

static void say(struct latency *latency, const struct at_node *at)
{
    const struct latency_pair *worst = at->worst;
    const struct flow *flow = latency->accesses->flow;
    const char *unit = accesses_unit(flow);
    char what[96];
    if (latency->contention == CONTENTION_LINK)
        snprintf(what, sizeof what, "the link from node %d to the memory of node %d", number(latency, worst->from),
                 number(latency, worst->home));
    else
        snprintf(what, sizeof what, "the memory of node %d", number(latency, worst->home));
    snprintf(latency->why, sizeof latency->why,
             "Contention on %s: %.1f%% of its %llu accesses past the caches took more than %.0f times the %.0f %s that "
             "%s, between %.2f s and %.2f s of the run. %s",
             what, 100 * latency->tail_share, (unsigned long long)at->memory, thresholds.tail_factor, worst->unloaded,
             unit,
             worst->calibrated ? "a load takes there on an idle machine (calibrated)"
                               : "the fastest tenth of them takes (there is no calibration)",
             (double)(at->start - flow_start(flow)) * 1e-9, (double)(at->end - flow_start(flow)) * 1e-9,
             latency->contention == CONTENTION_LINK
                 ? "Only this link is slow, so it is the link, or what feeds it."
                 : (at->local ? "Its own CPUs wait too, so it is the memory, not a link."
                              : "Several nodes wait for it, so it is the memory rather than one link."));
}

static void say_none(struct latency *latency)
{
    uint64_t tail = 0, memory = 0;
    array_each (&latency->pairs, const struct latency_pair, pair) {
        tail += pair->tail;
        memory += pair->memory;
    }
    if (latency->histogram.number == 0) {
        snprintf(latency->why, sizeof latency->why, "No latencies were recorded, so contention cannot be seen.");
    } else if ((double)memory < thresholds.fewest_bursts) {
        latency->contention = CONTENTION_NONE;
        snprintf(latency->why, sizeof latency->why,
                 "No contention: %llu accesses whose node is known missed the caches.", (unsigned long long)memory);
    } else {
        latency->contention = CONTENTION_NONE;
        snprintf(latency->why, sizeof latency->why,
                 "No contention: %.1f%% of the %llu accesses past the caches took more than %.0f times what they take "
                 "on an idle machine (threshold: %.0f%%).",
                 100 * share_of(tail, memory), (unsigned long long)memory, thresholds.tail_factor,
                 100 * thresholds.worth_saying);
    }
}

void contention_judge(struct latency *latency, const struct calibration *calibration)
{
    struct at_node worst = {0};
    find_unloaded(latency, calibration);
    count_tails(latency);
    array_each (&latency->pairs, struct latency_pair, pair)
        judge_pair(latency, pair);
    latency->link_from = latency->node = -1;
    for (uint32_t node = 0; node < latency->accesses->node_count; node++) {
        struct at_node at = look_at_node(latency, node);
        if (at.tail > worst.tail)
            worst = at;
    }
    if (!worst.worst) {
        say_none(latency);
        return;
    }
    latency->node = worst.worst->home;
    latency->contention = worst.ways == 1 && !worst.local ? CONTENTION_LINK : CONTENTION_MEMORY;
    if (latency->contention == CONTENTION_LINK)
        latency->link_from = worst.worst->from;
    latency->tail_share = share_of(worst.tail, worst.memory);
    latency->start = worst.start;
    latency->end = worst.end;
    say(latency, &worst);
}
