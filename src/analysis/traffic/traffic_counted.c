/* analysis/traffic/traffic_counted.c - what memory controllers counted beside hardware samples during the recording: texts
 * "0:1234 1:5678" in its end, by the kernel's numbers of nodes ("0-1:1234" for two together). See traffic.h. */
#include "base/order.h"
#include "analysis/traffic/traffic_make.h"

#include "trace/session.h"

#include <math.h>
#include <stdlib.h>

enum { NODES_MOST = 64 };

static struct traffic_memory *row_of(struct traffic *traffic, uint64_t nodes)
{
    array_each (&traffic->counted.items, struct traffic_memory, row)
        if (row->nodes == nodes)
            return row;
    array_push(&traffic->counted.items,
               (struct traffic_memory){.nodes = nodes, .read = -1, .written = -1, .moved = -1, .exposed = -1});
    return &traffic->counted.items.items[traffic->counted.items.count - 1];
}

/* The nodes of "0", "0-1" or "0,2-3" at *text, which it passes; 0 when it is none, or names a node that the machine has not. */
static uint64_t take_nodes(const struct traffic *traffic, const char **text)
{
    uint64_t nodes = 0;
    bool good = true;
    for (const char *at = *text;; at++) {
        char *end;
        unsigned long from = strtoul(at, &end, 10), to = from;
        good &= end != at;
        if (*end == '-') {
            const char *second = end + 1;
            to = strtoul(second, &end, 10);
            good &= end != second;
        }
        for (unsigned long i = from; good && i <= to; i++) {
            int node = i < INT32_MAX ? topology_node_index(flow_topology(traffic->flow), (int32_t)i) : -1;
            good = node >= 0 && node < NODES_MOST;
            nodes |= good ? 1ULL << node : 0;
        }
        at = *text = end;
        if (*at != ',')
            return good ? nodes : 0;
    }
}

enum column { READ, WRITTEN, MOVED };

static void set(struct traffic_memory *row, enum column column, double value)
{
    double *const places[] = {&row->read, &row->written, &row->moved};
    *places[column] = value;
}

/* Sets it in each row that the text of `key` has; what cannot be read ends it. */
static void take_column(struct traffic *traffic, const char *key, enum column column)
{
    const char *text = trace_session_get(flow_ending(traffic->flow), key);
    if (!text)
        return;
    while (*text) {
        char *end;
        uint64_t nodes = take_nodes(traffic, &text);
        if (*text != ':')
            return;
        double bytes = strtod(text + 1, &end);
        if (nodes && end > text + 1 && isfinite(bytes) && bytes >= 0)
            set(row_of(traffic, nodes), column, bytes / traffic->counted.seconds);
        text = end;
        while (*text == ' ')
            text++;
    }
}

ORDER_BY(by_node, struct traffic_memory, ORDER(__builtin_ctzll(a->nodes), __builtin_ctzll(b->nodes)))

void traffic_count(struct traffic *traffic)
{
    const struct trace_session *ending = flow_ending(traffic->flow);
    if (!ending)
        return;
    struct traffic_counted *counted = &traffic->counted;
    counted->reason = trace_session_get(ending, "memory_counters_reason");
    counted->seconds = (double)trace_session_number(ending, "memory_counted_ns", 0) * 1e-9;
    if (counted->seconds <= 0 || flow_topology(traffic->flow)->simulated || flow_windowed(traffic->flow))
        return; /* counters are of the real nodes, and of the whole recording */
    counted->missing = trace_session_number(ending, "memory_counters_missing", 0) > 0;
    take_column(traffic, "memory_read_bytes", READ);
    take_column(traffic, "memory_written_bytes", WRITTEN);
    take_column(traffic, "memory_moved_bytes", MOVED);
    if (counted->items.count)
        counted->devices = trace_session_get(ending, "memory_counters");
    array_sort(&counted->items, by_node);
    array_each (&counted->items, struct traffic_memory, row) {
        double exposed = 0;
        for (uint32_t i = 0; i < traffic->node_count && i < NODES_MOST; i++)
            exposed += row->nodes >> i & 1 ? traffic->node_read[i] : 0;
        if (row->moved < 0 && row->read >= 0 && row->written >= 0)
            row->moved = row->read + row->written;
        if (traffic->all.is_rated && row->read >= 0)
            row->exposed = fmin(exposed, row->read);
    }
}
