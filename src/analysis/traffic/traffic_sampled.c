/* analysis/traffic/traffic_sampled.c - traffic by the data sources of hardware samples; see traffic.h.
 *
 * A sample stands for so many events (its period), and says who answered it. A load that memory answered has brought a line: that is
 * the whole count, and so bytes are a lower bound. Lines that a prefetcher brought are answered by a cache when their load comes,
 * or are under way: nothing in a sample distinguishes them from others. What is written back no sample shows. Stores are not in shares:
 * most processors do not report who answered them, and a period of stores is of all, one of loads often of slow ones alone. */
#include "analysis/thresholds.h"
#include "base/units.h"
#include "analysis/traffic/traffic_make.h"

#include "trace/session.h"

#include <string.h>

struct summing {
    struct traffic *traffic;
    struct traffic_thread *threads; /* by the flow's numbers */
    size_t thread_count;
};

bool traffic_is_sampled(const struct flow *flow)
{
    static const char *const hardware[] = {"pebs", "ibs", "spe", "perf"};
    const struct trace_session *session = flow_session(flow);
    const char *source = session ? trace_session_get(session, "source") : NULL;
    for (size_t i = 0; source && i < sizeof hardware / sizeof *hardware; i++)
        if (strcmp(source, hardware[i]) == 0)
            return true;
    return false;
}

static bool is_hardware(const struct flow_access *access)
{
    return access->source == SOURCE_PEBS || access->source == SOURCE_IBS || access->source == SOURCE_SPE;
}

static bool from_memory(const struct flow_access *access)
{
    return access->level == LEVEL_RAM || access->level == LEVEL_REMOTE_RAM;
}

static bool from_cache(const struct flow_access *access)
{
    return access->level == LEVEL_L1 || access->level == LEVEL_L2 || access->level == LEVEL_L3 ||
           access->level == LEVEL_REMOTE_CACHE;
}

static void count(void *context, const struct flow_access *access)
{
    struct traffic_samples *all = &((struct traffic *)context)->sampled;
    if (!is_hardware(access))
        return;
    bool load = access->flags & SAMPLE_READ, memory = load && from_memory(access);
    all->samples++;
    all->loads += load;
    all->stores += access->write;
    all->sourced += load && access->level != LEVEL_UNKNOWN;
    all->memory += memory;
    all->remote += memory && access->remote;
    all->joined += memory && access->flags & SAMPLE_JOINED;
    all->unweighed += load && access->period == 0;
    all->by_ibs |= access->source == SOURCE_IBS;
    all->by_spe |= access->source == SOURCE_SPE;
}

bool traffic_sampled_bytes(const struct traffic *traffic, const struct flow_access *access, struct traffic_bytes *bytes)
{
    bool weighed = traffic->sampled.unweighed < traffic->sampled.loads;
    double events = weighed ? access->period : 1;
    if (!is_hardware(access) || !(access->flags & SAMPLE_READ) || events <= 0)
        return false;
    bool memory = from_memory(access), line = memory && !(access->flags & SAMPLE_JOINED);
    double read = line && weighed ? events * CACHE_LINE / traffic->seconds : 0;
    *bytes = (struct traffic_bytes){.read = read,
                                    .accesses = events,
                                    .known = memory || from_cache(access) ? events : 0,
                                    .exposed = memory ? events : 0,
                                    .cached = from_cache(access) ? events : 0,
                                    .under_way = access->level == LEVEL_LFB ? events : 0,
                                    .samples = 1,
                                    .lines = line && weighed};
    return true;
}

/* A cache may have answered what a prefetcher brought: only what is mostly memory's is known to be. */
void traffic_judge_sampled(const struct traffic *traffic, struct traffic_bytes *bytes)
{
    bool all = bytes == &traffic->all;
    bytes->is_rated =
        !traffic->sampled.by_spe && (double)bytes->lines >= thresholds.bursts && (all || traffic->all.is_rated);
    bytes->state = bytes->accesses > 0 && bytes->exposed >= (1 - thresholds.part) * bytes->accesses ? TRAFFIC_MEMORY
                                                                                                    : TRAFFIC_UNKNOWN;
}

static void sum(void *context, const struct flow_access *access)
{
    struct summing *summing = context;
    struct traffic *traffic = summing->traffic;
    struct traffic_bytes bytes;
    if (!traffic_sampled_bytes(traffic, access, &bytes))
        return;
    traffic_add(&traffic->all, &bytes);
    if (access->thread < summing->thread_count)
        traffic_add(&summing->threads[access->thread].bytes, &bytes);
    if (access->object != FLOW_NONE)
        traffic_add(&traffic_row(traffic, access->object)->bytes, &bytes);
    traffic_place(traffic, access, &bytes);
}

static uint64_t lost(const struct flow *flow)
{
    const uint64_t *losses = flow_losses(flow);
    return losses[LOSS_PERF] + losses[LOSS_THROTTLED] + losses[LOSS_AUX_FULL] + losses[LOSS_COLLISION];
}

struct traffic *traffic_make_sampled(const struct flow *flow)
{
    struct traffic *traffic = traffic_new(flow);
    struct summing summing = {.traffic = traffic, .thread_count = flow_thread_count(flow)};
    struct error ignored = {0}; /* the flow has read them all before */
    traffic->source = TRAFFIC_DATA_SOURCES;
    flow_each_access(flow, count, traffic, &ignored);
    traffic->sampled.lost = lost(flow);
    const struct trace_session *session = flow_session(flow);
    traffic->sampled.threshold_cycles = trace_session_number(session, "latency_threshold_cycles", 0);
    traffic->sampled.threshold_ns = trace_session_number(session, "latency_threshold_ns", 0);
    traffic->too_few = (double)traffic->sampled.sourced < thresholds.fewest_bursts;
    if (traffic->too_few || traffic->seconds <= 0) {
        traffic_count(traffic);
        return traffic;
    }
    summing.threads = mem_zalloc((summing.thread_count + 1) * sizeof *summing.threads);
    flow_each_access(flow, sum, &summing, &ignored);
    for (uint32_t i = 0; i < summing.thread_count; i++) {
        summing.threads[i].thread = i;
        if (summing.threads[i].bytes.samples)
            array_push(&traffic->threads, summing.threads[i]);
    }
    traffic_finish(traffic);
    traffic_count(traffic);
    free(summing.threads);
    return traffic;
}

struct traffic *traffic_find(const struct flow *flow, double cache)
{
    bool sampled = !traffic_is_recorded(flow) && traffic_is_sampled(flow);
    return sampled ? traffic_make_sampled(flow) : traffic_make(flow, cache);
}
