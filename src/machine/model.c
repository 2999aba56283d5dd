/* machine/model.c - a model in memory: its parts, its summary, the topology it stands for. */
#include "machine/model.h"

#include "base/mem.h"
#include "topology/topology.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct model *model_new(uint32_t nodes)
{
    struct model *machine = mem_zalloc(sizeof *machine);
    machine->node_count = nodes;
    machine->latency = mem_zalloc(sizeof *machine->latency * nodes * nodes);
    machine->read = mem_zalloc(sizeof *machine->read * nodes * nodes);
    return machine;
}

void model_free(struct model *machine)
{
    if (!machine)
        return;
    free(machine->name);
    free(machine->title);
    free(machine->source);
    free(machine->licence);
    free(machine->topology);
    free(machine->latency);
    free(machine->read);
    array_free(&machine->loads);
    free(machine);
}

int model_check(const struct model *machine, const char *path, struct error *err)
{
    uint32_t nodes = machine->node_count;
    for (uint32_t pair = 0; pair < nodes * nodes; pair++) {
        double latency = machine->latency[pair], read = machine->read[pair];
        if (!(latency >= MODEL_LEAST && latency <= MODEL_MOST) || !(read >= MODEL_LEAST && read <= MODEL_MOST))
            return error_set(err, -EINVAL,
                             "%s: %g ns and %g GB/s from node %u to node %u; a model has figures from %g to %g", path,
                             latency, read, pair / nodes, pair % nodes, MODEL_LEAST, MODEL_MOST);
    }
    return 0;
}

struct topology *model_topology(const struct model *machine, struct error *err)
{
    return model_topology_assigned(machine, NULL, NULL, err);
}

struct topology *model_topology_assigned(const struct model *machine, const char *assign, const char *homes,
                                         struct error *err)
{
    struct topology *topology = topology_simulate_text(machine->topology, assign, homes, err);
    uint32_t nodes = machine->node_count;
    if (!topology)
        return NULL;
    for (uint32_t from = 0; from < nodes; from++) {
        for (uint32_t to = 0; to < nodes; to++) {
            double ratio = machine->latency[from * nodes + to] / machine->latency[from * nodes + from];
            topology->distances[from * nodes + to] = from == to ? 10 : (uint16_t)fmin(fmax(round(10 * ratio), 11), 254);
        }
    }
    return topology;
}

struct model_summary model_summary(const struct model *machine)
{
    struct model_summary sum = {0};
    uint32_t nodes = machine->node_count, others = nodes * (nodes - 1);
    for (uint32_t from = 0; from < nodes; from++) {
        for (uint32_t to = 0; to < nodes; to++) {
            double ns = machine->latency[from * nodes + to], gbs = machine->read[from * nodes + to];
            *(from == to ? &sum.local_ns : &sum.remote_ns) += ns / (from == to ? nodes : others);
            *(from == to ? &sum.local_gbs : &sum.remote_gbs) += gbs / (from == to ? nodes : others);
        }
    }
    return sum;
}

double model_loaded(const struct model *machine, double use)
{
    double last_use = 0, last_factor = 1;
    array_each (&machine->loads, const struct model_load, point) {
        if (use <= point->use)
            return last_factor + (point->factor - last_factor) * (use - last_use) / (point->use - last_use);
        last_use = point->use, last_factor = point->factor;
    }
    return last_factor;
}
