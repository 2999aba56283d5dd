/* See capacity.h. */
#include "predict/capacity.h"

#include "base/units.h"
#include "machine/model.h"
#include "predict/placer.h"

#include <math.h>
#include <string.h>

static const double SHARE_OF_TIME = 0.1; /* of the run in which so much is asked for: shorter peaks do not decide */
static const double CORE_SPEED =
    1.25; /* a model's cores against those at hand, either way; chosen: clocks of servers differ by so much */
static const double NEAR = 0.7; /* of what can be delivered: latency has risen by a third there (models' curves) */
static const unsigned LINES_UNDER_WAY =
    16; /* of a core, where its model does not say what it can fetch; measured on servers */

enum ask { ASKED, ASKED_LOW, ASKED_HIGH, ASKS };

struct asking {
    const struct model *machine;
    const struct demand *demand;
    uint32_t nodes, resources; /* memories, then links from node to node */
    double *bytes;             /* threads * nodes, in one phase */
    double *least;             /* of those */
    double *asked[ASKS];       /* phases * resources */
    double *can;               /* likewise */
    double *length;            /* of a phase */
};

static bool is_here(const struct model *machine)
{
    return machine->name && strcmp(machine->name, "this machine") == 0;
}

static double core_rate(const struct asking *asking, uint32_t node)
{
    const struct model *machine = asking->machine;
    if (machine->core > 0)
        return machine->core * 1e9;
    return LINES_UNDER_WAY * (double)CACHE_LINE / machine->latency[node * asking->nodes + node] * 1e9;
}

static void gather(struct asking *asking, const struct placer *placer, size_t from, size_t to, double *written)
{
    const struct demand *demand = asking->demand;
    memset(asking->bytes, 0, demand->threads.count * asking->nodes * sizeof *asking->bytes);
    memset(asking->least, 0, demand->threads.count * asking->nodes * sizeof *asking->least);
    *written = 0;
    for (size_t i = from; i < to; i++) {
        const struct demand_cell *cell = &demand->cells.items[i];
        int node = placer_node(placer, cell);
        size_t row = (size_t)cell->thread * asking->nodes;
        *written += cell->written;
        for (uint32_t k = 0; k < asking->nodes; k++) {
            double part = node < 0 ? 1.0 / asking->nodes : (uint32_t)node == k ? 1 : 0;
            asking->bytes[row + k] += part * cell->bytes;
            asking->least[row + k] += part * cell->least;
        }
    }
}

/* Threads for each CPU of a thread's node. */
static double crowd_of(const struct asking *asking, uint32_t phase, uint32_t node)
{
    const struct demand *demand = asking->demand;
    double running = 0;
    for (size_t i = 0; i < demand->threads.count; i++)
        running += demand->threads.items[i].node == node && demand->cpu_s[phase * demand->threads.count + i] > 0;
    return fmax(running / asking->machine->cpus_per_node, 1);
}

/* A thread's bytes a second to each node, as they are, at least and at most: what its core can fetch bounds all three. That counts from its
 * own node, wherever the bytes are: a placement that makes a thread wait longer is no better for asking for less. */
static void ask_for(struct asking *asking, uint32_t phase, uint32_t thread, enum ask which)
{
    const struct demand *demand = asking->demand;
    uint32_t nodes = asking->nodes, own = demand->threads.items[thread].node;
    double error = demand->threads.items[thread].error, speed = is_here(asking->machine) ? 1 : CORE_SPEED;
    const double factor[ASKS] = {1, fmax(1 - error, 0) / speed, (1 + error) * speed};
    const double *bytes = (which == ASKED_LOW ? asking->least : asking->bytes) + (size_t)thread * nodes;
    double cpu_s = demand->cpu_s[(size_t)phase * demand->threads.count + thread], total = 0;
    double *asked = asking->asked[which] + (size_t)phase * asking->resources;
    for (uint32_t k = 0; k < nodes; k++)
        total += bytes[k] * factor[which];
    double seconds = fmax(cpu_s, total / core_rate(asking, own)) * crowd_of(asking, phase, own);
    for (uint32_t k = 0; k < nodes; k++) {
        double rate = bytes[k] * factor[which] / seconds;
        asked[k] += rate;
        asked[nodes + own * nodes + k] += k == own ? 0 : rate;
    }
    asking->length[phase] = fmax(asking->length[phase], cpu_s);
}

static void ask(struct asking *asking, uint32_t phase)
{
    const struct demand *demand = asking->demand;
    for (uint32_t i = 0; i < demand->threads.count; i++)
        for (int which = 0; which < ASKS && demand->cpu_s[(size_t)phase * demand->threads.count + i] > 0; which++)
            ask_for(asking, phase, i, (enum ask)which);
}

/* Writing takes more of the bandwidth than reading. `mixed` is of one write for each read. */
static void deliver(struct asking *asking, uint32_t phase, double written)
{
    const struct model *machine = asking->machine;
    uint32_t nodes = asking->nodes;
    double total = 0, mixed = machine->mixed > 0 ? machine->mixed : 1,
           *can = asking->can + (size_t)phase * asking->resources;
    for (size_t i = 0; i < asking->demand->threads.count * nodes; i++)
        total += asking->bytes[i];
    double factor = 1 - (1 - mixed) * (total > 0 ? fmin(2 * written / total, 1) : 0);
    for (uint32_t from = 0; from < nodes; from++)
        for (uint32_t to = 0; to < nodes; to++) {
            double rate = machine->read[from * nodes + to] * factor * 1e9;
            can[nodes + from * nodes + to] = rate;
            can[to] = fmax(can[to], rate);
        }
}

/* The phase with the largest part of what this resource can deliver that is reached in SHARE_OF_TIME of the run. */
static uint32_t phase_of(const struct asking *asking, uint32_t resource)
{
    const struct demand *demand = asking->demand;
    double all = 0;
    uint32_t best = 0;
    double most = -1;
    for (uint32_t i = 0; i < demand->phase_count; i++)
        all += asking->length[i];
    for (uint32_t i = 0; i < demand->phase_count; i++) {
        size_t at = (size_t)i * asking->resources + resource;
        double ratio = asking->asked[ASKED][at] / asking->can[at], as_much = 0;
        for (uint32_t k = 0; k < demand->phase_count; k++) {
            size_t other = (size_t)k * asking->resources + resource;
            as_much += asking->asked[ASKED][other] / asking->can[other] >= ratio ? asking->length[k] : 0;
        }
        if (as_much >= SHARE_OF_TIME * all && ratio > most) {
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
        size_t at = (size_t)phase_of(asking, resource) * asking->resources + resource;
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
    size_t cells = (size_t)demand->phase_count * resources + 1, threads = demand->threads.count + 1, at = 0;
    struct asking asking = {.machine = machine,
                            .demand = demand,
                            .nodes = nodes,
                            .resources = resources,
                            .bytes = mem_zalloc(threads * nodes * sizeof(double)),
                            .least = mem_zalloc(threads * nodes * sizeof(double)),
                            .can = mem_zalloc(cells * sizeof(double)),
                            .length = mem_zalloc((demand->phase_count + 1) * sizeof(double))};
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
    free(asking.least);
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
    return capacity->high > NEAR * capacity->can && capacity->can > 0 ? GRADE_NEAR : GRADE_UNDER;
}

const char *grade_name(enum grade grade)
{
    static const char *const names[] = {NULL, "under", "near", "over"};
    return names[grade];
}
