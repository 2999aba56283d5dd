/* analysis/problems/sharing.h - private and shared data, and how slow each is (LaProf, Tables III and IV; SPEC L6, L7).
 *
 * A piece of memory is private when one thread was seen using it, shared when more were. What a piece is, is judged at four
 * grains: an address (of one object: memory that was freed and given out again is another piece), a cache line, a page
 * (whatever is in it), an object. Shared pieces are cross-node when their threads ran on more than one node. */
#pragma once

#include "analysis/facts/accesses.h"

enum sharing_grain { GRAIN_ADDRESS, GRAIN_LINE, GRAIN_PAGE, GRAIN_OBJECT, GRAINS };

enum sharing_class {
    CLASS_PRIVATE,
    CLASS_SAME_NODE,  /* several threads, all on one node */
    CLASS_CROSS_NODE, /* of several nodes */
    CLASSES
};

struct sharing_grain_totals {
    struct access_tally classes[CLASSES];
    uint64_t pieces[CLASSES];    /* distinct addresses, lines, ... that were sampled */
    struct access_tally written; /* of the shared ones, those that somebody wrote */
    uint64_t written_pieces;
};

struct sharing_user {
    uint32_t thread;
    int16_t node; /* where it runs, or -1 */
    struct access_tally all;
    uint64_t writes, remote;
};

struct sharing_row { /* of one thing */
    uint32_t thing;
    struct sharing_grain_totals grains[GRAINS];
    array_of(struct sharing_user) users; /* most accesses first */
    uint32_t writers, nodes;
    struct access_tally all, remote;
};

struct sharing {
    const struct accesses *accesses;
    struct sharing_grain_totals grains[GRAINS];
    array_of(struct sharing_row) rows; /* by thing */
};

struct sharing *sharing_make(const struct accesses *accesses);
void sharing_free(struct sharing *sharing);

/* All shared accesses: same-node and cross-node. */
struct access_tally sharing_shared(const struct sharing_grain_totals *totals);

const char *sharing_grain_name(enum sharing_grain grain); /* "address", "line", "page", "object" */
