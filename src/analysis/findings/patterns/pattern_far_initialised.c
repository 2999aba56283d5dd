/* analysis/findings/patterns/pattern_far_initialised.c - parts private to threads of other nodes, all touched first by one thread. */
#include "analysis/findings/findings_advice.h"

#include <math.h>

/* H0: neighbours in it are of one node no oftener than halfway between chance and always. Borders between parts only
 * make it harder to reject. */
static void claim_separated(struct verdict *verdict, const struct facts_subject *subject)
{
    const struct fact_parts *parts = &subject->parts;
    verdict_claim(verdict, (struct claim){.share = share_of(parts->agree, parts->pairs),
                                          .null = parts_halfway(parts),
                                          .bursts = fmin((double)parts->pairs, (double)parts->bursts)});
}

static bool judge(struct judging *judging, const struct finding *about, struct verdict *verdict)
{
    const struct facts_subject *subject = about->subject;
    if (!placement_may_matter(judging->facts, subject) || subject_private(subject) || subject->sharing != SHARING_ALL)
        return false;
    claim_shared(verdict, subject);
    claim_separated(verdict, subject);
    claim_remote(verdict, subject);
    return true;
}

static const char *explain(struct consult *it)
{
    const struct facts *facts = it->facts;
    const struct facts_subject *subject = it->subject;
    char maker[WHO];
    uint64_t touched = 0, own = 0;
    array_each (&subject->users, const struct fact_user, user) {
        touched += user->touched;
        own += user->thread == subject->toucher ? user->touched : 0;
    }
    if (touched && subject->toucher != FLOW_NONE && share_of(own, touched) >= thresholds.mostly)
        return text(it,
                    "%u threads on %u nodes each use their own part%s, but %s touched %.0f%% "
                    "of its pages first%s. %.0f%% of the accesses are remote.",
                    subject->using_threads, subject->using_nodes, separated_text(it),
                    thread_text(facts, subject->toucher, maker), 100 * share_of(own, touched),
                    on_node_text(it, subject->toucher_node), remote_part(it));
    return text(it,
                "%u threads on %u nodes each use their own part%s, but the parts have their "
                "home elsewhere, most on node %d. %.0f%% of the accesses are remote.",
                subject->using_threads, subject->using_nodes, separated_text(it),
                node_number(facts, subject->main_home), remote_part(it));
}

static void advise(struct consult *it)
{
    advise_to(it, ACTION_FIRST_TOUCH, code_touch(it),
              "a page's home is the node that touches it first, and its %u threads each use their own part%s",
              it->subject->using_threads, separated_text(it));
    advise_to(it, ACTION_MIGRATE, code_migrate(it),
              "when its initialisation cannot change; each thread migrates its part once");
    advise_against_interleaving(it);
    advise_against(it, ACTION_DUPLICATE, "not duplication: the threads use different parts, there is nothing to copy");
    advise_against(it, ACTION_PIN_TOGETHER,
                   "not pinning them together: %u threads would share one node's CPUs and memory",
                   it->subject->using_threads);
}

PATTERN_ROW(far_initialised, "far-initialised",
            "each thread uses its own part, but another thread touched the pages first", on_subject,
            .rule = PATTERN_SUREST, .on_stack = advise_own_copy);
