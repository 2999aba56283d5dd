/* Phases of made-up runs: as many as were made, where they were made, said in the right words. */
#include "bursts.h"

#include "analysis/memory_map/phases.h"

enum { PAGE = 4096, A = HEAP, B = HEAP + (1 << 24), C = HEAP + (2 << 24), PAGES = 64 };

static struct feeding begin(void)
{
    struct feeding f = run_begin();
    feed_alloc(&f, A, PAGES * PAGE, CHAIN);
    feed_alloc(&f, B, PAGES * PAGE, CHAIN + 1);
    feed_alloc(&f, C, PAGES * PAGE, CHAIN + 2);
    return f;
}

/* A burst of a thread somewhere in an array, a moment later. */
static void use(struct feeding *f, uint32_t thread, uint64_t array, uint8_t flags)
{
    f->time += MS;
    feed_burst(f, (struct burst_of){.thread = thread, .addr = array + dice(PAGES) * PAGE, .step = 8, .flags = flags});
}

static struct phases *end(struct feeding *f, struct memory_map **map)
{
    struct error err = {0};
    feeding_build(f);
    *map = memory_map_build(f->flow, &MEMORY_MAP_WHOLE, &err);
    assert_non_null(*map);
    struct phases *phases = phases_find(*map);
    assert_true(phases->items.count > 0);
    assert_int_equal(phases->items.items[0].start, (*map)->start);
    assert_int_equal(phases->items.items[phases->items.count - 1].end, (*map)->end);
    for (size_t i = 1; i < phases->items.count; i++)
        assert_int_equal(phases->items.items[i].start, phases->items.items[i - 1].end);
    return phases;
}

static void finish(struct feeding *f, struct memory_map *map, struct phases *phases)
{
    phases_free(phases);
    memory_map_free(map);
    feeding_free(f);
}

static bool near(const struct memory_map *map, uint64_t time, uint64_t wanted)
{
    uint64_t span = (map->end - map->start) / 50;
    return time + span > wanted && time < wanted + span;
}

/* A master writes, then two workers read two arrays and write the third, as in a matrix multiplication. */
static void master_and_workers(void **state)
{
    (void)state;
    struct feeding f = begin();
    struct memory_map *map;
    for (unsigned i = 0; i < 60; i++)
        use(&f, 0, i % 3 == 0 ? A : i % 3 == 1 ? B : C, SAMPLE_WRITE);
    uint64_t border = f.time;
    for (unsigned i = 0; i < 400; i++)
        use(&f, 1 + dice(2), i % 4 == 0 ? A : i % 4 == 3 ? C : B, i % 4 == 3 ? SAMPLE_WRITE : SAMPLE_READ);
    struct phases *phases = end(&f, &map);
    assert_int_equal(phases->items.count, 2);
    assert_true(near(map, phases->items.items[0].end, border));
    const char *first = phases->items.items[0].name, *second = phases->items.items[1].name;
    assert_true(strncmp(first, "main writes ", 12) == 0);
    assert_true(strncmp(second, "2 workers read ", 15) == 0);
    assert_non_null(strstr(second, " and write "));
    assert_int_equal(phases->items.items[0].threads, 1);
    assert_int_equal(phases->items.items[1].threads, 2);
    assert_int_equal(phases->items.items[0].accesses, 60 * BURST);
    finish(&f, map, phases);
}

/* One thread does the same all the time, by chance here or there: one phase, however long it takes. */
static void no_phases(void **state)
{
    (void)state;
    for (unsigned length = 1; length <= 3000; length *= 7) {
        struct feeding f = begin();
        struct memory_map *map;
        for (unsigned i = 0; i < length; i++) {
            uint32_t chance = dice(10);
            use(&f, 1 + dice(3), chance < 5 ? A : chance < 8 ? B : C, chance % 2 ? SAMPLE_READ : SAMPLE_WRITE);
        }
        struct phases *phases = end(&f, &map);
        assert_int_equal(phases->items.count, 1);
        finish(&f, map, phases);
    }
}

/* Workers that come to run one after the other by the scheduler's whim do the same work: no change. */
static void scheduling_is_no_phase(void **state)
{
    (void)state;
    struct feeding f = begin();
    struct memory_map *map;
    for (unsigned i = 0; i < 600; i++)
        use(&f, 1 + i / 40 % 3, dice(2) ? A : B, SAMPLE_READ);
    struct phases *phases = end(&f, &map);
    assert_int_equal(phases->items.count, 1);
    finish(&f, map, phases);
}

/* Three phases of one thread, that differ by object and by reading or writing. */
static void three_phases(void **state)
{
    (void)state;
    struct feeding f = begin();
    struct memory_map *map;
    uint64_t borders[2];
    for (unsigned i = 0; i < 100; i++)
        use(&f, 0, A, SAMPLE_WRITE);
    borders[0] = f.time;
    for (unsigned i = 0; i < 100; i++)
        use(&f, 0, A, SAMPLE_READ);
    borders[1] = f.time;
    for (unsigned i = 0; i < 100; i++)
        use(&f, 0, B, SAMPLE_READ);
    struct phases *phases = end(&f, &map);
    assert_int_equal(phases->items.count, 3);
    for (unsigned i = 0; i < 2; i++)
        assert_true(near(map, phases->items.items[i].end, borders[i]));
    assert_true(strncmp(phases->items.items[0].name, "main writes ", 12) == 0);
    assert_true(strncmp(phases->items.items[1].name, "main reads ", 11) == 0);
    assert_string_not_equal(phases->items.items[1].name, phases->items.items[2].name);
    finish(&f, map, phases);
}

/* Work that alternates without end does not come out as hundreds of phases. */
static void bounded(void **state)
{
    (void)state;
    struct feeding f = begin();
    struct memory_map *map;
    for (unsigned i = 0; i < 4000; i++)
        use(&f, 0, i / 40 % 2 ? A : B, i / 40 % 2 ? SAMPLE_READ : SAMPLE_WRITE);
    struct phases *phases = end(&f, &map);
    assert_true(phases->items.count <= 16);
    finish(&f, map, phases);
}

/* Threads that start now, of a role of their own: names differ from the workers'. */
static void start_late(struct feeding *f)
{
    for (uint32_t i = 4; i < 6; i++)
        feed_thread(f, PID + i, "late", 0, 0);
}

static void late_use(struct feeding *f, unsigned bursts)
{
    for (unsigned i = 0; i < bursts; i++)
        use(f, 4 + dice(2), i % 2 ? A : B, SAMPLE_READ);
}

/* Main fills two arrays by `bursts` bursts or none, before others live that use them. */
static void filled_before(unsigned bursts)
{
    struct feeding f = begin();
    struct memory_map *map;
    f.time += 2 * MS;
    feed_touches(&f, 0, A, PAGES);
    for (unsigned i = 0; i < bursts; i++)
        use(&f, 0, A, SAMPLE_WRITE);
    f.time += 2 * MS;
    feed_touches(&f, 0, B, PAGES);
    f.time += 4 * MS;
    uint64_t border = f.time;
    start_late(&f);
    f.time += 10 * MS;
    late_use(&f, 400);
    struct phases *phases = end(&f, &map);
    assert_int_equal(phases->items.count, 2);
    assert_true(near(map, phases->items.items[0].end, border));
    assert_true(strncmp(phases->items.items[0].name, "main is first to touch ", 23) == 0);
    assert_true(strncmp(phases->items.items[1].name, "2 lates read ", 13) == 0);
    assert_int_equal(phases->items.items[0].accesses, bursts * BURST);
    finish(&f, map, phases);
}

static void too_short_to_be_sampled(void **state)
{
    (void)state;
    for (unsigned bursts = 0; bursts < 4; bursts++)
        filled_before(bursts);
}

/* Those who use the arrays touch them first: nothing is known of the time before but that it passed. */
static void own_first_touch(void **state)
{
    (void)state;
    struct feeding f = begin();
    struct memory_map *map;
    f.time += 8 * MS;
    start_late(&f);
    feed_touches(&f, 4, A, PAGES);
    feed_touches(&f, 5, B, PAGES);
    late_use(&f, 400);
    struct phases *phases = end(&f, &map);
    assert_int_equal(phases->items.count, 1);
    finish(&f, map, phases);
}

/* One look at main, at the very end, among hundreds at others: by chance as likely as not, and no phase. */
static void lone_look(void **state)
{
    (void)state;
    struct feeding f = begin();
    struct memory_map *map;
    start_late(&f);
    late_use(&f, 400);
    use(&f, 0, C, SAMPLE_WRITE);
    struct phases *phases = end(&f, &map);
    assert_int_equal(phases->items.count, 1);
    finish(&f, map, phases);
}

static void nothing(void **state)
{
    (void)state;
    struct feeding f = begin();
    struct memory_map *map;
    struct phases *phases = end(&f, &map);
    assert_int_equal(phases->items.count, 1);
    assert_string_equal(phases->items.items[0].name, "nothing sampled");
    finish(&f, map, phases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(master_and_workers), cmocka_unit_test(no_phases), cmocka_unit_test(scheduling_is_no_phase),
        cmocka_unit_test(three_phases),       cmocka_unit_test(bounded),   cmocka_unit_test(too_short_to_be_sampled),
        cmocka_unit_test(own_first_touch),    cmocka_unit_test(lone_look), cmocka_unit_test(nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
