/* analysis/memory_map/memory_work.h - the steps of a memory map; private to src/analysis.
 *
 *     gather: accesses -> pages and cells of pages    leaves: pages -> ranges and leaves    tree: leaves -> nodes
 */
#pragma once

#include "analysis/memory_map/memory_map.h"
#include "base/map64.h"
#include "base/units.h"

enum { MEMORY_VOTES = 4, MEMORY_MOST_SLICES = 4096 };

/* The heaviest objects of a page, found in one pass with a few counters (Misra and Gries): an object with more than one
 * in MEMORY_VOTES + 1 of the accesses is surely among them. */
struct memory_votes {
    uint32_t object[MEMORY_VOTES], weight[MEMORY_VOTES]; /* weight 0: free */
};

void memory_votes_join(struct memory_votes *votes, const struct memory_votes *more);
uint32_t memory_votes_winner(const struct memory_votes *votes); /* or FLOW_NONE */

/* A page, or 2^shift adjacent ones when there were too many. */
struct memory_page {
    uint64_t key; /* process and number: keys in order are addresses in order */
    struct memory_votes votes;
};

struct memory_gathering {
    const struct memory_map_options *options;
    struct memory_map *map;
    unsigned shift;     /* of a page's number */
    size_t most_cells;  /* more are made fewer by coarser pages, then by longer slices */
    uint64_t low, high; /* addresses, both inside */
    uint64_t end;       /* of the window: the map's own may be a little behind */
    struct map64 page_of, cell_of;
    array_of(struct memory_page) pages;
    array_of(struct memory_cell) cells; /* `leaf` is a page's index */
    struct recent *recent;
    uint32_t *process_of; /* by thread */
};

int memory_gather(struct memory_gathering *gathering, struct error *err);
void memory_gather_free(struct memory_gathering *gathering);

void memory_cell_join(struct memory_cell *cell, const struct memory_cell *more);

/* Half as many slices, each twice as long. Cells are the caller's business. */
void memory_halve_slices(struct memory_map *map);

uint64_t memory_page_addr(const struct memory_gathering *gathering, uint64_t key);
uint32_t memory_page_process(const struct memory_gathering *gathering, uint64_t key);

/* Which pages make a leaf, and which leaves a range. */
struct memory_layout {
    uint32_t *order;       /* pages in order of their keys */
    uint32_t *leaf_of;     /* page -> leaf */
    uint32_t *range_first; /* first leaf of each range, and the number of leaves behind the last */
    uint32_t ranges;
};

/* Fills the map's leaves, at most `most` of them unless that is fewer than there are processes. */
void memory_layout_make(struct memory_layout *layout, const struct memory_gathering *gathering, uint32_t most);
void memory_layout_free(struct memory_layout *layout);

void memory_tree_make(struct memory_map *map, const struct memory_layout *layout);
