/* See hwloc_xml.h. Nodes are in the order of their numbers in the system; what looks at memory ("initiator") is the node whose CPUs it
 * has. */
#include "machine/hwloc_xml.h"

#include "base/mem.h"
#include "machine/xml_tags.h"

#include <errno.h>
#include <hwloc/bitmap.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum figure { LATENCY, BANDWIDTH, FIGURES };

struct node {
    unsigned long number, gp_index;
    uint32_t line, cores;
    hwloc_bitmap_t cpus;
};

struct value { /* of a memory attribute */
    enum figure figure;
    bool of_reads; /* ReadLatency: better than Latency */
    uint32_t line;
    unsigned long target; /* gp_index */
    double value;
    hwloc_bitmap_t from;
};

struct import {
    const char *path;
    array_of(struct node) nodes;
    array_of(struct value) values;
    array_of(hwloc_bitmap_t) cores;
    struct cache {
        uint64_t bytes;
        hwloc_bitmap_t cpus;
    } caches[MODEL_CACHES + 1]; /* by level: the first of each */
    bool in_figure, of_reads;
    enum figure figure;
};

static int wrong(const struct import *import, uint32_t line, const char *what, struct error *err)
{
    return error_set(err, -EINVAL, "%s:%u: %s", import->path, line, what);
}

static bool read_number(const struct xml_tag *tag, const char *name, unsigned long *number)
{
    const char *text = xml_value(tag, name);
    char *end;
    if (!text || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *number = strtoul(text, &end, 10);
    return !*end && errno == 0;
}

/* NULL when there is none, or none that is a set of CPUs. */
static hwloc_bitmap_t read_cpus(const struct xml_tag *tag, const char *name)
{
    const char *text = xml_value(tag, name);
    hwloc_bitmap_t cpus = text && strncmp(text, "0x", 2) == 0 ? hwloc_bitmap_alloc() : NULL;
    if (cpus && (hwloc_bitmap_sscanf(cpus, text) < 0 || hwloc_bitmap_weight(cpus) < 0)) {
        hwloc_bitmap_free(cpus);
        cpus = NULL;
    }
    return cpus;
}

static int read_node(struct import *import, const struct xml_tag *tag, struct error *err)
{
    struct node node = {.line = tag->line, .cpus = read_cpus(tag, "cpuset")};
    if (!node.cpus || !read_number(tag, "os_index", &node.number) || !read_number(tag, "gp_index", &node.gp_index)) {
        hwloc_bitmap_free(node.cpus);
        return wrong(import, tag->line, "a NUMANode needs os_index, gp_index and cpuset", err);
    }
    bool too_many = import->nodes.count == MODEL_NODES, empty = hwloc_bitmap_iszero(node.cpus);
    array_push(&import->nodes, node);
    if (too_many)
        return wrong(import, tag->line, "there are more nodes than a model can have", err);
    return empty ? wrong(import, tag->line, "the node has no CPUs, and nodes of a model have", err) : 0;
}

static int read_object(struct import *import, const struct xml_tag *tag, struct error *err)
{
    const char *type = xml_value(tag, "type");
    unsigned long level, bytes;
    if (!type)
        return wrong(import, tag->line, "an object has no type", err);
    if (strcmp(type, "NUMANode") == 0)
        return read_node(import, tag, err);
    bool cache = type[0] == 'L' && type[1] >= '1' && type[1] <= '4' && strcmp(type + 2, "Cache") == 0;
    if (!cache && strcmp(type, "Core") != 0)
        return 0;
    hwloc_bitmap_t cpus = read_cpus(tag, "cpuset");
    if (!cpus)
        return wrong(import, tag->line, "a core or cache has no cpuset", err);
    level = cache ? (unsigned long)(type[1] - '0') : 0;
    if (!cache)
        array_push(&import->cores, cpus);
    else if (!import->caches[level].cpus && read_number(tag, "cache_size", &bytes) && bytes > 0)
        import->caches[level] = (struct cache){bytes, cpus};
    else
        hwloc_bitmap_free(cpus);
    return 0;
}

static void read_attribute(struct import *import, const struct xml_tag *tag)
{
    const char *name = xml_value(tag, "name");
    import->of_reads = name && strncmp(name, "Read", 4) == 0;
    const char *rest = !name ? "" : import->of_reads ? name + 4 : name;
    import->in_figure = strcmp(rest, "Latency") == 0 || strcmp(rest, "Bandwidth") == 0;
    import->figure = *rest == 'L' ? LATENCY : BANDWIDTH;
}

static int read_value(struct import *import, const struct xml_tag *tag, struct error *err)
{
    struct value value = {.figure = import->figure, .of_reads = import->of_reads, .line = tag->line};
    unsigned long number;
    if (!import->in_figure)
        return 0;
    if (!read_number(tag, "target_obj_gp_index", &value.target) || !read_number(tag, "value", &number))
        return wrong(import, tag->line, "a memattr_value needs target_obj_gp_index and value, both numbers", err);
    if (number == 0)
        return wrong(import, tag->line, "a latency or bandwidth of 0", err);
    value.value = (double)number;
    value.from = read_cpus(tag, "initiator_cpuset");
    if (!value.from)
        return wrong(import, tag->line, "a memattr_value needs initiator_cpuset: from which CPUs it is", err);
    array_push(&import->values, value);
    return 0;
}

static int read_all(struct import *import, char *text, struct error *err)
{
    struct xml_tags tags;
    struct xml_tag tag;
    int more;
    bool topology = false;
    xml_begin(&tags, text, import->path);
    while ((more = xml_next(&tags, &tag, err)) > 0) {
        int failed = 0;
        if (!topology && strcmp(tag.name, "topology") != 0)
            return wrong(import, tag.line, "this is no topology of hwloc: the first tag is not <topology>", err);
        topology = true;
        if (!tag.opens)
            import->in_figure = import->in_figure && strcmp(tag.name, "memattr") != 0;
        else if (strcmp(tag.name, "object") == 0)
            failed = read_object(import, &tag, err);
        else if (strcmp(tag.name, "memattr") == 0)
            read_attribute(import, &tag);
        else if (strcmp(tag.name, "memattr_value") == 0)
            failed = read_value(import, &tag, err);
        if (failed)
            return failed;
    }
    return more;
}

static int by_number(const void *left, const void *right)
{
    const struct node *a = left, *b = right;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* As many cores on each node: a model has one number for all. */
static int count_cores(struct import *import, struct error *err)
{
    array_sort(&import->nodes, by_number);
    array_each (&import->nodes, struct node, node) {
        array_each (&import->cores, const hwloc_bitmap_t, core)
            node->cores += hwloc_bitmap_isincluded(*core, node->cpus) != 0;
        if (import->cores.count == 0)
            node->cores = (uint32_t)hwloc_bitmap_weight(node->cpus);
        const struct node *first = &import->nodes.items[0];
        if (node->cores == 0 || node->cores != first->cores)
            return error_set(err, -EINVAL,
                             "%s:%u: node %lu has %u cores and node %lu has %u; nodes of a model are alike",
                             import->path, node->line, node->number, node->cores, first->number, first->cores);
        for (const struct node *other = first; other < node; other++)
            if (hwloc_bitmap_intersects(other->cpus, node->cpus))
                return error_set(err, -EINVAL,
                                 "%s:%u: nodes %lu and %lu have the same CPUs, and those of a model have not",
                                 import->path, node->line, other->number, node->number);
    }
    return 0;
}

/* Where the values of one attribute are all missing, that; else the first pair that has none. */
static int missing(const struct import *import, enum figure figure, const struct node *from, const struct node *to,
                   struct error *err)
{
    static const char *const names[] = {"Latency", "Bandwidth"};
    array_each (&import->values, const struct value, value)
        if (value->figure == figure)
            return error_set(
                err, -ENODATA,
                "%s:%u: %s has no value from node %lu to node %lu; measure there instead: numalens machines "
                "--measure",
                import->path, value->line, names[figure], from->number, to->number);
    return error_set(
        err, -ENODATA,
        "%s: no memory attribute %s (hwloc 2.3 and later, on machines that say so); measure there instead: "
        "numalens machines --measure",
        import->path, names[figure]);
}

static int fill(const struct import *import, struct model *machine, struct error *err)
{
    const double mib = 1048576e-9; /* hwloc has MiB/s */
    size_t nodes = import->nodes.count;
    for (size_t i = 0; i < nodes * nodes; i++) {
        const struct node *from = &import->nodes.items[i / nodes], *to = &import->nodes.items[i % nodes];
        double found[FIGURES] = {0};
        bool of_reads[FIGURES] = {false};
        array_each (&import->values, const struct value, value) {
            bool here = value->target == to->gp_index && hwloc_bitmap_isincluded(from->cpus, value->from);
            if (!here || (of_reads[value->figure] && !value->of_reads))
                continue;
            found[value->figure] = value->value;
            of_reads[value->figure] = value->of_reads;
        }
        for (int figure = 0; figure < FIGURES; figure++)
            if (found[figure] <= 0)
                return missing(import, (enum figure)figure, from, to, err);
        machine->latency[i] = found[LATENCY];
        machine->read[i] = found[BANDWIDTH] * mib;
    }
    return 0;
}

static void describe(const struct import *import, struct model *machine)
{
    uint32_t cores = import->nodes.items[0].cores;
    machine->name = mem_strdup("imported");
    machine->title = mem_format("Machine with %u node%s of %u core%s", machine->node_count,
                                machine->node_count == 1 ? "" : "s", cores, cores == 1 ? "" : "s");
    machine->source = mem_strdup("hwloc, memory attributes");
    machine->topology = mem_format("numa:%u core:%u", machine->node_count, cores);
    machine->cpus_per_node = cores;
    for (uint32_t level = 1; level <= MODEL_CACHES; level++) {
        const struct cache *cache = &import->caches[level];
        uint32_t sharing = 0;
        array_each (&import->cores, const hwloc_bitmap_t, core)
            sharing += cache->cpus && hwloc_bitmap_isincluded(*core, cache->cpus);
        if (sharing)
            machine->caches[machine->cache_count++] =
                (struct model_cache){.level = level, .bytes = cache->bytes, .cores = sharing};
    }
}

static void import_free(struct import *import)
{
    array_each (&import->nodes, const struct node, node)
        hwloc_bitmap_free(node->cpus);
    array_each (&import->values, const struct value, value)
        hwloc_bitmap_free(value->from);
    array_each (&import->cores, const hwloc_bitmap_t, core)
        hwloc_bitmap_free(*core);
    for (size_t i = 0; i <= MODEL_CACHES; i++)
        hwloc_bitmap_free(import->caches[i].cpus);
    array_free(&import->nodes);
    array_free(&import->values);
    array_free(&import->cores);
}

struct model *model_from_hwloc(char *text, const char *path, struct error *err)
{
    struct import import = {.path = path};
    struct model *machine = NULL;
    int failed = read_all(&import, text, err);
    if (!failed && import.nodes.count == 0)
        failed =
            error_set(err, -EINVAL, "%s: no NUMANode in it; a topology of hwloc 2 is needed (lstopo file.xml)", path);
    failed = failed ? failed : count_cores(&import, err);
    if (!failed) {
        machine = model_new((uint32_t)import.nodes.count);
        failed = fill(&import, machine, err);
        describe(&import, machine);
    }
    if (failed) {
        model_free(machine);
        machine = NULL;
    }
    import_free(&import);
    return machine;
}
