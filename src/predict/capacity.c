/* See capacity.h. */
#include "predict/capacity.h"

#include "analysis/thresholds.h"
#include "machine/model.h"
#include "predict/phase.h"
#include "predict/placer.h"
#include "predict/recorded_machine.h"

#include <math.h>
#include <string.h>

enum ask { ASKED, ASKED_LOW, ASKED_HIGH, ASKS };

/* Equal parts of a phase, which is as long as its busiest thread runs. The others run from its begin, and wait for that one at its end: so
 * what is serial, and work that is shared out unequally, shows in the later ones. */
enum { STEPS = 8 };

struct asking {
    const struct model *machine;
    const struct demand *demand;
    bool all_cpus;
    uint32_t nodes, resources; /* memories, then links from node to node */
    double *bytes;             /* threads * nodes, in one phase */
    double *lower_bound;       /* of those */
    double *asked[ASKS];       /* steps of phases * resources */
    double *can;               /* likewise */
    double *length;            /* of a step */
};

static bool is_here(const struct model *machine)
{
    return machine->name && strcmp(machine->name, MACHINE_HERE) == 0;
}

static void gather(struct asking *asking, const struct placer *placer, size_t from, size_t to, double *written)
{
    const struct demand *demand = asking->demand;
    memset(asking->bytes, 0, demand->threads.count * asking->nodes * sizeof *asking->bytes);
    memset(asking->lower_bound, 0, demand->threads.count * asking->nodes * sizeof *asking->lower_bound);
    *written = 0;
    for (size_t i = from; i < to; i++) {
        const struct demand_cell *cell = &demand->cells.items[i];
        int node = placer_node(placer, cell);
        size_t row = (size_t)cell->thread * asking->nodes;
        *written += cell->written;
        for (uint32_t k = 0; k < asking->nodes; k++) {
            double part = node < 0 ? 1.0 / asking->nodes : (uint32_t)node == k ? 1 : 0;
            asking->bytes[row + k] += part * cell->bytes;
            asking->lower_bound[row + k] += part * cell->lower_bound;
        }
    }
}

/* Threads for each CPU of a thread's node; less than one where each stands for several. */
static double crowd_of(const struct asking *asking, uint32_t phase, uint32_t node)
{
    const struct demand *demand = asking->demand;
    double running = 0, all = 0;
    for (size_t i = 0; i < demand->threads.count; i++) {
        bool runs = demand->cpu_s[phase * demand->threads.count + i] > 0;
        all += runs;
        running += runs && demand->threads.items[i].node == node;
    }
    double crowd = running / asking->machine->cpus_per_node;
    return asking->all_cpus && all > 1 ? crowd : fmax(crowd, 1);
}

/* A thread's bytes a second to each node, as they are, at least and at most: what its core can fetch bounds all three. That counts from its
 * own node, wherever the bytes are: a placement that makes a thread wait longer is no better for asking for less. */
static void ask_for(struct asking *asking, uint32_t phase, uint32_t thread, enum ask which)
{
    const double *length = asking->length + (size_t)phase * STEPS;
    const struct demand *demand = asking->demand;
    uint32_t nodes = asking->nodes, own = demand->threads.items[thread].node;
    double error = demand->threads.items[thread].error, speed = is_here(asking->machine) ? 1 : thresholds.core_speed;
    const double factor[ASKS] = {1, fmax(1 - error, 0) / speed, (1 + error) * speed};
    const double *bytes = (which == ASKED_LOW ? asking->lower_bound : asking->bytes) + (size_t)thread * nodes;
    double cpu_s = demand->cpu_s[(size_t)phase * demand->threads.count + thread], total = 0;
    double *asked = asking->asked[which] + (size_t)phase * STEPS * asking->resources;
    for (uint32_t k = 0; k < nodes; k++)
        total += bytes[k] * factor[which];
    double seconds = fmax(cpu_s, total / core_rate(asking->machine, own, ASSUME_LIKELY)) * crowd_of(asking, phase, own);
    for (uint32_t step = 0; step < STEPS; step++, asked += asking->resources) {
        double runs = fmin(fmax(cpu_s / length[step] - step, 0), 1);
        for (uint32_t k = 0; k < nodes; k++) {
            double rate = runs * bytes[k] * factor[which] / seconds;
            asked[k] += rate;
            asked[nodes + own * nodes + k] += k == own ? 0 : rate;
        }
    }
}

static void ask(struct asking *asking, uint32_t phase)
{
    const struct demand *demand = asking->demand;
    const double *cpu_s = demand->cpu_s + (size_t)phase * demand->threads.count;
    double longest = 0;
    for (uint32_t i = 0; i < demand->threads.count; i++)
        longest = fmax(longest, cpu_s[i]);
    for (uint32_t step = 0; step < STEPS; step++)
        asking->length[(size_t)phase * STEPS + step] = longest / STEPS;
    for (uint32_t i = 0; i < demand->threads.count; i++)
        for (int which = 0; which < ASKS && cpu_s[i] > 0; which++)
            ask_for(asking, phase, i, (enum ask)which);
}

static void deliver(struct asking *asking, uint32_t phase, double written)
{
    const struct model *machine = asking->machine;
    uint32_t nodes = asking->nodes;
    double total = 0, *can = asking->can + (size_t)phase * STEPS * asking->resources;
    for (size_t i = 0; i < asking->demand->threads.count * nodes; i++)
        total += asking->bytes[i];
    double factor = write_factor(machine, written, total, ASSUME_LIKELY);
    for (uint32_t from = 0; from < nodes; from++)
        for (uint32_t to = 0; to < nodes; to++) {
            double rate = machine->read[from * nodes + to] * factor * 1e9;
            can[nodes + from * nodes + to] = rate;
            can[to] = fmax(can[to], rate);
        }
    for (uint32_t step = 1; step < STEPS; step++)
        memcpy(can + (size_t)step * asking->resources, can, asking->resources * sizeof *can);
}

/* The step with the largest part of what this resource can deliver that is reached in a good part of the run: shorter peaks do not decide. */
static uint32_t step_of(const struct asking *asking, uint32_t resource)
{
    uint32_t best = 0, steps = asking->demand->phase_count * STEPS;
    double all = 0, most = -1;
    for (uint32_t i = 0; i < steps; i++)
        all += asking->length[i];
    for (uint32_t i = 0; i < steps; i++) {
        size_t at = (size_t)i * asking->resources + resource;
        double ratio = asking->asked[ASKED][at] / asking->can[at], as_much = 0;
        for (uint32_t k = 0; k < steps; k++) {
            size_t other = (size_t)k * asking->resources + resource;
            as_much += asking->asked[ASKED][other] / asking->can[other] >= ratio ? asking->length[k] : 0;
        }
        if (as_much >= thresholds.part * all && ratio > most) {
            most = ratio;
            best = i;
        }
    }
    return best;
}

static struct capacity choose(const struct asking *asking)
{
    struct capacity capacity = {0};
    for (uint32_t resource = 0; resource < asking->resources; resource++) {
        size_t at = (size_t)step_of(asking, resource) * asking->resources + resource;
        struct capacity here = {.asked = asking->asked[ASKED][at],
                                .low = asking->asked[ASKED_LOW][at],
                                .high = asking->asked[ASKED_HIGH][at],
                                .can = asking->can[at]};
        bool link = resource >= asking->nodes;
        here.where = (struct limit){.kind = link ? LIMIT_LINK : LIMIT_MEMORY,
                                    .from = link ? resource / asking->nodes - 1 : 0,
                                    .to = resource % asking->nodes};
        if (here.asked > 0 && capacity_ratio(&here) > capacity_ratio(&capacity))
            capacity = here;
    }
    return capacity;
}

struct capacity capacity_of(const struct model *machine, const struct demand *demand, const struct plan *plan)
{
    uint32_t nodes = demand->node_count, resources = nodes * (1 + nodes);
    size_t cells = (size_t)demand->phase_count * STEPS * resources + 1, threads = demand->threads.count + 1, at = 0;
    struct asking asking = {.machine = machine,
                            .demand = demand,
                            .nodes = nodes,
                            .resources = resources,
                            .bytes = mem_zalloc(threads * nodes * sizeof(double)),
                            .lower_bound = mem_zalloc(threads * nodes * sizeof(double)),
                            .all_cpus = plan->all_cpus,
                            .can = mem_zalloc(cells * sizeof(double)),
                            .length = mem_zalloc(((size_t)demand->phase_count * STEPS + 1) * sizeof(double))};
    struct placer *placer = placer_new(demand, plan);
    for (int which = 0; which < ASKS; which++)
        asking.asked[which] = mem_zalloc(cells * sizeof(double));
    for (uint32_t phase = 0; phase < demand->phase_count; phase++) {
        size_t from = at;
        double written;
        while (at < demand->cells.count && demand->cells.items[at].phase == phase)
            at++;
        gather(&asking, placer, from, at, &written);
        ask(&asking, phase);
        deliver(&asking, phase, written);
    }
    struct capacity capacity = demand->phase_count ? choose(&asking) : (struct capacity){0};
    placer_free(placer);
    free(asking.bytes);
    free(asking.lower_bound);
    for (int which = 0; which < ASKS; which++)
        free(asking.asked[which]);
    free(asking.can);
    free(asking.length);
    return capacity;
}

enum grade capacity_grade(const struct capacity *capacity)
{
    if (capacity->low > capacity->can)
        return GRADE_OVER;
    return capacity->high > thresholds.near * capacity->can && capacity->can > 0 ? GRADE_NEAR : GRADE_UNDER;
}

const char *grade_name(enum grade grade)
{
    static const char *const names[] = {NULL, "under", "near", "over"};
    return names[grade];
}
