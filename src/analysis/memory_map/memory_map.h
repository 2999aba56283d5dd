/* analysis/memory_map/memory_map.h - the memory of a run over time: which thread touched which pages when (SPEC C14-C17).
 *
 * Only touched pages are there. Pages that follow one another, or that belong to one object, are a range; ranges are split
 * until leaves are pages, or groups of pages where there are too many. What one thread did in one leaf during one slice
 * of time is a cell. Made in one pass over the accesses; memory is proportional to the cells, not to the accesses. */
#pragma once

#include "base/array.h"
#include "flow/flow.h"

struct memory_map_options {
    uint32_t slices;     /* of time; 0: 500; at most 4096 */
    uint32_t max_leaves; /* 0: 10,000 */
    uint64_t max_cells;  /* 0: unbounded; else leaves are coarsened until it holds, and then time is */
    uint64_t start, end; /* window of time [start, end); 0, 0: the whole run */
    uint64_t low, high;  /* window of addresses [low, high); 0, 0: all. Physical ones with `physical` */
    uint32_t process;    /* FLOW_NONE: all */
    uint32_t thread;     /* FLOW_NONE: all */
    bool physical;       /* by physical address: only accesses that have one */
};

/* Everything of the whole run: slices, leaves and cells as above, FLOW_NONE for process and thread. */
#define MEMORY_MAP_WHOLE ((struct memory_map_options){.process = FLOW_NONE, .thread = FLOW_NONE})

/* Touched pages that are shown as one: as many bytes as its group of pages has, touched or not. */
struct memory_leaf {
    uint32_t process; /* FLOW_NONE in a physical map */
    uint32_t object;  /* the object that most of its accesses are to, or FLOW_NONE */
    uint64_t addr, bytes;
};

/* What one thread did in one leaf during one slice. Sorted by leaf, slice, thread. */
struct memory_cell {
    uint32_t leaf, thread;
    uint16_t slice;
    uint32_t reads, writes, remote, home_known; /* an atomic access reads and writes */
    uint32_t latency_count;
    uint64_t latency_sum;
    uint32_t accesses;
};

enum memory_node_kind {
    MEMORY_ALL,
    MEMORY_PROCESS, /* only where several are shown */
    MEMORY_RANGE,   /* merged consecutive pages */
    MEMORY_SPLIT,   /* a part of a range; with an object: that object's part */
    MEMORY_PAGES,   /* a leaf */
    MEMORY_THREAD   /* of a Gantt tree only: memory_views.h */
};

/* Preorder: a parent's index is smaller. The root is 0, its parent FLOW_NONE. Children cover their parent's leaves
 * [first_leaf, first_leaf + leaves) in order and without gaps. Every leaf has a node of kind MEMORY_PAGES. */
struct memory_node {
    uint32_t parent, first_leaf, leaves;
    uint32_t object; /* FLOW_NONE unless it is one object's, of at least a page */
    uint8_t kind;
};

struct memory_map {
    const struct flow *flow;
    uint64_t start,
        end; /* slice i is [start + i * slice_ns, start + (i + 1) * slice_ns); end is that of the last one */
    uint64_t slice_ns;
    uint32_t slices;
    uint64_t page_bytes;
    bool physical;
    array_of(struct memory_leaf) leaves; /* in order of process and address */
    array_of(struct memory_node) nodes;
    array_of(struct memory_cell) cells;
    uint64_t shown;          /* accesses in the cells */
    uint64_t outside;        /* accesses in the window that are not: the two below */
    uint64_t without_addr;   /* no physical address (in a physical map) */
    uint64_t without_thread; /* of a thread that the trace does not know */
};

/* NULL with `err` when the trace cannot be read. A run without accesses gives a root without leaves. The caller frees. */
struct memory_map *memory_map_build(const struct flow *flow, const struct memory_map_options *options,
                                    struct error *err);
void memory_map_free(struct memory_map *map);
