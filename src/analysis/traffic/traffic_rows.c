/* analysis/traffic/traffic_rows.c - the rows of traffic.h by what they are of; those of functions and lines; what is remote. */
#include "analysis/traffic/traffic_make.h"

#include <math.h>

const char *traffic_state_name(enum traffic_state state)
{
    static const char *const names[] = {"unknown", "cached", "memory"};
    return names[state];
}

static const struct traffic_object *row_at(const struct traffic *traffic, uint32_t at)
{
    return at != FLOW_NONE ? &traffic->objects.items[at] : NULL;
}

const struct traffic_object *traffic_of_site(const struct traffic *traffic, uint32_t site)
{
    return site < flow_site_count(traffic->flow) ? row_at(traffic, traffic->by_site[site]) : NULL;
}

const struct traffic_object *traffic_of_object(const struct traffic *traffic, uint32_t object)
{
    uint32_t site = flow_object_site(traffic->flow, object);
    return site != FLOW_NONE ? traffic_of_site(traffic, site) : row_at(traffic, traffic->by_object[object]);
}

const struct traffic_thread *traffic_of_thread(const struct traffic *traffic, uint32_t thread)
{
    array_each (&traffic->threads, const struct traffic_thread, row)
        if (row->thread == thread)
            return row;
    return NULL;
}

static void add_to_code(void *context, const struct flow_access *access)
{
    struct traffic *traffic = context;
    struct traffic_bytes bytes;
    if (access->thread >= flow_thread_count(traffic->flow) || !traffic_bytes_of(traffic, access, &bytes))
        return;
    uint32_t process = flow_thread(traffic->flow, access->thread)->process;
    uint32_t function = flow_stack_function(traffic->flow, process, access->stack);
    if (function < traffic->functions.count)
        traffic_add(&traffic->functions.items[function], &bytes);
    uint32_t line = flow_access_line(traffic->flow, access);
    if (line < traffic->lines.count)
        traffic_add(&traffic->lines.items[line], &bytes);
}

void traffic_code(struct traffic *traffic)
{
    struct error ignored = {0};
    if (traffic->functions.count || traffic->source == TRAFFIC_NOWHERE || traffic->too_few || traffic->seconds <= 0)
        return;
    for (size_t i = flow_function_count(traffic->flow); i > 0; i--)
        array_push(&traffic->functions, (struct traffic_bytes){0});
    for (size_t i = flow_line_count(traffic->flow); i > 0; i--)
        array_push(&traffic->lines, (struct traffic_bytes){0});
    flow_each_access(traffic->flow, add_to_code, traffic, &ignored);
    array_each (&traffic->functions, struct traffic_bytes, bytes)
        traffic_judge(traffic, bytes);
    array_each (&traffic->lines, struct traffic_bytes, bytes)
        traffic_judge(traffic, bytes);
}

const struct traffic_bytes *traffic_of_function(const struct traffic *traffic, uint32_t function)
{
    bool met = function < traffic->functions.count && traffic->functions.items[function].accesses > 0;
    return met ? &traffic->functions.items[function] : NULL;
}

const struct traffic_bytes *traffic_of_line(const struct traffic *traffic, uint32_t line)
{
    bool met = line < traffic->lines.count && traffic->lines.items[line].accesses > 0;
    return met ? &traffic->lines.items[line] : NULL;
}

/* The error of a mean of objects' shares, weighed by bytes that have errors themselves. */
static double share_error(const struct traffic *traffic, double share, double placed)
{
    double variance = 0, bursts = 0;
    array_each (&traffic->threads, const struct traffic_thread, row)
        bursts += (double)row->bursts;
    double a_burst = bursts > 0 ? (double)traffic->all.samples / bursts : 1; /* samples, which are one observation */
    array_each (&traffic->objects, const struct traffic_object, row) {
        if (row->placed == 0)
            continue;
        double own = (double)row->remote / (double)row->placed, bytes = traffic_total(&row->bytes);
        variance += pow((own - share) * row->bytes.error, 2);
        variance += bytes * bytes * own * (1 - own) / fmax((double)row->placed / fmax(a_burst, 1), 1);
    }
    return fmin(sqrt(variance) / placed, 1);
}

double traffic_remote_share(const struct traffic *traffic, double *error)
{
    const uint32_t nodes = traffic->node_count;
    double placed = 0, local = 0;
    *error = 0;
    if (nodes < 2 || !traffic->all.is_rated)
        return -1;
    for (uint32_t i = 0; i < nodes * nodes; i++) {
        placed += traffic->node_pairs[i];
        local += i / nodes == i % nodes ? traffic->node_pairs[i] : 0;
    }
    if (placed <= 0 || placed < traffic->unplaced)
        return -1;
    *error = share_error(traffic, 1 - local / placed, placed);
    return 1 - local / placed;
}
