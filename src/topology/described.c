/* topology/described.c - another machine, as its recording reports it: nodes and CPUs, no distances. */
#include "topology/topology_internal.h"

#include "base/number_list.h"

#include <errno.h>

enum { DISTANCE_OTHER = 20 };

static void find_last(void *context, uint32_t cpu)
{
    uint32_t *count = context;
    if (cpu >= *count)
        *count = cpu + 1;
}

struct filling {
    struct topology *topology;
    int32_t node;
};

static void fill(void *context, uint32_t cpu)
{
    struct filling *filling = context;
    if (filling->topology->node_of_cpu[cpu] >= 0)
        return; /* the first node that claims it */
    filling->topology->node_of_cpu[cpu] = filling->node;
    filling->topology->nodes[filling->node].cpu_count++;
}

struct topology *topology_described(const struct topology_description *nodes, uint32_t count, struct error *err)
{
    uint32_t cpus = 0;
    if (count == 0 || count > TOPOLOGY_MAX_NODES) {
        error_set(err, -EINVAL, "a machine of %u nodes", count);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!number_list_each(nodes[i].cpus, TOPOLOGY_MAX_CPUS, find_last, &cpus)) {
            error_set(err, -EINVAL, "the CPUs of node %d are no list", nodes[i].os_index);
            return NULL;
        }
    }
    struct topology *topology = topology_new(count, cpus ? cpus : 1, "");
    for (uint32_t i = 0; i < count; i++) {
        struct filling filling = {topology, (int32_t)i};
        topology->nodes[i].os_index = nodes[i].os_index;
        topology->nodes[i].memory = nodes[i].memory;
        number_list_each(nodes[i].cpus, TOPOLOGY_MAX_CPUS, fill, &filling);
        for (uint32_t to = 0; to < count; to++)
            topology->distances[(size_t)i * count + to] = i == to ? DISTANCE_LOCAL : DISTANCE_OTHER;
    }
    return topology;
}
