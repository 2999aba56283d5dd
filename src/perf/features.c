/* perf/features.c - header features: the machine, the command, build ids, clocks. */
#include "perf/file_parts.h"

#include <string.h>

enum {
    FEATURE_BUILD_ID = 2,
    FEATURE_HOSTNAME = 3,
    FEATURE_OS_RELEASE = 4,
    FEATURE_ARCH = 6,
    FEATURE_CPUS = 7,
    FEATURE_CPU_DESC = 8,
    FEATURE_CPUID = 9,
    FEATURE_COMMAND = 11,
    FEATURE_EVENT_DESC = 12,
    FEATURE_NUMA_TOPOLOGY = 14,
    MAX_NODES = 1024,
    MISC_BUILD_ID_SIZE = 1 << 15,
};

void perf_features_init(struct perf_features *features)
{
    *features = (struct perf_features){.texts = strtab_new()};
    struct perf_file_facts *facts = &features->facts;
    facts->hostname = facts->os_release = facts->arch = facts->cpu_desc = facts->cpuid = facts->command = "";
}

const char *perf_features_text(struct perf_features *features, const uint8_t *bytes, size_t size)
{
    uint32_t number = strtab_add_bytes(features->texts, (const char *)bytes, strnlen((const char *)bytes, size));
    return strtab_text(features->texts, number);
}

static const char *read_text(struct perf_features *features, struct perf_walk *walk)
{
    uint32_t size = perf_walk32(walk);
    const uint8_t *bytes = perf_walk_bytes(walk, size);
    return bytes ? perf_features_text(features, bytes, size) : "";
}

static void read_command(struct perf_features *features, struct perf_walk *walk)
{
    char line[4096] = "";
    size_t used = 0;
    for (uint32_t count = perf_walk32(walk); count > 0 && !walk->short_of; count--) {
        const char *word = read_text(features, walk);
        size_t size = strlen(word);
        if (used + size + 2 > sizeof line)
            break;
        if (used)
            line[used++] = ' ';
        memcpy(line + used, word, size + 1);
        used += size;
    }
    features->facts.command = perf_features_text(features, (const uint8_t *)line, used + 1);
}

static void read_event_names(struct perf_features *features, struct perf_events *events, struct perf_walk *walk)
{
    uint32_t count = perf_walk32(walk), attr_size = perf_walk32(walk);
    while (count-- > 0 && !walk->short_of) {
        perf_walk_bytes(walk, attr_size);
        uint32_t ids = perf_walk32(walk);
        const char *name = read_text(features, walk);
        while (ids-- > 0 && !walk->short_of)
            perf_events_name(events, perf_walk64(walk), name);
    }
}

static void read_nodes(struct perf_features *features, struct perf_walk *walk)
{
    features->nodes.count = 0;
    uint32_t count = perf_walk32(walk);
    while (count-- > 0 && !walk->short_of && features->nodes.count < MAX_NODES) {
        struct perf_file_node node = {.node = perf_walk32(walk)};
        node.memory_kib = perf_walk64(walk);
        perf_walk64(walk); /* free at that time */
        node.cpus = read_text(features, walk);
        if (!walk->short_of)
            array_push(&features->nodes, node);
    }
    features->facts.nodes = features->nodes.items;
    features->facts.node_count = features->nodes.count;
}

static void read_build_ids(struct perf_features *features, struct perf_walk *walk)
{
    while (walk->end - walk->at >= (ptrdiff_t)sizeof(struct perf_event_header)) {
        struct perf_walk record = *walk;
        perf_walk32(&record);
        uint16_t misc = perf_walk16(&record), size = perf_walk16(&record);
        if (size < sizeof(struct perf_event_header) || size > walk->end - walk->at)
            return;
        record.end = walk->at + size;
        perf_features_build_id(features, record, misc);
        walk->at += size;
    }
}

void perf_features_build_id(struct perf_features *features, struct perf_walk record, uint16_t misc)
{
    perf_walk32(&record); /* pid */
    const uint8_t *id = perf_walk_bytes(&record, 24);
    if (!id)
        return;
    struct perf_build build = {.size = misc & MISC_BUILD_ID_SIZE && id[20] <= 20 ? id[20] : 20};
    memcpy(build.id, id, build.size);
    build.path = perf_features_text(features, record.at, (size_t)(record.end - record.at));
    array_push(&features->builds, build);
}

void perf_features_read(struct perf_features *features, struct perf_events *events, unsigned feature,
                        struct perf_walk walk)
{
    struct perf_file_facts *facts = &features->facts;
    switch (feature) {
    case FEATURE_BUILD_ID:
        read_build_ids(features, &walk);
        break;
    case FEATURE_HOSTNAME:
        facts->hostname = read_text(features, &walk);
        break;
    case FEATURE_OS_RELEASE:
        facts->os_release = read_text(features, &walk);
        break;
    case FEATURE_ARCH:
        facts->arch = read_text(features, &walk);
        break;
    case FEATURE_CPUS:
        facts->cpus_available = perf_walk32(&walk);
        break;
    case FEATURE_CPU_DESC:
        facts->cpu_desc = read_text(features, &walk);
        break;
    case FEATURE_CPUID:
        facts->cpuid = read_text(features, &walk);
        break;
    case FEATURE_COMMAND:
        read_command(features, &walk);
        break;
    case FEATURE_EVENT_DESC:
        read_event_names(features, events, &walk);
        break;
    case FEATURE_NUMA_TOPOLOGY:
        read_nodes(features, &walk);
        break;
    default:
        break;
    }
}

void perf_features_free(struct perf_features *features)
{
    array_free(&features->nodes);
    array_free(&features->builds);
    strtab_free(features->texts);
}
