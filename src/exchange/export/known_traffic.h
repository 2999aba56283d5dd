/* exchange/export/known_traffic.h - traffic where something is said of it. */
#pragma once

#include "analysis/traffic/traffic.h"

/* NULL when nothing was recorded of traffic, or too little. */
static inline struct traffic *known_traffic(const struct flow *flow)
{
    const struct flow_stream *rows;
    struct traffic *traffic = flow_streams(flow, &rows) ? traffic_make(flow) : NULL;
    if (!traffic || (traffic->recorded && !traffic->too_few && traffic->bound))
        return traffic;
    traffic_free(traffic);
    return NULL;
}
