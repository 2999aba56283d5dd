#include "topology/placement.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[PLACEMENTS] = {"cluster",    "distributed", "mem0-cpu0", "mem0-cpu1",
                                              "interleave", "weighted",    "local"};

const char *placement_name(enum placement_kind kind)
{
    return kind < PLACEMENTS ? names[kind] : "?";
}

enum placement_kind placement_named(const char *name)
{
    unsigned kind = 0;
    while (kind < PLACEMENTS && strcmp(names[kind], name) != 0)
        kind++;
    return (enum placement_kind)kind;
}

/* The nodes that have CPUs and memory to use, by their place in the topology. */
struct usable {
    uint32_t *nodes, *cpus; /* cpus: how many of each */
    uint32_t count;
};

static bool may_use(const struct topology *topology, const struct placement_limits *limits, uint32_t cpu)
{
    return cpu < topology->cpu_count && (topology->simulated || placement_set_has(&limits->cpus, cpu));
}

/* A simulated node has memory whatever its description says of it. */
static bool has_memory(const struct topology *topology, const struct placement_limits *limits, uint32_t node)
{
    int32_t number = topology->nodes[node].os_index;
    return topology->simulated ||
           (topology->nodes[node].memory && number >= 0 && placement_set_has(&limits->nodes, (uint32_t)number));
}

uint32_t placement_memory_nodes(const struct topology *topology, const struct placement_limits *limits)
{
    uint32_t count = 0;
    for (uint32_t node = 0; node < topology->node_count; node++)
        count += has_memory(topology, limits, node);
    return count;
}

static struct usable find_usable(const struct topology *topology, const struct placement_limits *limits)
{
    struct usable usable = {.nodes = mem_alloc(topology->node_count * sizeof *usable.nodes),
                            .cpus = mem_alloc(topology->node_count * sizeof *usable.cpus)};
    for (uint32_t node = 0; node < topology->node_count; node++) {
        uint32_t cpus = 0;
        for (uint32_t cpu = 0; cpu < topology->cpu_count; cpu++)
            cpus += topology->node_of_cpu[cpu] == (int32_t)node && may_use(topology, limits, cpu);
        if (cpus == 0 || !has_memory(topology, limits, node))
            continue;
        usable.nodes[usable.count] = node;
        usable.cpus[usable.count++] = cpus;
    }
    return usable;
}

/* The first `most` CPUs of a node that may be used. Returns how many they are. */
static uint32_t add_cpus(struct placement_set *set, const struct topology *topology,
                         const struct placement_limits *limits, uint32_t node, uint32_t most)
{
    uint32_t added = 0;
    for (uint32_t cpu = 0; cpu < topology->cpu_count && added < most; cpu++) {
        if (topology->node_of_cpu[cpu] != (int32_t)node || !may_use(topology, limits, cpu))
            continue;
        placement_set_add(set, cpu);
        added++;
    }
    return added;
}

static int number_of(const struct topology *topology, const struct usable *usable, uint32_t rank)
{
    return topology->nodes[usable->nodes[rank]].os_index;
}

static void refuse(struct placement *placement, const char *why)
{
    placement->possible = false;
    snprintf(placement->text, sizeof placement->text, "%s", why);
}

static void on_one_node(struct placement *placement, const struct topology *topology,
                        const struct placement_limits *limits, const struct usable *usable, uint32_t rank, bool bound)
{
    int threads = number_of(topology, usable, rank), memory = number_of(topology, usable, 0);
    placement->cpu_count = add_cpus(&placement->cpus, topology, limits, usable->nodes[rank], UINT32_MAX);
    if (bound) {
        placement->memory = PLACEMENT_BOUND;
        placement_set_add(&placement->nodes, (uint32_t)memory);
        snprintf(placement->text, sizeof placement->text, "threads on the %u CPU%s of node %d, memory on node %d",
                 placement->cpu_count, placement->cpu_count == 1 ? "" : "s", threads, memory);
        snprintf(placement->simulate_homes, sizeof placement->simulate_homes, "bind:%d", memory);
    } else {
        snprintf(placement->text, sizeof placement->text,
                 "threads on the %u CPU%s of node %d, memory on the node that touches it first: the same",
                 placement->cpu_count, placement->cpu_count == 1 ? "" : "s", threads);
    }
    snprintf(placement->simulate_assign, sizeof placement->simulate_assign, "node:%d", threads);
}

/* As many CPUs as the first node has, distributed over all; at least one of each. */
static void over_nodes(struct placement *placement, const struct topology *topology,
                       const struct placement_limits *limits, const struct usable *usable)
{
    uint32_t nodes = usable->count < PLACEMENT_ASSIGNED ? usable->count : PLACEMENT_ASSIGNED;
    uint32_t each = (usable->cpus[0] + nodes - 1) / nodes;
    for (uint32_t rank = 0; rank < nodes; rank++) {
        add_cpus(&placement->assign[rank], topology, limits, usable->nodes[rank], each);
        placement->cpu_count += add_cpus(&placement->cpus, topology, limits, usable->nodes[rank], each);
    }
    placement->assigned = nodes;
    strcpy(placement->simulate_assign, "round-robin");
    if (topology->simulated)
        snprintf(placement->text, sizeof placement->text,
                 "threads assigned to %u nodes in turn, memory on the node that touches it first", nodes);
    else
        snprintf(placement->text, sizeof placement->text,
                 "threads assigned to %u nodes in turn, on %u CPU%s of each; memory on the node that touches it first",
                 nodes, each, each == 1 ? "" : "s");
}

static void everywhere(struct placement *placement, const struct topology *topology,
                       const struct placement_limits *limits, bool interleaved)
{
    for (uint32_t node = 0; node < topology->node_count; node++) {
        placement->cpu_count += add_cpus(&placement->cpus, topology, limits, node, UINT32_MAX);
        if (has_memory(topology, limits, node))
            placement_set_add(&placement->nodes, (uint32_t)topology->nodes[node].os_index);
    }
    if (interleaved) {
        placement->memory = PLACEMENT_INTERLEAVED;
        strcpy(placement->simulate_homes, "interleave");
        strcpy(placement->simulate_assign, "round-robin");
    }
    snprintf(placement->text, sizeof placement->text, "%s, %s",
             interleaved ? "pages on all nodes in turn" : "memory on the node that touches it first",
             !topology->simulated ? "threads where the kernel puts them"
             : interleaved        ? "threads assigned to the nodes in turn"
                                  : "threads fill one node's CPUs before the next one's");
}

/* Pages as everywhere() has them, in numbers that differ from node to node. */
static void by_weights(struct placement *placement, const struct placement_limits *limits)
{
    size_t used =
        (size_t)snprintf(placement->text, sizeof placement->text, "threads where the kernel puts them, pages");
    uint8_t min_weight = UINT8_MAX, max_weight = 0;
    bool first = true;
    for (uint32_t node = 0; node < PLACEMENT_CPUS; node++) {
        uint8_t weight = limits->weights[node];
        if (!placement_set_has(&placement->nodes, node))
            continue;
        min_weight = weight < min_weight ? weight : min_weight;
        max_weight = weight > max_weight ? weight : max_weight;
        if (used < sizeof placement->text)
            used += (size_t)snprintf(placement->text + used, sizeof placement->text - used, "%s %u on node %u",
                                     first ? "" : ",", weight, node);
        first = false;
    }
    placement->memory = PLACEMENT_BY_WEIGHTS;
    if (used + 9 < sizeof placement->text)
        strcpy(placement->text + used, " in turn");
    if (min_weight == 0)
        refuse(placement, "this kernel has no weighted interleaving (Linux 6.9 has)");
    else if (min_weight == max_weight)
        refuse(placement, "the kernel's weights of the nodes are equal, so that it is interleave "
                          "(/sys/kernel/mm/mempolicy/weighted_interleave)");
}

void placement_work_out(struct placement *placement, enum placement_kind kind, const struct topology *topology,
                        const struct placement_limits *limits)
{
    *placement = (struct placement){.kind = kind, .possible = true};
    strcpy(placement->simulate_assign, "packed");
    strcpy(placement->simulate_homes, "first-touch");
    struct usable usable = find_usable(topology, limits);
    bool places_memory = kind != PLACEMENT_CLUSTER && kind != PLACEMENT_DISTRIBUTED && kind != PLACEMENT_LOCAL;
    if (usable.count == 0) {
        refuse(placement, "there is no node that has both CPUs and memory that may be used here");
    } else if (usable.count == 1 && kind != PLACEMENT_LOCAL) {
        refuse(placement, topology->node_count == 1
                              ? "there is one node: threads and memory have no choice"
                              : "of several nodes only one has both CPUs and memory that may be used here");
    } else if (places_memory && !topology->simulated && *limits->refused) {
        refuse(placement, limits->refused);
    } else if (kind == PLACEMENT_WEIGHTED && topology->simulated) {
        refuse(placement, "simulated nodes have no weights");
    } else {
        switch (kind) {
        case PLACEMENT_CLUSTER:
            on_one_node(placement, topology, limits, &usable, 0, false);
            break;
        case PLACEMENT_MEM0_CPU0:
            on_one_node(placement, topology, limits, &usable, 0, true);
            break;
        case PLACEMENT_MEM0_CPU1:
            on_one_node(placement, topology, limits, &usable, 1, true);
            break;
        case PLACEMENT_DISTRIBUTED:
            over_nodes(placement, topology, limits, &usable);
            break;
        default:
            everywhere(placement, topology, limits, kind == PLACEMENT_INTERLEAVE);
            if (kind == PLACEMENT_WEIGHTED)
                by_weights(placement, limits);
            break;
        }
    }
    free(usable.nodes);
    free(usable.cpus);
}

int placement_simulate(const struct placement *placement, struct topology *topology, struct error *err)
{
    int code = topology_set_assign(topology, placement->simulate_assign, err);
    return code < 0 ? code : topology_parse_home(topology, placement->simulate_homes, err);
}
