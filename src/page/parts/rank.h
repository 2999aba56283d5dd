/* page/parts/rank.h - which objects and sites a page has, and their numbers there: most samples first. Private to src/page. */
#pragma once

#include "flow/flow.h"

enum { PAGE_OBJECTS = 2000, PAGE_SITES = 2000, PAGE_FUNCTIONS = 2000, PAGE_CODE_LINES = 2000 };

struct rank {
    uint32_t *items; /* flow's index by the page's */
    uint32_t count;
    uint32_t *of; /* the page's index by flow's, FLOW_NONE for what was dropped */
    uint32_t of_count;
    uint32_t skipped; /* of those with samples */
};

void rank_objects(struct rank *rank, const struct flow *flow, uint32_t most);
void rank_sites(struct rank *rank, const struct flow *flow, uint32_t most);
void rank_free(struct rank *rank);

static inline uint32_t rank_of(const struct rank *rank, uint32_t index)
{
    return index < rank->of_count ? rank->of[index] : FLOW_NONE;
}
