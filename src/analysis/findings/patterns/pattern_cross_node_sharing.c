/* analysis/findings/patterns/pattern_cross_node_sharing.c - threads of several nodes use and write the same bytes (LaProf's first problem, SPEC L14). */
#include "analysis/findings/findings_advice.h"

#include <stdio.h>

enum { NAMED_THREADS = 6 };

static bool judge(struct judging *judging, const struct finding *about, struct verdict *verdict)
{
    const struct facts *facts = judging->facts;
    const struct facts_subject *subject = about->subject;
    uint64_t shared = subject->true_sharing;
    double part = share_of(shared, subject->totals.samples);
    if (facts->node_count < 2 || subject->sharing != SHARING_ALL || subject->writers == 0 ||
        !subject_matters(facts, subject, shared) || part < thresholds.shared_lines || shared <= subject->false_sharing)
        return false;
    /* H0: half of the bound's part of its accesses is on such lines, or less. */
    verdict_claim(
        verdict, (struct claim){.share = part, .null = thresholds.shared_lines / 2, .bursts = (double)subject->bursts});
    return true;
}

/* "101 on node 0, 102 on node 1 and 4 more" */
static const char *name_users(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    char names[NAMED_THREADS * 48] = "";
    size_t used = 0, named = 0;
    array_each (&subject->users, const struct fact_user, user) {
        const struct flow_thread *thread = flow_thread(it->facts->flow, user->thread);
        if (!thread || user->samples == 0 || named == NAMED_THREADS || named == subject->using_threads)
            continue; /* strays come last */
        int length = snprintf(names + used, sizeof names - used, "%s%u on node %d", named ? ", " : "", thread->tid,
                              node_number(it->facts, user->node));
        used += length > 0 ? (size_t)length : 0;
        named++;
    }
    return subject->using_threads > named ? text(it, "%s and %zu more", names, subject->using_threads - named)
                                          : text(it, "%s", names);
}

static const char *explain(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    double part = share_of(subject->true_sharing, subject->totals.samples);
    unsigned writers = subject->writers < subject->using_threads ? subject->writers : subject->using_threads;
    it->finding->lost_time_share = subject->slow_time * part;
    it->finding->gain = text(it, "%.1f%% of run time, if lines stay on one node.", 100 * it->finding->lost_time_share);
    return text(
        it,
        "%.0f%% of its accesses go to cache lines whose bytes several threads use and some write; %u threads of %u "
        "nodes do, %u of them write: %s. Each write moves the line to another node.",
        100 * part, subject->using_threads, subject->using_nodes, writers, name_users(it));
}

static void advise(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    int node = subject->main_user_node >= 0 ? subject->main_user_node : 0, number = node_number(it->facts, node);
    uint32_t cpus = flow_topology(it->facts->flow)->nodes[node].cpu_count;
    it->pin = number;
    if (subject->using_threads <= cpus)
        advise_to(it, ACTION_PIN_TOGETHER, code_pin_thread(it),
                  "cluster the %u threads that share it on node %d, which uses it most and has %u "
                  "CPUs: then no line leaves the node",
                  subject->using_threads, number, cpus);
    else
        advise_to(it, ACTION_PIN_TOGETHER, code_pin_thread(it),
                  "cluster as many of the %u threads that share it as fit (a node has %u CPUs), and "
                  "let each node work on data of its own, joined at the end",
                  subject->using_threads, cpus);
    advise_against(it, ACTION_MIGRATE,
                   "not migration, nor any other node: the lines move from cache to cache whatever their home node");
}

PATTERN_ROW(cross_node_sharing, "cross-node-sharing", "threads of several nodes use and write the same bytes",
            on_subject, .rule = PATTERN_ALONE, .lines = LINES_TRUE);
