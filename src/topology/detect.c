/* topology/detect.c - topologies through hwloc: this machine's, a synthetic one, or another machine's XML. */
#include "topology/topology_internal.h"

#include "base/mem.h"
#include "base/order.h"
#include "topology/hwloc_file.h"

#include <ctype.h>
#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

/* What firmware tables say where hierarchies are flat, and where they are not: 12 beside, 21 across, 10 more for each
 * level further out. SLIT values are bytes, of which 255 means "not reachable". */
enum { REMOTE_FLAT = 20, REMOTE_NEAR = 12, REMOTE_FAR = 21, REMOTE_STEP = 10, REMOTE_MOST = 254 };

enum { SYNTHETIC_CPUS = 4096, SYNTHETIC_BESIDE = 1024 };

struct detection {
    hwloc_topology_t hwloc;
    uint32_t node_count;
    hwloc_obj_t *nodes; /* by the kernel's number */
    int *weights;       /* CPUs of each */
};

ORDER_BY(by_os_index, hwloc_obj_t, ORDER((*a)->os_index, (*b)->os_index))

/* The object a memory node hangs on: what it is local to. */
static hwloc_obj_t place_of(hwloc_obj_t node)
{
    hwloc_obj_t place = node->parent;
    while (hwloc_obj_type_is_memory(place->type))
        place = place->parent;
    return place;
}

/* A node further down in the hierarchy is a CPU's own before one that serves more CPUs (CXL, HBM beside DRAM); of two
 * on the same place, the kernel puts CPUs into the lower-numbered one. */
static int own_node(const struct detection *found, unsigned cpu)
{
    int own = -1, own_weight = 0;
    for (uint32_t i = 0; i < found->node_count; i++) {
        if (!hwloc_bitmap_isset(found->nodes[i]->cpuset, cpu) || (own >= 0 && found->weights[i] >= own_weight))
            continue;
        own = (int)i;
        own_weight = found->weights[i];
    }
    return own;
}

/* Distances by how far up two nodes meet. `meets` collects the depths at which any two do, as a bit set. */
static void distances_from_hierarchy(struct topology *topology, const struct detection *found)
{
    uint32_t count = topology->node_count;
    uint64_t meets = 0;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t a = 0; a < count; a++) {
            for (uint32_t b = 0; b < count; b++) {
                uint16_t *distance = &topology->distances[(size_t)a * count + b];
                if (a == b) {
                    *distance = DISTANCE_LOCAL;
                    continue;
                }
                hwloc_obj_t ancestor =
                    hwloc_get_common_ancestor_obj(found->hwloc, place_of(found->nodes[a]), place_of(found->nodes[b]));
                int depth = ancestor->depth < 63 ? ancestor->depth : 63;
                meets |= (uint64_t)1 << depth;
                int levels = __builtin_popcountll(meets), further = __builtin_popcountll(meets >> depth >> 1);
                int reported = levels == 1    ? REMOTE_FLAT
                               : further == 0 ? REMOTE_NEAR
                                              : REMOTE_FAR + REMOTE_STEP * (further - 1);
                *distance = (uint16_t)(reported < REMOTE_MOST ? reported : REMOTE_MOST);
            }
        }
    }
}

/* The firmware's or the XML's own figures over the made-up ones, for the nodes they cover. */
static void distances_as_reported(struct topology *topology, const struct detection *found)
{
    unsigned matrices = 1;
    struct hwloc_distances_s *reported;
    if (hwloc_distances_get_by_type(found->hwloc, HWLOC_OBJ_NUMANODE, &matrices, &reported,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
        matrices == 0)
        return;
    for (unsigned i = 0; i < reported->nbobjs; i++) {
        for (unsigned j = 0; j < reported->nbobjs; j++) {
            if (!reported->objs[i] || !reported->objs[j])
                continue;
            int from = topology_node_index(topology, (int32_t)reported->objs[i]->os_index);
            int to = topology_node_index(topology, (int32_t)reported->objs[j]->os_index);
            hwloc_uint64_t value = reported->values[(size_t)i * reported->nbobjs + j];
            if (from >= 0 && to >= 0 && value > 0)
                topology->distances[(size_t)from * topology->node_count + (size_t)to] =
                    (uint16_t)(value < UINT16_MAX ? value : UINT16_MAX);
        }
    }
    hwloc_distances_release(found->hwloc, reported);
}

static int find_nodes(struct detection *found, struct error *err)
{
    int count = hwloc_get_nbobjs_by_type(found->hwloc, HWLOC_OBJ_NUMANODE);
    if (count <= 0)
        return error_set(err, -ENOENT, "the topology has no memory nodes");
    if (count > TOPOLOGY_MAX_NODES)
        return error_set(err, -E2BIG, "the topology has %d nodes; numalens handles %d", count, TOPOLOGY_MAX_NODES);
    found->node_count = (uint32_t)count;
    found->nodes = mem_alloc((size_t)count * sizeof(hwloc_obj_t));
    for (int i = 0; i < count; i++)
        found->nodes[i] = hwloc_get_obj_by_type(found->hwloc, HWLOC_OBJ_NUMANODE, (unsigned)i);
    qsort(found->nodes, found->node_count, sizeof(hwloc_obj_t), by_os_index);
    found->weights = mem_alloc((size_t)count * sizeof *found->weights);
    for (int i = 0; i < count; i++)
        found->weights[i] = hwloc_bitmap_weight(found->nodes[i]->cpuset);
    return 0;
}

static struct topology *convert(struct detection *found, const char *spec, bool keep_memory, struct error *err)
{
    if (find_nodes(found, err) != 0)
        return NULL;
    int last_cpu = hwloc_bitmap_last(hwloc_topology_get_complete_cpuset(found->hwloc));
    for (hwloc_obj_t pu = NULL; (pu = hwloc_get_next_obj_by_type(found->hwloc, HWLOC_OBJ_PU, pu));)
        last_cpu = (int)pu->os_index > last_cpu ? (int)pu->os_index : last_cpu;
    if (last_cpu < 0 || last_cpu >= TOPOLOGY_MAX_CPUS) {
        error_set(err, -E2BIG, "the topology's CPU numbers go up to %d; numalens handles 0 to %d", last_cpu,
                  TOPOLOGY_MAX_CPUS - 1);
        return NULL;
    }
    struct topology *topology = topology_new(found->node_count, (uint32_t)last_cpu + 1, spec);
    for (uint32_t i = 0; i < found->node_count; i++) {
        topology->nodes[i].os_index = (int32_t)found->nodes[i]->os_index;
        topology->nodes[i].memory = keep_memory ? found->nodes[i]->attr->numanode.local_memory : 0;
    }
    for (hwloc_obj_t pu = NULL; (pu = hwloc_get_next_obj_by_type(found->hwloc, HWLOC_OBJ_PU, pu));) {
        int node = own_node(found, pu->os_index);
        topology->node_of_cpu[pu->os_index] = node;
        if (node >= 0)
            topology->nodes[node].cpu_count++;
    }
    distances_from_hierarchy(topology, found);
    distances_as_reported(topology, found);
    return topology;
}

/* Takes `hwloc`, which is loaded. */
static struct topology *take(hwloc_topology_t hwloc, const char *spec, bool keep_memory, struct error *err)
{
    struct detection found = {.hwloc = hwloc};
    struct topology *topology = convert(&found, spec, keep_memory, err);
    /* HWLOC_XMLFILE, HWLOC_FSROOT and the like make hwloc describe another machine than this. */
    if (topology)
        topology->simulated = !hwloc_topology_is_thissystem(hwloc);
    free(found.nodes);
    free(found.weights);
    hwloc_topology_destroy(hwloc);
    return topology;
}

/* Takes `hwloc`, configured but not loaded. */
static struct topology *load(hwloc_topology_t hwloc, const char *spec, bool keep_memory, struct error *err)
{
    /* Caches are of no use here. CPUs and nodes outside this process's cpuset are: pages are there. */
    hwloc_topology_set_cache_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    /* Linux says what is asked here. This one binds itself to each CPU in turn, and waits for all that runs there. */
    hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (hwloc_topology_load(hwloc) == 0)
        return take(hwloc, spec, keep_memory, err);
    error_set(err, -EINVAL, "hwloc cannot load the topology%s%.100s: %s", *spec ? " " : "", spec, strerror(errno));
    hwloc_topology_destroy(hwloc);
    return NULL;
}

static hwloc_topology_t start(struct error *err)
{
    hwloc_topology_t hwloc;
    if (hwloc_topology_init(&hwloc) == 0)
        return hwloc;
    error_set(err, -ENOMEM, "hwloc cannot start: %s", strerror(errno));
    return NULL;
}

struct topology *topology_load(struct error *err)
{
    hwloc_topology_t hwloc = start(err);
    return hwloc ? load(hwloc, "", true, err) : NULL;
}

/* Whether a synthetic description stays within what hwloc builds in a second or two: its time grows with the square of what is
 * side by side, and with the CPUs on top of that (core:4096 takes 9 s, core:16384 minutes). */
static bool synthetic_fits(const char *spec)
{
    uint64_t size = 1;
    int depth = 0;
    for (const char *at = spec; *at; at++) {
        depth += *at == '(' || *at == '[';
        depth -= *at == ')' || *at == ']';
        bool starts = *at >= '0' && *at <= '9' && (at == spec || !isalnum((unsigned char)at[-1]));
        if (depth != 0 || !starts)
            continue;
        char *end;
        unsigned long arity = strtoul(at, &end, 0); /* as hwloc reads it: 0x1000 too */
        if (arity > SYNTHETIC_BESIDE || (arity > 0 && (size *= arity) > SYNTHETIC_CPUS))
            return false;
        at = end - 1;
    }
    return true;
}

/* Users write "numa:4 core:2"; hwloc wants the processing units named too. */
static int set_synthetic(hwloc_topology_t hwloc, const char *spec)
{
    if (hwloc_topology_set_synthetic(hwloc, spec) == 0)
        return 0;
    if (spec[strspn(spec, " ")] == '\0')
        return -1;
    char *with_units = mem_format("%s pu:1", spec);
    int result = hwloc_topology_set_synthetic(hwloc, with_units);
    free(with_units);
    return result;
}

static bool is_xml(const char *spec)
{
    size_t length = strlen(spec);
    return length > 4 && strcmp(spec + length - 4, ".xml") == 0;
}

static struct topology *load_synthetic(const char *spec, struct error *err)
{
    if (!synthetic_fits(spec)) {
        error_set(err, -E2BIG,
                  "the topology '%.100s' is too large: a simulated one has at most %d CPUs, and %d of a kind in one "
                  "place, such as \"numa:4 core:1024\"",
                  spec, SYNTHETIC_CPUS, SYNTHETIC_BESIDE);
        return NULL;
    }
    hwloc_topology_t hwloc = start(err);
    /* hwloc gives synthetic nodes 1 GiB each unless asked otherwise: not a fact worth keeping. */
    if (hwloc && set_synthetic(hwloc, spec) == 0)
        return load(hwloc, spec, strstr(spec, "memory=") != NULL, err);
    if (!hwloc)
        return NULL;
    error_set(err, -EINVAL,
              "'%.100s' does not describe a topology; write it like \"numa:4 core:2\" or \"package:2 numa:2 "
              "core:4\" (hwloc's synthetic syntax), or name an XML file that lstopo wrote",
              spec);
    hwloc_topology_destroy(hwloc);
    return NULL;
}

static struct topology *load_file(const char *path, struct error *err)
{
    FILE *in = fopen(path, "re");
    if (!in) {
        error_set(err, -EINVAL, "cannot read the topology in %.200s: %s; write one with 'lstopo FILE.xml'", path,
                  strerror(errno));
        return NULL;
    }
    char *text = hwloc_file_read(in, path, err);
    fclose(in);
    hwloc_topology_t hwloc = text ? hwloc_file_load(text, path, HWLOC_TYPE_FILTER_KEEP_NONE, err) : NULL;
    free(text);
    return hwloc ? take(hwloc, path, true, err) : NULL;
}

struct topology *topology_simulate(const char *spec, enum topology_assign assign, struct error *err)
{
    struct topology *topology = is_xml(spec) ? load_file(spec, err) : load_synthetic(spec, err);
    if (!topology)
        return NULL;
    topology->simulated = true;
    topology->assign = assign;
    return topology;
}
