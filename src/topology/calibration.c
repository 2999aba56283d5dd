#include "topology/calibration.h"

#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NS 1e6 /* no load takes as long */

struct calibration *calibration_new(uint32_t nodes)
{
    struct calibration *calibration = mem_zalloc(sizeof *calibration);
    calibration->node_count = nodes;
    calibration->memory = mem_zalloc((size_t)nodes * nodes * sizeof *calibration->memory + 1);
    return calibration;
}

void calibration_free(struct calibration *calibration)
{
    if (!calibration)
        return;
    free(calibration->memory);
    free(calibration);
}

/* "1 nodes=2 L1:49152:1.2:0.0 L2:... 0>0:80.1:78.0 0>1:..." */
char *calibration_to_text(const struct calibration *calibration)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = mem_stream(&text, &size);
    fprintf(out, "1 nodes=%u", calibration->node_count);
    for (uint32_t i = 0; i < calibration->cache_count; i++) {
        const struct calibration_cache *cache = &calibration->caches[i];
        fprintf(out, " L%u:%" PRIu64 ":%.2f:%.2f", cache->level, cache->size, cache->field.chased,
                cache->field.sampled);
    }
    for (uint32_t from = 0; from < calibration->node_count; from++) {
        for (uint32_t to = 0; to < calibration->node_count; to++) {
            const struct calibration_field *field = &calibration->memory[from * calibration->node_count + to];
            if (field->chased > 0)
                fprintf(out, " %u>%u:%.2f:%.2f", from, to, field->chased, field->sampled);
        }
    }
    mem_stream_end(out, &text);
    return text;
}

static bool sane(const struct calibration_field *field)
{
    return field->chased >= 0 && field->chased < LONGEST_NS && field->sampled >= 0 && field->sampled < LONGEST_NS;
}

static bool read_word(struct calibration *calibration, const char *word)
{
    struct calibration_cache cache = {0};
    struct calibration_field field = {0};
    unsigned from, to;
    int end = 0;
    if (sscanf(word, "L%" SCNu32 ":%" SCNu64 ":%lf:%lf%n", &cache.level, &cache.size, &cache.field.chased,
               &cache.field.sampled, &end) == 4) {
        if (word[end] || calibration->cache_count == CALIBRATION_CACHES || cache.level < 1 || cache.level > 3 ||
            !sane(&cache.field))
            return false;
        calibration->caches[calibration->cache_count++] = cache;
        return true;
    }
    if (sscanf(word, "%u>%u:%lf:%lf%n", &from, &to, &field.chased, &field.sampled, &end) != 4 || word[end] ||
        from >= calibration->node_count || to >= calibration->node_count || !sane(&field))
        return false;
    calibration->memory[from * calibration->node_count + to] = field;
    return true;
}

struct calibration *calibration_from_text(const char *text, struct error *err)
{
    unsigned nodes;
    int end = 0;
    if (sscanf(text, "1 nodes=%u%n", &nodes, &end) != 1 || nodes < 1 || nodes > CALIBRATION_NODES ||
        (text[end] && text[end] != ' ')) {
        error_set(err, -EINVAL, "this is no calibration");
        return NULL;
    }
    struct calibration *calibration = calibration_new(nodes);
    char *copy = mem_strdup(text + end), *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (read_word(calibration, word))
            continue;
        error_set(err, -EINVAL, "'%.40s' is no part of a calibration", word);
        calibration_free(calibration);
        calibration = NULL;
        break;
    }
    free(copy);
    return calibration;
}

double calibration_memory(const struct calibration *calibration, int from, int to)
{
    if (!calibration || from < 0 || to < 0 || (uint32_t)from >= calibration->node_count ||
        (uint32_t)to >= calibration->node_count)
        return 0;
    return calibration->memory[(uint32_t)from * calibration->node_count + (uint32_t)to].sampled;
}

static double nearest_memory(const struct calibration *calibration)
{
    double min_ns = 0;
    for (uint32_t i = 0; i < calibration->node_count * calibration->node_count; i++) {
        double sampled = calibration->memory[i].sampled;
        if (sampled > 0 && (min_ns == 0 || sampled < min_ns))
            min_ns = sampled;
    }
    return min_ns;
}

static double last_cache(const struct calibration *calibration)
{
    return calibration->cache_count ? calibration->caches[calibration->cache_count - 1].field.sampled : 0;
}

bool calibration_shows(const struct calibration *calibration)
{
    return calibration && calibration->cache_count > 0 &&
           nearest_memory(calibration) > 1.25 * last_cache(calibration) + 5;
}

/* Between two latencies, as far from both by factor; a nanosecond is added since the first cache's is 0. */
static double between(double low, double high)
{
    return sqrt((low + 1) * (high + 1)) - 1;
}

void calibration_edges(const struct calibration *calibration, unsigned *cache, unsigned *memory)
{
    *cache = (unsigned)ceil(last_cache(calibration));
    *memory = (unsigned)nearest_memory(calibration);
}

uint32_t calibration_beyond_caches(const struct calibration *calibration)
{
    if (!calibration_shows(calibration))
        return 0;
    return (uint32_t)ceil(between(last_cache(calibration), nearest_memory(calibration)));
}

unsigned calibration_level(const struct calibration *calibration, uint32_t latency)
{
    enum { MEMORY = 4 };
    if (!calibration_shows(calibration))
        return 0;
    if (latency >= calibration_beyond_caches(calibration))
        return MEMORY;
    for (uint32_t i = 0; i + 1 < calibration->cache_count; i++) {
        double own = calibration->caches[i].field.sampled, next = calibration->caches[i + 1].field.sampled;
        if (latency < between(own, next))
            return calibration->caches[i].level;
    }
    return calibration->caches[calibration->cache_count - 1].level;
}
