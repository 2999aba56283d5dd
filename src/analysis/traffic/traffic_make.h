/* analysis/traffic/traffic_make.h - what both ways to a struct traffic have in common; for src/analysis/traffic alone. */
#pragma once

#include "analysis/traffic/traffic.h"

/* Empty, for the flow's nodes. */
struct traffic *traffic_new(const struct flow *flow);

/* The row of an object, which is made where there is none: by site where it has one. */
struct traffic_object *traffic_row(struct traffic *traffic, uint32_t object);

void traffic_add(struct traffic_bytes *to, const struct traffic_bytes *more);

/* To the nodes that an access goes from and to. */
void traffic_place(struct traffic *traffic, const struct flow_access *access, const struct traffic_bytes *bytes);

/* Whether bytes are known, and where they are served from; by data sources. */
void traffic_judge(const struct traffic *traffic, struct traffic_bytes *bytes);
void traffic_judge_sampled(const struct traffic *traffic, struct traffic_bytes *bytes);

/* Judges the whole and all rows, and sorts them. */
void traffic_finish(struct traffic *traffic);

/* Fills `counted` and `core` from the recording's end; by data sources, once the nodes' bytes are known. */
void traffic_count(struct traffic *traffic);

/* As traffic_bytes_of, by data sources: false where it does not count, as others were weighed. */
bool traffic_sampled_bytes(const struct traffic *traffic, const struct flow_access *access,
                           struct traffic_bytes *bytes);
