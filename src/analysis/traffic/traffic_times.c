#include "analysis/traffic/traffic_times.h"

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

void traffic_times_make(struct traffic_times *times, const struct traffic *traffic, uint32_t most)
{
    *times = (struct traffic_times){.node_count = traffic->node_count};
    if (!traffic->recorded || !traffic->bound || traffic->too_few || traffic->seconds <= 0)
        return;
    uint64_t wanted = traffic->bursts / BURSTS;
    uint32_t count = wanted < 1 ? 1 : wanted > most ? most : (uint32_t)wanted, nodes = traffic->node_count;
    double whole = (double)(flow_end(traffic->flow) - flow_start(traffic->flow)) * 1e-9;
    double *accesses = mem_zalloc(count * sizeof *accesses), *rated = mem_zalloc(count * sizeof *rated);
    times->rates = mem_zalloc((size_t)2 * count * nodes * sizeof *times->rates + 1);
    for (uint32_t i = 0; i < count; i++)
        array_push(&times->items, (struct traffic_time){.start_s = whole * i / count,
                                                        .end_s = whole * (i + 1) / count,
                                                        .read = times->rates + (size_t)2 * i * nodes,
                                                        .written = times->rates + ((size_t)2 * i + 1) * nodes});
    add_cells(times, traffic, accesses, rated);
    for (uint32_t i = 0; i < count; i++) {
        struct traffic_time *time = &times->items.items[i];
        double length = time->end_s - time->start_s;
        time->known = rated[i] * 2 > accesses[i];
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
