/* analysis/traffic/traffic_make.h - what both ways to a struct traffic have in common; for src/analysis/traffic alone. */
#pragma once

#include "analysis/traffic/traffic.h"

/* Empty, for the flow's nodes. */
struct traffic *traffic_new(const struct flow *flow);

/* The rows of objects: by site where they have one. */
struct object_rows {
    uint32_t *by_object, *by_site;
};

void object_rows_begin(struct object_rows *rows, const struct flow *flow);
void object_rows_end(struct object_rows *rows);
struct traffic_bytes *object_rows_find(struct object_rows *rows, struct traffic *traffic, uint32_t object);

/* Judges the whole, all rows of objects and threads, and sorts them. */
void traffic_judge_all(struct traffic *traffic);

/* Whether bytes are known, and where they are served from. */
void traffic_judge(const struct traffic *traffic, struct traffic_bytes *bytes);

/* Fills `counted` and `core` from the recording's end; by data sources, once the nodes' bytes are known. */
void traffic_count(struct traffic *traffic);

/* By data sources: `functions`; the bytes of one access. The latter is false where it does not count, as others were weighed. */
void traffic_sampled_functions(struct traffic *traffic);
bool traffic_sampled_bytes(const struct traffic *traffic, const struct flow_access *access,
                           struct traffic_bytes *bytes);
