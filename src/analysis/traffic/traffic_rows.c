/* analysis/traffic/traffic_rows.c - the rows of traffic.h by what they are of; those of functions; what is remote. */
#include "analysis/traffic/traffic_make.h"

const char *traffic_state_name(enum traffic_state state)
{
    static const char *const names[] = {"unknown", "cached", "partly cached", "memory"};
    return names[state];
}

const struct traffic_object *traffic_of_site(const struct traffic *traffic, uint32_t site)
{
    array_each (&traffic->objects, const struct traffic_object, row)
        if (row->site == site && site != FLOW_NONE)
            return row;
    return NULL;
}

const struct traffic_object *traffic_of_object(const struct traffic *traffic, uint32_t object)
{
    uint32_t site = flow_object_site(traffic->flow, object);
    if (site != FLOW_NONE)
        return traffic_of_site(traffic, site);
    array_each (&traffic->objects, const struct traffic_object, row)
        if (row->site == FLOW_NONE && row->object == object)
            return row;
    return NULL;
}

const struct traffic_thread *traffic_of_thread(const struct traffic *traffic, uint32_t thread)
{
    array_each (&traffic->threads, const struct traffic_thread, row)
        if (row->thread == thread)
            return row;
    return NULL;
}

void traffic_functions(struct traffic *traffic)
{
    size_t count = flow_function_count(traffic->flow);
    if (!traffic->functions.count && traffic->source == TRAFFIC_DATA_SOURCES)
        traffic_sampled_functions(traffic);
    if (traffic->functions.count || !traffic->cells.count)
        return;
    for (size_t i = 0; i < count; i++)
        array_push(&traffic->functions, (struct traffic_bytes){0});
    array_each (&traffic->cells, const struct traffic_cell, cell) {
        uint32_t function = flow_stream_function(traffic->flow, cell->row);
        if (function == FLOW_NONE)
            continue;
        struct traffic_bytes *bytes = &traffic->functions.items[function];
        bytes->read += cell->read;
        bytes->written += cell->written;
        bytes->accesses += cell->accesses;
        bytes->rated += cell->rated ? cell->accesses : 0;
    }
    array_each (&traffic->functions, struct traffic_bytes, bytes)
        traffic_judge(traffic, bytes);
}

const struct traffic_bytes *traffic_of_function(const struct traffic *traffic, uint32_t function)
{
    bool met = function < traffic->functions.count && traffic->functions.items[function].accesses > 0;
    return met ? &traffic->functions.items[function] : NULL;
}

double traffic_remote_share(const struct traffic *traffic)
{
    const uint32_t nodes = traffic->node_count;
    double placed = 0, local = 0;
    if (nodes < 2 || !traffic->all.is_rated)
        return -1;
    for (uint32_t i = 0; i < nodes * nodes; i++) {
        placed += traffic->node_pairs[i];
        local += i / nodes == i % nodes ? traffic->node_pairs[i] : 0;
    }
    return placed > 0 && placed >= traffic->unplaced ? 1 - local / placed : -1;
}
