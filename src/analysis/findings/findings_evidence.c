/* analysis/findings/findings_evidence.c - the one or two numbers behind a finding, and what fixing it would win. */
#include "analysis/findings/findings_internal.h"

#include <stdio.h>

enum { WHO = 64 };

/* "worker 3", or the thread's number. */
static const char *thread_text(const struct facts *facts, uint32_t thread, char text[WHO])
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

/* " on node 2", or nothing when it is not known. */
static const char *on_node(struct findings *findings, int node)
{
    return node >= 0 ? findings_text(findings, " on node %d", node_number(findings->facts, node)) : "";
}

/* "all 8", "7 of 8" */
static const char *so_many(struct findings *findings, uint32_t part, uint32_t whole)
{
    return part >= whole ? findings_text(findings, "all %u", whole) : findings_text(findings, "%u of %u", part, whole);
}

static const char *unit_of(const struct facts *facts)
{
    const struct trace_session *session = flow_session(facts->flow);
    const char *unit = session ? trace_session_get(session, "latency_unit") : NULL;
    return unit ? unit : "ns";
}

static double remote_part(const struct finding *finding)
{
    return 100 * part_of(finding->subject->totals.remote, finding->subject->totals.home_known);
}

static const char *after_allocation(struct findings *findings, const struct finding *finding)
{
    const struct facts *facts = findings->facts;
    const struct facts_subject *subject = finding->subject;
    char maker[WHO], user[WHO];
    uint32_t first = subject->toucher != FLOW_NONE ? subject->toucher : subject->alloc_thread;
    const char *first_on = on_node(findings, subject->main_home), *home = *first_on ? first_on : " not known";
    thread_text(facts, first, maker);
    thread_text(facts, subject->main_user, user);
    if (finding->is_site)
        return findings_text(findings,
                             "Of %u objects, %s are used by one thread each; %s touched most of them first, so their "
                             "home is%s. %.0f%% of the accesses are remote.",
                             subject->instances, so_many(findings, subject->private_instances, subject->instances),
                             maker, home, remote_part(finding));
    if (subject->instances > 1 && subject_thread_local(facts, subject))
        return findings_text(findings,
                             "Each of %u threads has its own; %s touched most of them first, so their home is%s. "
                             "%.0f%% of the accesses are remote.",
                             subject->instances, maker, home, remote_part(finding));
    if (subject->sharing != SHARING_THREAD && subject->using_threads > 1)
        return findings_text(findings,
                             "First touched by %s, so its home is%s; %u threads use it, most of all %s%s. %.0f%% of "
                             "the accesses are remote.",
                             maker, home, subject->using_threads, user, on_node(findings, subject->main_user_node),
                             remote_part(finding));
    if (first == subject->main_user)
        return findings_text(
            findings,
            "First touched by %s%s, which has since moved to another node. %.0f%% of the accesses are remote.", user,
            first_on, remote_part(finding));
    return findings_text(
        findings, "First touched by %s, so its home is%s; %s%s makes %.0f%% of the accesses. %.0f%% of all are remote.",
        maker, home, user, on_node(findings, subject->main_user_node),
        subject->users.count ? 100 * part_of(subject->users.items[0].samples, subject->totals.samples) : 0,
        remote_part(finding));
}

const char *separated_text(struct findings *findings, const struct facts_subject *subject)
{
    return subject->parted >= 0 ? findings_text(findings, " (%.0f%% separated)", 100 * subject->parted) : "";
}

static const char *far_initialised(struct findings *findings, const struct finding *finding)
{
    const struct facts *facts = findings->facts;
    const struct facts_subject *subject = finding->subject;
    char maker[WHO];
    uint64_t touched = 0, own = 0;
    array_each (&subject->users, const struct fact_user, user) {
        touched += user->touched;
        own += user->thread == subject->toucher ? user->touched : 0;
    }
    if (touched && subject->toucher != FLOW_NONE && part_of(own, touched) >= findings_bounds.mostly)
        return findings_text(findings,
                             "%u threads on %u nodes each use their own part%s, but %s touched %.0f%% "
                             "of its pages first%s. %.0f%% of the accesses are remote.",
                             subject->using_threads, subject->using_nodes, separated_text(findings, subject),
                             thread_text(facts, subject->toucher, maker), 100 * part_of(own, touched),
                             on_node(findings, subject->toucher_node), remote_part(finding));
    return findings_text(findings,
                         "%u threads on %u nodes each use their own part%s, but the parts have their "
                         "home elsewhere, most on node %d. %.0f%% of the accesses are remote.",
                         subject->using_threads, subject->using_nodes, separated_text(findings, subject),
                         node_number(facts, subject->main_home), remote_part(finding));
}

/* Samples bound the share of writes; that there are none is shown by write protection alone. */
static const char *written_how(struct findings *findings, const struct facts_subject *subject)
{
    if (subject->proof == PROOF_READ_ONLY && subject->use == USE_READ_ONLY)
        return "no page of it is written after its initialisation (as write protection shows)";
    if (subject->use == USE_WRITTEN)
        return findings_text(findings, "it is written (%.0f%% writes)", 100 * subject_writes(subject));
    return findings_text(findings, "at most %.1f%% of its accesses are writes (95%% sure)",
                         100 * claim_at_most(subject_writes(subject), (double)subject->bursts));
}

static const char *shared_use(struct findings *findings, const struct finding *finding)
{
    const struct facts_subject *subject = finding->subject;
    const char *use = written_how(findings, subject);
    if (finding->pattern == PATTERN_ALTERNATE_REMOTE)
        return findings_text(findings,
                             "%u threads on %u nodes use it one after the other, for %.1f ms at a time on average "
                             "(%.0f%% interleaved); %s. %.0f%% of the accesses are remote.",
                             subject->using_threads, subject->using_nodes, (double)subject->switch_ns * 1e-6,
                             100 * subject->overlap, use, remote_part(finding));
    return findings_text(
        findings,
        "%u threads on %u nodes use it at the same time (%.0f%% interleaved); %s. %.0f%% of the accesses are remote.",
        subject->using_threads, subject->using_nodes, 100 * subject->overlap, use, remote_part(finding));
}

static const char *mixed_pages(struct findings *findings, const struct finding *finding)
{
    const struct facts_subject *subject = finding->subject;
    return findings_text(findings,
                         "Of %u objects, %s belong to one thread each, but %lu of their %lu pages also hold data of "
                         "threads on other nodes; %.0f%% of their remote accesses go there.",
                         subject->instances,
                         so_many(findings, finding->is_site ? subject->private_instances : 1, subject->instances),
                         (unsigned long)subject->mixed_pages, (unsigned long)subject->pages,
                         100 * part_of(subject->mixed_remote, subject->totals.remote));
}

static const char *false_sharing(struct findings *findings, const struct finding *finding)
{
    const struct facts_subject *subject = finding->subject;
    const struct flow_totals *all = &findings->facts->totals, *own = &subject->totals;
    const struct flow_object *object = flow_object(findings->facts->flow, subject->object);
    const char *where = "", *latency = "";
    if (!finding->is_site && object && subject->worst_line >= object->addr && subject->worst_line)
        where = findings_text(findings, ", most of them at offset %lu",
                              (unsigned long)(subject->worst_line - object->addr));
    if (own->latency_count)
        latency = findings_text(findings, " An access takes %.0f %s on average, %.0f %s in the whole program.",
                                part_of(own->latency_sum, own->latency_count), unit_of(findings->facts),
                                part_of(all->latency_sum, all->latency_count), unit_of(findings->facts));
    return findings_text(findings,
                         "%.0f%% of its accesses are on lines where several threads use different bytes and one writes "
                         "(%u writers%s).%s",
                         100 * part_of(subject->false_sharing, own->samples), subject->writers, where, latency);
}

static const char *saturated(struct findings *findings, const struct finding *finding)
{
    const struct facts *facts = findings->facts;
    const struct facts_node *node = &facts->nodes[finding->node];
    uint64_t sum = 0, count = 0;
    for (uint32_t i = 0; i < facts->node_count; i++) {
        sum += (int)i != finding->node ? facts->nodes[i].latency_sum : 0;
        count += (int)i != finding->node ? facts->nodes[i].latency_count : 0;
    }
    double own = part_of(node->latency_sum, node->latency_count), others = part_of(sum, count);
    const char *latency;
    if (flow_topology(facts->flow)->simulated)
        latency = "Whether this makes it slower cannot be measured on a simulated topology.";
    else if (node->latency_count < findings_bounds.samples || count < findings_bounds.samples)
        latency = "There are too few slow accesses to compare its latency.";
    else
        latency = findings_text(
            findings, "Its latency past the caches is %.0f %s, that of the other nodes %.0f %s: %s.", own,
            unit_of(facts), others, unit_of(facts), own > 1.2 * others ? "it is overloaded" : "it is not overloaded");
    return findings_text(
        findings, "%.0f%% of the accesses go to its memory, from %u nodes; %.0f%% of them are remote. %s",
        100 * part_of(node->samples, facts->totals.home_known), nodes_taking_part(facts, (uint32_t)finding->node),
        100 * part_of(node->remote, node->samples), latency);
}

static const char *gain(struct findings *findings, const struct finding *finding)
{
    const struct facts *facts = findings->facts;
    double lost = 100 * finding->lost_time_share;
    if (!facts->timed)
        return "Not estimated: no latency was recorded.";
    if (finding->pattern == PATTERN_FALSE_SHARING)
        return findings_text(
            findings,
            "At most %.1f%% of run time: the stall time of its slow accesses, if none of it overlaps with work.", lost);
    if (lost < 0.05)
        return "Less than 0.1% of run time: caches serve nearly all of its accesses, or they are writes, whose latency "
               "is not measured.";
    const char *assumed =
        facts->penalty_measured
            ? findings_text(findings, "past the caches, remote takes %.2f times as long as local, as measured",
                            1 + facts->remote_penalty)
            : findings_text(findings,
                            "past the caches, remote takes %.1f times as long as local, estimated from the distances "
                            "of the %snodes",
                            1 + facts->remote_penalty, flow_topology(facts->flow)->simulated ? "simulated " : "");
    if (finding->pattern == PATTERN_CONCURRENT_REMOTE && finding->subject->use == USE_WRITTEN &&
        subject_kind(facts, finding->subject) != OBJECT_STACK)
        return findings_text(
            findings,
            "Distance costs at most %.1f%% of run time (%s; no stall overlaps with work). Interleaved, %.0f%% of the "
            "accesses stay remote: the gain is less queueing at one node's memory, which is not in this number.",
            lost, assumed, 100.0 * (facts->node_count - 1) / facts->node_count);
    if (finding->pattern == PATTERN_SATURATED_NODE)
        return findings_text(findings,
                             "At most %.1f%% of run time if no access to it were remote (%s); less queueing at that "
                             "memory comes on top.",
                             lost, assumed);
    return findings_text(
        findings, "At most %.1f%% of run time, if all its accesses become local (%s; no stall overlaps with work).",
        lost, assumed);
}

void finding_explain(struct findings *findings, struct finding *finding, const struct verdict *verdict)
{
    switch (verdict->pattern) {
    case PATTERN_REMOTE_AFTER_ALLOCATION:
        finding->evidence = after_allocation(findings, finding);
        break;
    case PATTERN_FAR_INITIALISED:
        finding->evidence = far_initialised(findings, finding);
        break;
    case PATTERN_MIXED_PAGES:
        finding->evidence = mixed_pages(findings, finding);
        break;
    case PATTERN_FALSE_SHARING:
        finding->evidence = false_sharing(findings, finding);
        break;
    case PATTERN_SATURATED_NODE:
        finding->evidence = saturated(findings, finding);
        break;
    default:
        finding->evidence = shared_use(findings, finding);
        break;
    }
    finding->gain = gain(findings, finding);
}
