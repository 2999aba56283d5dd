/* analysis/facts/concurrency.c - do threads take turns at a subject, or use it at the same time?
 *
 * Look at the bursts that hit it, in order of time. When threads come and go at random among each other, a burst is
 * followed by another thread's as often as chance has it: of N bursts with n of each thread, N - sum(n * n) / N times
 * on average (shuffle them and count). When threads take turns, it happens once a turn. The number of changes as a part
 * of the number that chance has is near 1 for concurrent use and near 0 for turns, whatever the number of threads,
 * their shares, and the length of the run.
 *
 * Where threads are more than processors the scheduler makes them take turns, of some milliseconds. Those are not the
 * program's. So bursts are looked at a sixth of turn_ns apart, and turns that are shorter than a few of these are not seen.
 *
 * Bursts that are further apart than a turn change thread in turns as often as by chance. Use at the same time is shown only
 * by those that are closer than thresholds.turn_ns: among turns of that length a pair d apart changes with d / turn_ns of chance. */
#include "analysis/facts/facts_work.h"

/* A pair close in time: of threads that take turns of that length it would change thread with this chance, at most. */
static void note_near(struct looks *looks, const struct flow_access *access)
{
    uint64_t apart = access->time - looks->time;
    if ((double)apart >= thresholds.turn_ns)
        return;
    looks->near_pairs++;
    looks->near_changes += looks->thread != access->thread;
    looks->near_weight += (double)apart / thresholds.turn_ns;
}

void concurrency_look(struct looks *looks, const struct flow_access *access)
{
    if (looks->thread != FLOW_NONE && access->time < looks->time + look_ns())
        return;
    if (looks->thread != FLOW_NONE) {
        looks->pairs++;
        looks->thread_changes += looks->thread != access->thread;
        looks->node_changes += looks->node != access->from;
        note_near(looks, access);
    }
    looks->thread = access->thread;
    looks->node = access->from;
    looks->time = access->time;
}

void concurrency_add(const struct gathering *gathering, struct work *work, const struct flow_access *access,
                     bool new_burst)
{
    if (access->thread != work->switch_thread) {
        if (work->switch_thread != FLOW_NONE) {
            work->switches++;
            work->last_switch = access->time;
        } else {
            work->first_switch = access->time;
        }
        work->switch_thread = access->thread;
    }
    if (!new_burst)
        return;
    concurrency_look(&work->looks, access);
    if (access->from < 0)
        return;
    if (!work->node_bursts)
        work->node_bursts = mem_zalloc(gathering->facts->node_count * sizeof *work->node_bursts);
    work->node_bursts[access->from]++;
}

/* Of so many looks, those that find another one than before: of all pairs of bursts, the part that is not of one thread.
 * `squares` is the sum of the squares of each one's bursts. */
static double chance(double looks, double total, double squares)
{
    return total > 1 ? looks * (total - squares / total) / (total - 1) : 0;
}

static double expected_threads(const struct work *work)
{
    double squares = 0, total = 0;
    for (size_t i = 0; i < work->users.count; i++) {
        double bursts = work->users.items[i].use_bursts;
        squares += bursts * bursts;
        total += bursts;
    }
    return chance(work->looks.pairs, total, squares);
}

static double expected_nodes(const struct gathering *gathering, const struct work *work)
{
    double squares = 0, total = 0;
    for (uint32_t node = 0; work->node_bursts && node < gathering->facts->node_count; node++) {
        squares += (double)work->node_bursts[node] * work->node_bursts[node];
        total += work->node_bursts[node];
    }
    return chance(work->looks.pairs, total, squares);
}

static struct fact_mixing looks_mixing(const struct looks *looks, double by_chance)
{
    return (struct fact_mixing){.pairs = looks->pairs,
                                .changes = looks->thread_changes,
                                .chance = by_chance,
                                .near_pairs = looks->near_pairs,
                                .near_changes = looks->near_changes,
                                .near_expected = looks->pairs ? by_chance / looks->pairs * looks->near_weight : 0};
}

static struct mixing mixing_of(const struct gathering *gathering, const struct work *work)
{
    return (struct mixing){.looks = looks_mixing(&work->looks, expected_threads(work)),
                           .nodes = work->looks.node_changes,
                           .nodes_by_chance = expected_nodes(gathering, work)};
}

/* A thread's samples on a node stand for its bursts. */
void concurrency_finish_node(struct gathering *gathering, uint32_t node)
{
    double squares = 0, total = 0;
    for (size_t i = 0; i < flow_thread_count(gathering->flow); i++) {
        double samples = (double)gathering->facts->threads[i].homes[node];
        squares += samples * samples;
        total += samples;
    }
    const struct looks *looks = &gathering->node_looks[node];
    gathering->facts->nodes[node].mixing = looks_mixing(looks, chance(looks->pairs, total, squares));
}

static void judge(struct facts_subject *subject, const struct mixing *mixing)
{
    subject->concurrency = CONCURRENCY_NONE;
    const struct fact_mixing *looks = &mixing->looks;
    if (subject->using_threads >= 2 && looks->chance >= thresholds.bursts / 2)
        subject->concurrency =
            looks->changes / looks->chance >= thresholds.halfway ? CONCURRENCY_CONCURRENT : CONCURRENCY_DISJOINT;
    subject->mixing = *looks;
    double overlap = mixing->nodes_by_chance > 0 ? mixing->nodes / mixing->nodes_by_chance : 0;
    subject->overlap = overlap < 1 ? overlap : 1;
}

static void looks_add(struct fact_mixing *sum, const struct fact_mixing *looks)
{
    sum->pairs += looks->pairs;
    sum->changes += looks->changes;
    sum->chance += looks->chance;
    sum->near_pairs += looks->near_pairs;
    sum->near_changes += looks->near_changes;
    sum->near_expected += looks->near_expected;
}

void concurrency_finish(struct gathering *gathering, uint32_t object)
{
    struct facts_subject *subject = &gathering->facts->objects.items[object];
    const struct work *work = &gathering->objects[object];
    struct mixing mixing = mixing_of(gathering, work);
    uint64_t span = work->switches ? work->last_switch - work->first_switch : 0;
    judge(subject, &mixing);
    subject->switches = work->switches;
    subject->switch_ns = work->switches ? span / work->switches : 0;
    struct site_work *site = site_of(gathering, object);
    if (!site)
        return;
    site->mixing.nodes += mixing.nodes;
    site->mixing.nodes_by_chance += mixing.nodes_by_chance;
    looks_add(&site->mixing.looks, &mixing.looks);
    site->switch_span += span;
    gathering->facts->sites.items[subject->site].switches += work->switches;
}

/* Of a site: within each instance, since two instances used at the same time are no sharing. */
void concurrency_finish_site(struct gathering *gathering, uint32_t site)
{
    struct facts_subject *subject = &gathering->facts->sites.items[site];
    judge(subject, &gathering->sites[site].mixing);
    subject->switch_ns = subject->switches ? gathering->sites[site].switch_span / subject->switches : 0;
}
