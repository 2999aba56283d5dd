/* exchange/export/known_traffic.h - traffic where something is said of it. */
#pragma once

#include "analysis/traffic/traffic.h"

/* NULL when nothing was recorded of traffic, or too little. */
static inline struct traffic *known_traffic(const struct flow *flow)
{
    struct traffic *traffic = traffic_is_recorded(flow) ? traffic_make(flow, 0) : NULL;
    if (!traffic || traffic->all.is_rated)
        return traffic;
    traffic_free(traffic);
    return NULL;
}
