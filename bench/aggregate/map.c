/* Times what a page needs of a trace: the memory map, its two aggregations, and the phases. For bench/aggregate/run. */
#include "analysis/memory_map/memory_views.h"
#include "analysis/memory_map/phases.h"
#include "symbols/symbols.h"

#include <stdio.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    double times[6];
    if (argc != 2)
        return 2;
    struct trace_reader *reader = trace_reader_open(argv[1], &err);
    struct symbols *symbols = symbols_new();
    times[0] = now();
    struct flow *flow = reader ? flow_build(reader, symbols, &(struct flow_options){0}, &err) : NULL;
    times[1] = now();
    struct memory_map_options how = MEMORY_MAP_WHOLE;
    how.max_cells = 400000;
    struct memory_map *map = flow ? memory_map_build(flow, &how, &err) : NULL;
    times[2] = now();
    struct aggregate_options options = {.max_blocks = 200000};
    struct aggregation *by_map = map ? aggregate_map(map, &options, &err) : NULL;
    times[3] = now();
    struct gantt *gantt = by_map ? gantt_build(map) : NULL;
    struct aggregation *by_gantt = gantt ? aggregate_gantt(map, gantt, &options, &err) : NULL;
    times[4] = now();
    struct phases *phases = by_gantt ? phases_find(map) : NULL;
    times[5] = now();
    if (!phases) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("samples %lu leaves %zu cells %zu flow_s %.3f map_s %.3f cartography_s %.3f partitions %zu exact %d gantt_s "
           "%.3f gantt_leaves %zu gantt_partitions %zu gantt_exact %d phases_s %.3f phases %zu\n",
           (unsigned long)map->shown, map->leaves.count, map->cells.count, times[1] - times[0], times[2] - times[1],
           times[3] - times[2], by_map->partitions.count, by_map->exact, times[4] - times[3], gantt->leaves.count,
           by_gantt->partitions.count, by_gantt->exact, times[5] - times[4], phases->items.count);
    phases_free(phases);
    aggregation_free(by_map);
    aggregation_free(by_gantt);
    gantt_free(gantt);
    memory_map_free(map);
    flow_free(flow);
    symbols_free(symbols);
    trace_reader_close(reader);
    return 0;
}
