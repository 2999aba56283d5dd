/* analysis/findings/findings_judge.c - what patterns are judged by: what matters of a subject, and claims.
 *
 * No pattern is what remains when the others do not hold: each rests on claims of its own (claim.h), whose null hypotheses
 * stand beside them, and is as sure as the weakest of these. The pattern that is surest is the subject's, if it is sure
 * enough to be said; else the subject is undecided, with the number of bursts that would decide it. */
#include "base/units.h"
#include "analysis/findings/findings_internal.h"

#include <math.h>
#include <string.h>

bool subject_private(const struct facts_subject *subject)
{
    return subject->sharing == SHARING_THREAD ||
           (subject->instances > 1 && share_of(subject->private_instances, subject->instances) >= thresholds.mostly);
}

double subject_bounced(const struct facts_subject *subject)
{
    double part = share_of(subject->false_sharing + subject->true_sharing, subject->totals.samples);
    return part < 1 ? part : 1;
}

double subject_writes(const struct facts_subject *subject)
{
    uint64_t writes = subject->totals.writes, first = subject->init_samples;
    return first < subject->totals.samples
               ? share_of(writes > first ? writes - first : 0, subject->totals.samples - first)
               : share_of(writes, subject->totals.samples);
}

enum object_kind subject_kind(const struct facts *facts, const struct facts_subject *subject)
{
    const struct flow_object *object = flow_object(facts->flow, subject->object);
    return object ? (enum object_kind)object->kind : OBJECT_KINDS;
}

uint64_t subject_bytes(const struct facts *facts, const struct facts_subject *subject, bool is_site)
{
    const struct flow_object *object = flow_object(facts->flow, subject->object);
    const struct flow_site *site = subject->site != FLOW_NONE ? flow_site(facts->flow, subject->site) : NULL;
    if (is_site && site)
        return site->peak_bytes;
    uint64_t size = object ? object->size : 0, touched = subject->pages * PAGE_UNIT;
    return touched && touched < size ? touched : size;
}

/* Of a stack only the pages in use
 * count, however large it is: mostly its top, the first page of which is remote by nature, touched by the thread that made its
 * owner. */
bool subject_cached(const struct facts *facts, const struct facts_subject *subject)
{
    if (!facts->timed || subject->slow_time >= thresholds.cached_time)
        return false;
    uint64_t bytes = subject_kind(facts, subject) == OBJECT_STACK && subject->instances
                         ? subject->pages * PAGE_UNIT / subject->instances
                         : subject_bytes(facts, subject, subject->instances > 1);
    return (double)bytes <= thresholds.cached_bytes;
}

/* Stacks of threads that keep to their own: no sharing, whatever they are summed up to. Their home node is not
 * the program's choice: the page that a thread begins on is touched by the one that makes it, all others by itself. */
static bool is_own_stacks(const struct facts *facts, const struct facts_subject *subject)
{
    return subject_kind(facts, subject) == OBJECT_STACK &&
           share_of(subject->strangers, subject->totals.samples) < 1 - thresholds.mostly;
}

static bool is_shared_line(const struct facts *facts, const struct facts_subject *subject)
{
    return subject_bounced(subject) >= thresholds.majority &&
           (double)subject_bytes(facts, subject, subject->instances > 1) <= thresholds.cached_bytes;
}

/* The pages of variables without symbols, mostly a library's own (malloc's state, stdio). The loader laid them on the node
 * where the program began, whoever runs where; they cannot be allocated elsewhere, nor copied, and they stay in caches. That
 * holds without latencies too, and where an emulator makes all of them slow. A large section is a stripped program's data. */
static bool is_loaders(const struct facts *facts, const struct facts_subject *subject)
{
    return subject_kind(facts, subject) == OBJECT_SECTION &&
           (double)subject_bytes(facts, subject, false) <= thresholds.cached_bytes;
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
    return is_of_system(facts, subject) || (double)subject_bytes(facts, subject, subject->instances > 1) < PAGE_UNIT;
}

/* Whether so many of its samples are enough of all. */
static bool subject_part_matters(const struct facts *facts, const struct facts_subject *subject, uint64_t samples)
{
    double of_all = subject_kind(facts, subject) == OBJECT_SECTION ? thresholds.part : thresholds.of_all;
    return share_of(samples, facts->totals.samples) >= of_all;
}

bool subject_matters(const struct facts *facts, const struct facts_subject *subject, uint64_t samples)
{
    return (double)subject->bursts >= thresholds.bursts && subject_part_matters(facts, subject, samples);
}

/* --- claims: what each pattern rests on --- */

void verdict_begin(struct verdict *verdict, enum pattern pattern)
{
    *verdict = (struct verdict){.pattern = pattern, .confidence = 1};
}

void verdict_claim(struct verdict *verdict, struct claim claim)
{
    double confidence = claim_confidence(&claim);
    verdict->claims++;
    if (confidence < verdict->confidence)
        verdict->confidence = confidence;
    if (confidence >= 1 - thresholds.doubt_likely)
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

/* H0: at most half of the bound's part of its accesses is remote. */
void claim_remote(struct verdict *verdict, const struct facts_subject *subject)
{
    verdict_claim(verdict, (struct claim){.share = share_of(subject->totals.remote, subject->totals.home_known),
                                          .null = thresholds.remote / 2,
                                          .bursts = (double)subject->bursts});
}

double use_of_one(const struct facts_subject *subject, bool node)
{
    uint64_t all = 0, one = 0;
    array_each (&subject->users, const struct fact_user, user) {
        uint64_t used = user->samples - user->init;
        all += used;
        one += (node ? user->node == subject->main_user_node : user->thread == subject->main_user) ? used : 0;
    }
    return share_of(one, all);
}

/* H0: half or more of its use is by others than its main user: another thread; where threads of one node share it,
 * another node. Of a site: of half of its instances. */
void claim_one_user(struct verdict *verdict, const struct facts_subject *subject)
{
    double share = subject->instances > 1 && subject->sharing != SHARING_THREAD
                       ? share_of(subject->private_instances, subject->instances)
                       : use_of_one(subject, subject->sharing == SHARING_NODE);
    verdict_claim(verdict,
                  (struct claim){.share = share, .null = thresholds.majority, .bursts = (double)subject->bursts});
}

/* H0: one node makes 90% of its use or more. */
void claim_shared(struct verdict *verdict, const struct facts_subject *subject)
{
    verdict_claim(verdict, (struct claim){.share = use_of_one(subject, true),
                                          .null = 1 - thresholds.part,
                                          .bursts = (double)subject->bursts,
                                          .below = true});
}

double parts_halfway(const struct fact_parts *parts)
{
    return parts->chance + thresholds.halfway * (1 - parts->chance);
}

/* H0: neighbours in one part of it are of one node halfway between chance and always, or oftener; those that may be across
 * the border of two threads' parts are no evidence. */
void claim_mixed(struct verdict *verdict, const struct facts_subject *subject)
{
    const struct fact_parts *parts = &subject->parts;
    double pairs = (double)(parts->near_pairs - parts->borders);
    verdict_claim(verdict, (struct claim){.share = pairs > 0 ? (double)parts->near_agree / pairs : 1,
                                          .null = parts_halfway(parts),
                                          .bursts = fmin(pairs, (double)parts->bursts),
                                          .below = true});
}

/* H0: threads take turns of 60 ms or longer: then bursts closer than that change thread as seldom as near_expected has it. */
void claim_same_time(struct verdict *verdict, const struct fact_mixing *mixing)
{
    double pairs = mixing->near_pairs > 0 ? mixing->near_pairs : 1;
    verdict_claim(verdict, (struct claim){.share = mixing->near_changes / pairs,
                                          .null = mixing->near_expected / pairs,
                                          .bursts = mixing->near_pairs});
}

/* H0: half of its remote accesses are on pages that it shares with private things of other nodes' threads, or fewer (more).
 * The bursts are those with a remote access. */
void claim_pages_mixed(struct verdict *verdict, const struct facts_subject *subject, bool mixed)
{
    verdict_claim(verdict, (struct claim){.share = share_of(subject->mixed_remote, subject->totals.remote),
                                          .null = thresholds.majority,
                                          .bursts = (double)subject->bursts *
                                                    share_of(subject->totals.remote, subject->totals.samples),
                                          .below = !mixed});
}

bool placement_may_matter(const struct facts *facts, const struct facts_subject *subject)
{
    const struct flow_totals *totals = &subject->totals;
    return facts->node_count > 1 && subject_part_matters(facts, subject, totals->remote) &&
           share_of(totals->remote, totals->home_known) >= thresholds.remote &&
           facts_part_of_remote(facts, totals->remote, subject->remote_weight) >= thresholds.of_remote &&
           !subject_cached(facts, subject) && !is_shared_line(facts, subject) && !is_own_stacks(facts, subject) &&
           !is_loaders(facts, subject) && !is_not_to_place(facts, subject);
}
