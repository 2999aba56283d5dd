/* analysis/findings/patterns/pattern_concurrent_remote.c - threads of several nodes use it at the same time. */
#include "analysis/findings/findings_advice.h"

/* Where the pages are spread evenly over the nodes, no place is better for writers of all nodes. But the threads may
 * have one, where each piece belongs to one of several processes. */
static bool is_spread(const struct facts *facts, const struct facts_subject *subject)
{
    uint64_t most = 0, all = 0;
    for (uint32_t i = 0; i < facts->node_count; i++) {
        all += subject->home[i];
        most = subject->home[i] > most ? subject->home[i] : most;
    }
    return share_of(most, all) <= 1.0 / facts->node_count + thresholds.remote;
}

static bool judge(struct judging *judging, const struct finding *about, struct verdict *verdict)
{
    const struct facts_subject *subject = about->subject;
    if (!placement_may_matter(judging->facts, subject) || subject_private(subject) || subject->sharing != SHARING_ALL ||
        (subject->use == USE_WRITTEN && is_spread(judging->facts, subject) &&
         !subject_by_process(judging->facts, subject).pinnable))
        return false;
    claim_shared(verdict, subject);
    claim_mixed(verdict, subject);
    claim_same_time(verdict, &subject->mixing);
    claim_remote(verdict, subject);
    return true;
}

static const char *explain(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    if (subject->use == USE_WRITTEN && !it->is_stack)
        it->finding->gain = gain_known(
            it, text(it,
                     "Distance costs %.1f%% of run time (%s; no stall overlaps with work). Interleaved, %.0f%% "
                     "of the accesses stay remote: the gain is less queueing at one node's memory, which is not in "
                     "this number.",
                     100 * it->finding->lost_time_share, gain_assumed(it), spread_part(it)));
    return text(
        it,
        "%u threads on %u nodes use it at the same time (%.0f%% interleaved); %s. %.0f%% of the accesses are remote.",
        subject->using_threads, subject->using_nodes, 100 * subject->overlap, written_how(it), remote_part(it));
}

static void advise(struct consult *it)
{
    struct by_process by = subject_by_process(it->facts, it->subject);
    if (by.pinnable)
        advise_pin_processes(it, by);
    if (is_proved(it))
        advise_duplicate(it);
    if (by.pinnable)
        advise_against_interleaving(it);
    else if (is_proved(it))
        advise_to(it, ACTION_INTERLEAVE, code_interleave(it),
                  "where copies are too large; as many accesses stay remote, but no node serves them all");
    else
        advise_to(it, ACTION_INTERLEAVE, code_interleave(it),
                  "%u nodes use it at the same time%s; it can be local to one only, so spread the load",
                  it->subject->using_nodes, may_duplicate(it) ? "" : " and write it");
    if (!is_proved(it))
        advise_against_duplicate(it);
    if (!by.pinnable)
        advise_pin_or_not(it);
    advise_against(it, ACTION_MIGRATE, "not migration: %u nodes use it at the same time (%.0f%% interleaved)",
                   it->subject->using_nodes, 100 * it->subject->overlap);
}

PATTERN_ROW(concurrent_remote, "concurrent-remote", "threads of several nodes use it at the same time", on_subject,
            .rule = PATTERN_SUREST, .on_stack = advise_own_copy);
