/* analysis/findings/patterns/pattern_false_sharing.c - threads use different bytes of the same cache lines, and some write. */
#include "analysis/findings/findings_advice.h"

static bool judge(struct judging *judging, const struct finding *about, struct verdict *verdict)
{
    const struct facts_subject *subject = about->subject;
    double part = share_of(subject->false_sharing, subject->totals.samples);
    if (!subject_matters(judging->facts, subject, subject->false_sharing) || part < thresholds.shared_lines ||
        subject->false_sharing <= subject->true_sharing)
        return false;
    /* H0: half of the bound's part of its accesses is on such lines, or less. */
    verdict_claim(
        verdict, (struct claim){.share = part, .null = thresholds.shared_lines / 2, .bursts = (double)subject->bursts});
    /* H0: of the shared lines, half are shared falsely, or fewer. */
    double shared = (double)(subject->false_sharing + subject->true_sharing);
    verdict_claim(verdict, (struct claim){.share = (double)subject->false_sharing / shared,
                                          .null = thresholds.majority,
                                          .bursts = (double)subject->bursts * subject_bounced(subject)});
    return true;
}

static const char *explain(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    const struct flow_totals *all = &it->facts->totals, *own = &subject->totals;
    const struct flow_object *object = flow_object(it->facts->flow, subject->object);
    const char *where = "", *latency = "";
    if (!it->finding->is_site && object && subject->worst_line >= object->addr && subject->worst_line)
        where = text(it, ", most of them at offset %lu", (unsigned long)(subject->worst_line - object->addr));
    if (own->latency_count)
        latency = text(it, " An access takes %.0f %s on average, %.0f %s in the whole program.",
                       share_of(own->latency_sum, own->latency_count), unit_of(it->facts),
                       share_of(all->latency_sum, all->latency_count), unit_of(it->facts));
    it->finding->lost_time_share = subject->slow_time * share_of(subject->false_sharing, own->samples);
    if (it->facts->timed)
        it->finding->gain =
            text(it, "%.1f%% of run time: the stall time of its slow accesses, if none of it overlaps with work.",
                 100 * it->finding->lost_time_share);
    return text(it,
                "%.0f%% of its accesses are on lines where several threads use different bytes and one writes "
                "(%u writers%s).%s",
                100 * share_of(subject->false_sharing, own->samples), subject->writers, where, latency);
}

static void advise(struct consult *it)
{
    advise_to(it, ACTION_PAD, code_pad(it),
              "%u threads write different bytes of the same lines; with a line for each, none waits for another",
              it->subject->writers);
    advise_against(it, ACTION_MIGRATE,
                   "not migration, nor any other node: the line moves from cache to cache whatever its home node");
}

PATTERN_ROW(false_sharing, "false-sharing", "threads write different bytes of the same cache lines", on_subject,
            .lines = LINES_FALSE);
