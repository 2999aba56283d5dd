#include "cli/calibration_table.h"

#include "base/json.h"

#include <stdio.h>

static void print_size(uint64_t size)
{
    if (size >= 1 << 20)
        printf("%6.4g MiB", (double)size / (1 << 20));
    else
        printf("%6.4g KiB", (double)size / 1024);
}

/* Like the paper's Figure 1: a memory field is a node's CPUs and a node's memory. */
static void print_memory(const struct calibration *calibration, const struct topology *topology)
{
    printf("\nMemory fields (ns a load: chain of loads / as the sampler times one)\n  from CPUs of");
    for (uint32_t to = 0; to < calibration->node_count; to++)
        printf("%*sto node %-4d", to ? 4 : 3, "", topology->nodes[to].os_index);
    putchar('\n');
    for (uint32_t from = 0; from < calibration->node_count; from++) {
        printf("  node %-7d", topology->nodes[from].os_index);
        for (uint32_t to = 0; to < calibration->node_count; to++) {
            const struct calibration_field *field = &calibration->memory[from * calibration->node_count + to];
            if (field->chased > 0)
                printf("  %5.0f / %-5.0f", field->chased, field->sampled);
            else
                printf("  %13s", "not measured");
        }
        putchar('\n');
    }
}

void calibration_print(const struct calibration *calibration, const struct topology *topology)
{
    printf("Caches                   ns a load  as the sampler times one\n");
    for (uint32_t i = 0; i < calibration->cache_count; i++) {
        const struct calibration_cache *cache = &calibration->caches[i];
        printf("  L%u ", cache->level);
        print_size(cache->size);
        printf("%19.1f  %24.1f\n", cache->field.chased, cache->field.sampled);
    }
    print_memory(calibration, topology);
    if (calibration_shows(calibration))
        printf("\nFrom %u ns on, a sampled load counts as served by memory.\n", calibration_beyond_caches(calibration));
    else
        puts("\nCaches and memory are too similar here: a latency does not show which of them served a load.");
}

static void write_field(struct json *json, const struct calibration_field *field)
{
    json_real(json, "chased_ns", field->chased, 2);
    json_real(json, "sampled_ns", field->sampled, 2);
    json_end(json);
}

int calibration_write_json(const struct calibration *calibration, const struct topology *topology, struct error *err)
{
    struct json *json = json_new(stdout);
    json_object(json, NULL);
    json_number(json, "version", JSON_VERSION);
    json_bool(json, "distinguishes", calibration_shows(calibration));
    json_number(json, "memory_from_ns", calibration_beyond_caches(calibration));
    json_array(json, "caches");
    for (uint32_t i = 0; i < calibration->cache_count; i++) {
        json_object(json, NULL);
        json_number(json, "level", calibration->caches[i].level);
        json_number(json, "size", calibration->caches[i].size);
        write_field(json, &calibration->caches[i].field);
    }
    json_end(json);
    json_array(json, "memory");
    for (uint32_t i = 0; i < calibration->node_count * calibration->node_count; i++) {
        if (calibration->memory[i].chased <= 0)
            continue;
        json_object(json, NULL);
        json_integer(json, "from", topology->nodes[i / calibration->node_count].os_index);
        json_integer(json, "to", topology->nodes[i % calibration->node_count].os_index);
        write_field(json, &calibration->memory[i]);
    }
    json_end(json);
    return json_finish(json, err);
}
