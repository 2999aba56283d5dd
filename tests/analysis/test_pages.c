/* Pages: who touched them, which moved, which hold private objects of several nodes' threads. */
#include "bursts.h"

static uint64_t touched_by(const struct feeding *f, const struct facts_subject *subject, uint32_t thread)
{
    array_each (&subject->users, const struct fact_user, user) {
        if (flow_thread(f->flow, user->thread)->tid == PID + thread)
            return user->touched;
    }
    return 0;
}

/* Main touches 3 of 4 parts, worker 2 one; worker 1 uses all. */
static void touches_tell_who_initialised(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, 64 * 4096, CHAIN);
    feed_touches(&f, 0, HEAP, 48);
    feed_touches(&f, 2, HEAP + 48 * 4096, 16);
    feed_touches(&f, 3, HEAP + 64 * 4096, 16); /* behind it */
    for (unsigned i = 0; i < 10; i++, f.time += 10 * MS)
        feed_burst(&f, (struct burst_of){.thread = 1, .addr = HEAP, .step = 8, .flags = SAMPLE_WRITE});
    struct facts *facts = run_end(&f);
    const struct facts_subject *object = subject_at(facts, HEAP);
    assert_int_equal(touched_by(&f, object, 0), 48);
    assert_int_equal(touched_by(&f, object, 1), 0);
    assert_int_equal(touched_by(&f, object, 2), 16);
    assert_int_equal(touched_by(&f, object, 3), 0);
    assert_int_equal(object->pages, 64);
    assert_int_equal(object->toucher_node, 0);
    assert_int_equal(object->init_samples, 0); /* the writing user did not initialise it */
    assert_int_equal(object->using_threads, 1);
    assert_int_equal(object->users.items[0].samples, 10 * BURST);
    run_free(&f, facts);
}

static void without_faults_the_first_sample_counts(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, 64 * 4096, CHAIN);
    for (unsigned i = 0; i < 40; i++, f.time += 10 * MS)
        feed_burst(&f, (struct burst_of){.thread = i < 10 ? 3 : 1, .addr = HEAP + i % 20 * 4096, .step = 8});
    struct facts *facts = run_end(&f);
    const struct facts_subject *object = subject_at(facts, HEAP);
    assert_int_equal(touched_by(&f, object, 3), 10);
    assert_int_equal(touched_by(&f, object, 1), 10);
    assert_int_equal(object->pages, 20);
    run_free(&f, facts);
}

/* The same memory twice: the second object is on pages that were touched in the first one's lifetime. */
static void recycled_memory(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, 8 * 4096, CHAIN);
    feed_touches(&f, 0, HEAP, 8);
    feed_burst(&f, (struct burst_of){.addr = HEAP, .step = 8});
    feed_free(&f, HEAP);
    f.time += 50 * MS;
    f.tid = PID + 1;
    feed_alloc(&f, HEAP, 8 * 4096, CHAIN + 1);
    for (unsigned i = 0; i < 40; i++, f.time += 10 * MS)
        feed_burst(&f,
                   (struct burst_of){
                       .thread = i < 5 ? 1 : 2, .addr = HEAP, .step = 8, .flags = i < 5 ? SAMPLE_WRITE : SAMPLE_READ});
    struct facts *facts = run_end(&f);
    const struct facts_subject *object = &facts->objects.items[1];
    assert_int_equal(object->toucher_node, 0);         /* who brought the pages in */
    assert_int_equal(object->init_samples, 5 * BURST); /* who filled this object */
    assert_int_equal(object->use, USE_READ_ONLY);
    run_free(&f, facts);
}

static void a_huge_page_is_one_touch(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, 4 << 20, CHAIN);
    feed_alloc(&f, HEAP + (4 << 20), 64, CHAIN + 1);
    feed_touches(&f, 1, HEAP, 1);
    feed_touches(&f, 1, HEAP + (2 << 20), 1);
    feed_touches(&f, 2, HEAP + (4 << 20) + 4096, 1); /* beside the small one, whose page has no fault of its own */
    for (unsigned i = 0; i < 20; i++, f.time += 10 * MS)
        feed_burst(&f, (struct burst_of){.addr = i % 2 ? HEAP + i * 65536 : HEAP + (4 << 20)});
    struct facts *facts = run_end(&f);
    assert_int_equal(touched_by(&f, subject_at(facts, HEAP), 1), 2);
    assert_int_equal(touched_by(&f, subject_at(facts, HEAP + (4 << 20)), 2), 1);
    run_free(&f, facts);
}

/* A real machine: pages are reported elsewhere than before. */
static void pages_that_move(void **state)
{
    (void)state;
    for (int moves = 0; moves < 2; moves++) {
        struct feeding f = run_begin();
        f.topology->simulated = false;
        feed_alloc(&f, HEAP, 8 * 4096, CHAIN);
        feed_burst(&f, (struct burst_of){.thread = 1, .addr = HEAP, .step = 4096, .count = 8});
        for (unsigned i = 0; i < 8; i++)
            feed_home(&f, HEAP + i * 4096, 4096, 0);
        f.time += 10 * MS;
        for (unsigned i = 0; i < 3; i++)
            feed_home(&f, HEAP + i * 4096, 4096, moves);
        for (unsigned i = 0; i < 3; i++)
            feed_home(&f, HEAP + i * 4096, 4096, moves ? 2 : 0); /* again: the same pages */
        feed_burst(&f, (struct burst_of){.thread = 1, .addr = HEAP, .step = 4096, .count = 8});
        struct facts *facts = run_end(&f);
        assert_int_equal(subject_at(facts, HEAP)->pages_moved, moves ? 3 : 0);
        assert_int_equal(subject_at(facts, HEAP)->pages, 8);
        run_free(&f, facts);
    }
}

enum layout { SIDE_BY_SIDE, PAGES_APART, SHARED, ONE_AFTER_THE_OTHER };

/* 64 blocks of 256 bytes; block i belongs to thread i % 4. */
static struct facts *small_blocks(struct feeding *f, enum layout layout)
{
    *f = run_begin();
    feed_touches(f, 0, HEAP, 4);
    for (unsigned i = 0; i < 64; i++) {
        uint64_t place = layout == PAGES_APART ? i % 4 * 0x10000 + i / 4 * 256 : i * 256;
        if (layout != ONE_AFTER_THE_OTHER) {
            feed_alloc(f, HEAP + place, 256, CHAIN);
        }
    }
    for (unsigned i = 0; i < 640; i++, f->time += 2 * MS) {
        unsigned block = layout == ONE_AFTER_THE_OTHER ? i / 10 : i % 64;
        uint64_t place = layout == PAGES_APART ? block % 4 * 0x10000 + block / 4 * 256 : block * 256ul;
        uint32_t thread = layout == SHARED ? dice(4) : block % 4;
        if (layout == ONE_AFTER_THE_OTHER && i % 10 == 0)
            feed_alloc(f, HEAP + place, 256, CHAIN);
        feed_burst(f, (struct burst_of){.thread = thread, .addr = HEAP + place, .step = 8, .count = 4});
        if (layout == ONE_AFTER_THE_OTHER && i % 10 == 9)
            feed_free(f, HEAP + place);
    }
    return run_end(f);
}

static void mixed_or_not(void **state)
{
    (void)state;
    const struct {
        enum layout layout;
        bool mixed;
    } cases[] = {{SIDE_BY_SIDE, true}, {PAGES_APART, false}, {SHARED, false}, {ONE_AFTER_THE_OTHER, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct feeding f;
        struct facts *facts = small_blocks(&f, cases[i].layout);
        const struct facts_subject *site = &facts->sites.items[facts->objects.items[0].site];
        assert_int_equal(site->instances, 64);
        assert_int_equal(site->mixed_pages, cases[i].mixed ? 4 : 0);
        assert_int_equal(site->mixed_remote, cases[i].mixed ? site->totals.remote : 0);
        assert_int_equal(site->pages, 4);
        assert_int_equal(facts->objects.items[0].mixed_pages, cases[i].mixed);
        run_free(&f, facts);
    }
}

/* Blocks with a single look each: whether they are private is not known, unless their users allocated them. */
static void seen_only_once(void **state)
{
    (void)state;
    for (unsigned own = 0; own < 2; own++) {
        struct feeding f = run_begin();
        for (unsigned i = 0; i < 64; i++) {
            f.tid = own ? PID + i % 4 : PID;
            feed_alloc(&f, HEAP + i * 64, 64, CHAIN);
        }
        for (unsigned i = 0; i < 64; i++, f.time += 5 * MS)
            feed_burst(&f, (struct burst_of){.thread = i % 4, .addr = HEAP + i * 64, .count = 2});
        struct facts *facts = run_end(&f);
        const struct facts_subject *site = &facts->sites.items[facts->objects.items[0].site];
        assert_int_equal(site->mixed_pages, own);
        assert_int_equal(site->private_instances, own ? 64 : 16); /* main's own */
        run_free(&f, facts);
    }
}

/* A child's pages are its parent's until it touches them itself. */
static void a_fork(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, 4 * 4096, CHAIN);
    feed_touches(&f, 0, HEAP, 4);
    feed_start(&f, 200, PID, true);
    f.pid = f.tid = 200;
    feed_touch(&f, HEAP + 4096);
    for (unsigned i = 0; i < 20; i++)
        feed_access(&f, HEAP + i * 512, 0, SAMPLE_READ, 0);
    struct facts *facts = run_end(&f);
    const struct facts_subject *object = subject_at(facts, HEAP);
    assert_int_equal(object->pages, 4);
    assert_int_equal(object->users.count, 2);
    assert_int_equal(object->users.items[0].touched, 1);
    assert_int_equal(object->users.items[1].touched, 3);
    run_free(&f, facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(touches_tell_who_initialised),
        cmocka_unit_test(without_faults_the_first_sample_counts),
        cmocka_unit_test(recycled_memory),
        cmocka_unit_test(a_huge_page_is_one_touch),
        cmocka_unit_test(pages_that_move),
        cmocka_unit_test(mixed_or_not),
        cmocka_unit_test(seen_only_once),
        cmocka_unit_test(a_fork),
    };
    return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
