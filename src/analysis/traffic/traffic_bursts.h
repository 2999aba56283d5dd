/* analysis/traffic/traffic_bursts.h - the instructions of one burst, for analysis/traffic.c alone. */
#pragma once

#include "base/units.h"
#include "flow/flow.h"

struct burst_item {
    const struct flow_stream *row;
    uint64_t group; /* what it is about: a site with all its objects, or an object */
    uint32_t lead;  /* of those that use the same lines one after the other: the first one's place in the burst */
    uint32_t key;   /* set by traffic.c */
    bool reads, stores, nontemporal; /* of a lead: what all of them do */
    double lines;                    /* of a lead: touched between the two bursts; negative: not known */
    double
        walked; /* of a lead whose loop was entered again meanwhile: come by between the two bursts; negative: not known */
};

/* Fills `items`, one for each row of a burst: who goes over the same lines, and how many those are. */
void burst_items(const struct flow *flow, const struct flow_stream *const *rows, uint32_t count,
                 struct burst_item *items);
