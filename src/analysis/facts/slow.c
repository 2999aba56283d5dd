/* analysis/facts/slow.c - which latency distinguishes an access that went beyond the caches from one that did not.
 *
 * Latencies fall into heaps, hits and misses, with a valley between them. The bound is put where the valley is: between the last cache's
 * latency and memory's where they are calibrated, else within limits that hold on every machine. */
#include "analysis/facts/facts_work.h"
#include "analysis/thresholds.h"
#include "topology/calibration.h"

#include <string.h>

enum { REACH = 8, CYCLES_A_NS = 3 };

unsigned slow_unit_of(const struct flow *flow)
{
    const struct trace_session *session = flow_session(flow);
    const char *unit = session ? trace_session_get(session, "latency_unit") : NULL;
    return unit && strcmp(unit, "cycles") == 0 ? CYCLES_A_NS : 1;
}

void slow_count(uint64_t latencies[SLOW_BUCKETS], uint32_t latency, unsigned unit)
{
    uint32_t bucket = latency / unit;
    latencies[bucket < SLOW_BUCKETS ? bucket : SLOW_BUCKETS - 1]++;
}

/* The bound with the fewest latencies around it, of those from `first` to `last`; of several the one nearest to `usual`. */
static unsigned valley(const uint64_t latencies[SLOW_BUCKETS], unsigned first, unsigned last, unsigned usual)
{
    unsigned best = usual;
    uint64_t fewest = UINT64_MAX;
    for (unsigned at = first; at <= last; at++) {
        uint64_t around = 0;
        for (unsigned i = at > REACH ? at - REACH : 0; i <= at + REACH && i < SLOW_BUCKETS; i++)
            around += latencies[i];
        unsigned off = at > usual ? at - usual : usual - at, best_off = best > usual ? best - usual : usual - best;
        if (around < fewest || (around == fewest && off < best_off)) {
            fewest = around;
            best = at;
        }
    }
    return best;
}

/* The latency above which a good part of those from `first` on still are. Behind misses there are fewest of all. */
static unsigned before_misses(const uint64_t latencies[SLOW_BUCKETS], unsigned first, unsigned last)
{
    uint64_t all = 0, above = 0;
    for (unsigned i = first; i < SLOW_BUCKETS; i++)
        all += latencies[i];
    for (unsigned i = SLOW_BUCKETS - 1; all && i > last; i--)
        above += latencies[i];
    while (last > first && (double)above < thresholds.part * (double)all)
        above += latencies[last--];
    return last;
}

uint64_t slow_bound(const uint64_t latencies[SLOW_BUCKETS], const struct flow *flow)
{
    const unsigned usual = (unsigned)thresholds.slow_usual, first = usual * 2 / 3, unit = slow_unit_of(flow);
    const struct calibration *calibration = unit == 1 ? flow_calibration(flow) : NULL;
    unsigned beyond = calibration_beyond_caches(calibration), cache, memory;
    if (!beyond)
        return (uint64_t)valley(latencies, first, before_misses(latencies, first, usual * 5 / 2), usual) * unit;
    calibration_edges(calibration, &cache, &memory);
    return valley(latencies, cache, memory < SLOW_BUCKETS ? memory : SLOW_BUCKETS - 1, beyond);
}
