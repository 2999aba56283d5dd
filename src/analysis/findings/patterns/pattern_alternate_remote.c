/* analysis/findings/patterns/pattern_alternate_remote.c - threads of several nodes take turns. */
#include "analysis/findings/findings_advice.h"

/* H0: among bursts that follow each other the thread changes half as often as where threads use it at the same time, or
 * oftener. */
static void claim_turns(struct verdict *verdict, const struct facts_subject *subject)
{
    const struct fact_mixing *mixing = &subject->mixing;
    double pairs = mixing->pairs > 0 ? mixing->pairs : 1;
    verdict_claim(verdict, (struct claim){.share = mixing->changes / pairs,
                                          .null = thresholds.halfway * mixing->chance / pairs,
                                          .bursts = mixing->pairs,
                                          .below = true});
}

static bool judge(struct judging *judging, const struct finding *about, struct verdict *verdict)
{
    const struct facts_subject *subject = about->subject;
    if (!placement_may_matter(judging->facts, subject) || subject_private(subject) || subject->sharing != SHARING_ALL)
        return false;
    claim_shared(verdict, subject);
    claim_mixed(verdict, subject);
    claim_turns(verdict, subject);
    claim_remote(verdict, subject);
    return true;
}

static const char *explain(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    return text(it,
                "%u threads on %u nodes use it one after the other, for %.1f ms at a time on average "
                "(%.0f%% interleaved); %s. %.0f%% of the accesses are remote.",
                subject->using_threads, subject->using_nodes, (double)subject->switch_ns * 1e-6, 100 * subject->overlap,
                written_how(it), remote_part(it));
}

static void advise(struct consult *it)
{
    double bytes = (double)subject_bytes(it->facts, it->subject, it->finding->is_site);
    double move_ns = bytes / thresholds.move_bytes_ns, turn_ns = (double)it->subject->switch_ns;
    bool can_move = move_ns <= thresholds.part * turn_ns;
    const char *move =
        text(it, "one thread uses it for %.1f ms at a time, migrating it takes about %.1f ms (at %.0f GB/s)",
             turn_ns * 1e-6, move_ns * 1e-6, thresholds.move_bytes_ns);
    struct by_process by = subject_by_process(it->facts, it->subject);
    if (by.pinnable)
        advise_pin_processes(it, by);
    if (is_proved(it))
        advise_duplicate(it);
    if (can_move)
        advise_to(it, ACTION_MIGRATE, code_migrate(it), "when another thread takes over; %s", move);
    if (!by.pinnable)
        advise_pin_or_not(it);
    if (it->finding->advice.count == 0)
        advise_to(it, ACTION_SPREAD, code_pin_thread(it),
                  "each thread uses it too briefly to migrate it, so let one node's threads do all the work on it");
    if (!can_move)
        advise_against(it, ACTION_MIGRATE, "not migration: %s", move);
    if (!is_proved(it))
        advise_against_duplicate(it);
    advise_against(it, ACTION_INTERLEAVE,
                   "not interleaving: one node uses it at a time (%.0f%% interleaved), so no memory is overloaded",
                   100 * it->subject->overlap);
}

PATTERN_ROW(alternate_remote, "alternate-remote", "threads of different nodes use it in turn", on_subject,
            .rule = PATTERN_SUREST, .on_stack = advise_own_copy);
