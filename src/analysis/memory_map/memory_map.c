/* analysis/memory_map/memory_map.c - puts a memory map together: pages are gathered, laid out in leaves, and their cells joined. */
#include "analysis/memory_map/memory_map.h"

#include "base/order.h"
#include "analysis/memory_map/memory_work.h"

enum { SLICES_DEFAULT = 500, LEAVES_DEFAULT = 10000 };

ORDER_BY(by_place, struct memory_cell,
         ORDER(a->leaf, b->leaf) ?: ORDER(a->slice, b->slice) ?: ORDER(a->thread, b->thread))

/* Cells that are at the same place now become one. */
static void join(struct memory_map *map)
{
    size_t count = 0;
    array_sort(&map->cells, by_place);
    array_each (&map->cells, const struct memory_cell, cell) {
        if (count && by_place(&map->cells.items[count - 1], cell) == 0)
            memory_cell_join(&map->cells.items[count - 1], cell);
        else
            map->cells.items[count++] = *cell;
    }
    map->cells.count = count;
}

static void make_cells(struct memory_map *map, const struct memory_gathering *gathering,
                       const struct memory_layout *layout)
{
    map->cells.count = 0;
    array_reserve(&map->cells, gathering->cells.count);
    array_each (&gathering->cells, const struct memory_cell, cell) {
        array_push(&map->cells, *cell);
        map->cells.items[map->cells.count - 1].leaf = layout->leaf_of[cell->leaf];
    }
    join(map);
}

/* Fewer leaves until the cells fit; when every process is one leaf, fewer slices. */
static void lay_out(struct memory_map *map, const struct memory_gathering *gathering)
{
    const struct memory_map_options *options = gathering->options;
    struct memory_layout layout;
    uint32_t most = options->max_leaves ? options->max_leaves : LEAVES_DEFAULT;
    memory_layout_make(&layout, gathering, most);
    make_cells(map, gathering, &layout);
    while (options->max_cells && map->cells.count > options->max_cells && most > 1) {
        double part = (double)options->max_cells / (double)map->cells.count;
        uint32_t leaves = (uint32_t)map->leaves.count < most ? (uint32_t)map->leaves.count : most;
        most = (uint32_t)(leaves * (part < 0.9 ? part : 0.9));
        most = most ? most : 1;
        memory_layout_free(&layout);
        memory_layout_make(&layout, gathering, most);
        make_cells(map, gathering, &layout);
    }
    while (options->max_cells && map->cells.count > options->max_cells && map->slices > 1) {
        memory_halve_slices(map);
        array_each (&map->cells, struct memory_cell, cell)
            cell->slice /= 2;
        join(map);
    }
    memory_tree_make(map, &layout);
    memory_layout_free(&layout);
}

struct memory_map *memory_map_build(const struct flow *flow, const struct memory_map_options *options,
                                    struct error *err)
{
    struct memory_map *map = mem_zalloc(sizeof *map);
    bool whole = options->start == 0 && options->end == 0;
    uint64_t end = whole ? flow_end(flow) + 1 : options->end;
    struct memory_gathering gathering = {.options = options, .map = map, .end = end};
    map->flow = flow;
    map->page_bytes = 1ul << PAGE_UNIT_SHIFT;
    map->physical = options->physical;
    map->slices = options->slices ? options->slices : SLICES_DEFAULT;
    map->slices = map->slices > MEMORY_MOST_SLICES ? MEMORY_MOST_SLICES : map->slices;
    map->start = whole ? flow_start(flow) : options->start;
    map->slice_ns = end > map->start ? (end - map->start + map->slices - 1) / map->slices : 1;
    map->end = map->start + map->slice_ns * map->slices;
    int failed = memory_gather(&gathering, err);
    if (failed >= 0)
        lay_out(map, &gathering);
    memory_gather_free(&gathering);
    if (failed >= 0)
        return map;
    memory_map_free(map);
    return NULL;
}

void memory_map_free(struct memory_map *map)
{
    if (!map)
        return;
    array_free(&map->leaves);
    array_free(&map->nodes);
    array_free(&map->cells);
    free(map);
}
