/* fuzz_hwloc.c - any topology that hwloc makes of a file: nodes, CPUs, caches, distances and memory attributes with numbers of the
 * input. hwloc's own reader of XML is not fuzzed here: it crashes on damaged files, which is why a child process reads them first
 * (topology/hwloc_file.h). It reads each of 256 shapes of a machine once, which takes a hundred times as long as all the rest; a copy
 * of one of them then gets sizes, distances and attributes. An input that begins with '<' is a file of any bytes up to there. */
#include "input_text.h"
#include "machine/from_hwloc.h"
#include "topology/hwloc_file.h"
#include "topology/topology.h"

#include <hwloc/distances.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NODES_MOST = 6, SHAPES = 256, FILTERS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
hwloc_topology_t __wrap_hwloc_file_load(const char *text, const char *path, enum hwloc_type_filter_e caches,
                                        struct error *err);

struct numbers {
    const uint8_t *at, *end;
};

static unsigned next(struct numbers *numbers)
{
    return numbers->at < numbers->end ? *numbers->at++ : 0;
}

/* Small, or of any size: an exponent and a byte. */
static unsigned long long large(struct numbers *numbers)
{
    unsigned shift = next(numbers) % 56;
    return (unsigned long long)next(numbers) << shift;
}

static void sets(FILE *out, unsigned long long cpus, unsigned nodes)
{
    fprintf(out, " cpuset=\"0x%08llx\" complete_cpuset=\"0x%08llx\" nodeset=\"0x%08x\" complete_nodeset=\"0x%08x\"",
            cpus, cpus, nodes, nodes);
}

/* Packages with a node, a cache and cores each. */
static void write_objects(FILE *out, struct numbers *numbers, const unsigned *node, unsigned count)
{
    unsigned number = 2, cpu = next(numbers) % 20;
    unsigned first = cpu, each = 1 + next(numbers) % 5, uneven = next(numbers), nodes = 0;
    unsigned long long all = 0;
    for (unsigned i = 0; i < count; i++)
        nodes |= 1u << node[i];
    for (unsigned i = 0, at = first; i < count; i++)
        for (unsigned c = 0; c < each + (uneven >> i & 1) && at < 63; c++)
            all |= 1ull << at++;
    fprintf(out,
            "<object type=\"Machine\" os_index=\"0\" gp_index=\"1\" allowed_cpuset=\"0x%llx\" allowed_nodeset=\"0x%x\"",
            all, nodes);
    sets(out, all, nodes);
    fputs(">\n", out);
    for (unsigned i = 0; i < count; i++) {
        unsigned long long own = 0;
        for (unsigned c = 0, at = cpu; c < each + (uneven >> i & 1) && at < 63; c++)
            own |= 1ull << at++;
        fprintf(out, "<object type=\"Package\" os_index=\"%u\" gp_index=\"%u\"", i, number++);
        sets(out, own, 1u << node[i]);
        fprintf(out, ">\n<object type=\"NUMANode\" os_index=\"%u\" gp_index=\"%u\" local_memory=\"%llu\"", node[i],
                number++, large(numbers));
        sets(out, own, 1u << node[i]);
        fprintf(out,
                "></object>\n<object type=\"L%uCache\" gp_index=\"%u\" cache_size=\"%llu\" depth=\"%u\" "
                "cache_linesize=\"64\" cache_associativity=\"0\" cache_type=\"0\"",
                2 + i % 2, number++, large(numbers), 2 + i % 2);
        sets(out, own, 1u << node[i]);
        fputs(">\n", out);
        for (; own >> cpu & 1; cpu++) {
            fprintf(out, "<object type=\"Core\" os_index=\"%u\" gp_index=\"%u\"", cpu, number++);
            sets(out, 1ull << cpu, 1u << node[i]);
            fprintf(out, "><object type=\"PU\" os_index=\"%u\" gp_index=\"%u\"", cpu, number++);
            sets(out, 1ull << cpu, 1u << node[i]);
            fputs("/></object>\n", out);
        }
        fputs("</object></object>\n", out);
    }
    fputs("</object>\n", out);
}

/* The file of one shape: numbers of nodes and CPUs that differ from shape to shape. */
static char *write_shape(unsigned shape)
{
    uint8_t bytes[64];
    uint32_t random = shape * 2654435761u + 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        random = random * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(random >> 24);
    }
    struct numbers numbers = {bytes, bytes + sizeof bytes};
    unsigned count = 1 + shape % NODES_MOST, node[NODES_MOST], given = 0;
    for (unsigned i = 0; i < count; i++) {
        node[i] = next(&numbers) % 30;
        while (given >> node[i] & 1)
            node[i] = (node[i] + 1) % 30;
        given |= 1u << node[i];
    }
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology "
          "version=\"2.0\">\n",
          out);
    write_objects(out, &numbers, node, count);
    fputs("</topology>\n", out);
    fclose(out);
    return text;
}

static hwloc_topology_t load_shape(unsigned shape, enum hwloc_type_filter_e caches)
{
    hwloc_topology_t hwloc;
    char *text = write_shape(shape);
    if (hwloc_topology_init(&hwloc) != 0)
        abort();
    hwloc_topology_set_cache_types_filter(hwloc, caches);
    hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_set_xmlbuffer(hwloc, text, (int)strlen(text) + 1) != 0 || hwloc_topology_load(hwloc) != 0)
        abort();
    free(text);
    return hwloc;
}

/* Sizes as the input has them: hwloc keeps them in public fields. */
static void set_sizes(hwloc_topology_t hwloc, struct numbers *numbers)
{
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, node));)
        node->attr->numanode.local_memory = large(numbers);
    for (hwloc_obj_type_t type = HWLOC_OBJ_L2CACHE; type <= HWLOC_OBJ_L3CACHE; type++)
        for (hwloc_obj_t cache = NULL; (cache = hwloc_get_next_obj_by_type(hwloc, type, cache));)
            cache->attr->cache.size = large(numbers);
}

static void set_distances(hwloc_topology_t hwloc, struct numbers *numbers)
{
    hwloc_obj_t nodes[NODES_MOST];
    hwloc_uint64_t values[NODES_MOST * NODES_MOST];
    unsigned count = 0;
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, node));)
        nodes[count++] = node;
    for (unsigned i = 0; i < count * count; i++)
        values[i] = large(numbers);
    hwloc_distances_add_handle_t added = hwloc_distances_add_create(
        hwloc, "NUMALatency", HWLOC_DISTANCES_KIND_FROM_USER | HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0);
    if (added && hwloc_distances_add_values(hwloc, added, count, nodes, values, 0) == 0)
        hwloc_distances_add_commit(hwloc, added, 0);
}

static void set_attributes(hwloc_topology_t hwloc, struct numbers *numbers)
{
    static const enum hwloc_memattr_id_e attributes[] = {HWLOC_MEMATTR_ID_BANDWIDTH, HWLOC_MEMATTR_ID_LATENCY,
                                                         HWLOC_MEMATTR_ID_READ_BANDWIDTH,
                                                         HWLOC_MEMATTR_ID_READ_LATENCY};
    for (unsigned i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        if (next(numbers) % 3 == 0)
            continue;
        for (hwloc_obj_t to = NULL; (to = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, to));)
            for (hwloc_obj_t from = NULL; (from = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_PACKAGE, from));) {
                struct hwloc_location place = {.type = HWLOC_LOCATION_TYPE_CPUSET, .location.cpuset = from->cpuset};
                hwloc_memattr_set_value(hwloc, attributes[i], to, &place, 0, large(numbers));
            }
    }
}

/* What the input says, for the next load. */
static struct numbers asked;

/* Without the child and without the file. */
hwloc_topology_t __wrap_hwloc_file_load(const char *text, const char *path, enum hwloc_type_filter_e caches,
                                        struct error *err)
{
    static hwloc_topology_t shapes[SHAPES][FILTERS];
    struct numbers numbers = asked;
    unsigned shape = next(&numbers);
    hwloc_topology_t *known = &shapes[shape][caches % FILTERS], hwloc;
    (void)text, (void)path, (void)err;
    if (!*known)
        *known = load_shape(shape, caches);
    if (hwloc_topology_dup(&hwloc, *known) != 0)
        abort();
    set_sizes(hwloc, &numbers);
    if (next(&numbers) % 4)
        set_distances(hwloc, &numbers);
    set_attributes(hwloc, &numbers);
    return hwloc;
}

static char link_path[64];

static void remove_link(void)
{
    unlink(link_path);
}

/* A file in memory under a name that ends as such files do. */
static void simulate(void)
{
    static int fd = -1;
    struct error err = {0};
    char target[32];
    if (fd < 0) {
        fd = memfd_create("xml", MFD_CLOEXEC);
        snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
        snprintf(link_path, sizeof link_path, "/tmp/numalens-fuzz-%d.xml", (int)getpid());
        atexit(remove_link);
        if (fd < 0 || symlink(target, link_path) != 0 || pwrite(fd, "<topology/>", 11, 0) != 11)
            abort();
    }
    struct topology *topology = topology_simulate(link_path, ASSIGN_ROUND_ROBIN, &err);
    if (!topology && (err.code >= 0 || !*err.text))
        abort();
    for (uint32_t i = 0; topology && i < 4; i++)
        if (topology_assign_cpu(topology, i) >= topology->cpu_count)
            abort();
    topology_free(topology);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    if (size && data[0] == '<') {
        FILE *in = input_stream(data, size);
        free(hwloc_file_read(in, "fuzz", &err));
        fclose(in);
        return 0;
    }
    if (size < 2)
        return 0;
    asked = (struct numbers){data + 1, data + size};
    if (data[0] & 1)
        model_free(model_from_hwloc("<topology/>", "fuzz", &err));
    else
        simulate();
    return 0;
}
