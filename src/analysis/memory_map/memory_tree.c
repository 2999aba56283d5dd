/* analysis/memory_map/memory_tree.c - the hierarchy over the leaves: all, processes, ranges, objects and splits, pages.
 *
 * MOCA cuts each level into two or three parts (its section 3.1); here it is four, but first along the borders of objects
 * of at least a page, so that such an object is one node. */
#include "analysis/memory_map/memory_work.h"

enum { PARTS = 4 };

struct leaf_run { /* of leaves of one object, or of none that has a page */
    uint32_t first, leaves, object;
};

struct tree_work {
    struct memory_map *map;
    array_of(struct leaf_run) runs; /* of the range at hand */
};

static uint32_t push(struct tree_work *work, uint32_t parent, uint32_t first, uint32_t leaves, unsigned kind,
                     uint32_t object)
{
    array_push(&work->map->nodes,
               (struct memory_node){
                   .parent = parent, .first_leaf = first, .leaves = leaves, .object = object, .kind = (uint8_t)kind});
    return (uint32_t)(work->map->nodes.count - 1);
}

/* The object of a node that holds this leaf only: stays at one of at least a page. */
static uint32_t large_object(const struct memory_map *map, uint32_t leaf)
{
    uint32_t object = map->leaves.items[leaf].object;
    return object != FLOW_NONE && flow_object_copy(map->flow, object).size >= map->page_bytes ? object : FLOW_NONE;
}

/* Under `parent`: the leaves, in PARTS parts as equal as can be, down to pages. */
static void split_leaves(struct tree_work *work, uint32_t parent, uint32_t first, uint32_t leaves, uint32_t object)
{
    uint32_t parts = leaves < PARTS ? leaves : PARTS;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t from = first + (uint32_t)((uint64_t)leaves * i / parts);
        uint32_t to = first + (uint32_t)((uint64_t)leaves * (i + 1) / parts);
        if (to - from == 1) {
            push(work, parent, from, 1, MEMORY_PAGES, object);
            continue;
        }
        uint32_t node = push(work, parent, from, to - from, MEMORY_SPLIT, object);
        split_leaves(work, node, from, to - from, object);
    }
}

static void put_runs(struct tree_work *work, uint32_t parent, uint32_t first, uint32_t count);

/* One child of `parent` that holds these runs. */
static void put_group(struct tree_work *work, uint32_t parent, uint32_t first, uint32_t count)
{
    const struct leaf_run *run = &work->runs.items[first], *last = &work->runs.items[first + count - 1];
    uint32_t leaves = last->first + last->leaves - run->first, object = count == 1 ? run->object : FLOW_NONE;
    if (leaves == 1) {
        push(work, parent, run->first, 1, MEMORY_PAGES, object);
        return;
    }
    uint32_t node = push(work, parent, run->first, leaves, MEMORY_SPLIT, object);
    put_runs(work, node, first, count);
}

static void put_runs(struct tree_work *work, uint32_t parent, uint32_t first, uint32_t count)
{
    if (count == 1) {
        struct leaf_run run = work->runs.items[first];
        split_leaves(work, parent, run.first, run.leaves, run.object);
        return;
    }
    uint32_t parts = count < PARTS ? count : PARTS;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t from = first + (uint32_t)((uint64_t)count * i / parts);
        uint32_t to = first + (uint32_t)((uint64_t)count * (i + 1) / parts);
        put_group(work, parent, from, to - from);
    }
}

static void put_range(struct tree_work *work, uint32_t parent, uint32_t first, uint32_t end)
{
    work->runs.count = 0;
    for (uint32_t leaf = first; leaf < end; leaf++) {
        uint32_t object = large_object(work->map, leaf);
        if (leaf == first || work->runs.items[work->runs.count - 1].object != object)
            array_push(&work->runs, (struct leaf_run){.first = leaf, .object = object});
        work->runs.items[work->runs.count - 1].leaves++;
    }
    uint32_t object = work->runs.count == 1 ? work->runs.items[0].object : FLOW_NONE;
    uint32_t node = push(work, parent, first, end - first, MEMORY_RANGE, object);
    put_runs(work, node, 0, (uint32_t)work->runs.count);
}

void memory_tree_make(struct memory_map *map, const struct memory_layout *layout)
{
    struct tree_work work = {.map = map};
    uint32_t leaves = (uint32_t)map->leaves.count, process = FLOW_NONE;
    const struct memory_leaf *leaf = map->leaves.items;
    bool several = leaves && leaf[0].process != leaf[leaves - 1].process;
    map->nodes.count = 0;
    uint32_t root = push(&work, FLOW_NONE, 0, leaves, MEMORY_ALL, FLOW_NONE), parent = root;
    for (uint32_t i = 0; i < layout->ranges; i++) {
        uint32_t first = layout->range_first[i], end = layout->range_first[i + 1];
        if (several && leaf[first].process != process) {
            uint32_t behind = first;
            process = leaf[first].process;
            while (behind < leaves && leaf[behind].process == process)
                behind++;
            parent = push(&work, root, first, behind - first, MEMORY_PROCESS, FLOW_NONE);
        }
        put_range(&work, parent, first, end);
    }
    array_free(&work.runs);
}
