#include "analysis/facts/stalls.h"

#include "analysis/facts/facts_work.h"
#include "analysis/thresholds.h"

enum { BURST = 64 }; /* slow accesses remembered of one burst; the rest counts for time only */

struct burst_stalls {
    uint32_t number;
    bool marked; /* its source marks the first access of each */
    uint64_t last;
    uint32_t timed, count;
    double time;
    struct stall stall[BURST];
};

struct stalls {
    const struct facts *facts;
    const struct topology *topology;
    void (*visit)(void *context, const struct stall *stall);
    void *context;
    double between;
    bool bursts; /* the source takes them */
    uint32_t burst_count;
    struct stalls_sums sums;
    struct burst_stalls *threads; /* the burst each thread is in */
};

struct stalls *stalls_new(const struct facts *facts, void (*visit)(void *context, const struct stall *stall),
                          void *context)
{
    const struct trace_session *session = flow_session(facts->flow);
    struct stalls *stalls = mem_zalloc(sizeof *stalls);
    *stalls = (struct stalls){.facts = facts,
                              .topology = flow_topology(facts->flow),
                              .visit = visit,
                              .context = context,
                              .between = thresholds.between_ns * slow_unit_of(facts->flow),
                              .bursts = session && trace_session_number(session, "burst", 0) > 1,
                              .threads = mem_zalloc((flow_thread_count(facts->flow) + 1) * sizeof *stalls->threads)};
    return stalls;
}

double stalls_distance_penalty(const struct topology *topology, int from, int home)
{
    double local = topology_distance(topology, (uint32_t)home, (uint32_t)home);
    double far = topology_distance(topology, (uint32_t)from, (uint32_t)home);
    return local > 0 && far > local ? far / local - 1 : 0;
}

/* What a slow remote access waited (or, on a simulated machine, would have waited) and a local one would not. */
static double extra_of(const struct stalls *stalls, const struct flow_access *access)
{
    const struct facts *facts = stalls->facts;
    if (facts->penalty_measured)
        return access->latency * facts->remote_penalty / (1 + facts->remote_penalty);
    double penalty = stalls_distance_penalty(stalls->topology, access->from, access->home);
    return stalls->topology->simulated ? access->latency * penalty : access->latency * penalty / (1 + penalty);
}

static void end_burst(struct stalls *stalls, struct burst_stalls *burst)
{
    double whole = stalls->bursts ? burst->time : 1;
    if (burst->timed == 0 || whole <= 0)
        return;
    double weight = stalls->bursts ? 1 : burst->time, lost = 0;
    for (uint32_t i = 0; i < burst->count; i++) {
        struct stall *stall = &burst->stall[i];
        stall->slow /= whole;
        stall->remote /= whole;
        lost += stall->remote;
        stalls->visit(stalls->context, stall);
    }
    struct stalls_sums *sums = &stalls->sums;
    sums->weight += weight;
    sums->squares += lost * lost;
    sums->products += lost * weight;
    sums->weights_squared += weight * weight;
    sums->count++;
    burst->timed = burst->count = 0;
    burst->time = 0;
}

static void note_time(struct stalls *stalls, struct burst_stalls *burst, const struct flow_access *access, uint32_t tag)
{
    double weight = facts_weight(stalls->facts, access);
    if (!access->has_latency || weight <= 0)
        return;
    burst->timed++;
    burst->time += weight * (access->latency + stalls->between);
    if (access->latency <= stalls->facts->slow_ns)
        return;
    double extra = access->remote ? weight * extra_of(stalls, access) : 0;
    if (stalls->topology->simulated)
        burst->time += extra;
    if (burst->count < BURST)
        burst->stall[burst->count++] = (struct stall){.slow = weight * access->latency,
                                                      .remote = extra,
                                                      .time = access->time,
                                                      .object = access->object,
                                                      .thread = access->thread,
                                                      .tag = tag,
                                                      .home = access->home};
}

uint32_t stalls_note(struct stalls *stalls, const struct flow_access *access, uint32_t tag)
{
    if (access->thread == FLOW_NONE)
        return 0;
    struct burst_stalls *burst = &stalls->threads[access->thread];
    bool first = access->flags & SAMPLE_FIRST;
    burst->marked |= first;
    if (first || !burst->marked || access->time > burst->last + FACTS_BURST_PAUSE) {
        end_burst(stalls, burst);
        burst->number = ++stalls->burst_count;
    }
    burst->last = access->time;
    note_time(stalls, burst, access, tag);
    return burst->number;
}

struct stalls_sums stalls_end(struct stalls *stalls)
{
    for (uint32_t i = 0; i < flow_thread_count(stalls->facts->flow); i++)
        end_burst(stalls, &stalls->threads[i]);
    return stalls->sums;
}

void stalls_free(struct stalls *stalls)
{
    if (!stalls)
        return;
    free(stalls->threads);
    free(stalls);
}
