/* analysis/memory_map/run_phases.h - what phases are found and named by; private to src/analysis.
 *
 * Threads that start alike have one role: on few processors worker threads take turns at random, which is no
 * change of phase. Objects of one site, and all stacks, are one thing. */
#pragma once

#include "analysis/memory_map/phases.h"

struct phase_kind { /* what accesses are counted by */
    uint32_t role, thing;
    bool writes;
};

struct phase_role {
    uint32_t thread; /* one that stands for it */
    bool main;
    uint32_t first_bin; /* bin in which its first thread started */
};

struct phase_thing {
    uint32_t object; /* one that stands for it, or FLOW_NONE */
    bool stack;
};

struct phase_counts {
    const struct memory_map *map;
    uint32_t *role_of;  /* by thread */
    uint32_t *thing_of; /* by leaf */
    array_of(struct phase_role) roles;
    array_of(struct phase_thing) things;
    array_of(struct phase_kind) kinds;
    uint32_t bins, slices_a_bin;
    double *before; /* by bin (one more for the end) and kind: bursts before it */
};

struct phase_counts *phase_counts_make(const struct memory_map *map);
void phase_counts_free(struct phase_counts *counts);

/* Who touched what first, as far as page faults show: pages of each thing, all of them touched in [start, end). */
struct phase_touch {
    uint32_t role, thing, pages;
};
struct phase_touches {
    struct phase_touch *items;
    size_t count, capacity;
};
void phase_touches_find(const struct phase_counts *counts, uint64_t start, uint64_t end, struct phase_touches *touches);

/* Where in bins [from, to) their threads begin to live, when most of what these use was touched by others before that; else
 * `from`. */
uint32_t phase_prepared_until(const struct phase_counts *counts, uint32_t from, uint32_t to);

/* Fills name, accesses, threads and uses of phases whose times are known. */
void phases_name(struct phases *phases, const struct phase_counts *counts);
