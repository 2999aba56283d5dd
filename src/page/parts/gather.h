/* page/parts/gather.h - what is made of the accesses themselves: collectors that share a pass, and memory maps. Private to src/page.
 *
 * Findings need several passes of their own and take longer than most of this, so it is done in a thread of its own meanwhile. */
#pragma once

#include "analysis/memory_map/phases.h"
#include "page/parts/map_columns.h"
#include "page/parts/parts.h"

#include <pthread.h>

struct gather {
    struct series *series;
    struct latencies *latencies;
    struct flame *flame;
    struct chains *chains;
    struct shown_map virtual, physical; /* physical.map: NULL when no physical address is known */

    struct phases *phases;

    struct flow *flow; /* its own share */
    bool has_physical;
    pthread_t thread;
    bool running;
    int failed;
    struct error err;
};

/* `parts`: with its objects and sites chosen. */
void gather_begin(struct gather *gather, const struct parts *parts);
int gather_wait(struct gather *gather, struct error *err);

/* What needs facts and findings: the flame graph and its call chains. In the caller's own thread, also while the other one runs. */
int gather_chains(struct gather *gather, const struct parts *parts, struct error *err);

/* How many cells the maps have; the maps again with fewer. Not while it runs. */
size_t gather_cells(const struct gather *gather);
int gather_maps(struct gather *gather, uint64_t max_cells, struct error *err);
void gather_free(struct gather *gather);
