/* analysis/findings/findings_judge.c - which pattern a subject has, from its facts alone.
 *
 * No pattern is what remains when the others do not hold: each rests on claims of its own (claim.h), whose null hypotheses
 * stand beside them, and is as sure as the weakest of these. The pattern that is surest is the subject's, if it is sure
 * enough to be said; else the subject is undecided, with the number of bursts that would decide it. */
#include "analysis/findings/findings_internal.h"

#include <string.h>

const struct findings_bounds findings_bounds = {
    .bursts = CLAIM_BURSTS,
    .samples = 32,
    .of_remote = 0.02,
    .of_all = 0.01,
    .remote = 0.2,
    .parted = 0.5,
    .turns = 0.6,
    .mostly = 0.85,
    .mixed = 0.5,
    .false_sharing = 0.25,
    .true_sharing = 0.25,
    .undecided = 0.05,
    .section_of_all = 0.10,
    .unbalanced_remote = 0.10,
    .one_of_many = 0.8,
    .cached_bytes = 64 << 10,
    .least_bytes = 4096,
    .cached_time = 0.005,
    .from_node = 0.4,
    .duplicate_writes = 0.1,
    .move_of_turn = 0.1,
    .move_bytes_ns = 1.0,
    .gate = 0.05,
    .gate_untimed = 0.05,
};

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

enum { PAGE = 4096 };

uint64_t subject_bytes(const struct facts *facts, const struct facts_subject *subject, bool is_site)
{
    const struct flow_object *object = flow_object(facts->flow, subject->object);
    const struct flow_site *site = subject->site != FLOW_NONE ? flow_site(facts->flow, subject->site) : NULL;
    if (is_site && site)
        return site->peak_bytes;
    uint64_t size = object ? object->size : 0, touched = subject->pages * PAGE;
    return touched && touched < size ? touched : size;
}

/* Small and hardly ever slow: caches answer, so it costs nothing that its page is far. Of a stack only the pages in use
 * count, however large it is: mostly its top, the first page of which is remote by nature, touched by the thread that made its
 * owner. */
static bool is_cached(const struct facts *facts, const struct facts_subject *subject)
{
    if (!facts->timed || subject->slow_time >= findings_bounds.cached_time)
        return false;
    uint64_t bytes = subject_kind(facts, subject) == OBJECT_STACK && subject->instances
                         ? subject->pages * PAGE / subject->instances
                         : subject_bytes(facts, subject, subject->instances > 1);
    return (double)bytes <= findings_bounds.cached_bytes;
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

/* Variables and tables of the system's libraries. */
static bool is_of_system(const struct facts *facts, const struct facts_subject *subject)
{
    static const char *const system[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
    const struct flow_object *object = flow_object(facts->flow, subject->object);
    if (!object || (object->kind != OBJECT_STATIC && object->kind != OBJECT_SECTION))
        return false;
    for (size_t i = 0; i < sizeof system / sizeof *system; i++) {
        if (strncmp(object->path, system[i], strlen(system[i])) == 0)
            return true;
    }
    return false;
}

bool subject_loaded(const struct facts *facts, const struct facts_subject *subject)
{
    return is_loaders(facts, subject) || is_of_system(facts, subject);
}

/* Those, and things of a few cache lines, less than a page, which is the least that can be placed: nobody allocates them
 * elsewhere, and no page is moved for them. */
static bool is_not_to_place(const struct facts *facts, const struct facts_subject *subject)
{
    return is_of_system(facts, subject) ||
           (double)subject_bytes(facts, subject, subject->instances > 1) < findings_bounds.least_bytes;
}

/* Whether so many of its samples are enough of all. */
static bool subject_part_matters(const struct facts *facts, const struct facts_subject *subject, uint64_t samples)
{
    double of_all =
        subject_kind(facts, subject) == OBJECT_SECTION ? findings_bounds.section_of_all : findings_bounds.of_all;
    return part_of(samples, facts->totals.samples) >= of_all;
}

bool subject_matters(const struct facts *facts, const struct facts_subject *subject, uint64_t samples)
{
    return samples >= findings_bounds.samples && subject->bursts >= findings_bounds.bursts &&
           subject_part_matters(facts, subject, samples);
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

/* --- claims: what each pattern rests on --- */

void verdict_begin(struct verdict *verdict, enum pattern pattern)
{
    *verdict = (struct verdict){.pattern = pattern, .confidence = 1};
}

void verdict_claim(struct verdict *verdict, struct claim claim)
{
    double confidence = claim_confidence(&claim);
    if (confidence < verdict->confidence)
        verdict->confidence = confidence;
    if (confidence >= CLAIM_LIKELY)
        return;
    /* Seen from all bursts: a claim may have only a part of them to go by. */
    uint64_t needed = claim_needed(&claim);
    verdict->needed = needed > verdict->needed ? needed : verdict->needed;
    verdict->of = claim.bursts > 0 && (verdict->of == 0 || claim.bursts < verdict->of) ? claim.bursts : verdict->of;
}

uint64_t verdict_needed(const struct verdict *verdict, uint64_t bursts)
{
    /* With nothing to go by so far, a claim is taken to need as many as there are, ten times over. */
    double factor = verdict->of > 0 ? (double)verdict->needed / verdict->of : 10;
    return claim_rounded((double)bursts * factor);
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* H0: at most half of the bound's part of its accesses is remote. */
static void claim_remote(struct verdict *verdict, const struct facts_subject *subject)
{
    verdict_claim(verdict, (struct claim){.share = part_of(subject->totals.remote, subject->totals.home_known),
                                          .null = findings_bounds.remote / 2,
                                          .bursts = (double)subject->bursts});
}

/* Its use, without what initialises it, by the thread or from the node that uses it most. */
static double use_of_one(const struct facts_subject *subject, bool node)
{
    uint64_t all = 0, one = 0;
    array_each (&subject->users, const struct fact_user, user) {
        uint64_t used = user->samples - user->init;
        all += used;
        one += (node ? user->node == subject->main_user_node : user->thread == subject->main_user) ? used : 0;
    }
    return part_of(one, all);
}

/* H0: a third or more of its use is by others than its main user: another thread; where threads of one node share it,
 * another node. Of a site: of a third of its instances. */
static void claim_one_user(struct verdict *verdict, const struct facts_subject *subject)
{
    double share = subject->instances > 1 && subject->sharing != SHARING_THREAD
                       ? part_of(subject->private_instances, subject->instances)
                       : use_of_one(subject, subject->sharing == SHARING_NODE);
    verdict_claim(verdict, (struct claim){.share = share, .null = 2.0 / 3, .bursts = (double)subject->bursts});
}

/* H0: one node makes 90% of its use or more. */
static void claim_shared(struct verdict *verdict, const struct facts_subject *subject)
{
    verdict_claim(verdict, (struct claim){.share = use_of_one(subject, true),
                                          .null = 0.9,
                                          .bursts = (double)subject->bursts,
                                          .below = true});
}

static double halfway(const struct fact_parts *parts)
{
    return parts->chance + findings_bounds.parted * (1 - parts->chance);
}

/* H0: neighbours in it are of one node no oftener than halfway between chance and always. Borders between parts only
 * make it harder to reject. */
static void claim_parted(struct verdict *verdict, const struct facts_subject *subject)
{
    const struct fact_parts *parts = &subject->parts;
    verdict_claim(verdict, (struct claim){.share = part_of(parts->agree, parts->pairs),
                                          .null = halfway(parts),
                                          .bursts = smaller((double)parts->pairs, (double)parts->bursts)});
}

/* H0: neighbours in one part of it are of one node halfway between chance and always, or oftener; those that may lie across
 * the border of two threads' parts are no evidence. */
static void claim_mixed(struct verdict *verdict, const struct facts_subject *subject)
{
    const struct fact_parts *parts = &subject->parts;
    double pairs = (double)(parts->near_pairs - parts->borders);
    verdict_claim(verdict, (struct claim){.share = pairs > 0 ? (double)parts->near_agree / pairs : 1,
                                          .null = halfway(parts),
                                          .bursts = smaller(pairs, (double)parts->bursts),
                                          .below = true});
}

/* H0: among bursts that follow each other the thread changes 60% as often as where threads use it at the same time, or
 * oftener. */
static void claim_turns(struct verdict *verdict, const struct facts_subject *subject)
{
    const struct fact_mixing *mixing = &subject->mixing;
    double pairs = mixing->pairs > 0 ? mixing->pairs : 1;
    verdict_claim(verdict, (struct claim){.share = mixing->changes / pairs,
                                          .null = findings_bounds.turns * mixing->chance / pairs,
                                          .bursts = mixing->pairs,
                                          .below = true});
}

/* H0: threads take turns of 60 ms or longer: then bursts closer than that change thread as seldom as near_turns has it. */
static void claim_same_time(struct verdict *verdict, const struct fact_mixing *mixing)
{
    double pairs = mixing->near_pairs > 0 ? mixing->near_pairs : 1;
    verdict_claim(verdict, (struct claim){.share = mixing->near_changes / pairs,
                                          .null = mixing->near_turns / pairs,
                                          .bursts = mixing->near_pairs});
}

/* H0: half of its remote accesses are on pages that it shares with private things of other nodes' threads, or fewer (more).
 * The bursts are those with a remote access. */
static void claim_pages_mixed(struct verdict *verdict, const struct facts_subject *subject, bool mixed)
{
    verdict_claim(verdict, (struct claim){.share = part_of(subject->mixed_remote, subject->totals.remote),
                                          .null = findings_bounds.mixed,
                                          .bursts = (double)subject->bursts *
                                                    part_of(subject->totals.remote, subject->totals.samples),
                                          .below = !mixed});
}

/* --- the patterns of placement --- */

static bool after_allocation(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict)
{
    (void)facts;
    bool private = subject_private(subject);
    if (!private && (subject->main_user_node == subject->main_home ||
                     (subject->sharing == SHARING_ALL && use_of_one(subject, false) < findings_bounds.mostly)))
        return false;
    claim_one_user(verdict, subject);
    if (private && subject->mixed_remote)
        claim_pages_mixed(verdict, subject, false);
    return true;
}

static bool mixed_pages(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict)
{
    (void)facts;
    if (!subject_private(subject) || subject->mixed_remote == 0)
        return false;
    claim_one_user(verdict, subject);
    claim_pages_mixed(verdict, subject, true);
    return true;
}

static bool far_initialised(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict)
{
    (void)facts;
    if (subject_private(subject) || subject->sharing != SHARING_ALL)
        return false;
    claim_shared(verdict, subject);
    claim_parted(verdict, subject);
    return true;
}

static bool alternate(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict)
{
    (void)facts;
    if (subject_private(subject) || subject->sharing != SHARING_ALL)
        return false;
    claim_shared(verdict, subject);
    claim_mixed(verdict, subject);
    claim_turns(verdict, subject);
    return true;
}

static bool concurrent(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict)
{
    if (subject_private(subject) || subject->sharing != SHARING_ALL ||
        (subject->use == USE_WRITTEN && is_spread(facts, subject) && !subject_by_process(facts, subject).pinnable))
        return false;
    claim_shared(verdict, subject);
    claim_mixed(verdict, subject);
    claim_same_time(verdict, &subject->mixing);
    return true;
}

/* Whether where it lies could matter at all. */
static bool may_matter(const struct facts *facts, const struct facts_subject *subject)
{
    const struct flow_totals *totals = &subject->totals;
    return facts->node_count > 1 && subject_part_matters(facts, subject, totals->remote) &&
           part_of(totals->remote, totals->home_known) >= findings_bounds.remote &&
           facts_part_of_remote(facts, totals->remote, subject->remote_weight) >= findings_bounds.of_remote &&
           !is_cached(facts, subject) && !is_shared_line(facts, subject) && !is_own_stacks(facts, subject) &&
           !is_loaders(facts, subject) && !is_not_to_place(facts, subject);
}

enum judged judge_placement(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict)
{
    static const struct {
        enum pattern pattern;
        bool (*judge)(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict);
    } rules[] = {
        {PATTERN_REMOTE_AFTER_ALLOCATION, after_allocation},
        {PATTERN_MIXED_PAGES, mixed_pages},
        {PATTERN_FAR_INITIALISED, far_initialised},
        {PATTERN_ALTERNATE_REMOTE, alternate},
        {PATTERN_CONCURRENT_REMOTE, concurrent},
    };
    if (!may_matter(facts, subject))
        return JUDGED_NOTHING;
    bool any = false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct verdict other;
        verdict_begin(&other, rules[i].pattern);
        if (!rules[i].judge(facts, subject, &other))
            continue;
        claim_remote(&other, subject);
        bool surer = !any || other.confidence > verdict->confidence ||
                     (other.confidence >= verdict->confidence && other.needed < verdict->needed);
        any = true;
        if (surer)
            *verdict = other;
    }
    return !any ? JUDGED_NOTHING : verdict->confidence >= CLAIM_HINT ? JUDGED : JUDGED_UNDECIDED;
}

/* --- sharing and nodes --- */

enum judged judge_false_sharing(const struct facts *facts, const struct facts_subject *subject, struct verdict *verdict)
{
    double part = part_of(subject->false_sharing, subject->totals.samples);
    if (!subject_matters(facts, subject, subject->false_sharing) || part < findings_bounds.false_sharing ||
        subject->false_sharing <= subject->true_sharing)
        return JUDGED_NOTHING;
    verdict_begin(verdict, PATTERN_FALSE_SHARING);
    /* H0: half of the bound's part of its accesses is on such lines, or less. */
    verdict_claim(
        verdict,
        (struct claim){.share = part, .null = findings_bounds.false_sharing / 2, .bursts = (double)subject->bursts});
    /* H0: of the shared lines, half are shared falsely, or fewer. */
    double shared = (double)(subject->false_sharing + subject->true_sharing);
    verdict_claim(verdict, (struct claim){.share = (double)subject->false_sharing / shared,
                                          .null = 0.5,
                                          .bursts = (double)subject->bursts * subject_bounced(subject)});
    return verdict->confidence >= CLAIM_HINT ? JUDGED : JUDGED_NOTHING;
}

uint32_t nodes_taking_part(const struct facts *facts, uint32_t home)
{
    uint32_t nodes = facts->node_count, taking = 0;
    for (uint32_t from = 0; from < nodes; from++)
        taking += part_of(facts->matrix[(size_t)from * nodes + home], facts->nodes[home].samples) >=
                  findings_bounds.from_node / nodes;
    return taking;
}

/* Samples on a node's memory that load it: not those of things in caches, of libraries, or on lines that go round, nor of what nodes
 * use one after the other. */
static uint64_t node_load(const struct facts *facts, uint32_t node)
{
    double less = 0;
    array_each (&facts->objects, const struct facts_subject, object) {
        if (object->totals.samples == 0 || !object->home || !object->home[node])
            continue;
        bool turns = object->sharing == SHARING_ALL && object->turns == TURNS_DISJOINT;
        less += (double)object->home[node] *
                (turns || is_cached(facts, object) || subject_loaded(facts, object) ? 1 : subject_bounced(object));
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
    double bursts = (double)facts->totals.home_known / (double)(burst ? burst : 1);
    double load = part_of(node_load(facts, node), facts->totals.home_known);
    if (facts->node_count < 2 || load < most || own->remote < findings_bounds.samples ||
        part_of(own->remote, own->samples) < findings_bounds.remote ||
        nodes_taking_part(facts, node) < (facts->node_count < 3 ? 2 : 3))
        return false;
    verdict_begin(verdict, PATTERN_SATURATED_NODE);
    /* H0: it serves halfway between an equal share and that bound, or less. */
    verdict_claim(verdict,
                  (struct claim){.share = load, .null = (most + 1.0 / facts->node_count) / 2, .bursts = bursts});
    /* H0: half of the bound's part of what it serves comes from elsewhere, or less. */
    verdict_claim(verdict, (struct claim){.share = part_of(own->remote, own->samples),
                                          .null = findings_bounds.remote / 2,
                                          .bursts = bursts * part_of(own->samples, facts->totals.home_known)});
    claim_same_time(verdict, &own->mixing);
    return verdict->confidence >= CLAIM_HINT;
}
