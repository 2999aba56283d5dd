/* topology/calibration.h - memory fields: what a load takes from each node's CPUs to each node's memory and to each
 * cache, when nothing else runs (LaProf's Figure 1; SPEC L13). A value that a trace keeps; calibrate.h measures it.
 *
 * Each place has two latencies: of a chain of dependent loads, which is what hardware manuals report, and as the soft
 * sampler times single loads, which starts at 0 for the first cache (docs/sampling.md). */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { CALIBRATION_CACHES = 4, CALIBRATION_NODES = 64 };

struct calibration_field {
    double chased;  /* ns */
    double sampled; /* ns */
};

struct calibration_cache {
    uint32_t level; /* 1 to 3 */
    uint64_t size;  /* bytes */
    struct calibration_field field;
};

struct calibration {
    uint32_t node_count;
    uint32_t cache_count;
    struct calibration_cache caches[CALIBRATION_CACHES]; /* L1 first; of the first node's CPUs */
    struct calibration_field *memory;                    /* node_count * node_count: from, to; 0 when not measured */
};

struct calibration *calibration_new(uint32_t nodes);
void calibration_free(struct calibration *calibration);

/* One line for a trace, and back. calibration_from_text meets any text with an error, never a crash. */
char *calibration_to_text(const struct calibration *calibration);
struct calibration *calibration_from_text(const char *text, struct error *err);

/* What a load from node `from` to node `to` takes as the sampler times it; 0 when not known. */
double calibration_memory(const struct calibration *calibration, int from, int to);

/* Whether the caches and memory differ so much that a latency says where a load was answered. */
bool calibration_shows(const struct calibration *calibration);

/* Which level a sampled latency speaks for: 1 to 3 a cache, 4 memory; 0 when that cannot be reported. */
unsigned calibration_level(const struct calibration *calibration, uint32_t latency);

/* As the sampler times them, whole ns: the last cache and the nearest memory. */
void calibration_edges(const struct calibration *calibration, unsigned *cache, unsigned *memory);

/* Latency from which an access was served from memory, not a cache, as the sampler times it; 0 when not known. */
uint32_t calibration_beyond_caches(const struct calibration *calibration);
