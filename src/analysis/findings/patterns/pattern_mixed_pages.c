/* analysis/findings/patterns/pattern_mixed_pages.c - small private objects of many threads share pages. */
#include "analysis/findings/findings_advice.h"

static bool judge(struct judging *judging, const struct finding *about, struct verdict *verdict)
{
    const struct facts_subject *subject = about->subject;
    if (!placement_may_matter(judging->facts, subject) || !subject_private(subject) || subject->mixed_remote == 0)
        return false;
    claim_one_user(verdict, subject);
    claim_pages_mixed(verdict, subject, true);
    claim_remote(verdict, subject);
    return true;
}

static const char *explain(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    return text(it,
                "Of %u objects, %s belong to one thread each, but %lu of their %lu pages also hold data of "
                "threads on other nodes; %.0f%% of their remote accesses go there.",
                subject->instances,
                so_many(it, it->finding->is_site ? subject->private_instances : 1, subject->instances),
                (unsigned long)subject->mixed_pages, (unsigned long)subject->pages,
                100 * share_of(subject->mixed_remote, subject->totals.remote));
}

static void advise(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    advise_to(it, ACTION_SEPARATE_PAGES, code_arena(it),
              "%u of %u are used by one thread only, but they share %lu pages; one arena per thread separates them",
              it->finding->is_site ? subject->private_instances : 1, subject->instances,
              (unsigned long)subject->mixed_pages);
    advise_against(it, ACTION_MIGRATE, "not migration: %lu of %lu pages hold data of several nodes",
                   (unsigned long)subject->mixed_pages, (unsigned long)subject->pages);
    advise_against(it, ACTION_INTERLEAVE, "not interleaving: %.0f%% of the accesses would be remote", spread_part(it));
    advise_against(it, ACTION_DUPLICATE, "not duplication: each is used by one thread only");
}

PATTERN_ROW(mixed_pages, "mixed-pages", "private data of threads on different nodes shares pages", on_subject,
            .rule = PATTERN_SUREST, .on_stack = advise_own_copy);
