#include "analysis/traffic/traffic_times.h"

#include "analysis/thresholds.h"

enum { SAMPLES = 64 }; /* in a slice of time, at least */

static uint32_t time_of(const struct traffic_times *times, const struct traffic *traffic, uint64_t time)
{
    uint64_t start = flow_start(traffic->flow), length = flow_end(traffic->flow) - start;
    if (time <= start || length == 0)
        return 0;
    uint32_t count = (uint32_t)times->items.count;
    uint64_t at = (uint64_t)((double)(time - start) / (double)length * count);
    return at < count ? (uint32_t)at : count - 1;
}

struct adding {
    struct traffic_times *times;
    const struct traffic *traffic;
    uint64_t *samples; /* of which there must be enough: by data sources, lines from memory */
};

static void add_access(void *context, const struct flow_access *access)
{
    struct adding *adding = context;
    struct traffic_bytes bytes;
    if (!traffic_bytes_of(adding->traffic, access, &bytes))
        return;
    uint32_t at = time_of(adding->times, adding->traffic, access->time);
    struct traffic_time *time = &adding->times->items.items[at];
    adding->samples[at] += adding->traffic->source == TRAFFIC_DATA_SOURCES ? bytes.lines : 1;
    if (access->home < 0 || (uint32_t)access->home >= adding->times->node_count)
        return;
    time->read[access->home] += bytes.read;
    time->written[access->home] += bytes.written;
}

void traffic_times_make(struct traffic_times *times, const struct traffic *traffic, uint32_t most)
{
    *times = (struct traffic_times){.node_count = traffic->node_count};
    bool sampled = traffic->source == TRAFFIC_DATA_SOURCES;
    if (!traffic->all.is_rated || traffic->seconds <= 0)
        return;
    uint64_t wanted = sampled ? traffic->all.lines / (uint64_t)(2 * thresholds.bursts) : traffic->all.samples / SAMPLES;
    uint32_t count = wanted < 1 ? 1 : wanted > most ? most : (uint32_t)wanted, nodes = traffic->node_count;
    double whole = (double)(flow_end(traffic->flow) - flow_start(traffic->flow)) * 1e-9;
    struct adding adding = {times, traffic, mem_zalloc((count + 1) * sizeof *adding.samples)};
    struct error ignored = {0};
    times->rates = mem_zalloc((size_t)2 * count * nodes * sizeof *times->rates + 1);
    for (uint32_t i = 0; i < count; i++)
        array_push(&times->items, (struct traffic_time){.start_s = whole * i / count,
                                                        .end_s = whole * (i + 1) / count,
                                                        .read = times->rates + (size_t)2 * i * nodes,
                                                        .written = times->rates + ((size_t)2 * i + 1) * nodes});
    flow_each_access(traffic->flow, add_access, &adding, &ignored);
    for (uint32_t i = 0; i < count; i++) {
        struct traffic_time *time = &times->items.items[i];
        double length = time->end_s - time->start_s;
        time->known = !sampled || (double)adding.samples[i] >= thresholds.bursts;
        for (uint32_t node = 0; node < nodes && length > 0; node++) { /* bytes are of the whole recording's time */
            time->read[node] *= traffic->seconds / length;
            time->written[node] *= traffic->seconds / length;
        }
    }
    free(adding.samples);
}

void traffic_times_free(struct traffic_times *times)
{
    array_free(&times->items);
    free(times->rates);
    *times = (struct traffic_times){0};
}
