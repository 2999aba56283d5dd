/* analysis/memory_map/memory_views.c - the Gantt view's tree, and what is aggregated in each view. */
#include "analysis/memory_map/memory_views.h"

#include "base/order.h"

struct gantt_work {
    const struct memory_map *map;
    struct gantt *gantt;
    uint32_t *child, *sister;   /* of the map's nodes; FLOW_NONE at the end */
    uint32_t *touched;          /* by leaf of the map: how many before it this thread touches; one more for the end */
    uint32_t thread, leaves_at; /* the first of its leaves */
};

static uint32_t touched_in(const struct gantt_work *work, const struct memory_node *node)
{
    return work->touched[node->first_leaf + node->leaves] - work->touched[node->first_leaf];
}

static uint32_t push(struct gantt_work *work, uint32_t parent, const struct memory_node *node, uint32_t leaves)
{
    array_push(&work->gantt->nodes, (struct gantt_node){.parent = parent,
                                                        .first_leaf = work->leaves_at + work->touched[node->first_leaf],
                                                        .leaves = leaves,
                                                        .object = node->object,
                                                        .thread = work->thread,
                                                        .kind = leaves == 1 ? MEMORY_PAGES : node->kind});
    return (uint32_t)work->gantt->nodes.count - 1;
}

/* The children of a node of the map that hold something of the thread; of an only one its own, in its place. */
static void put_children(struct gantt_work *work, uint32_t parent, uint32_t index)
{
    uint32_t all = touched_in(work, &work->map->nodes.items[index]);
    for (uint32_t child = work->child[index]; child != FLOW_NONE; child = work->sister[child]) {
        const struct memory_node *node = &work->map->nodes.items[child];
        uint32_t leaves = touched_in(work, node);
        if (leaves == 0)
            continue;
        if (leaves == all && leaves > 1 && node->kind != MEMORY_RANGE) {
            put_children(work, parent, child);
            return;
        }
        uint32_t own = push(work, parent, node, leaves);
        if (leaves > 1)
            put_children(work, own, child);
    }
}

static void find_children(struct gantt_work *work)
{
    const struct memory_map *map = work->map;
    work->child = mem_alloc(2 * (map->nodes.count + 1) * sizeof *work->child);
    work->sister = work->child + map->nodes.count;
    for (size_t i = 0; i < map->nodes.count; i++)
        work->child[i] = work->sister[i] = FLOW_NONE;
    for (size_t i = map->nodes.count; i-- > 1;) {
        work->sister[i] = work->child[map->nodes.items[i].parent];
        work->child[map->nodes.items[i].parent] = (uint32_t)i;
    }
}

ORDER_BY(by_thread, struct gantt_leaf, ORDER(a->thread, b->thread) ?: ORDER(a->leaf, b->leaf))

static void find_leaves(struct gantt *gantt, const struct memory_map *map)
{
    size_t count = 0;
    array_each (&map->cells, const struct memory_cell, cell)
        array_push(&gantt->leaves, (struct gantt_leaf){cell->leaf, cell->thread});
    array_sort(&gantt->leaves, by_thread);
    array_each (&gantt->leaves, const struct gantt_leaf, leaf) {
        if (count == 0 || by_thread(&gantt->leaves.items[count - 1], leaf) != 0)
            gantt->leaves.items[count++] = *leaf;
    }
    gantt->leaves.count = count;
}

struct gantt *gantt_build(const struct memory_map *map)
{
    struct gantt *gantt = mem_zalloc(sizeof *gantt);
    struct gantt_work work = {.map = map, .gantt = gantt};
    find_leaves(gantt, map);
    find_children(&work);
    work.touched = mem_alloc((map->leaves.count + 1) * sizeof *work.touched);
    array_push(&gantt->nodes, (struct gantt_node){.parent = FLOW_NONE,
                                                  .leaves = (uint32_t)gantt->leaves.count,
                                                  .object = FLOW_NONE,
                                                  .thread = FLOW_NONE,
                                                  .kind = MEMORY_ALL});
    for (uint32_t at = 0, behind; at < gantt->leaves.count; at = behind) {
        uint32_t sum = 0;
        work.thread = gantt->leaves.items[at].thread;
        work.leaves_at = at;
        behind = at;
        for (uint32_t leaf = 0; leaf < map->leaves.count; leaf++) {
            work.touched[leaf] = sum;
            if (behind < gantt->leaves.count && gantt->leaves.items[behind].thread == work.thread &&
                gantt->leaves.items[behind].leaf == leaf) {
                behind++;
                sum++;
            }
        }
        work.touched[map->leaves.count] = sum;
        array_push(&gantt->nodes, (struct gantt_node){.parent = 0,
                                                      .first_leaf = at,
                                                      .leaves = sum,
                                                      .object = FLOW_NONE,
                                                      .thread = work.thread,
                                                      .kind = MEMORY_THREAD});
        put_children(&work, (uint32_t)gantt->nodes.count - 1, 0);
    }
    free(work.child);
    free(work.touched);
    return gantt;
}

void gantt_free(struct gantt *gantt)
{
    if (!gantt)
        return;
    array_free(&gantt->nodes);
    array_free(&gantt->leaves);
    free(gantt);
}

typedef array_of(struct aggregate_value) value_list;
typedef array_of(struct aggregate_node) node_list;

static struct aggregation *run(const struct memory_map *map, node_list *nodes, size_t leaves, value_list *values,
                               const struct aggregate_options *options, struct error *err)
{
    struct aggregate_input input = {.nodes = nodes->items,
                                    .node_count = (uint32_t)nodes->count,
                                    .leaves = (uint32_t)leaves,
                                    .slices = map->slices,
                                    .values = values->items,
                                    .value_count = values->count};
    struct aggregation *result = aggregate(&input, options, err);
    array_free(nodes);
    array_free(values);
    return result;
}

struct aggregation *aggregate_map(const struct memory_map *map, const struct aggregate_options *options,
                                  struct error *err)
{
    node_list nodes = {0};
    value_list values = {0};
    array_each (&map->nodes, const struct memory_node, node)
        array_push(&nodes, (struct aggregate_node){node->parent, node->first_leaf, node->leaves});
    array_each (&map->cells, const struct memory_cell, cell) {
        struct aggregate_value *last = values.count ? &values.items[values.count - 1] : NULL;
        if (last && last->leaf == cell->leaf && last->slice == cell->slice)
            last->value += cell->accesses;
        else
            array_push(&values, (struct aggregate_value){cell->leaf, cell->accesses, cell->slice});
    }
    return run(map, &nodes, map->leaves.count, &values, options, err);
}

/* The cells are sorted by leaf, slice, thread: distributed by thread, each keeps the order of leaf and slice. */
struct aggregation *aggregate_gantt(const struct memory_map *map, const struct gantt *gantt,
                                    const struct aggregate_options *options, struct error *err)
{
    node_list nodes = {0};
    value_list values = {0};
    size_t threads = flow_thread_count(map->flow);
    size_t *next = mem_zalloc((threads + 2) * sizeof *next);
    uint32_t *order = mem_alloc((map->cells.count + 1) * sizeof *order);
    array_each (&gantt->nodes, const struct gantt_node, node)
        array_push(&nodes, (struct aggregate_node){node->parent, node->first_leaf, node->leaves});
    array_each (&map->cells, const struct memory_cell, cell)
        next[cell->thread + 1]++;
    for (size_t i = 0; i < threads; i++)
        next[i + 1] += next[i];
    for (size_t i = 0; i < map->cells.count; i++)
        order[next[map->cells.items[i].thread]++] = (uint32_t)i;
    uint32_t leaf = 0;
    for (size_t i = 0; i < map->cells.count; i++) {
        const struct memory_cell *cell = &map->cells.items[order[i]];
        while (gantt->leaves.items[leaf].thread != cell->thread || gantt->leaves.items[leaf].leaf != cell->leaf)
            leaf++;
        array_push(&values, (struct aggregate_value){leaf, cell->accesses, cell->slice});
    }
    free(next);
    free(order);
    return run(map, &nodes, gantt->leaves.count, &values, options, err);
}
