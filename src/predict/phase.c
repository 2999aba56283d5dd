/* See phase.h.
 *
 * A thread that gets all the bandwidth it can use takes as long as it computes and waits for single loads ("alone"). What moves
 * its bytes goes on at the same time, so it takes longer only when its bytes take longer than that. */
#include "predict/phase.h"

#include "analysis/thresholds.h"
#include "machine/model.h"
#include "predict/fair_share.h"

#include <math.h>

enum { REPEATS = 6 }; /* of use and latency, half-way each time: they settle */

struct runner {     /* a thread, while it runs */
    double alone_s; /* with endless bandwidth */
    double exposed_s;
    double core;        /* bytes per second that the core can fetch from where the bytes are */
    double remaining;   /* 1 to 0 */
    double longest_s;   /* of the intervals between the ends of threads: with the same limit */
    struct limit limit; /* in that one */
};

struct race {
    struct phase *phase;
    struct share_machine machine;
    struct share_user *users;
    struct runner *runners;
    double *factor; /* latency over idle latency, from node to node */
    double *crowd;  /* threads for each CPU of a node, at least 1 */
};

/* `mixed` is of one write for each read. */
double write_factor(const struct model *machine, double written, double total, enum assumption assumption)
{
    double unknown = assumption == ASSUME_WORST ? 1 - 2 * thresholds.off_by : 1;
    double mixed = machine->mixed > 0 ? machine->mixed : unknown;
    double share = total > 0 ? 2 * written / total : 0;
    return 1 - (1 - mixed) * (share < 1 ? share : 1);
}

static void race_new(struct race *race, struct phase *phase)
{
    const struct model *machine = phase->machine;
    uint32_t nodes = machine->node_count;
    double factor = write_factor(machine, phase->written, phase->total, phase->assumption) * 1e9;
    *race = (struct race){.phase = phase,
                          .machine = {.node_count = nodes,
                                      .memory = mem_zalloc(nodes * sizeof(double)),
                                      .link = mem_zalloc((size_t)nodes * nodes * sizeof(double))},
                          .users = mem_zalloc((phase->thread_count + 1) * sizeof *race->users),
                          .runners = mem_zalloc((phase->thread_count + 1) * sizeof *race->runners),
                          .factor = mem_zalloc((size_t)nodes * nodes * sizeof(double)),
                          .crowd = mem_zalloc(nodes * sizeof(double))};
    for (uint32_t from = 0; from < nodes; from++) {
        for (uint32_t to = 0; to < nodes; to++) {
            double rate = machine->read[from * nodes + to] * factor;
            race->machine.link[from * nodes + to] = rate;
            race->machine.memory[to] = rate > race->machine.memory[to] ? rate : race->machine.memory[to];
            race->factor[from * nodes + to] = 1;
        }
    }
    for (uint32_t i = 0; i < phase->thread_count; i++)
        if (phase->threads[i].runs)
            race->crowd[phase->threads[i].node] += 1.0 / machine->cpus_per_node;
    for (uint32_t i = 0; i < nodes; i++)
        race->crowd[i] = race->crowd[i] > 1 ? race->crowd[i] : 1;
}

static void race_free(struct race *race)
{
    free(race->machine.memory);
    free(race->machine.link);
    free(race->users);
    free(race->runners);
    free(race->factor);
    free(race->crowd);
}

/* Everyone at the start, at the latencies of the moment. */
static void line_up(struct race *race)
{
    const struct phase *phase = race->phase;
    uint32_t nodes = race->machine.node_count;
    for (uint32_t i = 0; i < phase->thread_count; i++) {
        const struct phase_thread *thread = &phase->threads[i];
        const double *latency = phase->machine->latency + (size_t)thread->node * nodes;
        const double *parts = phase->bytes + (size_t)i * nodes, *loads = phase->loads + (size_t)i * nodes;
        double exposed_s = 0, distance = 0;
        for (uint32_t to = 0; to < nodes; to++) {
            exposed_s += loads[to] * latency[to] * 1e-9 * race->factor[thread->node * nodes + to];
            distance += parts[to] * latency[to] / latency[thread->node];
        }
        double crowd = race->crowd[thread->node], compute_s = thread->cpu_s;
        if (phase->assumption == ASSUME_BEST) { /* it may have waited for its bytes where it was recorded */
            double near_s = thread->bytes / thread->core;
            compute_s = compute_s > near_s ? compute_s - near_s : 0;
        }
        race->runners[i] = (struct runner){.alone_s = (compute_s + exposed_s) * crowd,
                                           .exposed_s = exposed_s,
                                           .core = distance > 0 ? thread->core / crowd / distance : thread->core,
                                           .remaining = thread->runs ? 1 : 0};
        const struct runner *runner = &race->runners[i];
        double wanted = runner->alone_s > 0 ? thread->bytes / runner->alone_s : INFINITY;
        race->users[i] = (struct share_user){.node = thread->node,
                                             .active = runner->remaining > 0 && thread->bytes > 0,
                                             .limit = wanted < runner->core ? wanted : runner->core,
                                             .parts = parts};
    }
}

/* How long the thread would take at the bandwidth that it has now, all of it. */
static double duration(const struct race *race, uint32_t i)
{
    const struct runner *runner = &race->runners[i];
    const struct share_user *user = &race->users[i];
    const struct phase_thread *thread = &race->phase->threads[i];
    if (!user->active || user->rate <= 0)
        return runner->alone_s;
    double moving_s = thread->bytes / user->rate, near_s = thread->bytes / thread->core;
    double time_s = moving_s > runner->alone_s ? moving_s : runner->alone_s;
    if (race->phase->assumption == ASSUME_WORST) {
        /* What distance and other threads add overlaps with nothing. */
        double slow_s = user->full == SHARE_NOTHING ? thread->bytes / runner->core : moving_s;
        double added = runner->alone_s + (slow_s > near_s ? slow_s - near_s : 0);
        return added > time_s ? added : time_s;
    }
    return time_s;
}

static struct limit limit_of(const struct race *race, uint32_t i)
{
    const struct runner *runner = &race->runners[i];
    const struct share_user *user = &race->users[i];
    const struct phase_thread *thread = &race->phase->threads[i];
    int nodes = (int)race->machine.node_count;
    struct limit limit = {.tid = thread->tid, .from = thread->node};
    if (user->active && user->full >= nodes) {
        limit.kind = LIMIT_LINK;
        limit.to = (uint32_t)(user->full - nodes) % (uint32_t)nodes;
    } else if (user->active && user->full >= 0) {
        limit.kind = LIMIT_MEMORY;
        limit.to = (uint32_t)user->full;
    } else if (user->active && user->limit >= runner->core) {
        limit.kind = LIMIT_CORE;
    } else {
        limit.kind = runner->exposed_s > thread->cpu_s ? LIMIT_LATENCY : LIMIT_COMPUTE;
    }
    return limit;
}

/* How long until the next thread ends; ends that are within a hundredth of the whole time are one. */
static double next_end(const struct race *race, double now)
{
    const double same = 0.01;
    double next = INFINITY, last = 0;
    for (uint32_t i = 0; i < race->phase->thread_count; i++)
        if (race->runners[i].remaining > 0)
            next = fmin(next, race->runners[i].remaining * duration(race, i));
    for (uint32_t i = 0; i < race->phase->thread_count && next < INFINITY; i++) {
        double remaining_s = race->runners[i].remaining > 0 ? race->runners[i].remaining * duration(race, i) : 0;
        if (remaining_s <= next + same * (now + next))
            last = fmax(last, remaining_s);
    }
    return next < INFINITY ? fmax(next, last) : INFINITY;
}

/* From the start to the last end. Whoever ends makes room for the others. */
static double run_to_end(struct race *race)
{
    struct phase *phase = race->phase;
    double now = 0;
    for (;;) {
        double latest = -1;
        share_bandwidth(&race->machine, race->users, phase->thread_count);
        double step = next_end(race, now);
        if (step == INFINITY)
            return now;
        for (uint32_t i = 0; i < phase->thread_count; i++) {
            struct runner *runner = &race->runners[i];
            if (runner->remaining <= 0)
                continue;
            double whole_s = duration(race, i), remaining_s = runner->remaining * whole_s;
            if (step > runner->longest_s) {
                runner->longest_s = step;
                runner->limit = limit_of(race, i);
            }
            runner->remaining = remaining_s <= step ? 0 : runner->remaining - step / whole_s;
            if (runner->remaining <= 0 && remaining_s > latest) {
                latest = remaining_s;
                phase->limit = runner->limit;
            }
        }
        for (uint32_t i = 0; i < phase->thread_count; i++) /* only now: durations depend on it */
            race->users[i].active = race->users[i].active && race->runners[i].remaining > 0;
        now += step;
    }
}

/* Latency rises with the use of what a load goes through. */
static void load_latencies(struct race *race)
{
    const struct share_machine *machine = &race->machine;
    uint32_t nodes = machine->node_count;
    double *use = mem_zalloc((size_t)nodes * (nodes + 1) * sizeof *use);
    share_bandwidth(machine, race->users, race->phase->thread_count);
    for (uint32_t i = 0; i < race->phase->thread_count; i++) {
        const struct share_user *user = &race->users[i];
        for (uint32_t to = 0; to < nodes && user->active; to++) {
            use[to] += user->rate * user->parts[to] / machine->memory[to];
            use[nodes + user->node * nodes + to] +=
                user->rate * user->parts[to] / machine->link[user->node * nodes + to];
        }
    }
    for (uint32_t i = 0; i < nodes * nodes; i++) {
        double most = use[nodes + i] > use[i % nodes] ? use[nodes + i] : use[i % nodes];
        double loaded = model_loaded(race->phase->machine, most < 1 ? most : 1);
        race->factor[i] = (race->factor[i] + loaded) / 2;
    }
    free(use);
}

double phase_run(struct phase *phase)
{
    struct race race;
    bool waits = false;
    race_new(&race, phase);
    for (size_t i = 0; i < (size_t)phase->thread_count * phase->machine->node_count; i++)
        waits |= phase->loads[i] > 0;
    line_up(&race);
    for (unsigned i = 0; i < REPEATS && waits; i++) {
        load_latencies(&race);
        line_up(&race);
    }
    double time_s = run_to_end(&race);
    race_free(&race);
    return time_s;
}
