/* analysis/findings_judge.c - which pattern a subject has, from its facts alone. */
#include "analysis/findings_internal.h"

#include <math.h>

const struct findings_bounds findings_bounds = {
    .bursts = 8,
    .samples = 32,
    .of_remote = 0.02,
    .of_all = 0.01,
    .remote = 0.2,
    .parted = 0.6,
    .mostly = 0.85,
    .mixed = 0.5,
    .false_sharing = 0.25,
    .true_sharing = 0.25,
    .section_of_all = 0.10,
    .unbalanced_remote = 0.10,
    .one_of_many = 0.8,
    .cached_bytes = 64 << 10,
    .cached_time = 0.005,
    .from_node = 0.4,
    .duplicate_writes = 0.1,
    .move_of_turn = 0.1,
    .move_bytes_ns = 1.0,
    .gate = 0.05,
    .gate_untimed = 0.05,
};

double wilson_low(double share, uint64_t looks)
{
    const double z = 1.96;
    double n = (double)looks;
    if (looks == 0)
        return 0;
    double middle = share + z * z / (2 * n);
    double half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
    double low = (middle - half) / (1 + z * z / n);
    return low > 0 ? low : 0;
}

double verdict_confidence(const struct verdict *verdict)
{
    double share = verdict->decisive < 1 ? verdict->decisive : 1, bound = verdict->bound;
    if (verdict->looks == 0 || share <= 0)
        return 0;
    /* The score test, whose inverse the Wilson interval is. */
    double z = (share - bound) / sqrt(bound * (1 - bound) / (double)verdict->looks);
    double beyond = 0.5 * erfc(-z / sqrt(2));
    double known = wilson_low(share, verdict->looks) / share;
    return beyond < known ? beyond : known;
}

bool subject_private(const struct facts_subject *subject)
{
    return subject->sharing == SHARING_THREAD ||
           (subject->instances > 1 &&
            part_of(subject->private_instances, subject->instances) >= findings_bounds.mostly);
}

double subject_bounced(const struct facts_subject *subject)
{
    double part = part_of(subject->false_sharing + subject->true_sharing, subject->totals.samples);
    return part < 1 ? part : 1;
}

double subject_writes(const struct facts_subject *subject)
{
    uint64_t writes = subject->totals.writes, first = subject->init_samples;
    return first < subject->totals.samples
               ? part_of(writes > first ? writes - first : 0, subject->totals.samples - first)
               : part_of(writes, subject->totals.samples);
}

enum object_kind subject_kind(const struct facts *facts, const struct facts_subject *subject)
{
    const struct flow_object *object = flow_object(facts->flow, subject->object);
    return object ? (enum object_kind)object->kind : OBJECT_KINDS;
}

uint64_t subject_bytes(const struct facts *facts, const struct facts_subject *subject, bool is_site)
{
    enum { PAGE = 4096 };
    const struct flow_object *object = flow_object(facts->flow, subject->object);
    const struct flow_site *site = subject->site != FLOW_NONE ? flow_site(facts->flow, subject->site) : NULL;
    if (is_site && site)
        return site->peak_bytes;
    uint64_t size = object ? object->size : 0, touched = subject->pages * PAGE;
    return touched && touched < size ? touched : size;
}

/* Small and hardly ever slow: caches answer, so it costs nothing that its page is far. Of a stack only the top is in use,
 * however large it is; and its first page is remote by nature, touched by the thread that made its owner. */
static bool is_cached(const struct facts *facts, const struct facts_subject *subject)
{
    if (!facts->timed || subject->slow_time >= findings_bounds.cached_time)
        return false;
    return subject_kind(facts, subject) == OBJECT_STACK ||
           (double)subject_bytes(facts, subject, subject->instances > 1) <= findings_bounds.cached_bytes;
}

/* Stacks of threads that keep to their own: no sharing, whatever they are summed up to. Where they lie is not the
 * program's choice: the page that a thread begins on is touched by the one that makes it, all others by itself. */
static bool is_own_stacks(const struct facts *facts, const struct facts_subject *subject)
{
    return subject_kind(facts, subject) == OBJECT_STACK &&
           part_of(subject->strangers, subject->totals.samples) < 1 - findings_bounds.mostly;
}

static bool is_shared_line(const struct facts *facts, const struct facts_subject *subject)
{
    return subject_bounced(subject) >= 0.5 &&
           (double)subject_bytes(facts, subject, subject->instances > 1) <= findings_bounds.cached_bytes;
}

/* The pages of variables without symbols, mostly a library's own (malloc's state, stdio). The loader laid them on the node
 * where the program began, whoever runs where; they cannot be allocated elsewhere, nor copied, and they stay in caches. That
 * holds without latencies too, and where an emulator makes all of them slow. A large section is a stripped program's data. */
static bool is_loaders(const struct facts *facts, const struct facts_subject *subject)
{
    return subject_kind(facts, subject) == OBJECT_SECTION &&
           (double)subject_bytes(facts, subject, false) <= findings_bounds.cached_bytes;
}

bool subject_matters(const struct facts *facts, const struct facts_subject *subject, uint64_t samples)
{
    double of_all =
        subject_kind(facts, subject) == OBJECT_SECTION ? findings_bounds.section_of_all : findings_bounds.of_all;
    return samples >= findings_bounds.samples && subject->bursts >= findings_bounds.bursts &&
           part_of(samples, facts->totals.samples) >= of_all;
}

/* Where the pages lie evenly on the nodes, writers of all nodes can have no better place for them. But the threads may,
 * where each piece belongs to one of several processes. */
static bool is_spread(const struct facts *facts, const struct facts_subject *subject)
{
    uint64_t most = 0, all = 0;
    for (uint32_t i = 0; i < facts->node_count; i++) {
        all += subject->home[i];
        most = subject->home[i] > most ? subject->home[i] : most;
    }
    return part_of(most, all) <= 1.0 / facts->node_count + 0.15;
}

static bool one_user(const struct facts_subject *subject)
{
    if (subject->sharing != SHARING_ALL)
        return subject->main_user_node != subject->main_home;
    if (subject->users.count == 0 || subject->main_user_node == subject->main_home)
        return false;
    return part_of(subject->users.items[0].samples, subject->totals.samples - subject->init_samples) >=
           findings_bounds.mostly;
}

static bool choose(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict)
{
    uint64_t remote = subject->totals.remote;
    if (subject_private(subject)) {
        verdict->pattern = PATTERN_REMOTE_AFTER_ALLOCATION;
        double mixed = part_of(subject->mixed_remote, remote);
        if (mixed >= findings_bounds.mixed) {
            verdict->pattern = PATTERN_MIXED_PAGES;
            verdict->decisive = mixed;
            verdict->bound = findings_bounds.mixed;
            verdict->looks = (uint64_t)((double)subject->bursts * part_of(remote, subject->totals.samples)) + 1;
        }
        return true;
    }
    if (one_user(subject)) {
        verdict->pattern = PATTERN_REMOTE_AFTER_ALLOCATION;
        return true;
    }
    if (subject->sharing != SHARING_ALL)
        return false;
    if (subject->parted >= findings_bounds.parted) {
        verdict->pattern = PATTERN_FAR_INITIALISED;
        return true;
    }
    if (subject->turns == TURNS_DISJOINT) {
        verdict->pattern = PATTERN_ALTERNATE_REMOTE;
        return true;
    }
    verdict->pattern = PATTERN_CONCURRENT_REMOTE;
    return subject->turns == TURNS_CONCURRENT &&
           (subject->use != USE_WRITTEN || !is_spread(facts, subject) || subject_by_process(facts, subject).pinnable);
}

bool judge_placement(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict)
{
    const struct flow_totals *totals = &subject->totals;
    double remote = part_of(totals->remote, totals->home_known);
    if (facts->node_count < 2 || !subject_matters(facts, subject, totals->remote) || remote < findings_bounds.remote ||
        part_of(totals->remote, facts->totals.remote) < findings_bounds.of_remote || is_cached(facts, subject) ||
        is_shared_line(facts, subject) || is_own_stacks(facts, subject) || is_loaders(facts, subject))
        return false;
    *verdict = (struct verdict){.decisive = remote, .bound = findings_bounds.remote / 2, .looks = subject->bursts};
    return choose(facts, subject, verdict);
}

bool judge_false_sharing(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict)
{
    double part = part_of(subject->false_sharing, subject->totals.samples);
    if (!subject_matters(facts, subject, subject->false_sharing) || part < findings_bounds.false_sharing ||
        subject->false_sharing <= subject->true_sharing)
        return false;
    *verdict = (struct verdict){.pattern = PATTERN_FALSE_SHARING,
                                .decisive = part,
                                .bound = findings_bounds.false_sharing / 2,
                                .looks = subject->bursts};
    return true;
}

uint32_t nodes_taking_part(const struct facts *facts, uint32_t home)
{
    uint32_t nodes = facts->node_count, taking = 0;
    for (uint32_t from = 0; from < nodes; from++)
        taking += part_of(facts->matrix[(size_t)from * nodes + home], facts->nodes[home].samples) >=
                  findings_bounds.from_node / nodes;
    return taking;
}

/* Samples on a node's memory that load it: not those of things in caches or on lines that go round, nor of what nodes
 * use one after the other. */
static uint64_t node_load(const struct facts *facts, uint32_t node)
{
    double less = 0;
    array_each (&facts->objects, const struct facts_subject, object) {
        if (object->totals.samples == 0 || !object->home || !object->home[node])
            continue;
        bool turns = object->sharing == SHARING_ALL && object->turns == TURNS_DISJOINT;
        less += (double)object->home[node] * (turns || is_cached(facts, object) ? 1 : subject_bounced(object));
    }
    uint64_t all = facts->nodes[node].samples;
    return less < (double)all ? all - (uint64_t)less : 0;
}

bool judge_node(const struct facts *facts, uint32_t node, struct verdict *verdict)
{
    const struct facts_node *own = &facts->nodes[node];
    const struct trace_session *session = flow_session(facts->flow);
    uint64_t burst = session ? trace_session_number(session, "burst", 1) : 1;
    double most = 0.5 + 0.5 / facts->node_count; /* 75% of two nodes' traffic, 56% of eight's */
    *verdict = (struct verdict){
        .pattern = PATTERN_SATURATED_NODE, .bound = most / 2, .looks = own->samples / (burst ? burst : 1)};
    if (facts->node_count < 2 || part_of(own->samples, facts->totals.home_known) < most ||
        own->remote < findings_bounds.samples || verdict->looks < findings_bounds.bursts ||
        part_of(own->remote, own->samples) < findings_bounds.remote ||
        nodes_taking_part(facts, node) < (facts->node_count < 3 ? 2 : 3))
        return false;
    verdict->decisive = part_of(node_load(facts, node), facts->totals.home_known);
    return verdict->decisive >= most;
}
