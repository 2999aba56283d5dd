/* analysis/findings/findings_process.c - a subject's users by process. A site's pieces may belong to several processes; memory is
 * not shared between them, so what must run on one node is the threads of one process, not all threads (MemProf 5.5). */
#include "analysis/findings/findings_internal.h"
#include "base/map64.h"

static uint32_t min_cpus(const struct topology *topology)
{
    uint32_t fewest = UINT32_MAX;
    for (uint32_t i = 0; i < topology->node_count; i++) {
        uint32_t cpus = topology->nodes[i].cpu_count; /* a node without any has memory only */
        fewest = cpus && cpus < fewest ? cpus : fewest;
    }
    return fewest == UINT32_MAX ? 0 : fewest;
}

struct by_process subject_by_process(const struct facts *facts, const struct facts_subject *subject)
{
    struct by_process result = {.cpus = min_cpus(flow_topology(facts->flow))};
    struct map64 threads = {0};
    array_each (&subject->users, const struct fact_user, user) {
        const struct flow_thread *thread = flow_thread(facts->flow, user->thread);
        if (!thread ||
            (double)(user->samples * subject->users.count) < thresholds.halfway * (double)subject->totals.samples)
            continue;
        bool is_new;
        uint64_t *count = map64_insert(&threads, thread->process, &is_new);
        result.processes += is_new;
        ++*count;
        result.most_threads = *count > result.most_threads ? (uint32_t)*count : result.most_threads;
    }
    map64_free(&threads);
    result.pinnable = result.processes > 1 && result.most_threads > 1 && result.most_threads <= result.cpus;
    return result;
}
