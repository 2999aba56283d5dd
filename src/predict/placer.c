/* See placer.h.
 *
 * Who uses a place most is decided for each burst by the other bursts: those next to it in the object, else those in the same
 * part. Else a place that was met in one burst would always seem to be used by that thread alone, and memory that all threads
 * share at random would seem private. */
#include "predict/placer.h"

#include <string.h>

struct placer {
    const struct demand *demand;
    struct plan plan;
    double *by_part, *by_object; /* bytes by node of their users */
    bool *stored;                /* object_count * phase_count: is stored to in that phase */
    uint32_t busiest;            /* node with the most bytes as recorded */
};

static const char *const names[PLACINGS] = {"as-is", "interleave", "first-touch-by-users", "replicate", "cluster"};

const char *placing_name(enum placing placement)
{
    return names[placement];
}

int placing_find(const char *name)
{
    for (int i = 0; i < PLACINGS; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

struct placer *placer_new(const struct demand *demand, const struct plan *plan)
{
    struct placer *placer = mem_zalloc(sizeof *placer);
    size_t nodes = demand->node_count;
    double *homes = mem_zalloc((nodes + 1) * sizeof *homes);
    placer->demand = demand;
    placer->plan = *plan;
    placer->by_part = mem_zalloc((demand->part_count + 1) * nodes * sizeof *placer->by_part);
    placer->by_object = mem_zalloc((demand->object_count + 1) * nodes * sizeof *placer->by_object);
    placer->stored = mem_zalloc(((size_t)demand->object_count * demand->phase_count + 1) * sizeof *placer->stored);
    array_each (&demand->cells, const struct demand_cell, cell) {
        uint32_t node = demand->threads.items[cell->thread].node;
        if (cell->home >= 0)
            homes[cell->home] += cell->bytes;
        if (cell->part != DEMAND_NONE)
            placer->by_part[cell->part * nodes + node] += cell->bytes;
        if (cell->object == DEMAND_NONE)
            continue;
        placer->by_object[cell->object * nodes + node] += cell->bytes;
        placer->stored[(size_t)cell->object * demand->phase_count + cell->phase] |= cell->stores;
    }
    for (uint32_t i = 1; i < nodes; i++)
        if (homes[i] > homes[placer->busiest])
            placer->busiest = i;
    free(homes);
    return placer;
}

void placer_free(struct placer *placer)
{
    if (!placer)
        return;
    free(placer->by_part);
    free(placer->by_object);
    free(placer->stored);
    free(placer);
}

/* The node that uses it most without `own` bytes of node `mine`; -1 when nobody else does. */
static int most(const double *use, uint32_t nodes, uint32_t mine, double own)
{
    int best = -1;
    double bytes = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        double here = use[i] - (i == mine ? own : 0);
        if (here > bytes + own * 1e-6) /* rounding is no use */
            best = (int)i, bytes = here;
    }
    return best;
}

/* The node of most of its neighbours; of equals, the nearest one's. -1: it has too few. */
static int neighbours_node(const struct demand *demand, const struct demand_cell *cell)
{
    uint32_t best = 0, most = 0;
    if (cell->near_count < 2)
        return -1;
    for (uint32_t i = 0; i < cell->near_count; i++) {
        uint32_t node = demand->threads.items[cell->near[i]].node, same = 0;
        for (uint32_t k = 0; k < cell->near_count; k++)
            same += demand->threads.items[cell->near[k]].node == node;
        if (same > most)
            best = node, most = same;
    }
    return (int)best;
}

static int users_node(const struct placer *placer, const struct demand_cell *cell)
{
    const struct demand *demand = placer->demand;
    uint32_t nodes = demand->node_count, mine = demand->threads.items[cell->thread].node;
    int node = neighbours_node(demand, cell);
    if (node < 0 && cell->part != DEMAND_NONE)
        node = most(placer->by_part + (size_t)cell->part * nodes, nodes, mine, cell->bytes);
    if (node < 0 && cell->object != DEMAND_NONE)
        node = most(placer->by_object + (size_t)cell->object * nodes, nodes, mine, cell->bytes);
    return node < 0 ? (int)mine : node;
}

int placer_unknown(const struct placer *placer, uint32_t node, enum assumption assumption)
{
    if (assumption == ASSUME_BEST)
        return (int)node;
    return assumption == ASSUME_WORST ? (int)placer->busiest : PLACER_EVENLY;
}

/* What the plan does with it. */
static enum placing placing_of(const struct plan *plan, const struct demand_cell *cell)
{
    if (plan->by_object && cell->object != DEMAND_NONE && plan->by_object[cell->object] != PLACING_AS_IS)
        return (enum placing)plan->by_object[cell->object];
    if ((plan->one_object && cell->object != plan->object) || (plan->one_node && cell->home != plan->home))
        return PLACING_AS_IS;
    return plan->placement;
}

static bool has_copies(const struct placer *placer, const struct demand_cell *cell)
{
    return cell->object != DEMAND_NONE &&
           (cell->settled || !placer->stored[(size_t)cell->object * placer->demand->phase_count + cell->phase]);
}

int placer_node(const struct placer *placer, const struct demand_cell *cell)
{
    const struct demand *demand = placer->demand;
    /* Bytes whose home is not known are assumed on the same nodes under every plan: else the placement that there is would be slower
     * than another for what is not known of it. */
    if (cell->home < 0)
        return PLACER_UNKNOWN;
    switch (placing_of(&placer->plan, cell)) {
    case PLACING_USERS:
    case PLACING_CLUSTER:
        return users_node(placer, cell);
    case PLACING_REPLICATE:
        return has_copies(placer, cell) ? (int)demand->threads.items[cell->thread].node : cell->home;
    case PLACING_OWN:
        return (int)demand->threads.items[cell->thread].node;
    case PLACING_AS_IS:
        return cell->home;
    default: /* interleaved */
        return PLACER_EVENLY;
    }
}
