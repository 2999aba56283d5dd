/* analysis/traffic/traffic_times.h - bytes from memory over time, by home node. */
#pragma once

#include "analysis/traffic/traffic.h"

struct traffic_time {
    double start_s, end_s;  /* since the recording's start */
    bool known;             /* there are accesses in it, and the bytes of more than half of them are known */
    double *read, *written; /* bytes per second, by home node */
};

struct traffic_times {
    uint32_t node_count;
    array_of(struct traffic_time) items; /* of equal length, in order; none where nothing is known of the whole */
    double *rates;                       /* what their `read` and `written` are in */
};

/* As many as have some bursts each, at most `most`. */
void traffic_times_make(struct traffic_times *times, const struct traffic *traffic, uint32_t most);
void traffic_times_free(struct traffic_times *times);
