/* analysis/findings/findings_evidence.c - phrases for the numbers behind a finding, and for what fixing it would win. */
#include "analysis/findings/findings_advice.h"

#include <stdio.h>

const char *thread_text(const struct facts *facts, uint32_t thread, char text[WHO])
{
    const struct flow_thread *found = thread != FLOW_NONE ? flow_thread(facts->flow, thread) : NULL;
    if (!found)
        snprintf(text, WHO, "a thread");
    else if (*found->name)
        snprintf(text, WHO, "thread %.40s", found->name);
    else
        snprintf(text, WHO, "thread %u", found->tid);
    return text;
}

const char *on_node_text(struct consult *it, int node)
{
    return node >= 0 ? text(it, " on node %d", node_number(it->facts, node)) : "";
}

const char *so_many(struct consult *it, uint32_t part, uint32_t whole)
{
    return part >= whole ? text(it, "all %u", whole) : text(it, "%u of %u", part, whole);
}

const char *unit_of(const struct facts *facts)
{
    const struct trace_session *session = flow_session(facts->flow);
    const char *unit = session ? trace_session_get(session, "latency_unit") : NULL;
    return unit ? unit : "ns";
}

double remote_part(const struct consult *it)
{
    return 100 * share_of(it->subject->totals.remote, it->subject->totals.home_known);
}

const char *separated_text(struct consult *it)
{
    return it->subject->separated >= 0 ? text(it, " (%.0f%% separated)", 100 * it->subject->separated) : "";
}

/* Samples bound the share of writes; that there are none is shown by write protection alone. */
const char *written_how(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    if (subject->proof == PROOF_READ_ONLY && subject->use == USE_READ_ONLY)
        return "no page of it is written after its initialisation (as write protection shows)";
    if (subject->use == USE_WRITTEN)
        return text(it, "it is written (%.0f%% writes)", 100 * subject_writes(subject));
    return text(it, "at most %.1f%% of its accesses are writes (95%% sure)",
                100 * claim_at_most(subject_writes(subject), (double)subject->bursts));
}

const char *gain_assumed(struct consult *it)
{
    const struct facts *facts = it->facts;
    if (it->findings->machine)
        return text(it, "past the caches, remote takes %.1f times as long as local on %s", 1 + it->findings->penalty,
                    it->findings->machine);
    return text(it, "past the caches, remote takes %.1f times as long as local, %s", 1 + facts->remote_penalty,
                facts->penalty_measured                 ? "as measured"
                : flow_topology(facts->flow)->simulated ? "estimated from the distances of the simulated nodes"
                                                        : "estimated from the distances of the nodes");
}

const char *gain_known(struct consult *it, const char *known)
{
    if (!it->facts->timed)
        return "Not estimated: no latency was recorded.";
    if (100 * it->finding->lost_time_share < 0.05) /* which would print as 0.0% */
        return "Less than 0.1% of run time: caches serve nearly all of its accesses, or they are writes, whose latency "
               "is not measured.";
    return known;
}

const char *gain_local(struct consult *it)
{
    return gain_known(
        it, text(it, "%.1f%% of run time, if all its accesses become local (%s; no stall overlaps with work).",
                 100 * it->finding->lost_time_share, gain_assumed(it)));
}
