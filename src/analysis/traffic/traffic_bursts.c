/* See traffic_bursts.h.
 *
 * A stencil loads b[i - 1], b[i] and b[i + 1]: three instructions, and one line comes from memory. So instructions that go
 * on by the same stride and are close together (or will be: one comes to where the other was before the next burst) are
 * counted once. Of a stride longer than a line, each different line of it counts. */
#include "analysis/traffic/traffic_bursts.h"

#include "base/units.h"

#include <stdlib.h>

enum { NEIGHBOURS = 128, DIFFERENT_MOST = 64 };

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static uint64_t length_of(int64_t stride)
{
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

/* How far it came between the two bursts, in bytes; 0 when that is not known. */
static uint64_t moved(const struct flow_stream *row)
{
    const struct event_stream *stream = &row->event;
    if (!(stream->flags & STREAM_PAIRED) || stream->iterations <= 0 ||
        (stream->flags & STREAM_REENTERED && !row->walk_inside))
        return 0;
    uint64_t iterations = (uint64_t)stream->iterations, length = length_of(stream->stride);
    return length && iterations > UINT64_MAX / length ? 0 : iterations * length;
}

static bool goes_with(const struct burst_item *item, const struct burst_item *other)
{
    const struct flow_stream *row = item->row, *lead = other->row;
    if (row->event.stride == 0 || row->event.stride != lead->event.stride || item->group != other->group)
        return false;
    uint64_t reach = length_of(row->event.stride) + NEIGHBOURS, way = moved(row) / 2 + NEIGHBOURS;
    return distance(row->event.addr, lead->event.addr) < (way > reach ? way : reach);
}

/* Lines that one iteration of the loop adds. */
static double lines_per_iteration(const struct burst_item *items, uint32_t count, uint32_t lead)
{
    uint64_t length = length_of(items[lead].row->event.stride), seen[DIFFERENT_MOST];
    uint32_t different = 0;
    if (length < CACHE_LINE)
        return (double)length / CACHE_LINE;
    for (uint32_t i = lead; i < count; i++) {
        uint64_t line = items[i].row->event.addr % length / CACHE_LINE;
        uint32_t at = 0;
        if (items[i].lead != lead)
            continue;
        while (at < different && seen[at] != line)
            at++;
        if (at == different && different < DIFFERENT_MOST)
            seen[different++] = line;
    }
    double most = (double)length / CACHE_LINE;
    return different > most ? most : different;
}

static double lines_of(const struct burst_item *items, uint32_t count, uint32_t lead)
{
    const struct event_stream *stream = &items[lead].row->event;
    const uint8_t good = STREAM_PAIRED | STREAM_LOOP;
    if ((stream->flags & good) != good || stream->flags & STREAM_REENTERED || stream->iterations < 0 ||
        stream->runs == 0)
        return -1;
    if (stream->stride)
        return (double)stream->iterations * lines_per_iteration(items, count, lead);
    return (double)stream->iterations * stream->times / stream->runs; /* each access somewhere else */
}

/* A loop that was left and entered again, one row of a matrix after the other: it may leave parts of them out. */
static double walk_of(const struct burst_item *items, uint32_t count, uint32_t lead)
{
    const struct event_stream *stream = &items[lead].row->event;
    const uint8_t good = STREAM_PAIRED | STREAM_LOOP | STREAM_REENTERED;
    if ((stream->flags & good) != good || !items[lead].row->walk_inside || stream->runs == 0)
        return -1;
    return (double)stream->iterations * lines_per_iteration(items, count, lead);
}

static uint64_t group_of(const struct flow *flow, uint32_t object)
{
    if (object == FLOW_NONE)
        return UINT64_MAX;
    uint32_t site = flow_object_site(flow, object);
    return site != FLOW_NONE ? site : (uint64_t)1 << 32 | object;
}

void burst_items(const struct flow *flow, const struct flow_stream *const *rows, uint32_t count,
                 struct burst_item *items)
{
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (struct burst_item){.row = rows[i], .group = group_of(flow, rows[i]->object), .lead = i};
        for (uint32_t k = 0; k < i; k++) {
            if (items[k].lead == k && goes_with(&items[i], &items[k])) {
                items[i].lead = k;
                break;
            }
        }
        struct burst_item *lead = &items[items[i].lead];
        uint8_t flags = rows[i]->event.flags;
        lead->nontemporal |= flags & STREAM_NONTEMPORAL;
        lead->stores |= flags & STREAM_WRITE && !(flags & STREAM_NONTEMPORAL);
        lead->reads |= !(flags & STREAM_WRITE);
    }
    for (uint32_t i = 0; i < count; i++) {
        items[i].lines = items[i].lead == i ? lines_of(items, count, i) : 0;
        items[i].walked = items[i].lead == i ? walk_of(items, count, i) : -1;
    }
}
