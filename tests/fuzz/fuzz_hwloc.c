/* fuzz_hwloc.c - any topology that hwloc makes of a file: nodes, CPUs, caches, distances and memory attributes with numbers of the
 * input. hwloc's own reader of XML is not fuzzed here: it crashes on damaged files, which is why a child process reads them first
 * (topology/hwloc_file.h). An input that begins with '<' is a file of any bytes up to there. */
#include "input_text.h"
#include "machine/from_hwloc.h"
#include "topology/hwloc_file.h"
#include "topology/topology.h"

#include <sys/mman.h>
#include <unistd.h>

enum { NODES_MOST = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
hwloc_topology_t __wrap_hwloc_file_load(const char *text, const char *path, enum hwloc_type_filter_e caches,
                                        struct error *err);

/* Without the child: what is loaded here was written here. */
hwloc_topology_t __wrap_hwloc_file_load(const char *text, const char *path, enum hwloc_type_filter_e caches,
                                        struct error *err)
{
    hwloc_topology_t hwloc;
    if (hwloc_topology_init(&hwloc) != 0)
        abort();
    hwloc_topology_set_cache_types_filter(hwloc, caches);
    hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_set_xmlbuffer(hwloc, text, (int)strlen(text) + 1) == 0 && hwloc_topology_load(hwloc) == 0)
        return hwloc;
    hwloc_topology_destroy(hwloc);
    error_set(err, -22, "%s is refused", path);
    return NULL;
}

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

static void write_distances(FILE *out, struct numbers *numbers, const unsigned *node, unsigned count)
{
    char indexes[NODES_MOST * 4] = "", values[NODES_MOST * NODES_MOST * 24] = "";
    int used = 0, length = 0;
    for (unsigned i = 0; i < count; i++)
        used += snprintf(indexes + used, sizeof indexes - (size_t)used, "%u ", node[i]);
    for (unsigned i = 0; i < count * count; i++)
        length += snprintf(values + length, sizeof values - (size_t)length, "%llu ", large(numbers));
    fprintf(out,
            "<distances2 type=\"NUMANode\" nbobjs=\"%u\" kind=\"5\" name=\"NUMALatency\" indexing=\"os\">"
            "<indexes length=\"%d\">%s</indexes><u64values length=\"%d\">%s</u64values></distances2>\n",
            count, used, indexes, length, values);
}

static void write_attributes(FILE *out, struct numbers *numbers, const unsigned *node, unsigned count)
{
    static const char *const names[] = {"Bandwidth", "Latency", "ReadBandwidth", "ReadLatency"};
    for (unsigned i = 0; i < 4; i++) {
        if (next(numbers) % 3 == 0)
            continue;
        fprintf(out, "<memattr name=\"%s\" flags=\"%u\">\n", names[i], i % 2 ? 6 : 5);
        for (unsigned to = 0; to < count; to++)
            for (unsigned from = 0; from < count; from++)
                fprintf(out,
                        "<memattr_value target_obj_gp_index=\"%u\" target_obj_type=\"NUMANode\" value=\"%llu\" "
                        "initiator_obj_gp_index=\"%u\" initiator_obj_type=\"Package\"/>\n",
                        3 + to * 4, large(numbers), 2 + from * 4);
        fputs("</memattr>\n", out);
    }
    (void)node;
}

static char *write_file(const uint8_t *data, size_t size)
{
    struct numbers numbers = {data, data + size};
    unsigned count = 1 + next(&numbers) % NODES_MOST, node[NODES_MOST], given = 0;
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
    if (next(&numbers) % 4)
        write_distances(out, &numbers, node, count);
    write_attributes(out, &numbers, node, count);
    fputs("</topology>\n", out);
    fclose(out);
    return text;
}

static char link_path[64];

static void remove_link(void)
{
    unlink(link_path);
}

/* A file in memory under a name that ends as such files do. */
static void simulate(const char *text)
{
    static int fd = -1;
    struct error err = {0};
    char target[32];
    if (fd < 0) {
        fd = memfd_create("xml", MFD_CLOEXEC);
        snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
        snprintf(link_path, sizeof link_path, "/tmp/numalens-fuzz-%d.xml", (int)getpid());
        atexit(remove_link);
        if (fd < 0 || symlink(target, link_path) != 0)
            abort();
    }
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, strlen(text), 0) < 0)
        abort();
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
    static hwloc_topology_t kept; /* or hwloc would load its plug-ins each time */
    struct error err = {0};
    if (!kept && hwloc_topology_init(&kept) != 0)
        abort();
    if (size && data[0] == '<') {
        FILE *in = input_stream(data, size);
        free(hwloc_file_read(in, "fuzz", &err));
        fclose(in);
        return 0;
    }
    char *text = write_file(data, size);
    model_free(model_from_hwloc(text, "fuzz", &err));
    simulate(text);
    free(text);
    return 0;
}
