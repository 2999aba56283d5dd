#include "calibrate/calibrate.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "calibrate/chase.h"
#include "wire/region.h"

#include <errno.h>
#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum {
    PASSES = 5,            /* over all fields: what disturbs for some ms is then in one of five parts of each */
    REPEATS = 6,           /* of a field in a pass */
    LIMIT_NS = 800000000,  /* of CPU time: then what is missing stays unknown */
    MOST_TIMES = 5,        /* as long at most where others want the CPU too */
    MEMORY_SPAN = 4 << 20, /* flushed lines need no large memory */
    MEMORY_LINES = 2048,
    RING_LINES = 512, /* of a ring that is pushed from cache to cache */
    RING_STRIDE = 17, /* lines from one to the next: odd, so that they use all sets */
};

struct times { /* of a field, of all passes */
    struct chase_times chased, sampled;
    struct chase_times stepped; /* caches: single loads, in the time of the clock */
};

struct work { /* of the thread that measures */
    const struct topology *topology;
    struct calibration *calibration;
    struct times caches[CALIBRATION_CACHES];
    struct times *memory;      /* as calibration->memory */
    uint64_t limit_cpu, limit; /* of the thread's CPU time, of the clock */
    double ns_per_tick;
};

static uint64_t cpu_ns(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0 ? (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec
                                                             : 0;
}

static bool has_time(const struct work *work)
{
    return cpu_ns() < work->limit_cpu && clock_now_ns() < work->limit;
}

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

/* Sizes of the data caches of a CPU, as far as they are reported. */
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

/* How often this thread had to leave its CPU to others. */
static long times_put_off(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* What others who had the CPU in between left in the caches and in the times is forgotten; unless it goes on like that. */
static void measure_repeatedly(struct work *work, const struct chase *chase, struct times *times, unsigned pass,
                               void (*measure)(struct work *work, const struct chase *chase, struct times *times,
                                               unsigned number))
{
    for (unsigned done = 0, tried = 0; done < REPEATS && has_time(work); tried++) {
        size_t chased = times->chased.count, sampled = times->sampled.count, stepped = times->stepped.count;
        long before = times_put_off();
        measure(work, chase, times, pass * REPEATS + done);
        if (times_put_off() == before || tried >= REPEATS) {
            done++;
            continue;
        }
        times->chased.count = chased;
        times->sampled.count = sampled;
        times->stepped.count = stepped;
    }
}

static void first_cache_once(struct work *work, const struct chase *chase, struct times *times, unsigned number)
{
    struct chase_times ignored = {0};
    chase_run(chase, &ignored);
    chase_run(chase, &times->chased);
    chase_step(chase, &times->stepped);
    chase_probe(chase, CHASE_LOADED, number, work->ns_per_tick, &times->sampled);
    array_free(&ignored);
}

/* The ring is loaded, then pushed out of the cache before by reading something larger. */
static void push_out(const struct work *work, const struct chase *chase, const struct times *times)
{
    struct chase_times ignored = {0};
    chase_run(chase, &ignored);
    chase_sweep(3 * work->calibration->caches[times - work->caches - 1].size);
    array_free(&ignored);
}

static void next_cache_once(struct work *work, const struct chase *chase, struct times *times, unsigned number)
{
    push_out(work, chase, times);
    chase_run(chase, &times->chased);
    push_out(work, chase, times);
    chase_step(chase, &times->stepped);
    push_out(work, chase, times);
    chase_probe(chase, CHASE_AS_IS, number, work->ns_per_tick, &times->sampled);
}

/* A ring that fits into the first half of the first cache, or one that is pushed into the cache. */
static void measure_cache(struct work *work, uint32_t cache, unsigned pass)
{
    const struct calibration_cache *caches = work->calibration->caches;
    size_t lines = cache ? RING_LINES : caches[0].size / 2 / CACHE_LINE;
    struct chase chase;
    if (lines < CHASE_STRETCH || (cache && 3 * caches[cache - 1].size > CHASE_SWEEP) ||
        !chase_make(&chase, lines * CACHE_LINE * (cache ? RING_STRIDE : 1), lines, -1))
        return;
    measure_repeatedly(work, &chase, &work->caches[cache], pass, cache ? next_cache_once : first_cache_once);
    chase_free(&chase);
}

static void memory_once(struct work *work, const struct chase *chase, struct times *times, unsigned number)
{
    chase_flush(chase);
    chase_run(chase, &times->chased);
    chase_probe(chase, CHASE_FLUSHED, number, work->ns_per_tick, &times->sampled);
}

static void measure_memory(struct work *work, uint32_t from, uint32_t to, unsigned pass)
{
    uint32_t nodes = work->calibration->node_count;
    int node = nodes > 1 ? work->topology->nodes[to].os_index : -1;
    struct chase chase;
    if (!chase_make(&chase, MEMORY_SPAN, MEMORY_LINES, node))
        return;
    measure_repeatedly(work, &chase, &work->memory[from * nodes + to], pass, memory_once);
    chase_free(&chase);
}

/* Others' work takes lines out of a shared cache, and some are still in the one before: of a last cache's loads only those
 * between the one before and memory are its own. */
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

static struct calibration_field last_cache_field(struct work *work, uint32_t cache,
                                                 const struct calibration_field *memory)
{
    const struct calibration_field *first = &work->calibration->caches[0].field;
    const struct calibration_field *before = &work->calibration->caches[cache - 1].field;
    struct times *times = &work->caches[cache];
    /* What the clock adds to a load, known from those that the first cache answers. */
    double clock = chase_quantile(&work->caches[0].stepped, 0.5) - first->chased;
    double chased = median_between(&times->stepped, clock + 2 * before->chased + 1, clock + 0.75 * memory->chased);
    double sampled = median_between(&times->sampled, 2 * before->sampled + 1, 0.75 * memory->sampled);
    if (chased < 0 || sampled < 0)
        return (struct calibration_field){0};
    return (struct calibration_field){chased - clock, sampled};
}

/* The tenth part of the stretches that went best counts: what disturbs makes them only longer. Of memory as the sampler times
 * it the faster quarter: a line that a prefetcher guessed is rare. */
static void conclude(struct work *work, uint32_t local)
{
    struct calibration *calibration = work->calibration;
    uint32_t nodes = calibration->node_count;
    for (uint32_t i = 0; i < nodes * nodes; i++) {
        struct times *times = &work->memory[i];
        if (times->chased.count && times->sampled.count)
            calibration->memory[i] =
                (struct calibration_field){chase_quantile(&times->chased, 0.1), chase_quantile(&times->sampled, 0.25)};
    }
    for (uint32_t i = 0; i < calibration->cache_count; i++) {
        struct times *times = &work->caches[i];
        if (times->chased.count == 0 || times->sampled.count == 0)
            continue;
        calibration->caches[i].field = i < 2 ? (struct calibration_field){chase_quantile(&times->chased, 0.1),
                                                                          chase_quantile(&times->sampled, 0.5)}
                                             : last_cache_field(work, i, &calibration->memory[local * nodes + local]);
    }
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

static void measure_pass(struct work *work, unsigned pass, uint32_t *local)
{
    struct calibration *calibration = work->calibration;
    bool caches = false;
    for (uint32_t from = 0; from < calibration->node_count; from++) {
        int cpu;
        if (!run_on_node(work->topology, from, &cpu))
            continue;
        for (uint32_t to = 0; to < calibration->node_count; to++)
            if (work->topology->nodes[to].memory || calibration->node_count == 1)
                measure_memory(work, from, to, pass);
        if (caches)
            continue;
        caches = true;
        *local = from;
        if (calibration->cache_count == 0)
            find_caches(calibration, cpu);
        for (uint32_t i = 0; i < calibration->cache_count; i++)
            measure_cache(work, i, pass);
    }
}

static void times_free(struct times *times, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        array_free(&times[i].chased);
        array_free(&times[i].sampled);
        array_free(&times[i].stepped);
    }
}

static void *measure(void *context)
{
    struct work *work = context;
    size_t fields = (size_t)work->calibration->node_count * work->calibration->node_count;
    uint32_t local = 0;
    work->memory = mem_zalloc(fields * sizeof *work->memory);
    work->limit_cpu = cpu_ns() + LIMIT_NS;
    find_counter(work);
    for (unsigned pass = 0; pass < PASSES && has_time(work); pass++)
        measure_pass(work, pass, &local);
    conclude(work, local);
    drop_unseen(work->calibration);
    times_free(work->caches, CALIBRATION_CACHES);
    times_free(work->memory, fields);
    free(work->memory);
    return NULL;
}

struct calibration *calibrate(const struct topology *topology, struct error *err)
{
    pthread_t thread;
    if (topology->simulated || topology->node_count == 0 || topology->node_count > CALIBRATION_NODES) {
        error_set(err, -EINVAL,
                  topology->simulated ? "a simulated topology has no latencies"
                                      : "there are too many nodes to measure");
        return NULL;
    }
    struct work work = {.topology = topology,
                        .calibration = calibration_new(topology->node_count),
                        .limit = clock_now_ns() + (uint64_t)MOST_TIMES * LIMIT_NS};
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
