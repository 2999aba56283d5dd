/* machine/measure.c - latency and bandwidth from each node to each node, and latency under load, here. */
#include "machine/measure.h"

#include "base/mem.h"
#include "calibrate/calibrate.h"
#include "machine/stream.h"
#include "topology/topology.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum { THREAD_BYTES_MOST = 512 << 20, THREAD_BYTES_LEAST = 16 << 20, ALL_BYTES_LOG = 31, CACHE_TIMES = 4 };
enum { CHASE_BYTES_MOST = 256 << 20 };
enum { PASSES = 3, LOADED_PASSES = 2 };
static const double PASS_SECONDS = 0.05;

static uint32_t cpus_of(const struct topology *topology, uint32_t node, uint32_t *cpus)
{
    uint32_t count = 0;
    for (uint32_t cpu = 0; cpu < topology->cpu_count; cpu++)
        if (topology->node_of_cpu[cpu] == (int32_t)node)
            cpus[count++] = cpu;
    return count;
}

/* Several times the last cache together, so that what is read comes from memory; within what is free. */
static uint64_t bytes_each(const struct calibration *calibration, uint32_t threads)
{
    struct sysinfo info;
    uint64_t cache = 0, most = 1ull << ALL_BYTES_LOG;
    for (uint32_t i = 0; i < calibration->cache_count; i++)
        cache = calibration->caches[i].size > cache ? calibration->caches[i].size : cache;
    if (sysinfo(&info) == 0 && (uint64_t)info.freeram * info.mem_unit / 4 < most)
        most = (uint64_t)info.freeram * info.mem_unit / 4;
    uint64_t bytes = cache * CACHE_TIMES / threads;
    bytes = bytes < THREAD_BYTES_LEAST ? THREAD_BYTES_LEAST : bytes > THREAD_BYTES_MOST ? THREAD_BYTES_MOST : bytes;
    if (bytes > most / threads)
        bytes = most / threads;
    return bytes & ~((4ull << 20) - 1);
}

/* The best of some passes: what else runs on the machine can only take from it. */
static double best_of(struct stream *stream, struct error *err)
{
    double best = -1;
    for (int pass = 0; pass < PASSES; pass++) {
        double gbs = stream_run(stream, err);
        if (gbs < 0)
            return gbs;
        best = fmax(best, gbs);
    }
    return best;
}

static int measure_bandwidth(struct model *machine, const struct topology *topology,
                             const struct calibration *calibration, struct error *err)
{
    uint32_t nodes = machine->node_count, *cpus = mem_alloc(sizeof *cpus * (topology->cpu_count + 1));
    double mixed = 0, plain = 0;
    int failed = 0;
    for (uint32_t from = 0; from < nodes && !failed; from++) {
        struct stream stream = {.cpus = cpus, .cpu_count = cpus_of(topology, from, cpus), .seconds = PASS_SECONDS};
        if (stream.cpu_count == 0) {
            failed = error_set(err, -ENOTSUP,
                               "node %d has no CPUs; models of machines with memory-only nodes cannot be measured yet",
                               topology->nodes[from].os_index);
            break;
        }
        stream.bytes = bytes_each(calibration, stream.cpu_count);
        for (uint32_t to = 0; to < nodes && !failed; to++) {
            stream.node = nodes > 1 ? topology->nodes[to].os_index : -1;
            double gbs = machine->read[from * nodes + to] = best_of(&stream, err);
            failed = gbs < 0 ? err->code : 0;
            if (failed || from != to)
                continue;
            struct stream copying = stream, single = stream;
            copying.copies = true;
            single.cpu_count = 1;
            mixed += fmax(best_of(&copying, err), 0);
            plain += gbs;
            if (from == 0)
                machine->core = fmax(best_of(&single, err), 0);
        }
    }
    if (plain > 0 && mixed > 0)
        machine->mixed = fmin(mixed / plain, 2);
    free(cpus);
    return failed;
}

/* What a load takes at least in some passes while so many other CPUs of its node read as fast as they can. */
static int chase(struct stream *stream, double *gbs, double *ns, struct error *err)
{
    *gbs = 0;
    *ns = INFINITY;
    for (int pass = 0; pass < LOADED_PASSES; pass++) {
        double here = stream_run(stream, err);
        if (here < 0)
            return err->code;
        *gbs = fmax(*gbs, here);
        *ns = fmin(*ns, stream->chased_ns);
    }
    return 0;
}

/* Latency under load, on the first node: a quarter of its CPUs at work, and so on. Points that do not rise are noise and stay out, as in what
 * is imported. */
static int measure_loaded(struct model *machine, const struct topology *topology, const struct calibration *calibration,
                          struct error *err)
{
    uint32_t *cpus = mem_alloc(sizeof *cpus * (topology->cpu_count + 1)), count = cpus_of(topology, 0, cpus),
             before = 0;
    struct stream stream = {
        .cpus = cpus, .node = machine->node_count > 1 ? topology->nodes[0].os_index : -1, .seconds = PASS_SECONDS};
    double gbs, idle;
    stream.chase_cpu = cpus[count ? count - 1 : 0];
    stream.bytes = bytes_each(calibration, count ? count : 1);
    stream.chase_bytes = bytes_each(calibration, 1) < CHASE_BYTES_MOST ? bytes_each(calibration, 1) : CHASE_BYTES_MOST;
    int failed = count < 2 ? 0 : chase(&stream, &gbs, &idle, err);
    for (uint32_t quarter = 1; quarter <= 4 && count >= 2 && !failed; quarter++) {
        double ns;
        stream.cpu_count = (count - 1) * quarter / 4;
        if (stream.cpu_count == before)
            continue;
        before = stream.cpu_count;
        failed = chase(&stream, &gbs, &ns, err);
        struct model_load load = {fmin(gbs / machine->read[0], 1), ns / idle};
        const struct model_load *last =
            machine->loads.count ? &machine->loads.items[machine->loads.count - 1] : &(struct model_load){0, 1};
        if (!failed && load.use > last->use + 0.01 && load.factor >= last->factor && load.factor <= 100)
            array_push(&machine->loads, load);
    }
    free(cpus);
    return failed;
}

static int fill(struct model *machine, const struct topology *topology, const struct calibration *calibration,
                struct error *err)
{
    uint32_t nodes = machine->node_count;
    char host[65] = "here";
    gethostname(host, sizeof host - 1);
    machine->name = mem_strdup("measured");
    machine->cpus_per_node = topology->cpu_count / nodes;
    machine->title = mem_format("%.64s, %u node%s, %u CPUs", host, nodes, nodes == 1 ? "" : "s", topology->cpu_count);
    machine->source = mem_strdup("numalens machines --measure");
    machine->topology = mem_format("numa:%u core:%u", nodes, machine->cpus_per_node ? machine->cpus_per_node : 1);
    for (uint32_t i = 0; i < calibration->cache_count && i < MODEL_CACHES; i++)
        machine->caches[machine->cache_count++] = (struct model_cache){.level = calibration->caches[i].level,
                                                                       .bytes = calibration->caches[i].size,
                                                                       .cores = i < 2 ? 1 : machine->cpus_per_node};
    for (uint32_t cell = 0; cell < nodes * nodes; cell++) {
        machine->latency[cell] = calibration->memory[cell].chased;
        if (machine->latency[cell] <= 0)
            return error_set(err, -EPERM,
                             "the latency from node %d to node %d could not be measured: a CPU or memory is refused",
                             topology->nodes[cell / nodes].os_index, topology->nodes[cell % nodes].os_index);
    }
    int failed = measure_bandwidth(machine, topology, calibration, err);
    return failed ? failed : measure_loaded(machine, topology, calibration, err);
}

struct model *model_measure(struct error *err)
{
    struct topology *topology = topology_load(err);
    struct calibration *calibration = topology ? calibrate(topology, err) : NULL;
    struct model *machine = NULL;
    if (calibration && topology->node_count > MODEL_NODES) {
        error_set(err, -E2BIG, "%u nodes; a model has at most %d", topology->node_count, MODEL_NODES);
    } else if (calibration) {
        machine = model_new(topology->node_count);
        if (fill(machine, topology, calibration, err) != 0) {
            model_free(machine);
            machine = NULL;
        }
    }
    calibration_free(calibration);
    topology_free(topology);
    return machine;
}
