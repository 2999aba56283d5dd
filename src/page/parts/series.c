/* page/parts/series.c - each object over time: which thread read and wrote it, and its home nodes (s.*).
 *
 * Accesses come in bursts of one thread that mostly stay in one object: the last row is looked at first. */
#include "base/array.h"
#include "base/map64.h"
#include "base/order.h"
#include "page/parts/parts.h"

enum { HOME_UNKNOWN = 255 };

struct series_row {
    uint32_t object;
    uint16_t slice, thread;
    uint8_t home;
    uint32_t samples, reads, writes, remote, timed; /* an atomic update is one sample that reads and writes */
    float latency;                                  /* their sum */
};

struct series {
    const struct parts *parts;
    uint64_t start, slice_ns;
    uint32_t nodes;
    uint64_t *homes; /* by object and node */
    struct map64 row_of;
    array_of(struct series_row) rows;
    uint64_t last_key;
    size_t last_row;
};

struct series *series_new(const struct parts *parts)
{
    struct series *series = mem_zalloc(sizeof *series);
    uint64_t lasted = flow_end(parts->flow) - flow_start(parts->flow);
    series->parts = parts;
    series->start = flow_start(parts->flow);
    series->slice_ns = lasted / PAGE_SERIES_SLICES + 1;
    series->nodes = flow_topology(parts->flow)->node_count;
    series->homes = mem_zalloc((parts->objects.count + 1ul) * (series->nodes + 1ul) * sizeof *series->homes);
    series->last_key = MAP64_EMPTY;
    return series;
}

void series_note(struct series *series, const struct flow_access *access)
{
    uint32_t object = rank_of(&series->parts->objects, access->object);
    if (object == FLOW_NONE)
        return;
    if (access->home >= 0)
        series->homes[(size_t)object * series->nodes + (uint32_t)access->home]++;
    uint64_t slice = access->time > series->start ? (access->time - series->start) / series->slice_ns : 0;
    slice = slice < PAGE_SERIES_SLICES ? slice : PAGE_SERIES_SLICES - 1;
    uint8_t home = access->home >= 0 && access->home < HOME_UNKNOWN ? (uint8_t)access->home : HOME_UNKNOWN;
    uint16_t thread = parts_thread(access->thread);
    uint64_t key = (uint64_t)object << 40 | slice << 24 | (uint64_t)thread << 8 | home;
    if (key != series->last_key) {
        bool is_new;
        uint64_t *place = map64_insert(&series->row_of, key, &is_new);
        if (is_new) {
            *place = series->rows.count;
            array_push(&series->rows,
                       (struct series_row){.object = object, .slice = (uint16_t)slice, .thread = thread, .home = home});
        }
        series->last_key = key;
        series->last_row = *place;
    }
    struct series_row *row = &series->rows.items[series->last_row];
    row->samples++;
    row->reads += (access->flags & SAMPLE_READ) != 0;
    row->writes += access->write;
    row->remote += access->remote;
    row->timed += access->has_latency;
    row->latency += (float)access->latency;
}

uint64_t *series_homes(const struct series *series, uint32_t object)
{
    return series->homes + (size_t)object * series->nodes;
}

ORDER_BY(in_order, struct series_row,
         ORDER(a->object, b->object) ?: ORDER(a->slice, b->slice) ?: ORDER(a->thread, b->thread)
         ?: ORDER(a->home, b->home))

/* Whole objects only, while there is room. */
static size_t fitting(const struct series *series, uint32_t *objects)
{
    size_t count = series->rows.count;
    *objects = series->parts->objects.count;
    if (count <= PAGE_SERIES_ROWS)
        return count;
    count = PAGE_SERIES_ROWS;
    *objects = series->rows.items[count].object;
    while (count && series->rows.items[count - 1].object == *objects)
        count--;
    return count;
}

void series_put(struct series *series, struct container *container)
{
    static const struct container_field fields[] = {
        {"s.object", COLUMN_U32, offsetof(struct series_row, object)},
        {"s.slice", COLUMN_U16, offsetof(struct series_row, slice)},
        {"s.thread", COLUMN_U16, offsetof(struct series_row, thread)},
        {"s.home", COLUMN_U8, offsetof(struct series_row, home)},
        {"s.samples", COLUMN_U32, offsetof(struct series_row, samples)},
        {"s.reads", COLUMN_U32, offsetof(struct series_row, reads)},
        {"s.writes", COLUMN_U32, offsetof(struct series_row, writes)},
        {"s.remote", COLUMN_U32, offsetof(struct series_row, remote)},
        {"s.timed", COLUMN_U32, offsetof(struct series_row, timed)},
        {"s.latency", COLUMN_F32, offsetof(struct series_row, latency)},
    };
    uint32_t objects;
    array_sort(&series->rows, in_order);
    size_t count = fitting(series, &objects);
    json_number(container_json(container), "series_slices", PAGE_SERIES_SLICES);
    json_real(container_json(container), "series_slice_s", (double)series->slice_ns * 1e-9, 9);
    json_number(container_json(container), "series_objects", objects);
    container_rows(container, series->rows.items, sizeof *series->rows.items, count, fields,
                   sizeof fields / sizeof *fields);
}

void series_free(struct series *series)
{
    if (!series)
        return;
    free(series->homes);
    map64_free(&series->row_of);
    array_free(&series->rows);
    free(series);
}
