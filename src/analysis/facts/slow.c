/* analysis/facts/slow.c - which latency distinguishes an access that went beyond the caches from one that did not.
 *
 * Latencies fall into two heaps, hits and misses, with a valley between them. Where the caches end differs from machine to
 * machine, so the bound is put where the valley is, within limits that hold on every machine. */
#include "analysis/facts/facts_work.h"

#include <string.h>

enum { REACH = 8, CYCLES_A_NS = 3 };

unsigned slow_unit_of(const struct flow *flow)
{
    const struct trace_session *session = flow_session(flow);
    const char *unit = session ? trace_session_get(session, "latency_unit") : NULL;
    return unit && strcmp(unit, "cycles") == 0 ? CYCLES_A_NS : 1;
}

void slow_mark(struct gathering *gathering, const struct flow_access *access)
{
    uint32_t bucket = access->latency / gathering->slow_unit;
    if (access->has_latency && bucket < SLOW_BUCKETS)
        gathering->latencies[bucket]++;
}

void slow_begin(struct gathering *gathering)
{
    gathering->slow_unit = slow_unit_of(gathering->flow);
}

uint64_t slow_valley(const uint64_t latencies[SLOW_BUCKETS], unsigned unit)
{
    const unsigned usual = (unsigned)thresholds.slow_usual;
    unsigned best = usual;
    uint64_t fewest = UINT64_MAX;
    for (unsigned at = usual * 2 / 3; at <= usual * 5 / 2; at++) {
        uint64_t around = 0;
        for (unsigned i = at - REACH; i <= at + REACH; i++)
            around += latencies[i];
        unsigned off = at > usual ? at - usual : usual - at, best_off = best > usual ? best - usual : usual - best;
        if (around < fewest || (around == fewest && off < best_off)) {
            fewest = around;
            best = at;
        }
    }
    return (uint64_t)best * unit;
}

uint64_t slow_bound(const struct gathering *gathering)
{
    return slow_valley(gathering->latencies, gathering->slow_unit);
}
