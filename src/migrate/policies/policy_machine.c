#include "migrate/policies/policy_machine.h"

#include "base/mem.h"
#include "migrate/page_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The later of the two directions counts: links that differ are as far as their worse side. */
static uint16_t apart(const struct topology *topology, uint32_t a, uint32_t b)
{
    uint16_t there = topology_distance(topology, a, b), back = topology_distance(topology, b, a);
    return there > back ? there : back;
}

/* Numbers the groups that form when nodes at most `reach` apart belong together. Returns how many there are. */
static uint32_t group_within(const struct topology *topology, uint16_t reach, uint32_t *groups)
{
    uint32_t count = topology->node_count, found = 0;
    uint32_t *stack = mem_alloc(count * sizeof *stack);
    for (uint32_t i = 0; i < count; i++)
        groups[i] = UINT32_MAX;
    for (uint32_t first = 0; first < count; first++) {
        if (groups[first] != UINT32_MAX)
            continue;
        uint32_t depth = 0;
        stack[depth++] = first;
        groups[first] = found;
        while (depth) {
            uint32_t node = stack[--depth];
            for (uint32_t other = 0; other < count; other++) {
                if (groups[other] == UINT32_MAX && apart(topology, node, other) <= reach) {
                    groups[other] = found;
                    stack[depth++] = other;
                }
            }
        }
        found++;
    }
    free(stack);
    return found;
}

/* The farthest distance below `limit` between two different nodes, or 0. */
static uint16_t next_nearer(const struct topology *topology, unsigned limit)
{
    uint16_t best = 0;
    for (uint32_t a = 0; a < topology->node_count; a++) {
        for (uint32_t b = 0; b < a; b++) {
            uint16_t distance = apart(topology, a, b);
            if (distance < limit && distance > best)
                best = distance;
        }
    }
    return best;
}

static void find_levels(struct nlens_machine *machine, const struct topology *topology)
{
    uint32_t count = topology->node_count, known = 1; /* groups of the level above: the whole machine */
    uint32_t *groups = mem_alloc((size_t)count * sizeof *groups), *level = mem_alloc(count * sizeof *level);
    unsigned limit = UINT16_MAX + 1u;
    machine->level_count = 0;
    while (known < count) {
        uint16_t reach = next_nearer(topology, limit);
        limit = reach;
        uint32_t found = count; /* below the nearest distance every node is alone */
        if (reach)
            found = group_within(topology, reach, level);
        else
            for (uint32_t i = 0; i < count; i++)
                level[i] = i;
        if (found == known)
            continue;
        groups = mem_resize(groups, (size_t)(machine->level_count + 1) * count * sizeof *groups);
        memcpy(groups + (size_t)machine->level_count++ * count, level, count * sizeof *level);
        known = found;
    }
    free(level);
    machine->groups = groups;
}

struct nlens_machine *machine_new(const struct topology *topology)
{
    uint32_t count = topology->node_count;
    struct nlens_machine *machine = mem_zalloc(sizeof *machine);
    struct nlens_policy_node *nodes = mem_zalloc(count * sizeof *nodes);
    uint16_t *distances = mem_alloc((size_t)count * count * sizeof *distances);
    bool *open = mem_alloc(count * sizeof *open);
    for (uint32_t i = 0; i < count; i++) {
        const struct topology_node *node = &topology->nodes[i];
        nodes[i] = (struct nlens_policy_node){node->os_index, node->cpu_count, node->memory, node->memory};
        open[i] = topology->simulated || node->memory > 0;
        for (uint32_t j = 0; j < count; j++)
            distances[(size_t)i * count + j] = topology_distance(topology, i, j);
    }
    machine->node_count = count;
    machine->nodes = nodes;
    machine->distances = distances;
    machine->nearest = mem_alloc(count * sizeof *machine->nearest);
    machine->page_bytes = (uint64_t)1 << page_shift();
    find_levels(machine, topology);
    machine_open(machine, open);
    free(open);
    return machine;
}

void machine_free(struct nlens_machine *machine)
{
    if (!machine)
        return;
    free((void *)machine->nodes);
    free((void *)machine->distances);
    free((void *)machine->groups);
    free((void *)machine->nearest);
    free(machine);
}

void machine_open(struct nlens_machine *machine, const bool *open)
{
    uint32_t *nearest = (uint32_t *)machine->nearest;
    for (uint32_t node = 0; node < machine->node_count; node++) {
        const uint16_t *row = machine->distances + (size_t)node * machine->node_count;
        uint32_t best = node;
        for (uint32_t other = 0; other < machine->node_count && !open[node]; other++)
            if (open[other] && (!open[best] || row[other] < row[best]))
                best = other;
        nearest[node] = best;
    }
}

/* What a page could get: unused memory, and the page cache, which the kernel drops when it needs room. */
static uint64_t free_memory(int32_t number, uint64_t otherwise)
{
    static const char *const kinds[] = {"MemFree:", "Active(file):", "Inactive(file):"};
    char path[96], line[256], kind[64];
    unsigned long long sum = 0, kib;
    unsigned found = 0;
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", number);
    FILE *file = fopen(path, "re");
    if (!file)
        return otherwise;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "Node %*d %63s %llu", kind, &kib) != 2)
            continue;
        for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            if (strcmp(kind, kinds[i]) == 0) {
                sum += kib * 1024;
                found++;
            }
        }
    }
    fclose(file);
    return found ? sum : otherwise;
}

void machine_refresh(struct nlens_machine *machine, const struct topology *topology)
{
    struct nlens_policy_node *nodes = (struct nlens_policy_node *)machine->nodes;
    for (uint32_t i = 0; i < machine->node_count && !topology->simulated; i++)
        nodes[i].free = free_memory(nodes[i].number, nodes[i].memory);
}
