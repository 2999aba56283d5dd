#include "topology/topology_internal.h"

#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct topology *topology_new(uint32_t node_count, uint32_t cpu_count, const char *spec)
{
    struct topology *topology = mem_zalloc(sizeof *topology);
    topology->spec = mem_strdup(spec);
    topology->node_count = node_count;
    topology->cpu_count = cpu_count;
    topology->nodes = mem_zalloc((size_t)node_count * sizeof *topology->nodes);
    topology->distances = mem_zalloc((size_t)node_count * node_count * sizeof *topology->distances);
    topology->node_of_cpu = mem_alloc((size_t)cpu_count * sizeof *topology->node_of_cpu);
    for (uint32_t cpu = 0; cpu < cpu_count; cpu++)
        topology->node_of_cpu[cpu] = -1;
    return topology;
}

void topology_free(struct topology *topology)
{
    if (!topology)
        return;
    free(topology->spec);
    free(topology->nodes);
    free(topology->node_of_cpu);
    free(topology->distances);
    free(topology);
}

int topology_node_of_cpu(const struct topology *topology, uint32_t cpu)
{
    return cpu < topology->cpu_count ? topology->node_of_cpu[cpu] : -1;
}

int topology_node_index(const struct topology *topology, int32_t os_index)
{
    /* Nearly every machine numbers its nodes from 0 without gaps. */
    if (os_index >= 0 && (uint32_t)os_index < topology->node_count && topology->nodes[os_index].os_index == os_index)
        return os_index;
    for (uint32_t node = 0; node < topology->node_count; node++)
        if (topology->nodes[node].os_index == os_index)
            return (int)node;
    return -1;
}

uint16_t topology_distance(const struct topology *topology, uint32_t from, uint32_t to)
{
    if (from >= topology->node_count || to >= topology->node_count)
        return 0;
    return topology->distances[(size_t)from * topology->node_count + to];
}

static uint32_t usable_cpus(const struct topology *topology)
{
    uint32_t usable = 0;
    for (uint32_t node = 0; node < topology->node_count; node++)
        usable += topology->nodes[node].cpu_count;
    return usable;
}

/* The `rank`-th CPU of a node, in order of the kernel's numbers. */
static uint32_t cpu_of_node(const struct topology *topology, uint32_t node, uint32_t rank)
{
    for (uint32_t cpu = 0; cpu < topology->cpu_count; cpu++)
        if (topology->node_of_cpu[cpu] == (int32_t)node && rank-- == 0)
            return cpu;
    return 0;
}

uint32_t topology_assign_cpu(const struct topology *topology, uint32_t thread_ordinal)
{
    uint32_t usable = usable_cpus(topology);
    if (usable == 0)
        return 0;
    if (topology->assign == ASSIGN_NODE)
        return cpu_of_node(topology, (uint32_t)topology->assign_node,
                           thread_ordinal % topology->nodes[topology->assign_node].cpu_count);
    uint32_t slot = thread_ordinal % usable;
    if (topology->assign == ASSIGN_PACKED) {
        for (uint32_t node = 0; node < topology->node_count; node++) {
            if (slot < topology->nodes[node].cpu_count)
                return cpu_of_node(topology, node, slot);
            slot -= topology->nodes[node].cpu_count;
        }
        return 0;
    }
    for (uint32_t nth = 0;; nth++)
        for (uint32_t node = 0; node < topology->node_count; node++)
            if (nth < topology->nodes[node].cpu_count && slot-- == 0)
                return cpu_of_node(topology, node, nth);
}

int topology_home_of_page(const struct topology *topology, uint64_t page, int toucher)
{
    switch (topology->home) {
    case HOME_BIND:
        return topology->home_node;
    case HOME_INTERLEAVE:
        return (int)(page / (uint64_t)sysconf(_SC_PAGESIZE) % topology->node_count);
    case HOME_FIRST_TOUCH:
        break;
    }
    return toucher;
}

/* The node with the kernel's number in `text`, or -1. */
static int node_named(const struct topology *topology, const char *text)
{
    char *end;
    errno = 0;
    long os_index = strtol(text, &end, 10);
    bool good = *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && os_index <= INT32_MAX;
    return good ? topology_node_index(topology, (int32_t)os_index) : -1;
}

int topology_parse_home(struct topology *topology, const char *text, struct error *err)
{
    if (strcmp(text, "first-touch") == 0) {
        topology->home = HOME_FIRST_TOUCH;
        return 0;
    }
    if (strcmp(text, "interleave") == 0) {
        topology->home = HOME_INTERLEAVE;
        return 0;
    }
    if (strncmp(text, "bind:", 5) != 0)
        return error_set(err, -EINVAL, "'%.60s' is not a home node policy; use first-touch, interleave or bind:NODE",
                         text);
    int node = node_named(topology, text + 5);
    if (node < 0)
        return error_set(err, -EINVAL, "'%.60s' names no node of this topology, which has %u of them", text,
                         topology->node_count);
    topology->home = HOME_BIND;
    topology->home_node = node;
    return 0;
}

int topology_parse_assign(const char *text, enum topology_assign *assign, struct error *err)
{
    if (strcmp(text, "packed") == 0)
        *assign = ASSIGN_PACKED;
    else if (strcmp(text, "round-robin") == 0)
        *assign = ASSIGN_ROUND_ROBIN;
    else
        return error_set(err, -EINVAL, "'%.60s' is not a way to assign threads; use packed, round-robin or node:NODE",
                         text);
    return 0;
}

int topology_set_assign(struct topology *topology, const char *text, struct error *err)
{
    if (strncmp(text, "node:", 5) != 0)
        return topology_parse_assign(text, &topology->assign, err);
    int node = node_named(topology, text + 5);
    if (node < 0 || topology->nodes[node].cpu_count == 0)
        return error_set(err, -EINVAL, "'%.60s' names no node with CPUs of this topology, which has %u nodes", text,
                         topology->node_count);
    topology->assign = ASSIGN_NODE;
    topology->assign_node = node;
    return 0;
}

const char *topology_assign_text(const struct topology *topology, char text[TOPOLOGY_ASSIGN_TEXT])
{
    if (topology->assign == ASSIGN_NODE)
        snprintf(text, TOPOLOGY_ASSIGN_TEXT, "node:%d", topology->nodes[topology->assign_node].os_index);
    else
        snprintf(text, TOPOLOGY_ASSIGN_TEXT, "%s", topology->assign == ASSIGN_PACKED ? "packed" : "round-robin");
    return text;
}

const char *topology_home_text(const struct topology *topology, char text[TOPOLOGY_ASSIGN_TEXT])
{
    if (topology->home == HOME_BIND)
        snprintf(text, TOPOLOGY_ASSIGN_TEXT, "bind:%d", topology->nodes[topology->home_node].os_index);
    else
        snprintf(text, TOPOLOGY_ASSIGN_TEXT, "%s", topology->home == HOME_INTERLEAVE ? "interleave" : "first-touch");
    return text;
}

struct topology *topology_simulate_text(const char *spec, const char *assign, const char *homes, struct error *err)
{
    struct topology *topology = topology_simulate(spec, ASSIGN_ROUND_ROBIN, err);
    if (topology && ((assign && topology_set_assign(topology, assign, err) < 0) ||
                     (homes && topology_parse_home(topology, homes, err) < 0))) {
        topology_free(topology);
        return NULL;
    }
    return topology;
}

void topology_place_like(struct topology *topology, const struct topology *other)
{
    int32_t nodes = (int32_t)topology->node_count;
    if (!topology->simulated || !other->simulated)
        return;
    if (other->assign != ASSIGN_NODE || other->assign_node < nodes) {
        topology->assign = other->assign;
        topology->assign_node = other->assign_node;
    }
    if (other->home != HOME_BIND || other->home_node < nodes) {
        topology->home = other->home;
        topology->home_node = other->home_node;
    }
}
