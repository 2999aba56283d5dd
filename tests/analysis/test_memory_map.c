/* The memory map of made-up runs: leaves, tree and cells are what was fed, whatever the window and the bounds. */
#include "bursts.h"

#include "analysis/memory_map/memory_views.h"

enum { PAGE = 4096, A = HEAP, B = HEAP + (1 << 24), PAGES = 64 };

/* Preorder, children side by side and together as large as their parent, a node for every leaf. */
static void check_tree(const struct memory_map *map)
{
    size_t pages = 0;
    uint32_t *next = mem_zalloc((map->nodes.count + 1) * sizeof *next);
    bool *inner = mem_zalloc(map->nodes.count + 1);
    assert_int_equal(map->nodes.items[0].parent, FLOW_NONE);
    assert_int_equal(map->nodes.items[0].leaves, map->leaves.count);
    for (uint32_t i = 0; i < map->nodes.count; i++) {
        const struct memory_node *node = &map->nodes.items[i];
        next[i] = node->first_leaf;
        pages += node->kind == MEMORY_PAGES;
        if (i == 0)
            continue;
        assert_true(node->parent < i && node->leaves > 0);
        assert_int_equal(next[node->parent], node->first_leaf);
        assert_true((node->leaves == 1) || node->kind != MEMORY_PAGES);
        next[node->parent] += node->leaves;
        inner[node->parent] = true;
        uint32_t object = map->nodes.items[node->parent].object;
        assert_true(object == FLOW_NONE || object == node->object);
    }
    for (uint32_t i = 0; i < map->nodes.count; i++) {
        const struct memory_node *node = &map->nodes.items[i];
        assert_true(inner[i] != (node->kind == MEMORY_PAGES) || map->leaves.count == 0);
        if (inner[i])
            assert_int_equal(next[i], node->first_leaf + node->leaves);
    }
    assert_int_equal(pages, map->leaves.count);
    free(next);
    free(inner);
}

/* Sorted, every place once, sums as said. */
static void check_cells(const struct memory_map *map)
{
    uint64_t accesses = 0;
    for (size_t i = 0; i < map->cells.count; i++) {
        const struct memory_cell *cell = &map->cells.items[i], *before = i ? cell - 1 : NULL;
        assert_true(cell->leaf < map->leaves.count && cell->slice < map->slices);
        if (before && before->leaf == cell->leaf && before->slice == cell->slice)
            assert_true(before->thread < cell->thread);
        else if (before)
            assert_true(before->leaf < cell->leaf || (before->leaf == cell->leaf && before->slice < cell->slice));
        accesses += cell->accesses;
    }
    assert_int_equal(accesses, map->shown);
    for (size_t i = 1; i < map->leaves.count; i++) {
        const struct memory_leaf *leaf = &map->leaves.items[i], *before = leaf - 1;
        assert_true(before->process < leaf->process || before->addr + before->bytes <= leaf->addr);
    }
}

static struct memory_map *build(const struct feeding *f, struct memory_map_options options)
{
    struct error err = {0};
    struct memory_map *map = memory_map_build(f->flow, &options, &err);
    assert_non_null(map);
    check_tree(map);
    check_cells(map);
    return map;
}

/* main writes A and B page by page, then two workers read them for as long. */
static struct feeding two_objects(uint64_t *middle)
{
    struct feeding f = run_begin();
    feed_alloc(&f, A, PAGES * PAGE, CHAIN);
    feed_alloc(&f, B, PAGES * PAGE, CHAIN + 1);
    for (unsigned i = 0; i < PAGES; i++) {
        feed_burst(&f, (struct burst_of){.addr = A + i * PAGE, .step = 8, .flags = SAMPLE_WRITE});
        feed_burst(&f, (struct burst_of){.addr = B + i * PAGE, .step = 8, .flags = SAMPLE_WRITE, .latency = 10});
    }
    *middle = f.time + 1;
    for (unsigned i = 0; i < PAGES; i++) {
        feed_burst(&f, (struct burst_of){.thread = 1, .addr = A + i * PAGE, .step = 8});
        feed_burst(&f, (struct burst_of){.thread = 2, .addr = B + i * PAGE, .step = 8});
    }
    feeding_build(&f);
    return f;
}

static void cells_of_a_run(void **state)
{
    (void)state;
    uint64_t middle;
    struct feeding f = two_objects(&middle);
    struct memory_map_options options = MEMORY_MAP_WHOLE;
    options.slices = 2;
    options.end = flow_end(f.flow) + 1;
    options.start = middle - (options.end - middle);
    struct memory_map *map = build(&f, options);
    assert_int_equal(map->leaves.count, 2 * PAGES);
    assert_int_equal(map->shown, 4 * PAGES * BURST);
    assert_int_equal(map->outside, 0);
    for (uint32_t leaf = 0; leaf < 2 * PAGES; leaf++) {
        uint64_t addr = leaf < PAGES ? A + leaf * PAGE : B + (leaf - PAGES) * PAGE;
        assert_int_equal(map->leaves.items[leaf].addr, addr);
        assert_int_equal(map->leaves.items[leaf].bytes, PAGE);
        assert_int_equal(flow_object(f.flow, map->leaves.items[leaf].object)->addr, leaf < PAGES ? A : B);
        const struct memory_cell *cell = &map->cells.items[leaf * 2];
        assert_true(cell[0].slice == 0 && cell[1].slice == 1);
        assert_true(cell[0].writes == BURST && cell[0].reads == 0 && cell[0].thread == 0);
        assert_true(cell[1].writes == 0 && cell[1].reads == BURST);
        assert_int_equal(flow_thread(f.flow, cell[1].thread)->tid, PID + (leaf < PAGES ? 1 : 2));
        assert_int_equal(cell[0].latency_sum, leaf < PAGES ? 0 : 10 * BURST);
    }
    memory_map_free(map);
    feeding_free(&f);
}

/* Two objects far apart are two ranges, each one object's all the way down. */
static void objects_are_nodes(void **state)
{
    (void)state;
    uint64_t middle;
    struct feeding f = two_objects(&middle);
    struct memory_map *map = build(&f, MEMORY_MAP_WHOLE);
    unsigned ranges = 0;
    array_each (&map->nodes, const struct memory_node, node) {
        if (node->kind != MEMORY_RANGE)
            continue;
        assert_int_equal(flow_object(f.flow, node->object)->addr, ranges++ == 0 ? A : B);
        assert_int_equal(node->leaves, PAGES);
    }
    assert_int_equal(ranges, 2);
    memory_map_free(map);
    feeding_free(&f);
}

/* Three adjacent objects are one range and three nodes in it. */
static void objects_in_a_range(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    for (unsigned i = 0; i < 3; i++)
        feed_alloc(&f, A + i * 8 * PAGE, 8 * PAGE, CHAIN + i);
    for (unsigned i = 0; i < 24; i++)
        feed_burst(&f, (struct burst_of){.addr = A + i * PAGE, .step = 8});
    feeding_build(&f);
    struct memory_map *map = build(&f, MEMORY_MAP_WHOLE);
    unsigned objects = 0;
    array_each (&map->nodes, const struct memory_node, node) {
        if (node->kind == MEMORY_SPLIT && node->object != FLOW_NONE &&
            map->nodes.items[node->parent].object == FLOW_NONE) {
            assert_int_equal(node->leaves, 8);
            assert_int_equal(flow_object(f.flow, node->object)->addr, A + objects++ * 8 * PAGE);
        }
    }
    assert_int_equal(objects, 3);
    assert_int_equal(map->nodes.items[1].kind, MEMORY_RANGE);
    assert_int_equal(map->nodes.items[1].leaves, 24);
    memory_map_free(map);
    feeding_free(&f);
}

/* Each thread has its own part of the tree, with its own leaves and nothing else. */
static void gantt_tree(void **state)
{
    (void)state;
    uint64_t middle;
    struct feeding f = two_objects(&middle);
    struct error err = {0};
    struct memory_map *map = build(&f, MEMORY_MAP_WHOLE);
    struct gantt *gantt = gantt_build(map);
    unsigned threads = 0;
    assert_int_equal(gantt->leaves.count, 4 * PAGES); /* main both, the workers one each */
    array_each (&gantt->nodes, const struct gantt_node, node) {
        for (uint32_t i = node->first_leaf; node->thread != FLOW_NONE && i < node->first_leaf + node->leaves; i++)
            assert_int_equal(gantt->leaves.items[i].thread, node->thread);
        threads += node->kind == MEMORY_THREAD;
        if (node->kind == MEMORY_RANGE)
            assert_int_equal(node->leaves, PAGES);
    }
    assert_int_equal(threads, 3);
    /* aggregate() checks that it is a tree. */
    struct aggregation *by_gantt = aggregate_gantt(map, gantt, &(struct aggregate_options){0}, &err);
    struct aggregation *by_map = aggregate_map(map, &(struct aggregate_options){0}, &err);
    assert_non_null(by_gantt);
    assert_non_null(by_map);
    assert_true(by_map->partitions.count > 2 && by_gantt->partitions.count > 2);
    assert_int_equal(by_map->partitions.items[by_map->partitions.count - 1].blocks, 1);
    aggregation_free(by_gantt);
    aggregation_free(by_map);
    gantt_free(gantt);
    memory_map_free(map);
    feeding_free(&f);
}

static void windows(void **state)
{
    (void)state;
    uint64_t middle;
    struct feeding f = two_objects(&middle);
    struct memory_map_options options = MEMORY_MAP_WHOLE;
    options.start = middle;
    options.end = flow_end(f.flow) + 1;
    struct memory_map *map = build(&f, options);
    array_each (&map->cells, const struct memory_cell, cell)
        assert_int_equal(cell->writes, 0);
    assert_int_equal(map->shown, 2 * PAGES * BURST);
    memory_map_free(map);

    options = MEMORY_MAP_WHOLE;
    options.low = A + 3 * PAGE;
    options.high = A + 5 * PAGE;
    map = build(&f, options);
    assert_int_equal(map->leaves.count, 2);
    assert_int_equal(map->leaves.items[0].addr, A + 3 * PAGE);
    assert_int_equal(map->shown, 4 * BURST);
    memory_map_free(map);

    options = MEMORY_MAP_WHOLE;
    options.thread = 2;
    map = build(&f, options);
    assert_int_equal(map->leaves.count, PAGES);
    assert_int_equal(map->shown, PAGES * BURST);
    memory_map_free(map);

    options = MEMORY_MAP_WHOLE;
    options.process = 7;
    map = build(&f, options);
    assert_int_equal(map->leaves.count + map->cells.count, 0);
    assert_int_equal(map->nodes.count, 1);
    memory_map_free(map);
    feeding_free(&f);
}

static void bounds(void **state)
{
    static const uint32_t leaves[] = {1000, 100, 17, 3, 1};
    static const uint64_t cells[] = {1000, 200, 30, 3};
    (void)state;
    uint64_t middle;
    struct feeding f = two_objects(&middle);
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        struct memory_map_options options = MEMORY_MAP_WHOLE;
        options.max_leaves = leaves[i];
        struct memory_map *map = build(&f, options);
        assert_true(map->leaves.count <= leaves[i]);
        assert_int_equal(map->shown, 4 * PAGES * BURST);
        memory_map_free(map);
    }
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct memory_map_options options = MEMORY_MAP_WHOLE;
        options.max_cells = cells[i];
        struct memory_map *map = build(&f, options);
        assert_true(map->cells.count <= cells[i]);
        assert_int_equal(map->shown, 4 * PAGES * BURST);
        memory_map_free(map);
    }
    feeding_free(&f);
}

/* More pages than are kept while they are gathered: nothing is lost, and addresses stay in order. */
static void very_many_pages(void **state)
{
    enum { MANY = 90000 };
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, A, MANY * (uint64_t)PAGE, CHAIN);
    for (unsigned i = 0; i < MANY; i++)
        feed_burst(&f, (struct burst_of){.thread = i % 3, .addr = A + (uint64_t)PAGE * i, .count = 1});
    feeding_build(&f);
    struct memory_map_options options = MEMORY_MAP_WHOLE;
    options.max_cells = 3000;
    struct memory_map *map = build(&f, options);
    assert_int_equal(map->shown, MANY);
    assert_true(map->cells.count <= 3000 && map->cells.count > 100);
    assert_true(map->leaves.items[0].addr <= A && map->leaves.items[0].bytes >= 2 * PAGE);
    assert_int_equal(flow_object(f.flow, map->leaves.items[0].object)->addr, A);
    memory_map_free(map);
    feeding_free(&f);
}

/* Many pages in one place are made coarser before the few of another. */
static void small_things_keep_their_pages(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, A, 4 * PAGE, CHAIN);
    feed_alloc(&f, B, 1000 * PAGE, CHAIN + 1);
    for (unsigned i = 0; i < 4; i++)
        feed_burst(&f, (struct burst_of){.addr = A + i * PAGE, .step = 8});
    for (unsigned i = 0; i < 1000; i++)
        feed_burst(&f, (struct burst_of){.addr = B + i * PAGE, .step = 8, .count = 1});
    feeding_build(&f);
    struct memory_map_options options = MEMORY_MAP_WHOLE;
    options.max_leaves = 100;
    struct memory_map *map = build(&f, options);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(map->leaves.items[i].bytes, PAGE);
    assert_true(map->leaves.count > 50 && map->leaves.count <= 100);
    memory_map_free(map);
    feeding_free(&f);
}

static void physical_addresses(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    for (unsigned i = 0; i < 32; i++)
        feed(&f, (struct event){.kind = EVENT_SAMPLE,
                                .sample = {.addr = A + i * PAGE,
                                           .physical = i % 2 ? 0x80000000ul + (32 - i) * PAGE + i : 0,
                                           .size = 8,
                                           .flags = SAMPLE_READ | SAMPLE_FIRST}});
    feeding_build(&f);
    struct memory_map_options options = MEMORY_MAP_WHOLE;
    options.physical = true;
    struct memory_map *map = build(&f, options);
    assert_int_equal(map->shown, 16);
    assert_int_equal(map->outside, 16);
    assert_int_equal(map->without_addr, 16);
    assert_int_equal(map->leaves.items[0].addr, 0x80000000ul + PAGE);
    assert_int_equal(map->leaves.items[0].process, FLOW_NONE);
    memory_map_free(map);
    feeding_free(&f);
}

/* The same addresses in two processes are two places. */
static void processes_are_apart(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_burst(&f, (struct burst_of){.addr = A, .step = 8});
    feed_start(&f, PID + 50, PID, false);
    f.pid = PID + 50;
    feed_burst(&f, (struct burst_of){.thread = 50, .addr = A, .step = 8});
    feeding_build(&f);
    struct memory_map *map = build(&f, MEMORY_MAP_WHOLE);
    assert_int_equal(map->leaves.count, 2);
    assert_int_equal(map->leaves.items[0].addr, map->leaves.items[1].addr);
    assert_int_equal(map->nodes.items[1].kind, MEMORY_PROCESS);
    memory_map_free(map);
    feeding_free(&f);
}

static void no_accesses(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feeding_build(&f);
    struct memory_map *map = build(&f, MEMORY_MAP_WHOLE);
    assert_int_equal(map->nodes.count, 1);
    assert_int_equal(map->leaves.count, 0);
    memory_map_free(map);
    feeding_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_of_a_run),
        cmocka_unit_test(objects_are_nodes),
        cmocka_unit_test(objects_in_a_range),
        cmocka_unit_test(gantt_tree),
        cmocka_unit_test(windows),
        cmocka_unit_test(bounds),
        cmocka_unit_test(very_many_pages),
        cmocka_unit_test(small_things_keep_their_pages),
        cmocka_unit_test(physical_addresses),
        cmocka_unit_test(processes_are_apart),
        cmocka_unit_test(no_accesses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
