/* Threads that take turns, how often, and phases. */
#include "bursts.h"

enum { SIZE = 64 * 4096 };

/* `bursts` bursts of two threads, `a_turn` of one thread after the other; 0: at random. */
static struct facts *in_turns(struct feeding *f, unsigned bursts, unsigned a_turn, uint32_t threads)
{
    *f = run_begin();
    feed_alloc(f, HEAP, SIZE, CHAIN);
    for (unsigned i = 0; i < bursts; i++, f->time += 10 * MS) {
        uint32_t thread = a_turn ? i / a_turn % threads : dice(threads);
        feed_burst(f, (struct burst_of){.thread = thread, .addr = HEAP + i % 64 * 4096, .step = 8, .flip = 3});
    }
    return run_end(f);
}

static void turns_or_not(void **state)
{
    (void)state;
    const struct {
        unsigned bursts, a_turn;
        enum fact_concurrency concurrency;
    } cases[] = {{100, 0, CONCURRENCY_CONCURRENT}, {30, 0, CONCURRENCY_CONCURRENT}, {100, 1, CONCURRENCY_CONCURRENT},
                 {100, 50, CONCURRENCY_DISJOINT},  {100, 10, CONCURRENCY_DISJOINT}, {30, 15, CONCURRENCY_DISJOINT},
                 {400, 8, CONCURRENCY_DISJOINT},   {6, 3, CONCURRENCY_NONE},        {6, 1, CONCURRENCY_NONE}};
    for (uint32_t threads = 2; threads <= 4; threads += 2) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct feeding f;
            struct facts *facts = in_turns(&f, cases[i].bursts, cases[i].a_turn, threads);
            const struct facts_subject *object = subject_at(facts, HEAP);
            assert_int_equal(object->concurrency, cases[i].concurrency);
            if (cases[i].concurrency == CONCURRENCY_CONCURRENT)
                assert_true(object->overlap > 0.6);
            if (cases[i].concurrency == CONCURRENCY_DISJOINT)
                assert_true(object->overlap < 0.35);
            run_free(&f, facts);
        }
    }
}

/* A hundred random runs: concurrent threads are never taken for ones that take turns. */
static void never_wrong_by_chance(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        struct feeding f;
        struct facts *facts = in_turns(&f, 24, 0, 2);
        assert_int_not_equal(subject_at(facts, HEAP)->concurrency, CONCURRENCY_DISJOINT);
        run_free(&f, facts);
    }
}

/* More threads than processors, looked at often: the scheduler's slices of 4 ms are no turns of its threads. */
static void slices_are_no_turns(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    uint32_t thread = 0;
    for (unsigned i = 0; i < 800; i++, f.time += MS) {
        if (i % 4 == 0)
            thread = (thread + 1 + dice(3)) % 4;
        feed_burst(&f, (struct burst_of){.thread = thread, .addr = HEAP + i % 64 * 4096, .step = 8, .flip = 3});
    }
    struct facts *facts = run_end(&f);
    assert_int_equal(subject_at(facts, HEAP)->concurrency, CONCURRENCY_CONCURRENT);
    assert_true(subject_at(facts, HEAP)->overlap > 0.6);
    run_free(&f, facts);
}

/* The paper's Figure 3, corrected: the changes of thread, and the mean time from one to the next. */
static void figure_three(void **state)
{
    (void)state;
    struct feeding f;
    struct facts *facts = in_turns(&f, 100, 10, 2);
    const struct facts_subject *object = subject_at(facts, HEAP);
    assert_int_equal(object->switches, 9);
    assert_in_range(object->switch_ns, 100 * MS, 101 * MS);
    run_free(&f, facts);
    facts = in_turns(&f, 100, 100, 2);
    assert_int_equal(subject_at(facts, HEAP)->switches, 0);
    assert_int_equal(subject_at(facts, HEAP)->switch_ns, 0);
    run_free(&f, facts);
}

/* One thread uses it alone, the other only filled it: they take no turns. */
static void an_initialiser_takes_no_turn(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    for (unsigned i = 0; i < 40; i++, f.time += 10 * MS)
        feed_burst(&f, (struct burst_of){.thread = i < 10 ? 0 : 1,
                                         .addr = HEAP + i * 4096,
                                         .step = 8,
                                         .flags = i < 10 ? SAMPLE_WRITE : SAMPLE_READ});
    struct facts *facts = run_end(&f);
    assert_int_equal(subject_at(facts, HEAP)->concurrency, CONCURRENCY_NONE);
    assert_int_equal(subject_at(facts, HEAP)->switches, 0);
    run_free(&f, facts);
}

/* A site whose instances are handed on, while others are in use: threads take turns, though always busy. */
static void instances_are_handed_on(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    for (unsigned i = 0; i < 8; i++)
        feed_alloc(&f, HEAP + i * SIZE, SIZE, CHAIN);
    for (unsigned round = 0; round < 40; round++) {
        for (unsigned i = 0; i < 8; i++, f.time += 2 * MS)
            feed_burst(&f, (struct burst_of){.thread = (i + round / 20) % 2, .addr = HEAP + i * SIZE, .step = 8});
    }
    struct facts *facts = run_end(&f);
    const struct facts_subject *site = &facts->sites.items[subject_at(facts, HEAP)->site];
    assert_int_equal(site->instances, 8);
    assert_int_equal(site->concurrency, CONCURRENCY_DISJOINT);
    assert_int_equal(site->switches, 8);
    run_free(&f, facts);
}

static void phases_of(const struct facts *facts, uint64_t addr, size_t count)
{
    const struct facts_subject *object = subject_at(facts, addr);
    assert_int_equal(object->phases.count, count);
    uint64_t samples = 0;
    array_each (&object->phases, const struct fact_phase, phase) {
        assert_true(phase->start < phase->end);
        samples += phase->samples;
    }
    assert_true(samples * 10 >= object->totals.samples * 9);
}

/* Two objects: one used throughout, one in `stretches` stretches with pauses between them; each run `bursts` long. */
static void stretches_are_found(void **state)
{
    (void)state;
    for (unsigned bursts = 60; bursts <= 960; bursts *= 4) {
        for (unsigned stretches = 1; stretches <= 3; stretches++) {
            struct feeding f = run_begin();
            feed_alloc(&f, HEAP, SIZE, CHAIN);
            feed_alloc(&f, HEAP + SIZE, SIZE, CHAIN + 1);
            unsigned length = bursts / (2 * stretches);
            for (unsigned i = 0; i < bursts; i++, f.time += 10 * MS) {
                feed_burst(&f, (struct burst_of){.addr = HEAP, .step = 8});
                if (i / length % 2 == 1)
                    feed_burst(&f, (struct burst_of){.addr = HEAP + SIZE, .step = 8});
            }
            struct facts *facts = run_end(&f);
            phases_of(facts, HEAP, 1);
            phases_of(facts, HEAP + SIZE, stretches);
            run_free(&f, facts);
        }
    }
}

/* Uneven but lasting use is one phase. */
static void unevenness_is_no_phase(void **state)
{
    (void)state;
    for (unsigned run = 0; run < 20; run++) {
        struct feeding f = run_begin();
        feed_alloc(&f, HEAP, SIZE, CHAIN);
        for (unsigned i = 0; i < 200; i++, f.time += MS * (1 + dice(20)))
            feed_burst(&f, (struct burst_of){.addr = HEAP, .step = 8, .count = 1 + dice(BURST)});
        struct facts *facts = run_end(&f);
        phases_of(facts, HEAP, 1);
        run_free(&f, facts);
    }
}

/* A run of 3 s in which nobody has a processor for 180 ms: no end of a phase. For 600 ms: one. */
static void a_pause_of_all(void **state)
{
    (void)state;
    for (unsigned pause = 180; pause <= 600; pause += 420) {
        struct feeding f = run_begin();
        feed_alloc(&f, HEAP, SIZE, CHAIN);
        for (unsigned i = 0; i < 600; i++, f.time += 5 * MS) {
            feed_burst(&f, (struct burst_of){.thread = i % 2, .addr = HEAP, .step = 8});
            f.time += i == 300 ? pause * MS : 0;
        }
        struct facts *facts = run_end(&f);
        phases_of(facts, HEAP, pause == 180 ? 1 : 2);
        run_free(&f, facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_or_not),
        cmocka_unit_test(never_wrong_by_chance),
        cmocka_unit_test(slices_are_no_turns),
        cmocka_unit_test(figure_three),
        cmocka_unit_test(an_initialiser_takes_no_turn),
        cmocka_unit_test(instances_are_handed_on),
        cmocka_unit_test(a_pause_of_all),
        cmocka_unit_test(stretches_are_found),
        cmocka_unit_test(unevenness_is_no_phase),
    };
    return cmocka_run_group_tests_name("concurrency", tests, NULL, NULL);
}
