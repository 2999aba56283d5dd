/* view/memory/map_regions.c - which stretches of memory get how many rows of the picture.
 *
 * Pages of one object are a stretch, and so are pages of many small things. Those with few accesses are skipped, which is
 * reported. Rows go by the square root of the bytes: what is a hundred times as large gets ten times the room. */
#include "analysis/thresholds.h"
#include "base/order.h"
#include "view/memory/map.h"
#include "view/report/rows.h"

#include <math.h>

static const double WORTH_A_ROW =
    0.005; /* of all accesses; or thresholds.worth_saying of all memory that was touched */

static bool passes(const struct memory_map *map, uint32_t object, struct object_names *names,
                   const struct view_options *options)
{
    const struct view_filter *filter = &options->filter;
    if (!filter->text && filter->kind < 0 && filter->min_share <= 0 && filter->min_remote <= 0 && !filter->min_samples)
        return true;
    if (object == FLOW_NONE)
        return false;
    struct row row = rows_object(map->flow, object);
    row.variable = filter->text ? object_name(names, object) : "";
    return row_passes(filter, &row, flow_totals(map->flow).samples);
}

/* The object that gives a leaf its name: of at least a page. */
static uint32_t leaf_object(const struct memory_map *map, uint32_t leaf)
{
    uint32_t object = map->leaves.items[leaf].object;
    if (object == FLOW_NONE || flow_object_copy(map->flow, object).size < map->page_bytes)
        return FLOW_NONE;
    return object;
}

static void find(struct map_regions *regions, const struct memory_map *map, const uint64_t *accesses,
                 struct object_names *names, const struct view_options *options)
{
    bool apart = true;
    for (uint32_t leaf = 0; leaf < map->leaves.count; leaf++) {
        const struct memory_leaf *about = &map->leaves.items[leaf];
        if (accesses[leaf] == 0)
            continue;
        regions->accesses += accesses[leaf];
        if (!passes(map, about->object, names, options)) {
            regions->filtered += accesses[leaf];
            apart = true;
            continue;
        }
        uint32_t object = leaf_object(map, leaf);
        struct map_region *last = regions->items.count ? &regions->items.items[regions->items.count - 1] : NULL;
        const struct memory_leaf *first = last ? &map->leaves.items[last->first_leaf] : NULL;
        if (apart || last->object != object || first->process != about->process) {
            array_push(&regions->items, (struct map_region){.first_leaf = leaf, .object = object});
            last = &regions->items.items[regions->items.count - 1];
        }
        apart = false;
        last->leaves = leaf + 1 - last->first_leaf;
        last->bytes += about->bytes;
        last->accesses += accesses[leaf];
    }
}

ORDER_BY(by_weight, double, ORDER(*b, *a))

/* Of an object that a sampler saw at a few pages all over, more is in use than those. */
static double bytes_of(const struct memory_map *map, const struct map_region *region)
{
    enum { UNSEEN = 32 };
    double seen = (double)region->bytes * UNSEEN;
    double size = region->object == FLOW_NONE ? 0 : (double)flow_object_copy(map->flow, region->object).size;
    return size < (double)region->bytes ? (double)region->bytes : size < seen ? size : seen;
}

/* The heaviest, by accesses or by bytes: at most `most` of them. */
static void keep_worthy(struct map_regions *regions, const struct memory_map *map, size_t most)
{
    size_t count = regions->items.count, kept = 0;
    double *weights = mem_alloc(2 * (count + 1) * sizeof *weights), *sorted = weights + count + 1, min_weight = 1;
    double all = (double)(regions->accesses - regions->filtered), bytes = 0;
    array_each (&regions->items, const struct map_region, region)
        bytes += bytes_of(map, region);
    for (size_t i = 0; i < count; i++) {
        const struct map_region *region = &regions->items.items[i];
        double hot = (double)region->accesses / all / WORTH_A_ROW,
               large = bytes_of(map, region) / bytes / thresholds.worth_saying;
        weights[i] = sorted[i] = hot > large ? hot : large;
    }
    qsort(sorted, count, sizeof *sorted, by_weight);
    if (count > most && sorted[most - 1] > min_weight)
        min_weight = sorted[most - 1];
    for (size_t i = 0; i < count; i++) {
        if (weights[i] >= min_weight && kept < most)
            regions->items.items[kept++] = regions->items.items[i];
        else
            regions->skipped += regions->items.items[i].accesses;
    }
    regions->items.count = kept;
    free(weights);
}

static uint32_t rows_of(const struct map_region *region, double a_row)
{
    double rows = sqrt((double)region->bytes) / a_row;
    uint32_t whole = rows < 1 ? 1 : (uint32_t)rows;
    return whole < region->leaves ? whole : region->leaves;
}

static uint64_t sum_of_rows(const struct map_regions *regions, double a_row)
{
    uint64_t sum = 0;
    array_each (&regions->items, const struct map_region, region)
        sum += rows_of(region, a_row);
    return sum;
}

void map_regions_make(struct map_regions *regions, const struct memory_map *map, uint32_t thread, unsigned rows,
                      struct object_names *names, const struct view_options *options)
{
    uint64_t *accesses = mem_zalloc((map->leaves.count + 1) * sizeof *accesses);
    *regions = (struct map_regions){0};
    array_each (&map->cells, const struct memory_cell, cell) {
        if (thread == FLOW_NONE || cell->thread == thread)
            accesses[cell->leaf] += cell->accesses;
    }
    find(regions, map, accesses, names, options);
    keep_worthy(regions, map, rows);
    double low = 1, high = 0x1p40; /* square roots of bytes: the least that gives not too many rows */
    for (unsigned i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (sum_of_rows(regions, middle) > rows)
            low = middle;
        else
            high = middle;
    }
    array_each (&regions->items, struct map_region, region)
        region->rows = rows_of(region, high);
    free(accesses);
}

void map_spots(struct map_spot *spots, const struct map_regions *regions, const struct memory_map *map, uint32_t thread,
               const bool *shared, unsigned fine, unsigned columns)
{
    uint32_t *row_of = mem_alloc((map->leaves.count + 1) * sizeof *row_of), row = 0;
    for (uint32_t leaf = 0; leaf < map->leaves.count; leaf++)
        row_of[leaf] = FLOW_NONE;
    array_each (&regions->items, const struct map_region, region) {
        uint64_t own = (uint64_t)region->rows * fine;
        for (uint32_t i = 0; i < region->leaves; i++)
            row_of[region->first_leaf + i] = row + (uint32_t)(i * own / region->leaves);
        row += (uint32_t)own;
    }
    array_each (&map->cells, const struct memory_cell, cell) {
        if (row_of[cell->leaf] == FLOW_NONE || (thread != FLOW_NONE && cell->thread != thread))
            continue;
        struct map_spot *spot =
            &spots[(size_t)row_of[cell->leaf] * columns + (uint64_t)cell->slice * columns / map->slices];
        spot->accesses += cell->accesses;
        spot->writes += cell->writes;
        spot->remote += cell->remote;
        spot->home_known += cell->home_known;
        spot->shared += shared[cell->leaf] ? cell->accesses : 0;
    }
    free(row_of);
}
