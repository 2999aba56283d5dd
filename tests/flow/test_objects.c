/* What lives where and when: the flow builder fed with events whose right answer is known. */
#include "feeding.h"

static void an_address_is_reused_in_time(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    feed_start(&f, PID, 1, false);
    feed_alloc(&f, 0x1000, 64, 0);
    uint32_t first = feed_read(&f, 0x1000);
    uint64_t then = f.time;
    feed_free(&f, 0x1000);
    uint32_t between = feed_read(&f, 0x1000);
    feed_alloc(&f, 0x1000, 32, 0);
    uint32_t second = feed_read(&f, 0x1010);
    flow_finish(f.flow);

    assert_int_equal(flow_sampled_object_count(f.flow), 2);
    assert_int_equal(object_of(&f, first)->size, 64);
    assert_int_equal(object_of(&f, second)->size, 32);
    assert_null(object_of(&f, between));
    assert_true(object_of(&f, first)->end < object_of(&f, second)->start);
    assert_true(object_of(&f, second)->end == UINT64_MAX);
    assert_ptr_equal(flow_object_at(f.flow, 0, 0x1010, then), object_of(&f, first));
    assert_ptr_equal(flow_object_at(f.flow, 0, 0x1010, f.time), object_of(&f, second));
    assert_null(flow_object_at(f.flow, 0, 0x1030, f.time));
    const char *const *reasons;
    const uint64_t *counts;
    assert_int_equal(flow_unattributed(f.flow, &reasons, &counts), 1);
    assert_string_equal(reasons[0], "memory freed just before");
    assert_int_equal(counts[0], 1);
    assert_int_equal(flow_attributed(f.flow), 2);
    feeding_free(&f);
}

static void edges_of_a_block(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    feed_alloc(&f, 0x1000, 0x100, 0);
    feed_alloc(&f, 0x1100, 0x40, 0); /* right behind it */
    feed_alloc(&f, 0x2000, 0, 0);    /* malloc(0) holds nothing */
    feed_alloc(&f, 0x100000000, 1ul << 40, 0);
    uint32_t start = feed_read(&f, 0x1000), inside = feed_read(&f, 0x10ff), behind = feed_read(&f, 0x1100);
    uint32_t past = feed_read(&f, 0x1140), nothing = feed_read(&f, 0x2000);
    uint32_t huge = feed_read(&f, 0x100000000 + (1ul << 40) - 1), past_huge = feed_read(&f, 0x100000000 + (1ul << 40));
    uint32_t header = feed_read(&f, 0x1ff8), kernel = feed_read(&f, 0xffff800000000000);
    flow_finish(f.flow);
    assert_int_equal(object_of(&f, start)->addr, 0x1000);
    assert_ptr_equal(object_of(&f, inside), object_of(&f, start));
    assert_int_equal(object_of(&f, behind)->addr, 0x1100);
    assert_null(object_of(&f, past));
    assert_null(object_of(&f, nothing));
    assert_int_equal(object_of(&f, huge)->size, 1ul << 40);
    assert_null(object_of(&f, past_huge));
    assert_null(object_of(&f, header));
    assert_null(object_of(&f, kernel));
    assert_int_equal(f.flow->reasons[REASON_KERNEL], 1);
    assert_int_equal(f.flow->reasons[REASON_METADATA], 2); /* beside malloc(0), and at it */
    assert_int_equal(f.flow->reasons[REASON_NO_MAP], 2);
    feeding_free(&f);
}

static void realloc_splits_a_life(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    feed_alloc(&f, 0x1000, 64, 0);
    uint32_t before = feed_read(&f, 0x1000);
    /* In place with one time stamp, the new block before the old one's end: that is how a reader sorts them. */
    uint64_t now = ++f.time;
    feed(&f,
         (struct event){.kind = EVENT_ALLOC, .time = now, .alloc = {.addr = 0x1000, .size = 128, .fn = ALLOC_REALLOC}});
    feed(&f, (struct event){.kind = EVENT_FREE, .time = now, .free = {.addr = 0x1000, .fn = ALLOC_REALLOC}});
    uint32_t after = feed_read(&f, 0x1070);
    /* Moved. */
    feed_free(&f, 0x1000);
    feed_alloc(&f, 0x8000, 256, 0);
    uint32_t moved = feed_read(&f, 0x8000);
    flow_finish(f.flow);
    assert_int_equal(object_of(&f, before)->size, 64);
    assert_int_equal(object_of(&f, before)->end, now);
    assert_int_equal(object_of(&f, after)->size, 128);
    assert_int_equal(object_of(&f, after)->alloc_fn, ALLOC_REALLOC);
    assert_true(object_of(&f, after)->end != UINT64_MAX);
    assert_int_equal(object_of(&f, moved)->size, 256);
    feeding_free(&f);
}

static void a_lost_release_is_noticed(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    feed_alloc(&f, 0x1000, 0x1000, 0);
    uint32_t old = feed_read(&f, 0x1800);
    feed_alloc(&f, 0x1400, 0x100, 0); /* inside it: so its release was lost */
    uint32_t young = feed_read(&f, 0x1400), freed = feed_read(&f, 0x1800);
    feed_alloc(&f, 0x1200, 0x1000, 0); /* over both ends */
    uint32_t over = feed_read(&f, 0x1410);
    feed_free(&f, 0x1000); /* unknown by now */
    flow_finish(f.flow);
    assert_int_equal(object_of(&f, old)->size, 0x1000);
    assert_true(object_of(&f, old)->end != UINT64_MAX);
    assert_int_equal(object_of(&f, young)->size, 0x100);
    assert_null(object_of(&f, freed));
    assert_int_equal(object_of(&f, over)->addr, 0x1200);
    assert_int_equal(flow_site(f.flow, 0)->count, 3);
    assert_int_equal(flow_site(f.flow, 0)->live_peak, 1);
    feeding_free(&f);
}

static void another_thread_frees(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    feed_start(&f, PID, 1, false);
    feed_thread(&f, 101, "maker", 0, 0);
    feed_thread(&f, 102, "user", 0, 0);
    f.tid = 101;
    feed_alloc(&f, 0x1000, 64, 0);
    f.tid = 102;
    uint32_t sample = feed_access(&f, 0x1008, 7, SAMPLE_WRITE, 50);
    feed_free(&f, 0x1000);
    flow_finish(f.flow);
    const struct flow_object *object = object_of(&f, sample);
    assert_string_equal(flow_thread(f.flow, object->alloc_thread)->name, "maker");
    assert_int_equal(object->alloc_cpu, 3);
    assert_true(object->end != UINT64_MAX);
    assert_int_equal(flow_thread_count(f.flow), 3);
    assert_int_equal(flow_thread(f.flow, 2)->totals.writes, 1);
    assert_int_equal(flow_thread(f.flow, 2)->totals.latency_sum, 50);
    assert_int_equal(flow_thread(f.flow, 1)->totals.samples, 0);
    feeding_free(&f);
}

static void unsampled_objects_fold_into_their_site(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    uint64_t frames[] = {0x5000, 0x6000};
    feed_stack(&f, 1, 2, frames);
    for (unsigned i = 0; i < 10000; i++) {
        feed_alloc(&f, 0x100000 + i % 10 * 64, 32, 1);
        if (i >= 5)
            feed_free(&f, 0x100000 + (i - 5) % 10 * 64);
    }
    feed_read(&f, 0x100000 + 9999 % 10 * 64);
    flow_finish(f.flow);
    assert_int_equal(flow_sampled_object_count(f.flow), 1);
    assert_int_equal(flow_object_count(f.flow), 5);
    assert_true(f.flow->records.count <= 8);
    assert_int_equal(flow_site_count(f.flow), 1);
    assert_int_equal(flow_site(f.flow, 0)->count, 10000);
    assert_int_equal(flow_site(f.flow, 0)->live_peak, 6);
    assert_int_equal(flow_site(f.flow, 0)->bytes, 320000);
    assert_int_equal(flow_site(f.flow, 0)->peak_bytes, 6 * 32);
    assert_int_equal(flow_site(f.flow, 0)->totals.samples, 1);
    feeding_free(&f);
}

static void maps_have_holes_and_overlap(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    uint64_t frames[] = {0x5000};
    feed_stack(&f, 1, 1, frames);
    feed_map(&f, 0x100000, 0x10000, MAP_KIND_ANONYMOUS, 1, "");
    feed_unmap(&f, 0x104000, 0x2000);
    uint32_t left = feed_read(&f, 0x103fff), hole = feed_read(&f, 0x104000), right = feed_read(&f, 0x106000);
    feed_map(&f, 0x108000, 0x4000, MAP_KIND_FILE, 1, "/data/file"); /* MAP_FIXED over a part */
    uint32_t file = feed_read(&f, 0x109000), beyond = feed_read(&f, 0x10c000);
    feed_alloc(&f, 0x101000, 0x100, 0); /* a block in the map wins over it */
    uint32_t block = feed_read(&f, 0x101010), beside = feed_read(&f, 0x101100);
    feed_unmap(&f, 0x0, 0x104000);
    feed_unmap(&f, 0x106000, 0x2000);
    uint64_t before_last = f.time;
    feed_unmap(&f, 0x10c000, 0x100000);
    flow_finish(f.flow);
    assert_int_equal(object_of(&f, left)->kind, OBJECT_MAP);
    assert_int_equal(object_of(&f, left)->size, 0x10000);
    assert_null(object_of(&f, hole));
    assert_ptr_equal(object_of(&f, right), object_of(&f, left));
    assert_int_equal(object_of(&f, file)->kind, OBJECT_FILE);
    assert_string_equal(object_of(&f, file)->name, "/data/file");
    assert_ptr_equal(object_of(&f, beyond), object_of(&f, left));
    assert_int_equal(object_of(&f, block)->kind, OBJECT_HEAP);
    assert_ptr_equal(object_of(&f, beside), object_of(&f, left));
    assert_true(object_of(&f, left)->end > before_last && object_of(&f, left)->end != UINT64_MAX);
    assert_true(object_of(&f, file)->end == UINT64_MAX);
    feeding_free(&f);
}

static void the_break_grows(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    feed_map(&f, 0x100000, 0x21000, MAP_KIND_BRK, 0, "");
    feed_alloc(&f, 0x100010, 0x100, 0);
    uint32_t block = feed_read(&f, 0x100020), rest = feed_read(&f, 0x110000);
    feed_map(&f, 0x121000, 0x21000, MAP_KIND_BRK, 0, "");
    uint32_t grown = feed_read(&f, 0x130000);
    feed_map(&f, 0x900000, 0x1000, MAP_KIND_ANONYMOUS, 0, "");
    uint32_t anonymous = feed_read(&f, 0x900000);
    flow_finish(f.flow);
    assert_int_equal(object_of(&f, block)->kind, OBJECT_HEAP);
    assert_string_equal(object_of(&f, rest)->name, "[heap]");
    assert_int_equal(object_of(&f, rest)->kind, OBJECT_MAP);
    assert_ptr_equal(object_of(&f, grown), object_of(&f, rest));
    assert_int_equal(object_of(&f, rest)->size, 0x42000);
    assert_string_equal(object_of(&f, anonymous)->name, "[anonymous]");
    feeding_free(&f);
}

static void stacks_belong_to_threads(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    feed_start(&f, PID, 1, false);
    feed_thread(&f, PID, "main", 0x7fff00000000, 0x7fff00021000);
    feed_thread(&f, 101, "worker", 0x200000, 0x300000);
    uint32_t main_stack = feed_read(&f, 0x7fff00020000);
    uint32_t grown = feed_read(&f, 0x7fff00021000 - (4 << 20)); /* the main stack grows */
    uint32_t worker = feed_read(&f, 0x2fffff), past = feed_read(&f, 0x300000);
    feed(&f, (struct event){.kind = EVENT_THREAD_EXIT, .tid = 101});
    feed_thread(&f, 102, "next", 0x200000, 0x300000); /* the stack is used again */
    uint32_t next = feed_read(&f, 0x2fffff);
    feed_alloc(&f, 0x280000, 64, 0);
    uint32_t block = feed_read(&f, 0x280000); /* a block there is a block */
    flow_finish(f.flow);
    assert_int_equal(object_of(&f, main_stack)->kind, OBJECT_STACK);
    assert_ptr_equal(object_of(&f, grown), object_of(&f, main_stack));
    assert_int_equal(flow_thread(f.flow, object_of(&f, worker)->alloc_thread)->tid, 101);
    assert_int_equal(flow_thread(f.flow, object_of(&f, next)->alloc_thread)->tid, 102);
    assert_string_equal(object_of(&f, next)->name, "stack");
    assert_null(object_of(&f, past));
    assert_int_equal(object_of(&f, block)->kind, OBJECT_HEAP);
    feeding_free(&f);
}

static void a_fork_inherits_and_goes_its_way(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    uint64_t frames[] = {0x5000};
    feed_start(&f, PID, 1, false);
    feed_stack(&f, 1, 1, frames);
    feed_thread(&f, PID, "main", 0x700000, 0x800000);
    feed_map(&f, 0x300000, 0x4000, MAP_KIND_ANONYMOUS, 1, "");
    feed_alloc(&f, 0x1000, 64, 1);
    feed_alloc(&f, 0x2000, 64, 1);
    feed_start(&f, 200, PID, true);
    feed_free(&f, 0x1000); /* by the parent */
    feed_alloc(&f, 0x1000, 32, 1);
    uint32_t parent = feed_read(&f, 0x1010);
    f.pid = f.tid = 200;
    uint32_t child = feed_read(&f, 0x1030), child_again = feed_read(&f, 0x1000);
    uint32_t child_map = feed_read(&f, 0x300000), child_stack = feed_read(&f, 0x7fffff);
    feed_free(&f, 0x2000);
    uint32_t child_freed = feed_read(&f, 0x2000);
    feed_alloc(&f, 0x9000, 16, 1); /* by the parent's chain number */
    uint32_t own = feed_read(&f, 0x9000);
    feed_unmap(&f, 0x300000, 0x4000);
    feed_exit(&f, 200);
    f.pid = f.tid = PID;
    uint32_t still = feed_read(&f, 0x2000), still_mapped = feed_read(&f, 0x300000);
    flow_finish(f.flow);

    assert_int_equal(object_of(&f, parent)->size, 32);
    assert_int_equal(object_of(&f, parent)->process, 0);
    assert_int_equal(object_of(&f, child)->size, 64);
    assert_int_equal(object_of(&f, child)->process, 1);
    assert_true(object_of(&f, child)->end == UINT64_MAX);
    assert_ptr_equal(object_of(&f, child_again), object_of(&f, child));
    assert_int_equal(object_of(&f, child_map)->process, 1);
    assert_true(object_of(&f, child_map)->end != UINT64_MAX);
    assert_int_equal(object_of(&f, child_stack)->kind, OBJECT_STACK);
    assert_int_equal(object_of(&f, child_stack)->process, 1);
    assert_null(object_of(&f, child_freed));
    assert_int_equal(object_of(&f, still)->process, 0);
    assert_int_equal(object_of(&f, still_mapped)->process, 0);
    assert_true(object_of(&f, still_mapped)->end == UINT64_MAX);
    assert_int_equal(object_of(&f, own)->site, object_of(&f, parent)->site);
    assert_int_equal(flow_site(f.flow, object_of(&f, own)->site)->count, 5); /* copies are no new instances */
    assert_int_equal(flow_process(f.flow, 1)->exit_status, 0);
    assert_string_equal(flow_process(f.flow, 1)->command, "it");
    feeding_free(&f);
}

static void an_exec_starts_afresh(void **state)
{
    (void)state;
    struct feeding f = feeding_new("numa:2 core:1", ASSIGN_PACKED);
    feed_start(&f, PID, 1, false);
    feed_alloc(&f, 0x1000, 64, 0);
    uint32_t old = feed_read(&f, 0x1000);
    feed_start(&f, PID, 1, false);
    uint32_t freed = feed_read(&f, 0x1000);
    feed_alloc(&f, 0x1000, 64, 0);
    uint32_t young = feed_read(&f, 0x1000);
    feed_thread(&f, 101, "second", 0, 0);
    flow_finish(f.flow);
    assert_int_equal(flow_process_count(f.flow), 2);
    assert_null(object_of(&f, freed));
    assert_true(object_of(&f, old) != object_of(&f, young));
    assert_int_equal(object_of(&f, young)->process, 1);
    /* The thread that calls exec stays where it was assigned; the next one gets the next CPU. */
    assert_int_equal(flow_thread(f.flow, 0)->ordinal, 0);
    assert_int_equal(flow_thread(f.flow, 1)->ordinal, 0);
    assert_int_equal(flow_thread(f.flow, 2)->ordinal, 1);
    feeding_free(&f);
}

static void numbers_of_threads_come_again(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    feed_start(&f, PID, 1, false);
    feed_thread(&f, 101, "one", 0, 0);
    feed_alloc(&f, 0x1000, 64, 0);
    f.tid = 101;
    feed_read(&f, 0x1000);
    uint64_t then = f.time;
    feed(&f, (struct event){.kind = EVENT_THREAD_EXIT});
    feed_thread(&f, 101, "two", 0, 0);
    feed(&f, (struct event){.kind = EVENT_THREAD_NAME, .thread = {.name = "renamed"}});
    feed_read(&f, 0x1000);
    feed_read(&f, 0x1000);
    flow_finish(f.flow);
    assert_int_equal(flow_thread_count(f.flow), 3);
    assert_string_equal(flow_thread(f.flow, 1)->name, "one");
    assert_int_equal(flow_thread(f.flow, 1)->totals.samples, 1);
    assert_string_equal(flow_thread(f.flow, 2)->name, "renamed");
    assert_int_equal(flow_thread(f.flow, 2)->totals.samples, 2);
    assert_int_equal(live_thread_at(f.flow, PID, 101, then), 1);
    assert_int_equal(live_thread_at(f.flow, PID, 101, f.time), 2);
    feeding_free(&f);
}

static void losses_are_counted(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    feed(&f, (struct event){.kind = EVENT_LOSS, .loss = {.cause = LOSS_RING_FULL, .count = 3}});
    feed(&f, (struct event){.kind = EVENT_LOSS, .loss = {.cause = LOSS_RING_FULL, .count = 4}});
    feed(&f, (struct event){.kind = EVENT_LOSS, .loss = {.cause = 255, .count = 4}});
    flow_finish(f.flow);
    assert_int_equal(flow_losses(f.flow)[LOSS_RING_FULL], 7);
    assert_int_equal(flow_start(f.flow), 0);
    feeding_free(&f);
}

/* Events that no sane program sends must not hurt. */
static void nonsense_does_no_harm(void **state)
{
    (void)state;
    struct feeding f = feeding_new("numa:2 core:1", ASSIGN_PACKED);
    feed_alloc(&f, UINT64_MAX - 8, 64, 77);
    feed_alloc(&f, 0, 64, 0);
    feed_free(&f, UINT64_MAX);
    feed_map(&f, UINT64_MAX - 100, UINT64_MAX, MAP_KIND_FILE, 9, "x");
    feed_map(&f, 0x1000, 0, 99, 0, NULL);
    feed_unmap(&f, UINT64_MAX, UINT64_MAX);
    feed_unmap(&f, 0, UINT64_MAX);
    feed_start(&f, PID, PID, true);
    feed_start(&f, 7, 8, true);
    feed_thread(&f, 9, NULL, 100, 50);
    feed(&f, (struct event){.kind = EVENT_MODULE_LOAD, .module = {.start = 10, .end = 5, .path = NULL}});
    feed(&f, (struct event){.kind = EVENT_MODULE_LOAD, .module = {.start = 0, .end = UINT64_MAX, .path = "/no/such"}});
    feed(&f, (struct event){.kind = EVENT_MODULE_UNLOAD, .module = {.start = 99}});
    feed_home(&f, UINT64_MAX - 10, 1ul << 50, 1);
    feed_touch(&f, UINT64_MAX);
    feed_read(&f, UINT64_MAX);
    feed_read(&f, 5);
    feed_exit(&f, 12345);
    feed(&f, (struct event){.kind = 200});
    flow_finish(f.flow);
    assert_int_equal(flow_totals(f.flow).samples, 2);
    feeding_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_reused_in_time), cmocka_unit_test(edges_of_a_block),
        cmocka_unit_test(realloc_splits_a_life),        cmocka_unit_test(a_lost_release_is_noticed),
        cmocka_unit_test(another_thread_frees),         cmocka_unit_test(unsampled_objects_fold_into_their_site),
        cmocka_unit_test(maps_have_holes_and_overlap),  cmocka_unit_test(the_break_grows),
        cmocka_unit_test(stacks_belong_to_threads),     cmocka_unit_test(a_fork_inherits_and_goes_its_way),
        cmocka_unit_test(an_exec_starts_afresh),        cmocka_unit_test(numbers_of_threads_come_again),
        cmocka_unit_test(losses_are_counted),           cmocka_unit_test(nonsense_does_no_harm),
    };
    return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
