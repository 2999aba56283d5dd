/* analysis/facts/facts_second_pass.c - time lost to remote accesses, and whether nodes keep to parts of an object.
 *
 * Time: stalls.h.
 *
 * Parts. Samples of a subject are put in order of address; neighbours come from the same node by chance as often as the
 * nodes' shares say, and always where each node has its own part. What is above chance is the fact (Cohen's kappa). It
 * needs no page to be sampled twice. A burst counts once a page: accesses in a row agree with themselves. */
#include "analysis/facts/facts_second_pass.h"

#include "analysis/facts/facts_work.h"
#include "analysis/facts/stalls.h"
#include "base/map64.h"
#include "base/order.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

enum { PLACES = 1 << 15 }; /* kept of one subject; of more, a fair choice */

struct part_access {
    uint64_t addr;
    uint32_t object, burst;
    int16_t node;
};

struct candidate {
    array_of(struct part_access) places;
    uint64_t seen;
    uint64_t last_page;
    uint32_t last_burst, threads;
};

struct again {
    struct facts *facts;
    const struct topology *topology;
    struct stalls *stalls;
    double *slow, *remote;  /* by object */
    uint32_t *candidate_of; /* by object, or FLOW_NONE */
    array_of(struct candidate) candidates;
    uint64_t random;
};

static void visit_stall(void *context, const struct stall *stall)
{
    struct again *again = context;
    again->facts->remote_time += stall->remote;
    if (stall->home >= 0)
        again->facts->nodes[stall->home].remote_time += stall->remote;
    if (stall->object == FLOW_NONE)
        return;
    again->slow[stall->object] += stall->slow;
    again->remote[stall->object] += stall->remote;
}

static void note_place(struct again *again, const struct flow_access *access, uint32_t burst)
{
    if (access->object == FLOW_NONE || access->from < 0 || again->candidate_of[access->object] == FLOW_NONE ||
        access->time < again->facts->objects.items[access->object].init_end)
        return;
    struct candidate *candidate = &again->candidates.items[again->candidate_of[access->object]];
    if (candidate->last_burst == burst && candidate->last_page == access->addr / PAGE_UNIT)
        return;
    candidate->last_burst = burst;
    candidate->last_page = access->addr / PAGE_UNIT;
    struct part_access place = {.addr = access->addr, .object = access->object, .burst = burst, .node = access->from};
    candidate->seen++;
    if (candidate->places.count < PLACES) {
        array_push(&candidate->places, place);
        return;
    }
    again->random = again->random * 6364136223846793005u + 1442695040888963407u;
    uint64_t at = (again->random >> 16) % candidate->seen;
    if (at < PLACES)
        candidate->places.items[at] = place;
}

static void visit(void *context, const struct flow_access *access)
{
    struct again *again = context;
    uint32_t burst = stalls_note(again->stalls, access, 0);
    if (burst)
        note_place(again, access, burst);
}

/* Within a page in no order: bursts that follow each other in time are of one thread there as long as its turn lasts, and
 * would agree whatever the parts are. */
static int by_place(const void *left, const void *right)
{
    const struct part_access *a = left, *b = right;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    if (a->addr / PAGE_UNIT != b->addr / PAGE_UNIT)
        return a->addr < b->addr ? -1 : 1;
    uint64_t mark_a = map64_hash(a->burst), mark_b = map64_hash(b->burst);
    return ORDER(mark_a, mark_b);
}

/* Neighbours no further apart than this are in one part of an object: a thread's part is rarely smaller. */
static uint64_t near_of(const struct facts *facts, uint32_t object)
{
    double part = thresholds.near_part * (double)flow_object_copy(facts->flow, object).size;
    return (uint64_t)fmax(part, PAGE_UNIT);
}

enum { ANY, NEAR, IN_PAGE, REACHES };

struct neighbours { /* counted by how far they are apart */
    uint64_t pairs[REACHES], agree[REACHES];
    uint32_t objects;
};

static void count_neighbours(const struct facts *facts, const struct candidate *candidate, struct neighbours *found,
                             uint64_t *nodes)
{
    uint64_t near = 0;
    for (size_t i = 0; i < candidate->places.count; i++) {
        const struct part_access *place = &candidate->places.items[i], *last = place - 1;
        nodes[place->node]++;
        if (i == 0 || last->object != place->object) {
            near = near_of(facts, place->object);
            found->objects++;
            continue;
        }
        if (last->burst == place->burst)
            continue;
        uint64_t page = place->addr / PAGE_UNIT, last_page = last->addr / PAGE_UNIT;
        bool reached[REACHES] = {true, (page - last_page) * PAGE_UNIT <= near, page == last_page};
        for (unsigned reach = 0; reach < REACHES; reach++) {
            found->pairs[reach] += reached[reach];
            found->agree[reach] += reached[reach] && last->node == place->node;
        }
    }
}

static uint64_t group_of(struct map64 *groups, uint64_t burst)
{
    bool is_new;
    uint64_t *of = map64_insert(groups, burst, &is_new);
    if (is_new)
        *of = burst;
    uint64_t group = *of;
    while (group != burst) { /* halves the way for the next */
        uint64_t next = *map64_find(groups, group);
        *map64_find(groups, burst) = next;
        burst = group;
        group = next;
    }
    return group;
}

/* How many comparisons of two bursts say something new. Two that read here and there in one array are neighbours in many
 * places, and agree in all of them or in none; and of three, the third pair follows from the other two. */
static uint64_t comparisons_of(const struct candidate *candidate, bool in_page)
{
    struct map64 groups = {0};
    uint64_t count = 0;
    for (size_t i = 1; i < candidate->places.count; i++) {
        const struct part_access *place = &candidate->places.items[i], *last = place - 1;
        if (last->object != place->object || last->burst == place->burst ||
            (in_page && last->addr / PAGE_UNIT != place->addr / PAGE_UNIT))
            continue;
        uint64_t one = group_of(&groups, last->burst), other = group_of(&groups, place->burst);
        count += one != other;
        *map64_find(&groups, one) = other;
    }
    map64_free(&groups);
    return count;
}

static struct fact_parts parts_of(const struct facts *facts, struct candidate *candidate, uint32_t threads)
{
    struct neighbours found = {0};
    uint64_t *nodes = mem_zalloc((facts->node_count + 1ul) * sizeof *nodes);
    array_sort(&candidate->places, by_place);
    count_neighbours(facts, candidate, &found, nodes);
    struct fact_parts parts = {0};
    for (uint32_t i = 0; i < facts->node_count && candidate->places.count; i++) {
        double share = (double)nodes[i] / (double)candidate->places.count;
        parts.chance += share * share;
    }
    free(nodes);
    /* What happens in one page is better evidence, where there is enough of it. */
    bool by_page = (double)found.pairs[IN_PAGE] >= thresholds.bursts;
    parts.bursts = comparisons_of(candidate, by_page);
    parts.pairs = found.pairs[by_page ? IN_PAGE : ANY];
    parts.agree = found.agree[by_page ? IN_PAGE : ANY];
    parts.near_pairs = found.pairs[by_page ? IN_PAGE : NEAR];
    parts.near_agree = found.agree[by_page ? IN_PAGE : NEAR];
    /* Where each thread has one part of each object, so many neighbours are of two threads. */
    uint64_t borders = by_page ? 0 : (uint64_t)threads * found.objects, apart = parts.near_pairs - parts.near_agree;
    parts.borders = borders < apart ? borders : apart;
    return parts;
}

static double kappa_of(const struct fact_parts *parts)
{
    if ((double)parts->pairs < thresholds.bursts || parts->chance > (1 - thresholds.part))
        return -1;
    double kappa = ((double)parts->agree / (double)parts->pairs - parts->chance) / (1 - parts->chance);
    return kappa < 0 ? 0 : kappa;
}

/* Objects with more than a little of the remote traffic, that more than one node uses; a site's objects together. */
static void choose_candidates(struct again *again)
{
    const struct facts *facts = again->facts;
    uint32_t *of_site = mem_alloc((facts->sites.count + 1) * sizeof *of_site);
    memset(of_site, 0xff, (facts->sites.count + 1) * sizeof *of_site);
    memset(again->candidate_of, 0xff, (facts->objects.count + 1) * sizeof *again->candidate_of);
    for (uint32_t i = 0; i < facts->objects.count; i++) {
        const struct facts_subject *object = &facts->objects.items[i];
        bool has_site = object->site < facts->sites.count;
        const struct facts_subject *subject = has_site ? &facts->sites.items[object->site] : object;
        if (subject->using_nodes < 2 ||
            (double)subject->totals.remote < thresholds.of_remote / 4 * (double)facts->totals.remote)
            continue;
        uint32_t own = FLOW_NONE, *place = has_site ? &of_site[object->site] : &own;
        if (*place == FLOW_NONE) {
            *place = (uint32_t)again->candidates.count;
            array_push(&again->candidates, (struct candidate){.threads = subject->using_threads});
        }
        again->candidate_of[i] = *place;
    }
    free(of_site);
}

static void choose_penalty(struct again *again)
{
    struct facts *facts = again->facts;
    uint32_t nodes = facts->node_count;
    if (!again->topology->simulated && (double)facts->slow_local.count >= thresholds.enough &&
        (double)facts->slow_remote.count >= thresholds.enough && facts->slow_local.weight > 0 &&
        facts->slow_remote.weight > 0) {
        double local = facts->slow_local.sum / facts->slow_local.weight;
        double far = facts->slow_remote.sum / facts->slow_remote.weight;
        facts->penalty_measured = true;
        facts->remote_penalty = local > 0 && far > local ? far / local - 1 : 0;
        return;
    }
    double sum = 0, count = 0;
    for (uint32_t from = 0; from < nodes; from++) {
        for (uint32_t home = 0; home < nodes; home++) {
            double samples = from == home ? 0 : facts->weights.matrix[(size_t)from * nodes + home];
            sum += samples * stalls_distance_penalty(again->topology, (int)from, (int)home);
            count += samples;
        }
    }
    facts->remote_penalty = count > 0 ? sum / count : 0;
}

/* Sums become shares; objects give theirs to their sites. */
static void hand_out(struct again *again)
{
    struct facts *facts = again->facts;
    const struct stalls_sums sums = stalls_end(again->stalls);
    double weight = facts->time_weight = sums.weight > 0 ? sums.weight : 1;
    facts->remote_time /= weight;
    /* A ratio of two sums: what each burst lost beside what it would have lost at that ratio. Where all weigh the same it is the
     * variance of the shares; a few heavy ones make it larger. */
    double ratio = facts->remote_time;
    double off = sums.squares - 2 * ratio * sums.products + ratio * ratio * sums.weights_squared;
    facts->remote_time_variance = off > 0 ? sums.count * off / (weight * weight) : 0;
    for (uint32_t i = 0; i < facts->node_count; i++)
        facts->nodes[i].remote_time /= weight;
    array_each (&facts->sites, struct facts_subject, site)
        site->separated = -1;
    struct fact_parts *parts = mem_zalloc((again->candidates.count + 1) * sizeof *parts);
    for (size_t i = 0; i < again->candidates.count; i++)
        parts[i] = parts_of(facts, &again->candidates.items[i], again->candidates.items[i].threads);
    for (uint32_t i = 0; i < facts->objects.count; i++) {
        struct facts_subject *object = &facts->objects.items[i];
        object->slow_time = again->slow[i] / weight;
        object->remote_time = again->remote[i] / weight;
        if (again->candidate_of[i] != FLOW_NONE) {
            object->parts = parts[again->candidate_of[i]];
            object->separated = kappa_of(&object->parts);
        }
        if (object->site >= facts->sites.count)
            continue;
        struct facts_subject *site = &facts->sites.items[object->site];
        site->slow_time += object->slow_time;
        site->remote_time += object->remote_time;
        site->separated = object->separated;
        site->parts = object->parts;
    }
    free(parts);
}

int facts_second_pass(struct facts *facts, struct error *err)
{
    const struct flow *flow = facts->flow;
    struct again again = {.facts = facts, .topology = flow_topology(flow), .random = 1};
    facts->timed = facts->totals.latency_count > 0;
    choose_penalty(&again);
    again.stalls = stalls_new(facts, visit_stall, &again);
    again.slow = mem_zalloc((facts->objects.count + 1) * sizeof *again.slow);
    again.remote = mem_zalloc((facts->objects.count + 1) * sizeof *again.remote);
    again.candidate_of = mem_alloc((facts->objects.count + 1) * sizeof *again.candidate_of);
    choose_candidates(&again);
    int failed = flow_each_access(flow, visit, &again, err);
    if (failed == 0)
        hand_out(&again);
    array_each (&again.candidates, struct candidate, candidate)
        array_free(&candidate->places);
    array_free(&again.candidates);
    free(again.candidate_of);
    free(again.remote);
    free(again.slow);
    stalls_free(again.stalls);
    return failed;
}
