#include "analysis/traffic/traffic_times.h"

#include "analysis/traffic/traffic_make.h"

enum { BURSTS = 8 };

static uint32_t time_of(const struct traffic_times *times, const struct traffic *traffic, uint64_t time)
{
    uint64_t start = flow_start(traffic->flow), length = flow_end(traffic->flow) - start;
    if (time <= start || length == 0)
        return 0;
    uint32_t count = (uint32_t)times->items.count;
    uint64_t at = (uint64_t)((double)(time - start) / (double)length * count);
    return at < count ? (uint32_t)at : count - 1;
}

static void add_cells(struct traffic_times *times, const struct traffic *traffic, double *accesses, double *rated)
{
    array_each (&traffic->cells, const struct traffic_cell, cell) {
        const struct flow_stream *row = cell->row;
        uint32_t at = time_of(times, traffic, row->time);
        struct traffic_time *time = &times->items.items[at];
        accesses[at] += cell->accesses;
        rated[at] += cell->rated ? cell->accesses : 0;
        if (row->home < 0 || (uint32_t)row->home >= times->node_count)
            continue;
        time->read[row->home] += cell->read;
        time->written[row->home] += cell->written;
    }
}

struct adding {
    struct traffic_times *times;
    const struct traffic *traffic;
    uint64_t *lines;
};

static void add_access(void *context, const struct flow_access *access)
{
    struct adding *adding = context;
    struct traffic_bytes bytes;
    if (!traffic_sampled_bytes(adding->traffic, access, &bytes))
        return;
    uint32_t at = time_of(adding->times, adding->traffic, access->time);
    adding->lines[at] += bytes.lines;
    if (access->home >= 0 && (uint32_t)access->home < adding->times->node_count)
        adding->times->items.items[at].read[access->home] += bytes.read;
}

static void add_samples(struct traffic_times *times, const struct traffic *traffic)
{
    size_t count = times->items.count;
    struct adding adding = {times, traffic, mem_zalloc((count + 1) * sizeof *adding.lines)};
    struct error ignored = {0};
    flow_each_access(traffic->flow, add_access, &adding, &ignored);
    for (size_t i = 0; i < count; i++)
        times->items.items[i].known = adding.lines[i] >= traffic_rules.fewest_lines;
    free(adding.lines);
}

void traffic_times_make(struct traffic_times *times, const struct traffic *traffic, uint32_t most)
{
    *times = (struct traffic_times){.node_count = traffic->node_count};
    bool sampled = traffic->source == TRAFFIC_DATA_SOURCES;
    bool said = sampled ? traffic->all.is_rated : traffic->recorded && traffic->bound && !traffic->too_few;
    if (!said || traffic->seconds <= 0)
        return;
    uint64_t wanted = sampled ? traffic->all.lines / (2 * traffic_rules.fewest_lines) : traffic->bursts / BURSTS;
    uint32_t count = wanted < 1 ? 1 : wanted > most ? most : (uint32_t)wanted, nodes = traffic->node_count;
    double whole = (double)(flow_end(traffic->flow) - flow_start(traffic->flow)) * 1e-9;
    double *accesses = mem_zalloc(count * sizeof *accesses), *rated = mem_zalloc(count * sizeof *rated);
    times->rates = mem_zalloc((size_t)2 * count * nodes * sizeof *times->rates + 1);
    for (uint32_t i = 0; i < count; i++)
        array_push(&times->items, (struct traffic_time){.start_s = whole * i / count,
                                                        .end_s = whole * (i + 1) / count,
                                                        .read = times->rates + (size_t)2 * i * nodes,
                                                        .written = times->rates + ((size_t)2 * i + 1) * nodes});
    if (sampled)
        add_samples(times, traffic);
    else
        add_cells(times, traffic, accesses, rated);
    for (uint32_t i = 0; i < count; i++) {
        struct traffic_time *time = &times->items.items[i];
        double length = time->end_s - time->start_s;
        time->known |= rated[i] * 2 > accesses[i];
        for (uint32_t node = 0; node < nodes && length > 0; node++) { /* cells are of the whole recording's time */
            time->read[node] *= traffic->seconds / length;
            time->written[node] *= traffic->seconds / length;
        }
    }
    free(accesses);
    free(rated);
}

void traffic_times_free(struct traffic_times *times)
{
    array_free(&times->items);
    free(times->rates);
    *times = (struct traffic_times){0};
}
