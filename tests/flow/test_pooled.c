/* Objects of functions that the user named: inside blocks, in pools, over forks. */
#include "feeding.h"

enum { BLOCK = 0x10000, SIZE = 0x1000, POOL = 0x9000, CHILD = 0x9100, GRANDCHILD = 0x9200 };

static void feed_pooled(struct feeding *feeding, uint64_t addr, uint64_t size, uint64_t pool)
{
    feed(feeding, (struct event){.kind = EVENT_POOL_ALLOC,
                                 .alloc = {.addr = addr, .size = size, .fn = ALLOC_CUSTOM_FIRST, .pool = pool}});
}

static void feed_pool(struct feeding *feeding, enum pool_change change, uint64_t handle, uint64_t parent)
{
    feed(feeding,
         (struct event){.kind = EVENT_POOL,
                        .pool = {.handle = handle, .parent = parent, .change = change, .fn = ALLOC_CUSTOM_FIRST + 1}});
}

static uint64_t size_of(struct feeding *feeding, uint32_t sample)
{
    const struct flow_object *object = object_of(feeding, sample);
    return object ? object->size : 0;
}

static void test_inside_wins(void **state)
{
    (void)state;
    struct feeding feeding = feeding_new(NULL, ASSIGN_PACKED);
    feed_start(&feeding, PID, 1, false);
    feed_alloc(&feeding, BLOCK, SIZE, 0);
    feed_pooled(&feeding, BLOCK + 0x100, 0x80, 0);
    uint32_t inside = feed_read(&feeding, BLOCK + 0x17f), beside = feed_read(&feeding, BLOCK + 0x180);
    feed_pool(&feeding, POOL_FREED, BLOCK + 0x100, 0);
    uint32_t after = feed_read(&feeding, BLOCK + 0x100);
    feed_map(&feeding, 0x40000, 0x4000, MAP_KIND_ANONYMOUS, 0, "");
    feed_pooled(&feeding, 0x41000, 0x200, 0);
    uint32_t mapped = feed_read(&feeding, 0x41000);
    feed_unmap(&feeding, 0x40000, 0x4000);
    uint32_t unmapped = feed_read(&feeding, 0x41000);
    flow_finish(feeding.flow);
    assert_int_equal(size_of(&feeding, inside), 0x80);
    assert_int_equal(object_of(&feeding, inside)->alloc_fn, ALLOC_CUSTOM);
    assert_int_equal(object_of(&feeding, inside)->kind, OBJECT_HEAP);
    assert_true(object_of(&feeding, inside)->end < UINT64_MAX);
    assert_int_equal(size_of(&feeding, beside), SIZE);
    assert_int_equal(size_of(&feeding, after), SIZE);
    assert_int_equal(size_of(&feeding, mapped), 0x200);
    assert_null(object_of(&feeding, unmapped));
    feeding_free(&feeding);
}

/* A block's end is the end of what is in it; another block at its place holds nothing. */
static void test_block_freed(void **state)
{
    (void)state;
    struct feeding feeding = feeding_new(NULL, ASSIGN_PACKED);
    feed_start(&feeding, PID, 1, false);
    feed_alloc(&feeding, BLOCK, SIZE, 0);
    feed_pool(&feeding, POOL_CREATED, POOL, 0);
    feed_pooled(&feeding, BLOCK, 0x100, POOL);
    uint32_t before = feed_read(&feeding, BLOCK);
    feed_free(&feeding, BLOCK);
    uint32_t freed = feed_read(&feeding, BLOCK);
    feed_alloc(&feeding, BLOCK, 0x40, 0);
    uint32_t again = feed_read(&feeding, BLOCK);
    feed_pool(&feeding, POOL_CLEARED, POOL, 0);
    flow_finish(feeding.flow);
    assert_int_equal(size_of(&feeding, before), 0x100);
    assert_true(object_of(&feeding, before)->end < UINT64_MAX);
    assert_null(object_of(&feeding, freed));
    assert_int_equal(size_of(&feeding, again), 0x40);
    feeding_free(&feeding);
}

static void test_nested_pools(void **state)
{
    (void)state;
    struct feeding feeding = feeding_new(NULL, ASSIGN_PACKED);
    feed_start(&feeding, PID, 1, false);
    feed_alloc(&feeding, BLOCK, SIZE, 0);
    feed_pool(&feeding, POOL_CREATED, POOL, 0);
    feed_pool(&feeding, POOL_CREATED, CHILD, POOL);
    feed_pool(&feeding, POOL_CREATED, GRANDCHILD, CHILD);
    feed_pooled(&feeding, BLOCK, 0x10, POOL);
    feed_pooled(&feeding, BLOCK + 0x100, 0x20, CHILD);
    feed_pooled(&feeding, BLOCK + 0x200, 0x30, GRANDCHILD);
    feed_pool(&feeding, POOL_CLEARED, CHILD, 0);
    uint32_t kept = feed_read(&feeding, BLOCK), cleared = feed_read(&feeding, BLOCK + 0x100),
             below = feed_read(&feeding, BLOCK + 0x200);
    feed_pooled(&feeding, BLOCK + 0x100, 0x40, CHILD); /* a cleared pool goes on */
    uint32_t reused = feed_read(&feeding, BLOCK + 0x100);
    feed_pool(&feeding, POOL_DESTROYED, POOL, 0);
    uint32_t all[] = {feed_read(&feeding, BLOCK), feed_read(&feeding, BLOCK + 0x100)};
    feed_pool(&feeding, POOL_DESTROYED, CHILD, 0); /* has ended already */
    flow_finish(feeding.flow);
    assert_int_equal(size_of(&feeding, kept), 0x10);
    assert_int_equal(size_of(&feeding, cleared), SIZE);
    assert_int_equal(size_of(&feeding, below), SIZE);
    assert_int_equal(size_of(&feeding, reused), 0x40);
    assert_int_equal(size_of(&feeding, all[0]), SIZE);
    assert_int_equal(size_of(&feeding, all[1]), SIZE);
    feeding_free(&feeding);
}

/* A handle that is created again while its pool lives: the end was not seen. One that is used before: it was created
 * unseen, and what is in it stays. */
static void test_unseen(void **state)
{
    (void)state;
    struct feeding feeding = feeding_new(NULL, ASSIGN_PACKED);
    feed_start(&feeding, PID, 1, false);
    feed_pooled(&feeding, BLOCK, 0x10, POOL);
    feed_pool(&feeding, POOL_CREATED, POOL, 0);
    uint32_t early = feed_read(&feeding, BLOCK);
    feed_pool(&feeding, POOL_CREATED, POOL, 0);
    uint32_t late = feed_read(&feeding, BLOCK);
    /* Pools that are each other's parents, and their own: only a damaged trace says so. */
    feed_pool(&feeding, POOL_CREATED, CHILD, GRANDCHILD);
    feed_pool(&feeding, POOL_CREATED, GRANDCHILD, CHILD);
    feed_pool(&feeding, POOL_CREATED, POOL, POOL);
    feed_pooled(&feeding, BLOCK, 0x20, CHILD);
    feed_pool(&feeding, POOL_DESTROYED, GRANDCHILD, 0);
    feed_pool(&feeding, POOL_DESTROYED, UINT64_MAX, UINT64_MAX);
    feed_pooled(&feeding, BLOCK, 0x20, UINT64_MAX);
    flow_finish(feeding.flow);
    assert_int_equal(size_of(&feeding, early), 0x10);
    assert_null(object_of(&feeding, late));
    feeding_free(&feeding);
}

/* Churn in one pool takes no memory: what ended on its own is found by and by. */
static void test_churn(void **state)
{
    (void)state;
    struct feeding feeding = feeding_new(NULL, ASSIGN_PACKED);
    feed_start(&feeding, PID, 1, false);
    feed_pool(&feeding, POOL_CREATED, POOL, 0);
    feed_pooled(&feeding, BLOCK, 0x10, POOL);
    for (unsigned i = 0; i < 100000; i++) {
        feed_pooled(&feeding, BLOCK + 0x100, 0x10, POOL);
        feed_pool(&feeding, POOL_FREED, BLOCK + 0x100, 0);
    }
    assert_true(feeding.flow->records.count < 1000);
    uint32_t kept = feed_read(&feeding, BLOCK);
    feed_pool(&feeding, POOL_CLEARED, POOL, 0);
    for (unsigned i = 0; i < 1000; i++) {
        feed_pooled(&feeding, BLOCK + 0x20 * i, 0x20, POOL);
        if (i % 10 == 9)
            feed_pool(&feeding, POOL_CLEARED, POOL, 0);
    }
    assert_true(feeding.flow->records.count < 1000);
    flow_finish(feeding.flow);
    assert_int_equal(size_of(&feeding, kept), 0x10);
    feeding_free(&feeding);
}

static void test_fork(void **state)
{
    (void)state;
    struct feeding feeding = feeding_new(NULL, ASSIGN_PACKED);
    feed_start(&feeding, PID, 1, false);
    feed_pool(&feeding, POOL_CREATED, POOL, 0);
    feed_pooled(&feeding, BLOCK, 0x10, POOL);
    feed_start(&feeding, PID + 1, PID, true);
    feed_pooled(&feeding, BLOCK + 0x100, 0x20, POOL); /* the parent's alone */
    feeding.pid = feeding.tid = PID + 1;
    uint32_t inherited = feed_read(&feeding, BLOCK), not_mine = feed_read(&feeding, BLOCK + 0x100);
    feed_pooled(&feeding, BLOCK + 0x200, 0x30, POOL);
    feed_pool(&feeding, POOL_DESTROYED, POOL, 0);
    uint32_t ended = feed_read(&feeding, BLOCK), own = feed_read(&feeding, BLOCK + 0x200);
    feeding.pid = feeding.tid = PID;
    uint32_t still = feed_read(&feeding, BLOCK), mine = feed_read(&feeding, BLOCK + 0x100);
    feed_pool(&feeding, POOL_CLEARED, POOL, 0);
    uint32_t freed = feed_read(&feeding, BLOCK);
    flow_finish(feeding.flow);
    assert_int_equal(size_of(&feeding, inherited), 0x10);
    assert_null(object_of(&feeding, not_mine));
    assert_null(object_of(&feeding, ended));
    assert_null(object_of(&feeding, own));
    assert_int_equal(size_of(&feeding, still), 0x10);
    assert_int_equal(size_of(&feeding, mine), 0x20);
    assert_null(object_of(&feeding, freed));
    feeding_free(&feeding);
}

/* The site shows through which function. */
static void test_names(void **state)
{
    (void)state;
    struct feeding feeding = feeding_new(NULL, ASSIGN_PACKED);
    array_push(&feeding.flow->custom, "their_alloc");
    feed_start(&feeding, PID, 1, false);
    feed_stack(&feeding, 1, 2, (const uint64_t[]){0x1234, 0x5678});
    feed(&feeding, (struct event){.kind = EVENT_POOL_ALLOC,
                                  .alloc = {.addr = BLOCK, .size = 8, .stack = 1, .fn = ALLOC_CUSTOM_FIRST}});
    uint32_t sample = feed_read(&feeding, BLOCK);
    feed_pooled(&feeding, BLOCK + 64, 8, 0);
    uint32_t bare = feed_read(&feeding, BLOCK + 64);
    flow_finish(feeding.flow);
    const struct flow_object *object = object_of(&feeding, sample);
    assert_string_equal(object->alloc_name, "their_alloc");
    assert_string_equal(flow_site(feeding.flow, object->site)->via, "their_alloc");
    assert_int_equal(flow_site(feeding.flow, object->site)->alloc_fn, ALLOC_CUSTOM);
    assert_non_null(strstr(object_of(&feeding, bare)->name, "their_alloc"));
    feeding_free(&feeding);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inside_wins), cmocka_unit_test(test_block_freed), cmocka_unit_test(test_nested_pools),
        cmocka_unit_test(test_unseen),      cmocka_unit_test(test_churn),       cmocka_unit_test(test_fork),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
