/* migrate/page_map.h - which thread touched which page, from which node, in one interval (the paper's sample page map).
 *
 * Filled one sampled access at a time, then surveyed: pages in order of process and address, each with its accesses in
 * one piece. Small pages only; survey.h puts those of a huge page together. Bounded: accesses to pages beyond the bound
 * are counted and dropped. Used by one thread at a time. */
#pragma once

#include "numalens/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_map;

struct page_access {
    uint64_t addr;
    uint32_t pid, thread, node;
    uint32_t latency; /* ns, when timed */
    bool write, timed;
};

struct page_map *page_map_new(size_t most_pages);
void page_map_free(struct page_map *map);

void page_map_add(struct page_map *map, const struct page_access *access);

/* Fills `pages` and `accesses`, which belong to the map and are good until it is cleared. Home nodes are NLENS_NOWHERE.
 * The caller may change them. Nothing is added from then on until the map is cleared. */
void page_map_survey(struct page_map *map, struct nlens_policy_page **pages, size_t *page_count,
                     struct nlens_policy_access **accesses);

void page_map_clear(struct page_map *map);

uint64_t page_map_samples(const struct page_map *map); /* added since it was cleared */
uint64_t page_map_lost(const struct page_map *map);    /* of them dropped */
uint32_t page_map_threads(const struct page_map *map);

/* log2 of the size of a small page. */
unsigned page_shift(void);
