/* See predict.h, and docs/predict.md for what is assumed.
 *
 * Phase by phase: what its cells ask of each node under the placement is summed up by thread (gather), once; then, under each
 * assumption, threads run side by side until the last one is done (phase_run), and latencies rise with the use of memory, which is repeated a few times
 * because use depends on how fast the threads are. */
#include "analysis/thresholds.h"
#include "base/units.h"
#include "predict/phase.h"

#include "machine/model.h"
#include "predict/cluster.h"
#include "predict/placer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double core_rate(const struct model *machine, uint32_t node, enum assumption assumption)
{
    const double lines[ASSUMPTIONS] = {[ASSUME_LIKELY] = thresholds.core_lines,
                                       [ASSUME_BEST] = 2 * thresholds.core_lines,
                                       [ASSUME_WORST] = thresholds.core_lines / 2};
    if (machine->core > 0)
        return machine->core * 1e9;
    return lines[assumption] * CACHE_LINE / machine->latency[node * machine->node_count + node] * 1e9;
}

static void phase_new(struct phase *phase, const struct model *machine, const struct demand *demand)
{
    size_t nodes = demand->node_count, threads = demand->threads.count;
    *phase = (struct phase){.machine = machine,
                            .thread_count = (uint32_t)threads,
                            .threads = mem_zalloc((threads + 1) * sizeof *phase->threads),
                            .bytes = mem_zalloc((threads + 1) * nodes * sizeof *phase->bytes),
                            .loads = mem_zalloc((threads + 1) * nodes * sizeof *phase->loads)};
}

static void phase_free(struct phase *phase)
{
    free(phase->threads);
    free(phase->bytes);
    free(phase->loads);
}

/* Of the CPU time: what went by in waiting for single loads. When they would fill all of it one after the other, all of it
 * did; the less they would fill, the more of it other instructions may hide. */
static double waited(double cpu_s, double load_s, enum assumption assumption)
{
    double most = load_s < cpu_s ? load_s : cpu_s;
    return assumption == ASSUME_BEST ? most * most / cpu_s : most;
}

static void begin(struct phase *phase, const struct demand *demand, uint32_t number, enum assumption assumption)
{
    size_t nodes = demand->node_count;
    memset(phase->bytes, 0, phase->thread_count * nodes * sizeof *phase->bytes);
    memset(phase->loads, 0, phase->thread_count * nodes * sizeof *phase->loads);
    phase->assumption = assumption;
    phase->written = phase->total = phase->remote = 0;
    for (uint32_t i = 0; i < phase->thread_count; i++) {
        const struct demand_thread *thread = &demand->threads.items[i];
        phase->threads[i] = (struct phase_thread){.tid = thread->tid,
                                                  .node = thread->node,
                                                  .cpu_s = demand->cpu_s[(size_t)number * phase->thread_count + i],
                                                  .core = core_rate(phase->machine, thread->node, phase->assumption)};
        phase->threads[i].runs = phase->threads[i].cpu_s > 0;
    }
}

/* What a thread's cells of one phase ask of one place; the places are the nodes, all of them evenly, and a home that is not known. */
struct sum {
    double bytes, loads, load_s;
};

struct sums {
    uint32_t places;
    struct sum *of; /* threads * places */
    double written; /* bytes of the phase */
};

/* Sums up the cells [from, to), which are the phase's: once, whatever is assumed. */
static void gather(struct sums *sums, const struct demand *demand, const struct placer *placer, size_t from, size_t to)
{
    memset(sums->of, 0, demand->threads.count * sums->places * sizeof *sums->of);
    sums->written = 0;
    for (size_t i = from; i < to; i++) {
        const struct demand_cell *cell = &demand->cells.items[i];
        int node = placer_node(placer, cell);
        uint32_t place = node >= 0 ? (uint32_t)node : demand->node_count + (node == PLACER_UNKNOWN);
        struct sum *sum = &sums->of[(size_t)cell->thread * sums->places + place];
        sum->bytes += cell->bytes;
        sum->loads += cell->loads;
        sum->load_s += cell->load_s;
        sums->written += cell->written;
    }
}

/* A thread's bytes and loads that wait, from one node's memory or evenly from all. */
static void put(struct phase *phase, uint32_t nodes, uint32_t number, int node, double bytes, double loads)
{
    struct phase_thread *thread = &phase->threads[number];
    double *to_bytes = phase->bytes + (size_t)number * nodes, *to_loads = phase->loads + (size_t)number * nodes;
    thread->bytes += bytes;
    phase->total += bytes;
    if (node >= 0) {
        to_bytes[node] += bytes;
        to_loads[node] += loads;
        phase->remote += node == (int)thread->node ? 0 : bytes;
        return;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        to_bytes[i] += bytes / nodes;
        to_loads[i] += loads / nodes;
    }
    phase->remote += bytes * (nodes - 1) / nodes;
}

/* What one thread does in the phase, under the phase's assumption. */
static void fill_thread(struct phase *phase, const struct demand *demand, const struct placer *placer,
                        const struct sums *sums, uint32_t number)
{
    static const double sign[ASSUMPTIONS] = {[ASSUME_BEST] = -1, [ASSUME_WORST] = 1};
    const struct sum *of = sums->of + (size_t)number * sums->places;
    struct phase_thread *thread = &phase->threads[number];
    uint32_t nodes = demand->node_count;
    for (uint32_t place = 0; place < sums->places; place++) {
        thread->load_s += of[place].load_s;
    }
    if (thread->cpu_s > 0 && thread->load_s > 0) {
        double wait = waited(thread->cpu_s, thread->load_s, phase->assumption);
        thread->cpu_s -= wait;
        thread->exposed = wait / thread->load_s;
    }
    double factor = 1 + sign[phase->assumption] * demand->threads.items[number].error;
    for (uint32_t place = 0; place < sums->places; place++) {
        double bytes = of[place].bytes * (factor > 0 ? factor : 0);
        int node = place < nodes    ? (int)place
                   : place == nodes ? PLACER_EVENLY
                                    : placer_unknown(placer, thread->node, phase->assumption);
        if (bytes > 0 || of[place].loads > 0)
            put(phase, nodes, number, node, bytes, of[place].loads * thread->exposed);
    }
    for (uint32_t node = 0; node < nodes && thread->bytes > 0; node++) /* fractions of a thread's bytes */
        phase->bytes[(size_t)number * nodes + node] /= thread->bytes;
}

struct limit_times { /* likely time by what limits it */
    array_of(struct {
        struct limit limit;
        double time_s;
    }) rows;
};

static bool same_limit(const struct limit *a, const struct limit *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == LIMIT_MEMORY)
        return a->to == b->to;
    return a->kind == LIMIT_LINK ? a->from == b->from && a->to == b->to : a->tid == b->tid;
}

static void tally_add(struct limit_times *tally, const struct limit *limit, double time_s)
{
    for (size_t i = 0; i < tally->rows.count; i++) {
        if (same_limit(&tally->rows.items[i].limit, limit)) {
            tally->rows.items[i].time_s += time_s;
            return;
        }
    }
    array_reserve(&tally->rows, tally->rows.count + 1);
    tally->rows.items[tally->rows.count].limit = *limit;
    tally->rows.items[tally->rows.count++].time_s = time_s;
}

static struct limit tally_most(const struct limit_times *tally)
{
    struct limit limit = {.kind = LIMIT_COMPUTE};
    double most = -1;
    for (size_t i = 0; i < tally->rows.count; i++)
        if (tally->rows.items[i].time_s > most) {
            most = tally->rows.items[i].time_s;
            limit = tally->rows.items[i].limit;
        }
    return limit;
}

/* Phases come one after the other. */
static struct prediction predict_as(const struct model *machine, const struct demand *demand, const struct plan *plan)
{
    struct prediction prediction = {0};
    struct placer *placer = placer_new(demand, plan);
    struct phase phase;
    struct limit_times tally = {0};
    struct sums sums = {.places = demand->node_count + 2};
    double total = 0, remote = 0;
    size_t at = 0;
    sums.of = mem_alloc((demand->threads.count * sums.places + 1) * sizeof *sums.of);
    phase_new(&phase, machine, demand);
    for (uint32_t number = 0; number < demand->phase_count; number++) {
        size_t from = at;
        while (at < demand->cells.count && demand->cells.items[at].phase == number)
            at++;
        gather(&sums, demand, placer, from, at);
        for (int assumption = 0; assumption < ASSUMPTIONS; assumption++) {
            begin(&phase, demand, number, (enum assumption)assumption);
            phase.written = sums.written;
            for (uint32_t i = 0; i < phase.thread_count; i++)
                fill_thread(&phase, demand, placer, &sums, i);
            double here = phase_run(&phase);
            prediction.time_s[assumption] += here;
            if (assumption != ASSUME_LIKELY)
                continue;
            tally_add(&tally, &phase.limit, here);
            total += phase.total;
            remote += phase.remote;
        }
    }
    prediction.remote_share = total > 0 ? remote / total : -1;
    prediction.limit = tally_most(&tally);
    prediction.low = prediction.high = prediction.time_s[0];
    for (int i = 1; i < ASSUMPTIONS; i++) {
        prediction.low = fmin(prediction.low, prediction.time_s[i]);
        prediction.high = fmax(prediction.high, prediction.time_s[i]);
    }
    array_free(&tally.rows);
    phase_free(&phase);
    free(sums.of);
    placer_free(placer);
    return prediction;
}

struct prediction predict_plan(const struct model *machine, const struct demand *demand, const struct plan *plan)
{
    if (plan->placement != PLACING_CLUSTER)
        return predict_as(machine, demand, plan);
    struct demand moved = *demand; /* the same, but for the threads' nodes */
    size_t size = demand->threads.count * sizeof *moved.threads.items;
    moved.threads.items = mem_alloc(size + 1);
    if (size)
        memcpy(moved.threads.items, demand->threads.items, size);
    cluster_threads(demand, machine->cpus_per_node, moved.threads.items);
    struct prediction prediction = predict_as(machine, &moved, plan);
    free(moved.threads.items);
    return prediction;
}

struct prediction predict(const struct model *machine, const struct demand *demand, enum placing placement)
{
    return predict_plan(machine, demand, &(struct plan){.placement = placement});
}

/* A tenth of what a placement costs: what a model's figures, and their use here, may be off by. */
static double widen(double factor, bool up)
{
    return 1 + (factor - 1) * (up == (factor > 1) ? 1 + thresholds.off_by : 1 - thresholds.off_by);
}

struct factor prediction_factor(const struct prediction *slow, const struct prediction *fast)
{
    struct factor factor = {.likely = 1, .low = 1, .high = 1};
    for (int i = 0; i < ASSUMPTIONS; i++) {
        double here = fast->time_s[i] > 0 ? slow->time_s[i] / fast->time_s[i] : 1;
        factor.likely = i == ASSUME_LIKELY ? here : factor.likely;
        factor.low = i == 0 || here < factor.low ? here : factor.low;
        factor.high = i == 0 || here > factor.high ? here : factor.high;
    }
    factor.low = widen(factor.low, false);
    factor.high = widen(factor.high, true);
    return factor;
}

const char *limit_text(const struct limit *limit, char *text)
{
    static const char *const of_thread[] = {
        [LIMIT_COMPUTE] = "compute", [LIMIT_LATENCY] = "latency", [LIMIT_CORE] = "core bandwidth"};
    if (limit->kind == LIMIT_MEMORY)
        snprintf(text, LIMIT_TEXT, "memory of node %u", limit->to);
    else if (limit->kind == LIMIT_LINK)
        snprintf(text, LIMIT_TEXT, "link from node %u to node %u", limit->from, limit->to);
    else
        snprintf(text, LIMIT_TEXT, "%s (thread %u)", of_thread[limit->kind], limit->tid);
    return text;
}
