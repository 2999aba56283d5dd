/* analysis/facts/facts_second_pass.c - time lost to remote accesses, and whether nodes keep to parts of an object.
 *
 * Time. Bursts are spread evenly over CPU time, so each burst stands for the same time, however slow its accesses are:
 * what a subject costs is the mean over bursts of its share of the burst's time. A burst's time is the latencies of its
 * timed accesses, as if nothing overlapped, and BETWEEN for each of them. Sources without bursts sample accesses, not
 * time; there it is one sum by the other, each access as often as what it stands for (facts_weight).
 *
 * Parts. Samples of a subject are put in order of address; neighbours come from the same node by chance as often as the
 * nodes' shares say, and always where each node has its own part. What is above chance is the fact (Cohen's kappa). It
 * needs no page to be sampled twice. A burst counts once a page: accesses in a row agree with themselves. */
#include "analysis/facts/facts_second_pass.h"

#include "base/map64.h"
#include "base/units.h"

#include <string.h>

enum {
    BETWEEN_NS = 1,     /* an access that hits the first cache, and the work up to the next one */
    BETWEEN_CYCLES = 3, /* likewise, for latencies in cycles */
    MEASURED = 100,     /* slow accesses of either kind that make a penalty measured */
    PLACES = 1 << 15,   /* kept of one subject; of more, a fair choice */
    PAIRS = 24,         /* below this many neighbours nothing is said */
    BURST = 64,         /* slow accesses remembered of one burst; the rest counts for time only */
};

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

struct wait {
    uint32_t object;
    int16_t home;
    double slow, remote;
};

struct burst_waits {
    uint32_t number;
    bool marked; /* its source marks the first access of each */
    uint64_t last;
    uint32_t timed, waits;
    double time;
    struct wait wait[BURST];
};

struct again {
    struct facts *facts;
    const struct topology *topology;
    double between;
    double weight, squares, products, weights_squared, count; /* over bursts: of weights and of what each lost */
    bool bursts;                                              /* the source takes them */
    uint32_t burst_count;
    struct burst_waits *threads; /* the burst each thread is in */
    double *slow, *remote;       /* by object */
    uint32_t *candidate_of;      /* by object, or FLOW_NONE */
    array_of(struct candidate) candidates;
    uint64_t random;
};

static double distance_penalty(const struct topology *topology, int from, int home)
{
    double local = topology_distance(topology, (uint32_t)home, (uint32_t)home);
    double far = topology_distance(topology, (uint32_t)from, (uint32_t)home);
    return local > 0 && far > local ? far / local - 1 : 0;
}

/* What a slow remote access waited (or, on a simulated machine, would have waited) and a local one would not. */
static double extra_of(const struct again *again, const struct flow_access *access)
{
    const struct facts *facts = again->facts;
    if (facts->penalty_measured)
        return access->latency * facts->remote_penalty / (1 + facts->remote_penalty);
    double penalty = distance_penalty(again->topology, access->from, access->home);
    return again->topology->simulated ? access->latency * penalty : access->latency * penalty / (1 + penalty);
}

static void end_burst(struct again *again, struct burst_waits *burst)
{
    double whole = again->bursts ? burst->time : 1;
    if (burst->timed == 0 || whole <= 0)
        return;
    double weight = again->bursts ? 1 : burst->time, lost = 0;
    again->weight += weight;
    for (uint32_t i = 0; i < burst->waits; i++) {
        const struct wait *wait = &burst->wait[i];
        again->facts->remote_time += wait->remote / whole;
        lost += wait->remote / whole;
        if (wait->home >= 0)
            again->facts->nodes[wait->home].remote_time += wait->remote / whole;
        if (wait->object == FLOW_NONE)
            continue;
        again->slow[wait->object] += wait->slow / whole;
        again->remote[wait->object] += wait->remote / whole;
    }
    again->squares += lost * lost;
    again->products += lost * weight;
    again->weights_squared += weight * weight;
    again->count++;
    burst->timed = burst->waits = 0;
    burst->time = 0;
}

static void note_time(struct again *again, struct burst_waits *burst, const struct flow_access *access)
{
    double weight = facts_weight(again->facts, access);
    if (!access->has_latency || weight <= 0)
        return;
    burst->timed++;
    burst->time += weight * (access->latency + again->between);
    if (access->latency <= again->facts->slow_ns)
        return;
    double extra = access->remote ? weight * extra_of(again, access) : 0;
    if (again->topology->simulated)
        burst->time += extra;
    if (burst->waits < BURST)
        burst->wait[burst->waits++] = (struct wait){
            .object = access->object, .home = access->home, .slow = weight * access->latency, .remote = extra};
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
    if (access->thread == FLOW_NONE)
        return;
    struct burst_waits *burst = &again->threads[access->thread];
    bool first = access->flags & SAMPLE_FIRST;
    burst->marked |= first;
    if (first || !burst->marked || access->time > burst->last + FACTS_BURST_PAUSE) {
        end_burst(again, burst);
        burst->number = ++again->burst_count;
    }
    burst->last = access->time;
    note_time(again, burst, access);
    note_place(again, access, burst->number);
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
    return mark_a < mark_b ? -1 : mark_a > mark_b;
}

/* Neighbours no further apart than this are in one part of an object: a thread's part is rarely smaller. */
static uint64_t near_of(const struct facts *facts, uint32_t object)
{
    enum { LEAST = 16 << 10, PARTS = 2048 };
    uint64_t part = flow_object_copy(facts->flow, object).size / PARTS;
    return part > LEAST ? part : LEAST;
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
    bool by_page = found.pairs[IN_PAGE] >= PAIRS;
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
    if (parts->pairs < PAIRS || parts->chance > 0.95)
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
        if (subject->using_nodes < 2 || subject->totals.remote * 200 < facts->totals.remote ||
            subject->totals.remote * 1000 < facts->totals.home_known)
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
    if (!again->topology->simulated && facts->slow_local.count >= MEASURED && facts->slow_remote.count >= MEASURED &&
        facts->slow_local.weight > 0 && facts->slow_remote.weight > 0) {
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
            sum += samples * distance_penalty(again->topology, (int)from, (int)home);
            count += samples;
        }
    }
    facts->remote_penalty = count > 0 ? sum / count : 0;
}

/* Sums become shares; objects give theirs to their sites. */
static void hand_out(struct again *again)
{
    struct facts *facts = again->facts;
    double weight = again->weight > 0 ? again->weight : 1;
    facts->remote_time /= weight;
    /* A ratio of two sums: what each burst lost beside what it would have lost at that ratio. Where all weigh the same it is the
     * variance of the shares; a few heavy ones make it larger. */
    double ratio = facts->remote_time;
    double off = again->squares - 2 * ratio * again->products + ratio * ratio * again->weights_squared;
    facts->remote_time_variance = off > 0 ? again->count * off / (weight * weight) : 0;
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
    const struct trace_session *session = flow_session(flow);
    const char *unit = session ? trace_session_get(session, "latency_unit") : NULL;
    struct again again = {.facts = facts, .topology = flow_topology(flow), .random = 1};
    again.between = unit && strcmp(unit, "cycles") == 0 ? BETWEEN_CYCLES : BETWEEN_NS;
    again.bursts = session && trace_session_number(session, "burst", 0) > 1;
    facts->timed = facts->totals.latency_count > 0;
    choose_penalty(&again);
    again.threads = mem_zalloc((flow_thread_count(flow) + 1) * sizeof *again.threads);
    again.slow = mem_zalloc((facts->objects.count + 1) * sizeof *again.slow);
    again.remote = mem_zalloc((facts->objects.count + 1) * sizeof *again.remote);
    again.candidate_of = mem_alloc((facts->objects.count + 1) * sizeof *again.candidate_of);
    choose_candidates(&again);
    int failed = flow_each_access(flow, visit, &again, err);
    for (uint32_t i = 0; failed == 0 && i < flow_thread_count(flow); i++)
        end_burst(&again, &again.threads[i]);
    if (failed == 0)
        hand_out(&again);
    array_each (&again.candidates, struct candidate, candidate)
        array_free(&candidate->places);
    array_free(&again.candidates);
    free(again.candidate_of);
    free(again.remote);
    free(again.slow);
    free(again.threads);
    return failed;
}
