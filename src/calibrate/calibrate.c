#include "calibrate/calibrate.h"

#include "base/clock.h"
#include "base/mem.h"
#include "calibrate/chase.h"
#include "wire/region.h"

#include <errno.h>
#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum {
    ROUNDS = 9,
    LIMIT_NS = 800000000,  /* then what is missing stays unknown */
    MEMORY_SPAN = 4 << 20, /* flushed lines need no large memory */
    MEMORY_LINES = 2048,
    RING_LINES = 512, /* of a ring that is pushed from cache to cache */
    RING_STRIDE = 17, /* lines from one to the next: odd, so that they use all sets */
    LINE = 64,
};

struct work { /* of the thread that measures */
    const struct topology *topology;
    struct calibration *calibration;
    uint64_t deadline;
    double ns_per_tick;
};

static bool run_on_node(const struct topology *topology, uint32_t node, int *on)
{
    for (uint32_t cpu = 0; cpu < topology->cpu_count && cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t one;
        if (topology->node_of_cpu[cpu] != (int32_t)node)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one) == 0) {
            *on = (int)cpu;
            return true;
        }
    }
    return false;
}

/* Sizes of the data caches of a CPU, as far as they are told. */
static void find_caches(struct calibration *calibration, int cpu)
{
    hwloc_topology_t machine;
    if (hwloc_topology_init(&machine) != 0)
        return;
    hwloc_topology_set_icache_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_obj_t at = hwloc_topology_load(machine) == 0 ? hwloc_get_pu_obj_by_os_index(machine, (unsigned)cpu) : NULL;
    for (; at && calibration->cache_count < CALIBRATION_CACHES; at = at->parent) {
        bool data = hwloc_obj_type_is_dcache(at->type) && at->attr->cache.depth <= 3 && at->attr->cache.size > 0;
        if (data)
            calibration->caches[calibration->cache_count++] =
                (struct calibration_cache){.level = at->attr->cache.depth, .size = at->attr->cache.size};
    }
    hwloc_topology_destroy(machine);
}

/* Others' work takes lines out of a shared cache, and some are still in the one before: of a last cache's probes only
 * those between the one before and memory are its own. */
static double median_between(const struct chase_times *times, double low, double high)
{
    struct chase_times between = {0};
    for (size_t i = 0; i < times->count; i++)
        if (times->items[i] > low && times->items[i] < high)
            array_push(&between, times->items[i]);
    double median = between.count * 10 >= times->count ? chase_quantile(&between, 0.5) : -1;
    array_free(&between);
    return median;
}

/* A ring that fits into the first half of the first cache; for the others it is loaded, then pushed out of the one before by
 * reading something larger. The tenth part of the stretches that went best counts: what disturbs makes them only longer. */
static void measure_cache(struct work *work, uint32_t cache, double memory)
{
    struct calibration *calibration = work->calibration;
    struct calibration_field *field = &calibration->caches[cache].field;
    size_t lines = cache ? RING_LINES : calibration->caches[0].size / 2 / LINE;
    size_t sweep = cache ? 3 * calibration->caches[cache - 1].size : 0;
    double before = cache ? calibration->caches[cache - 1].field.sampled : 0;
    struct chase_times chased = {0}, sampled = {0}, ignored = {0};
    struct chase chase;
    if (lines < CHASE_STRETCH || sweep > CHASE_SWEEP ||
        !chase_make(&chase, lines * LINE * (cache ? RING_STRIDE : 1), lines, -1))
        return;
    for (unsigned round = 0; round < ROUNDS && clock_now_ns() < work->deadline; round++) {
        chase_run(&chase, &ignored);
        if (cache)
            chase_sweep(sweep);
        chase_run(&chase, &chased);
        if (cache)
            chase_sweep(sweep);
        chase_probe(&chase, cache ? CHASE_AS_IS : CHASE_LOADED, round, work->ns_per_tick, &sampled);
    }
    double probed = cache < 2 ? chase_quantile(&sampled, 0.5) : median_between(&sampled, 2 * before + 1, 0.75 * memory);
    field->chased = chase_quantile(&chased, 0.1);
    field->sampled = probed > 0 ? probed : 0;
    array_free(&chased);
    array_free(&sampled);
    array_free(&ignored);
    chase_free(&chase);
}

/* The faster quarter: others' work makes memory slower, and a line that a prefetcher guessed is rare. */
static void measure_memory(struct work *work, uint32_t from, uint32_t to)
{
    struct calibration *calibration = work->calibration;
    struct calibration_field *field = &calibration->memory[from * calibration->node_count + to];
    int node = calibration->node_count > 1 ? work->topology->nodes[to].os_index : -1;
    struct chase_times chased = {0}, sampled = {0};
    struct chase chase;
    if (!chase_make(&chase, MEMORY_SPAN, MEMORY_LINES, node))
        return;
    for (unsigned round = 0; round < ROUNDS && clock_now_ns() < work->deadline; round++) {
        chase_flush(&chase);
        chase_run(&chase, &chased);
        chase_probe(&chase, CHASE_FLUSHED, round, work->ns_per_tick, &sampled);
    }
    if (chased.count && sampled.count)
        *field = (struct calibration_field){chase_quantile(&chased, 0.25), chase_quantile(&sampled, 0.25)};
    array_free(&chased);
    array_free(&sampled);
    chase_free(&chase);
}

/* A last cache whose own latency could not be seen says nothing. */
static void drop_unseen(struct calibration *calibration)
{
    while (calibration->cache_count > 1 && calibration->caches[calibration->cache_count - 1].field.sampled <=
                                               calibration->caches[calibration->cache_count - 2].field.sampled)
        calibration->cache_count--;
}

static void find_counter(struct work *work)
{
    enum { MEASURE_NS = 3000000 };
    uint64_t start = clock_now_ns(), ticks = wire_counter(), now;
    while ((now = clock_now_ns()) - start < MEASURE_NS)
        ;
    ticks = wire_counter() - ticks;
    work->ns_per_tick = ticks ? (double)(now - start) / (double)ticks : 1;
}

static void *measure(void *context)
{
    struct work *work = context;
    struct calibration *calibration = work->calibration;
    bool caches = false;
    find_counter(work);
    for (uint32_t from = 0; from < calibration->node_count; from++) {
        int cpu;
        if (!run_on_node(work->topology, from, &cpu))
            continue;
        for (uint32_t to = 0; to < calibration->node_count; to++)
            if (work->topology->nodes[to].memory || calibration->node_count == 1)
                measure_memory(work, from, to);
        if (caches)
            continue;
        caches = true;
        find_caches(calibration, cpu);
        double local = calibration_memory(calibration, (int)from, (int)from);
        for (uint32_t i = 0; i < calibration->cache_count; i++)
            measure_cache(work, i, local);
        drop_unseen(calibration);
    }
    return NULL;
}

struct calibration *calibrate(const struct topology *topology, struct error *err)
{
    pthread_t thread;
    if (topology->pretended || topology->node_count == 0 || topology->node_count > CALIBRATION_NODES) {
        error_set(err, -EINVAL,
                  topology->pretended ? "a pretended machine has no latencies" : "there are too many nodes to measure");
        return NULL;
    }
    struct work work = {.topology = topology,
                        .calibration = calibration_new(topology->node_count),
                        .deadline = clock_now_ns() + LIMIT_NS};
    int failed = pthread_create(&thread, NULL, measure, &work);
    if (failed == 0)
        pthread_join(thread, NULL);
    bool any = false;
    for (uint32_t i = 0; i < topology->node_count * topology->node_count; i++)
        any |= work.calibration->memory[i].chased > 0;
    if (any)
        return work.calibration;
    calibration_free(work.calibration);
    error_set(err, failed ? -failed : -EPERM, "no latency could be measured: no node's CPUs or memory may be used");
    return NULL;
}

struct calibration *calibrate_cached(const struct topology *topology)
{
    struct error ignored = {0};
    struct calibration *calibration = calibrate_kept(topology);
    if (!calibration && (calibration = calibrate(topology, &ignored)))
        calibrate_keep(topology, calibration);
    return calibration;
}
