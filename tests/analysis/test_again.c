/* Time lost to distance, and parts: facts that need all the others first. Simulated: far is twice as slow as near. */
#include "bursts.h"

enum { PAGES = 512, HALF = PAGES / 2 * 4096 };

/* An array of main's, that workers 1 and 2 use: each its half, or both all of it. */
static double separated(bool halves)
{
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, PAGES * 4096, CHAIN);
    feed_touches(&f, 0, HEAP, PAGES);
    feed_burst(&f, (struct burst_of){.addr = HEAP, .step = 8, .flags = SAMPLE_WRITE});
    for (unsigned i = 0; i < 120; i++) {
        uint32_t thread = 1 + dice(2), range = halves ? HALF : 2 * HALF;
        uint64_t at = HEAP + (halves && thread == 2 ? HALF : 0) + dice(range - 4096) / 8 * 8;
        f.time += 5 * MS;
        feed_burst(&f, (struct burst_of){.thread = thread, .addr = at, .step = 8, .latency = 100});
    }
    struct facts *facts = run_end(&f);
    double found = subject_at(facts, HEAP)->separated;
    run_free(&f, facts);
    return found;
}

static void parts(void **state)
{
    (void)state;
    assert_true(separated(true) > 0.9);
    double mixed = separated(false);
    assert_true(mixed >= 0 && mixed < 0.3);
}

/* Eight arrays of one site, each with two bursts of one worker that run through all of it side by side: they are neighbours in many
 * places, but these are eight comparisons, too few to say that workers keep to their own. */
static void neighbours_of_two_bursts(void **state)
{
    (void)state;
    enum { ARRAYS = 8, SIZE = PAGES * 4096 };
    struct feeding f = run_begin();
    for (uint64_t i = 0; i < ARRAYS; i++) {
        feed_alloc(&f, HEAP + 2 * i * SIZE, SIZE, CHAIN);
        feed_touches(&f, 0, HEAP + 2 * i * SIZE, PAGES);
        feed_burst(&f, (struct burst_of){.addr = HEAP + 2 * i * SIZE, .step = 8, .flags = SAMPLE_WRITE});
    }
    for (uint64_t i = 0; i < 2ul * ARRAYS; i++) {
        uint64_t array = i % ARRAYS, second = i / ARRAYS;
        f.time += 5 * MS;
        feed_burst(&f, (struct burst_of){.thread = 1 + array % 2,
                                         .addr = HEAP + 2 * array * SIZE + second * 8 * 4096,
                                         .step = 16 * 4096,
                                         .latency = 100});
    }
    struct facts *facts = run_end(&f);
    const struct fact_parts *parts = &subject_at(facts, HEAP)->parts;
    assert_true(parts->pairs > 10ul * ARRAYS && parts->agree == parts->pairs);
    assert_int_equal(parts->bursts, ARRAYS);
    run_free(&f, facts);
}

/* One user only: there are no parts to speak of. */
static void no_parts(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, PAGES * 4096, CHAIN);
    feed_touches(&f, 0, HEAP, PAGES);
    for (unsigned i = 0; i < 60; i++) {
        f.time += 5 * MS;
        feed_burst(&f, (struct burst_of){.thread = 1, .addr = HEAP + dice(HALF), .step = 8, .latency = 100});
    }
    struct facts *facts = run_end(&f);
    assert_true(subject_at(facts, HEAP)->separated < 0);
    run_free(&f, facts);
}

/* Half of the bursts are slow (latency 99, remote or not), half never leave the first cache. Each burst stands for the same
 * time: a slow one is 99 of 100 parts waiting, and where it is remote, 99 of 199 are there because of it. */
static struct facts *slow_run(struct feeding *f, uint32_t thread)
{
    *f = run_begin();
    feed_alloc(f, HEAP, PAGES * 4096, CHAIN);
    feed_alloc(f, 2ul * HEAP, 4096, CHAIN + 1);
    feed_touches(f, 0, HEAP, PAGES);
    feed_touches(f, thread, 2ul * HEAP, 1);
    for (unsigned i = 0; i < 200; i++) {
        bool slow = i % 2;
        f->time += 5 * MS;
        feed_burst(f, (struct burst_of){.thread = thread,
                                        .addr = slow ? HEAP + dice(HALF) / 8 * 8 : 2ul * HEAP,
                                        .step = 64,
                                        .latency = slow ? 99 : 1});
    }
    return run_end(f);
}

static bool near(double value, double wanted)
{
    return value > wanted - 0.02 && value < wanted + 0.02;
}

static void time_of_remote_accesses(void **state)
{
    (void)state;
    struct feeding f;
    struct facts *facts = slow_run(&f, 2);
    assert_true(facts->timed && !facts->penalty_measured);
    assert_true(near(facts->remote_penalty, 1));
    assert_true(near(subject_at(facts, HEAP)->remote_time, 0.5 * 99 / 199));
    assert_true(near(facts->remote_time, 0.5 * 99 / 199));
    assert_true(near(facts->nodes[0].remote_time, 0.5 * 99 / 199));
    assert_true(near(facts->sites.items[subject_at(facts, HEAP)->site].remote_time, 0.5 * 99 / 199));
    assert_true(subject_at(facts, 2ul * HEAP)->slow_time < 1e-9);
    run_free(&f, facts);

    facts = slow_run(&f, 0); /* the twin waits as long, but not for distance */
    assert_true(facts->remote_time < 1e-9);
    assert_true(near(subject_at(facts, HEAP)->slow_time, 0.5 * 99 / 100));
    run_free(&f, facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts),
        cmocka_unit_test(neighbours_of_two_bursts),
        cmocka_unit_test(no_parts),
        cmocka_unit_test(time_of_remote_accesses),
    };
    return cmocka_run_group_tests_name("again", tests, NULL, NULL);
}
