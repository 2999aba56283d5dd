/* Cache lines: threads that use different bytes, the same bytes, or the line at different times. */
#include "bursts.h"

enum { SIZE = 4 * 4096 };

/* Each of `threads` threads increments its own counter, `distance` bytes from the next one's: `bursts` bursts in all;
 * threads take turns of `a_turn` (0: at random). */
static struct facts *counters(struct feeding *f, uint32_t threads, uint64_t distance, unsigned bursts, unsigned a_turn,
                              uint8_t flags)
{
    *f = run_begin();
    feed_alloc(f, HEAP, SIZE, CHAIN);
    for (unsigned i = 0; i < bursts; i++, f->time += 5 * MS) {
        uint32_t thread = a_turn ? i / a_turn % threads : dice(threads);
        feed_burst(f, (struct burst_of){.thread = thread, .addr = HEAP + thread * distance, .flags = flags});
    }
    return run_end(f);
}

static void check(struct feeding *f, struct facts *facts, uint64_t false_sharing, uint64_t true_sharing)
{
    const struct facts_subject *object = subject_at(facts, HEAP);
    assert_int_equal(object->false_sharing, false_sharing);
    assert_int_equal(object->true_sharing, true_sharing);
    assert_int_equal(object->worst_line, false_sharing ? HEAP : 0);
    const struct facts_subject *site = &facts->sites.items[object->site];
    assert_int_equal(site->false_sharing, false_sharing);
    run_free(f, facts);
}

static void different_bytes(void **state)
{
    (void)state;
    struct feeding f;
    for (uint32_t threads = 2; threads <= 4; threads++) {
        check(&f, counters(&f, threads, 8, 120, 0, SAMPLE_READ | SAMPLE_WRITE), 120 * BURST, 0);
        check(&f, counters(&f, threads, 64, 120, 0, SAMPLE_READ | SAMPLE_WRITE), 0, 0); /* a line each */
        check(&f, counters(&f, threads, 0, 120, 0, SAMPLE_READ | SAMPLE_WRITE), 0, 120 * BURST);
        check(&f, counters(&f, threads, 8, 120, 0, SAMPLE_READ), 0, 0);                            /* nobody writes */
        check(&f, counters(&f, threads, 8, 120, 120 / threads, SAMPLE_READ | SAMPLE_WRITE), 0, 0); /* one by one */
        check(&f, counters(&f, threads, 0, 120, 120 / threads, SAMPLE_READ | SAMPLE_WRITE), 0, 0);
    }
    check(&f, counters(&f, 2, 8, 4, 1, SAMPLE_READ | SAMPLE_WRITE), 0, 0); /* too few to say */
}

/* One adds up, the others only read their own words beside it: false sharing all the same. */
static void one_writer_is_enough(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    for (unsigned i = 0; i < 80; i++, f.time += 5 * MS) {
        uint32_t thread = dice(3);
        feed_burst(&f, (struct burst_of){.thread = thread,
                                         .addr = HEAP + thread * 16,
                                         .flags = thread ? SAMPLE_READ : SAMPLE_READ | SAMPLE_WRITE});
    }
    check(&f, run_end(&f), 80 * BURST, 0);
}

/* Main sums the counters up once at the end: a stray look does not make it true sharing. */
static void a_last_look(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    for (unsigned i = 0; i < 80; i++, f.time += 5 * MS) {
        uint32_t thread = 1 + dice(3);
        feed_burst(&f,
                   (struct burst_of){.thread = thread, .addr = HEAP + thread * 8, .flags = SAMPLE_READ | SAMPLE_WRITE});
    }
    feed_burst(&f, (struct burst_of){.addr = HEAP, .step = 8, .count = 4});
    struct facts *facts = run_end(&f);
    assert_true(subject_at(facts, HEAP)->false_sharing >= 80 * BURST);
    assert_int_equal(subject_at(facts, HEAP)->true_sharing, 0);
    run_free(&f, facts);
}

/* A large table that all threads read and write anywhere: lines get a few samples each, whose bytes differ by chance. */
static void a_random_table(void **state)
{
    (void)state;
    for (unsigned run = 0; run < 5; run++) {
        struct feeding f = run_begin();
        feed_alloc(&f, HEAP, SIZE, CHAIN);
        for (unsigned i = 0; i < 4000; i++, f.time += MS)
            feed_burst(&f, (struct burst_of){
                               .thread = dice(2), .addr = HEAP + dice(SIZE / 8) * 8, .count = 1, .flip = dice(3)});
        struct facts *facts = run_end(&f);
        const struct facts_subject *object = subject_at(facts, HEAP);
        assert_true(object->false_sharing * 20 <= object->totals.samples);
        assert_true(object->true_sharing * 2 >= object->totals.samples);
        run_free(&f, facts);
    }
}

/* Small blocks of different threads side by side: private each, but on one line. */
static void neighbours(void **state)
{
    (void)state;
    for (uint64_t distance = 32; distance <= 64; distance += 32) {
        struct feeding f = run_begin();
        for (uint32_t i = 0; i < 2; i++)
            feed_alloc(&f, HEAP + i * distance, 24, CHAIN + i);
        for (unsigned i = 0; i < 60; i++, f.time += 5 * MS) {
            uint32_t thread = dice(2);
            feed_burst(&f, (struct burst_of){.thread = thread,
                                             .addr = HEAP + thread * distance,
                                             .flags = SAMPLE_READ | SAMPLE_WRITE});
        }
        struct facts *facts = run_end(&f);
        for (uint32_t i = 0; i < 2; i++) {
            const struct facts_subject *object = subject_at(facts, HEAP + i * distance);
            assert_int_equal(object->sharing, SHARING_THREAD);
            assert_int_equal(object->false_sharing, distance < 64 ? object->totals.samples : 0);
        }
        run_free(&f, facts);
    }
}

/* Filled by one thread, then words of it used by others: the filling is no sharing. */
static void filling_is_no_sharing(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    feed_touches(&f, 0, HEAP, 4);
    for (unsigned i = 0; i < 20; i++, f.time += 5 * MS)
        feed_burst(&f, (struct burst_of){.addr = HEAP, .step = 8, .flags = SAMPLE_WRITE, .count = 8});
    for (unsigned i = 0; i < 60; i++, f.time += 5 * MS)
        feed_burst(&f, (struct burst_of){.thread = 1 + dice(2), .addr = HEAP, .step = 8, .count = 8});
    check(&f, run_end(&f), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(different_bytes), cmocka_unit_test(one_writer_is_enough),
        cmocka_unit_test(a_last_look),     cmocka_unit_test(a_random_table),
        cmocka_unit_test(neighbours),      cmocka_unit_test(filling_is_no_sharing),
    };
    return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
