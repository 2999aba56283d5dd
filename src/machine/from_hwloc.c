/* See from_hwloc.h. Nodes are in the order of their numbers in the system; what looks at memory ("initiator") is the node whose
 * CPUs it has. */
#include "machine/from_hwloc.h"

#include "base/mem.h"
#include "base/order.h"
#include "topology/hwloc_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define MIB_GB      1048576e-9 /* hwloc has MiB/s */
#define FIGURE_MOST 1e9        /* ns, MiB/s: a second, and more than any memory */

struct import {
    const char *path;
    hwloc_topology_t hwloc;
    uint32_t node_count, cores; /* cores of each node */
    hwloc_obj_t nodes[MODEL_NODES];
};

ORDER_BY(by_number, hwloc_obj_t, ORDER((*a)->os_index, (*b)->os_index))

static int find_nodes(struct import *import, struct error *err)
{
    int count = hwloc_get_nbobjs_by_type(import->hwloc, HWLOC_OBJ_NUMANODE);
    if (count <= 0 || count > MODEL_NODES)
        return error_set(err, -EINVAL, "%s: %d nodes, and a model has 1 to %d", import->path, count, MODEL_NODES);
    import->node_count = (uint32_t)count;
    for (uint32_t i = 0; i < import->node_count; i++)
        import->nodes[i] = hwloc_get_obj_by_type(import->hwloc, HWLOC_OBJ_NUMANODE, i);
    qsort(import->nodes, import->node_count, sizeof *import->nodes, by_number);
    return 0;
}

static uint32_t cores_in(const struct import *import, hwloc_const_cpuset_t cpus)
{
    hwloc_obj_type_t type = hwloc_get_nbobjs_by_type(import->hwloc, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    int count = hwloc_get_nbobjs_inside_cpuset_by_type(import->hwloc, cpus, type);
    return count > 0 ? (uint32_t)count : 0;
}

/* As many cores on each node, and none on two: a model has one number for all. */
static int count_cores(struct import *import, struct error *err)
{
    const struct hwloc_obj *first = import->nodes[0];
    import->cores = cores_in(import, first->cpuset);
    for (uint32_t i = 0; i < import->node_count; i++) {
        const struct hwloc_obj *node = import->nodes[i];
        uint32_t cores = cores_in(import, node->cpuset);
        if (cores == 0)
            return error_set(err, -EINVAL, "%s: node %u has no CPUs, and nodes of a model have", import->path,
                             node->os_index);
        for (uint32_t other = 0; other < i; other++)
            if (hwloc_bitmap_intersects(import->nodes[other]->cpuset, node->cpuset))
                return error_set(err, -EINVAL, "%s: nodes %u and %u have the same CPUs, and those of a model have not",
                                 import->path, import->nodes[other]->os_index, node->os_index);
        if (cores != import->cores)
            return error_set(err, -EINVAL, "%s: node %u has %u cores and node %u has %u; nodes of a model are alike",
                             import->path, node->os_index, cores, first->os_index, import->cores);
    }
    return 0;
}

/* 0 when the file has none. */
static hwloc_uint64_t attribute(const struct import *import, const char *name, hwloc_obj_t from, hwloc_obj_t to)
{
    hwloc_memattr_id_t id;
    hwloc_uint64_t value;
    struct hwloc_location initiator = {.type = HWLOC_LOCATION_TYPE_CPUSET, .location = {.cpuset = from->cpuset}};
    bool known = hwloc_memattr_get_by_name(import->hwloc, name, &id) == 0 &&
                 hwloc_memattr_get_value(import->hwloc, id, to, &initiator, 0, &value) == 0;
    return known ? value : 0;
}

/* One of reads alone goes before one of both. */
static int figure(const struct import *import, const char *const names[2], uint32_t pair, double *found,
                  struct error *err)
{
    hwloc_obj_t from = import->nodes[pair / import->node_count], to = import->nodes[pair % import->node_count];
    hwloc_uint64_t value = attribute(import, names[0], from, to);
    if (value == 0)
        value = attribute(import, names[1], from, to);
    if (value == 0)
        return error_set(
            err, -ENODATA,
            "%s: no memory attribute %s from node %u to node %u (hwloc 2.3 and later, on machines that say "
            "so), or one of 0; measure there instead: numalens machines --measure",
            import->path, names[1], from->os_index, to->os_index);
    if ((double)value > FIGURE_MOST)
        return error_set(err, -EINVAL, "%s: a memory attribute %s from node %u to node %u of %llu", import->path,
                         names[1], from->os_index, to->os_index, (unsigned long long)value);
    *found = (double)value;
    return 0;
}

static int fill(const struct import *import, struct model *machine, struct error *err)
{
    static const char *const latency[] = {"ReadLatency", "Latency"}, *const bandwidth[] = {"ReadBandwidth",
                                                                                           "Bandwidth"};
    int failed = 0;
    for (uint32_t pair = 0; !failed && pair < import->node_count * import->node_count; pair++) {
        failed = figure(import, latency, pair, &machine->latency[pair], err);
        failed = failed ? failed : figure(import, bandwidth, pair, &machine->read[pair], err);
        machine->read[pair] *= MIB_GB;
    }
    return failed;
}

static void describe(const struct import *import, struct model *machine)
{
    uint32_t cores = import->cores;
    machine->name = mem_strdup("imported");
    machine->title = mem_format("Machine with %u node%s of %u core%s", machine->node_count,
                                machine->node_count == 1 ? "" : "s", cores, cores == 1 ? "" : "s");
    machine->source = mem_strdup("hwloc, memory attributes");
    machine->topology = mem_format("numa:%u core:%u", machine->node_count, cores);
    machine->cpus_per_node = cores;
    for (uint32_t level = 1; level <= MODEL_CACHES; level++) {
        hwloc_obj_t cache = hwloc_get_obj_by_type(import->hwloc, (hwloc_obj_type_t)(HWLOC_OBJ_L1CACHE + level - 1), 0);
        bool known =
            cache && cache->attr->cache.size >= MODEL_CACHE_LEAST && cache->attr->cache.size <= MODEL_CACHE_MOST;
        uint32_t sharing = known ? cores_in(import, cache->cpuset) : 0;
        if (sharing)
            machine->caches[machine->cache_count++] =
                (struct model_cache){.level = level, .bytes = cache->attr->cache.size, .cores = sharing};
    }
}

struct model *model_from_hwloc(const char *text, const char *path, struct error *err)
{
    struct import import = {.path = path, .hwloc = hwloc_file_load(text, path, HWLOC_TYPE_FILTER_KEEP_ALL, err)};
    if (!import.hwloc)
        return NULL;
    struct model *machine = NULL;
    int failed = find_nodes(&import, err);
    failed = failed ? failed : count_cores(&import, err);
    if (!failed) {
        machine = model_new(import.node_count);
        describe(&import, machine);
        failed = fill(&import, machine, err);
        failed = failed ? failed : model_check(machine, path, err);
    }
    if (failed) {
        model_free(machine);
        machine = NULL;
    }
    hwloc_topology_destroy(import.hwloc);
    return machine;
}
