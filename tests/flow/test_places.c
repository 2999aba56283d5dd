/* Which object wins where several overlap: stacks on maps, thread-local blocks, the kernel's pages, files. */
#include "feeding.h"

static const uint64_t chain[] = {0x5000};

static struct feeding begin(void)
{
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    feed_start(&f, PID, 1, false);
    feed_stack(&f, 1, 1, chain);
    return f;
}

static void a_thread_runs_on_what_the_program_made(void **state)
{
    (void)state;
    struct feeding f = begin();
    feed_map(&f, 0x100000, 0x40000, MAP_KIND_STACK, 1, ""); /* with MAP_STACK, for a thread */
    feed_map(&f, 0x200000, 0x40000, MAP_KIND_STACK, 1, ""); /* for a coroutine */
    feed_alloc(&f, 0x300000, 0x10000, 1);                   /* malloc'd, for a thread */
    uint32_t before = feed_read(&f, 0x13ff00);
    feed_thread(&f, 101, "on a map", 0x100000, 0x140000);
    feed_thread(&f, 102, "on the heap", 0x300000, 0x310000);
    uint32_t on_map = feed_read(&f, 0x13ff00), coroutine = feed_read(&f, 0x23ff00), on_heap = feed_read(&f, 0x30ff00);
    feed(&f, (struct event){.kind = EVENT_THREAD_EXIT, .tid = 101});
    uint32_t after = feed_read(&f, 0x13ff00);
    feed_map(&f, 0x400000, 0x10000, MAP_KIND_ANONYMOUS, 1, "");
    feed_thread(&f, 103, "below", 0x400000, 0x420000);
    feed_map(&f, 0x400000, 0x10000, MAP_KIND_ANONYMOUS, 1, ""); /* made later, over its stack's range */
    uint32_t later = feed_read(&f, 0x400000);
    flow_finish(f.flow);
    assert_int_equal(object_of(&f, before)->kind, OBJECT_MAP);
    assert_true(object_of(&f, before)->site != FLOW_NONE);
    assert_int_equal(object_of(&f, on_map)->kind, OBJECT_STACK);
    assert_string_equal(flow_thread(f.flow, object_of(&f, on_map)->alloc_thread)->name, "on a map");
    assert_int_equal(object_of(&f, coroutine)->kind, OBJECT_MAP);
    assert_int_equal(object_of(&f, on_heap)->kind, OBJECT_STACK);
    assert_ptr_equal(object_of(&f, after), object_of(&f, before));
    assert_int_equal(object_of(&f, later)->kind, OBJECT_MAP);
    feeding_free(&f);
}

static void feed_module(struct feeding *f, uint64_t start, uint64_t end, const char *path)
{
    feed(f, (struct event){.kind = EVENT_MODULE_LOAD,
                           .module = {.start = start, .end = end, .bias = start, .path = path}});
}

static void feed_locals(struct feeding *f, uint64_t addr, uint64_t size, uint64_t module)
{
    feed(f, (struct event){
                .kind = EVENT_MAP,
                .map = {.addr = addr, .size = size, .offset = module, .map_kind = MAP_KIND_THREAD_LOCAL, .path = ""}});
}

static void each_thread_has_its_own_block(void **state)
{
    (void)state;
    struct feeding f = begin();
    feed_module(&f, 0x10000, 0x20000, "/lib/none.so");
    feed_thread(&f, 101, "one", 0x700000, 0x800000);
    f.tid = 101;
    feed_locals(&f, 0x7ff000, 0x100, 0x10000);
    uint32_t one = feed_read(&f, 0x7ff010), beside = feed_read(&f, 0x7ff100);
    f.tid = PID;
    uint32_t from_main = feed_read(&f, 0x7ff0ff);
    feed(&f, (struct event){.kind = EVENT_THREAD_EXIT, .tid = 101});
    uint32_t over = feed_read(&f, 0x7ff010);
    feed_thread(&f, 102, "two", 0x700000, 0x800000); /* on the same stack */
    f.tid = 102;
    feed_locals(&f, 0x7ff000, 0x100, 0x10000);
    uint32_t two = feed_read(&f, 0x7ff010);
    feed_locals(&f, 0x7fe000, 0x100, 0xbad0000); /* of no module */
    uint32_t none = feed_read(&f, 0x7fe000);
    feed_start(&f, 200, PID, true);
    f.pid = f.tid = 200;
    uint32_t child = feed_read(&f, 0x7ff010);
    f.pid = PID;
    feed(&f, (struct event){.kind = EVENT_THREAD_EXIT, .tid = 102});
    f.pid = f.tid = 200;
    uint32_t orphan = feed_read(&f, 0x7ff018);
    flow_finish(f.flow);
    assert_string_equal(object_of(&f, one)->name, "none.so thread-local data");
    assert_int_equal(object_of(&f, one)->kind, OBJECT_SECTION);
    assert_int_equal(object_of(&f, one)->size, 0x100);
    assert_string_equal(flow_thread(f.flow, object_of(&f, one)->alloc_thread)->name, "one");
    assert_int_equal(object_of(&f, beside)->kind, OBJECT_STACK);
    assert_ptr_equal(object_of(&f, from_main), object_of(&f, one));
    assert_int_equal(object_of(&f, over)->kind, OBJECT_STACK);
    assert_true(object_of(&f, two) != object_of(&f, one));
    assert_string_equal(flow_thread(f.flow, object_of(&f, two)->alloc_thread)->name, "two");
    assert_int_equal(object_of(&f, none)->kind, OBJECT_STACK);
    assert_int_equal(object_of(&f, child)->process, 1);
    assert_int_equal(object_of(&f, child)->kind, OBJECT_SECTION);
    assert_ptr_equal(object_of(&f, orphan), object_of(&f, child));
    feeding_free(&f);
}

static void the_kernel_may_lie_between_segments(void **state)
{
    (void)state;
    struct feeding f = begin();
    feed_map(&f, 0x14000, 0x2000, MAP_KIND_OTHER, 0, "[vvar]");
    feed_map(&f, 0x18000, 0x1000, MAP_KIND_ANONYMOUS, 0, "");
    feed_module(&f, 0x10000, 0x20000, "/lib/none.so");
    uint32_t kernel = feed_read(&f, 0x14800), gap = feed_read(&f, 0x11000), anonymous = feed_read(&f, 0x18000);
    flow_finish(f.flow);
    assert_string_equal(object_of(&f, kernel)->name, "[vvar]");
    assert_int_equal(object_of(&f, kernel)->kind, OBJECT_MAP);
    assert_string_equal(object_of(&f, gap)->name, "none.so");
    assert_int_equal(object_of(&f, anonymous)->kind, OBJECT_SECTION);
    feeding_free(&f);
}

static void what_nobody_asked_for_fills_gaps(void **state)
{
    (void)state;
    struct feeding f = begin();
    feed_map(&f, 0x100000, 0x10000, MAP_KIND_ANONYMOUS, 1, ""); /* asked for */
    feed_alloc(&f, 0x130100, 64, 1);
    feed_map(&f, 0xf0000, 0x40000, MAP_KIND_ANONYMOUS, 0, ""); /* as the kernel reports it: one with its neighbours */
    feed_map(&f, 0x130000, 0x1000, MAP_KIND_ANONYMOUS, 0, "");
    uint32_t before = feed_read(&f, 0xf0000), asked = feed_read(&f, 0x100000), behind = feed_read(&f, 0x110000);
    uint32_t arena = feed_read(&f, 0x130000), block = feed_read(&f, 0x130100);
    feed_map(&f, 0x130000, 0x3000, MAP_KIND_ANONYMOUS, 0, ""); /* the arena has grown */
    uint32_t grown = feed_read(&f, 0x132000);
    feed_map(&f, 0x131000, 0x1000, MAP_KIND_FILE, 1, "/data/file"); /* asked for: over it */
    uint32_t file = feed_read(&f, 0x131000), still = feed_read(&f, 0x132000);
    feed_unmap(&f, 0x130000, 0x3000);
    uint32_t freed = feed_read(&f, 0x132000);
    feed_map(&f, 0x500000, 0x1000, MAP_KIND_BRK, 0, "");
    feed_map(&f, 0x500000, 0x4000, MAP_KIND_BRK, 0, "[heap]"); /* all of it again, grown */
    uint32_t end_of_break = feed_read(&f, 0x503000);
    flow_finish(f.flow);
    assert_string_equal(object_of(&f, before)->name, "[anonymous]");
    assert_ptr_equal(object_of(&f, behind), object_of(&f, before));
    assert_true(object_of(&f, asked)->site != FLOW_NONE);
    assert_int_equal(object_of(&f, asked)->size, 0x10000);
    assert_true(object_of(&f, asked)->end == UINT64_MAX);
    assert_string_equal(object_of(&f, arena)->name, "[arena]");
    const struct flow_arena_site *next_to; /* the one block that is there, whichever side of the sample it is on */
    assert_int_equal(flow_arena_sites(f.flow, &next_to), 1);
    assert_int_equal(next_to->object, object_of(&f, arena)->id);
    assert_int_equal(next_to->site, object_of(&f, block)->site);
    assert_int_equal(next_to->samples, 3);
    assert_int_equal(object_of(&f, block)->kind, OBJECT_HEAP);
    assert_ptr_equal(object_of(&f, grown), object_of(&f, arena));
    assert_int_equal(object_of(&f, arena)->size, 0x3000);
    assert_int_equal(object_of(&f, file)->kind, OBJECT_FILE);
    assert_ptr_equal(object_of(&f, still), object_of(&f, arena));
    assert_null(object_of(&f, freed));
    assert_true(object_of(&f, arena)->end != UINT64_MAX);
    assert_string_equal(object_of(&f, end_of_break)->name, "[heap]");
    assert_int_equal(object_of(&f, end_of_break)->size, 0x4000);
    feeding_free(&f);
}

static void feed_file(struct feeding *f, uint64_t addr, uint64_t size, uint64_t offset, const char *path)
{
    feed(f,
         (struct event){
             .kind = EVENT_MAP,
             .map = {
                 .addr = addr, .size = size, .offset = offset, .stack = 1, .map_kind = MAP_KIND_FILE, .path = path}});
}

static void parts_of_files_are_distinguished(void **state)
{
    (void)state;
    struct feeding f = begin();
    feed_file(&f, 0x100000, 0x10000, 0, "/data/file");
    feed_file(&f, 0x200000, 0x10000, 0x30000, "/data/file");
    uint32_t front = feed_read(&f, 0x100000), back = feed_read(&f, 0x200000);
    feed_unmap(&f, 0x100000, 0x10000);
    uint32_t unmapped = feed_read(&f, 0x100000);
    feed_file(&f, 0x100000, 0x10000, 0x10000, "/data/file");
    uint32_t again = feed_read(&f, 0x100000);
    flow_finish(f.flow);
    assert_int_equal(object_of(&f, front)->offset, 0);
    assert_int_equal(object_of(&f, back)->offset, 0x30000);
    assert_int_equal(object_of(&f, again)->offset, 0x10000);
    assert_string_equal(object_of(&f, again)->name, "/data/file");
    assert_null(object_of(&f, unmapped));
    assert_true(object_of(&f, front)->end < object_of(&f, again)->start);
    assert_true(object_of(&f, back)->end == UINT64_MAX);
    feeding_free(&f);
}

/* Main touches a block; a worker uses it; then its map is reported by the kernel, and reported again in another size. */
static void a_late_word_of_a_map_moves_no_page(void **state)
{
    (void)state;
    struct feeding f = feeding_new("numa:2 core:1", ASSIGN_PACKED);
    feed_start(&f, PID, 1, false);
    feed_thread(&f, 101, "worker", 0, 0);
    feed_stack(&f, 1, 1, chain);
    enum { BLOCK = 0x40000000, BYTES = 0x600000 };
    feed_alloc(&f, BLOCK + 16, BYTES, 1);
    for (unsigned page = 0; page < BYTES / 0x1000; page++)
        feed_touch(&f, BLOCK + page * 0x1000);
    f.tid = 101;
    feed_map(&f, BLOCK, BYTES + 0x1000, MAP_KIND_ANONYMOUS, 0, "");
    feed_read(&f, BLOCK + 0x200000);
    feed_map(&f, BLOCK - 0x10000, BYTES + 0x20000, MAP_KIND_ANONYMOUS, 0, ""); /* one with a new neighbour */
    uint32_t read = feed_read(&f, BLOCK + 0x201000);
    flow_finish(f.flow);
    assert_int_equal(object_of(&f, read)->totals.home_known, 2);
    assert_int_equal(object_of(&f, read)->totals.remote, 2);
    feeding_free(&f);
}

/* A thread's accesses to one block, one after the other, while parts of it become something else. */
static void a_block_is_found_again_as_it_is_then(void **state)
{
    enum { BLOCK = 0x300000, SIZE = 0x40000 };
    (void)state;
    struct feeding f = begin();
    feed_module(&f, 0x1000, 0x2000, "/no/such/library.so");
    feed_alloc(&f, BLOCK, SIZE, 1);
    uint32_t first = feed_read(&f, BLOCK), again = feed_read(&f, BLOCK + 0x20000);
    feed_thread(&f, 101, "on the heap", BLOCK + 0x20000, BLOCK + 0x30000);
    uint32_t beside = feed_read(&f, BLOCK), on_stack = feed_read(&f, BLOCK + 0x20000);
    feed(&f, (struct event){.kind = EVENT_THREAD_EXIT, .tid = 101});
    uint32_t after = feed_read(&f, BLOCK + 0x20000);
    feed_locals(&f, BLOCK + 0x1000, 0x100, 0x1000);
    uint32_t around = feed_read(&f, BLOCK), local = feed_read(&f, BLOCK + 0x1010);
    feed_free(&f, BLOCK);
    feed_alloc(&f, BLOCK, 0x100, 1);
    uint32_t small = feed_read(&f, BLOCK), freed = feed_read(&f, BLOCK + 0x10000);
    flow_finish(f.flow);
    const struct flow_object *block = object_of(&f, first);
    assert_int_equal(block->size, SIZE);
    assert_ptr_equal(object_of(&f, again), block);
    assert_ptr_equal(object_of(&f, beside), block);
    assert_int_equal(object_of(&f, on_stack)->kind, OBJECT_STACK);
    assert_ptr_equal(object_of(&f, after), block);
    assert_ptr_equal(object_of(&f, around), block);
    assert_int_equal(object_of(&f, local)->kind, OBJECT_SECTION);
    assert_int_equal(object_of(&f, small)->size, 0x100);
    assert_null(object_of(&f, freed));
    feeding_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_runs_on_what_the_program_made), cmocka_unit_test(each_thread_has_its_own_block),
        cmocka_unit_test(the_kernel_may_lie_between_segments),    cmocka_unit_test(what_nobody_asked_for_fills_gaps),
        cmocka_unit_test(parts_of_files_are_distinguished),       cmocka_unit_test(a_late_word_of_a_map_moves_no_page),
        cmocka_unit_test(a_block_is_found_again_as_it_is_then),
    };
    return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
