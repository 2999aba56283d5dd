/* Chunks of pages: intervals, threads, bounds. */
#include "capture/faults/page_use.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

struct reported {
    struct event event;
    uint64_t cpus[4];
};

static array_of(struct reported) reported;

static void keep(void *unused, const struct event *event)
{
    (void)unused;
    struct reported one = {.event = *event};
    memcpy(one.cpus, event->page.cpus, event->page.cpu_words * sizeof *one.cpus);
    array_push(&reported, one);
}

static struct sink sink = {.tap = keep};

static struct page_use *start(uint32_t chunks, uint32_t chunk_pages, size_t memory)
{
    struct page_use_options options = {
        .interval_ns = 100, .begin = 1000, .chunks = chunks, .chunk_pages = chunk_pages, .memory = memory, .cpus = 200};
    reported.count = 0;
    return page_use_new(&sink, &options);
}

static void use(struct page_use *pages, uint64_t time, uint32_t tid, uint64_t addr, int cpu, enum direction direction)
{
    struct page_access access = {
        .time = time, .addr = addr, .ip = 7, .pid = UINT32_MAX, .tid = tid, .cpu = cpu, .direction = direction};
    page_use_add(pages, &access);
}

static const struct reported *find(uint32_t tid, uint64_t page, uint64_t time)
{
    array_each (&reported, struct reported, one)
        if (one->event.tid == tid && one->event.page.page == page && one->event.time == time)
            return one;
    fail_msg("thread %u, page %#lx, time %lu was not reported", tid, (unsigned long)page, (unsigned long)time);
    return NULL;
}

static void test_intervals(void **state)
{
    (void)state;
    struct page_use *pages = start(100, 100, 1 << 20);
    use(pages, 1010, 1, 0x1234, 3, DIRECTION_READ);
    use(pages, 1020, 1, 0x1fff, 130, DIRECTION_WRITE);
    use(pages, 1030, 2, 0x1000, 0, DIRECTION_UNKNOWN);
    assert_int_equal(reported.count, 0);
    use(pages, 1350, 1, 0x1000, 3, DIRECTION_WRITE); /* two intervals without anything */
    assert_int_equal(reported.count, 2);
    const struct reported *one = find(1, 0x1000, 1000);
    assert_int_equal(one->event.page.until, 1100);
    assert_int_equal(one->event.page.reads, 1);
    assert_int_equal(one->event.page.writes, 1);
    assert_int_equal(one->event.page.cpu_words, 3);
    assert_int_equal(one->cpus[0], 1 << 3);
    assert_int_equal(one->cpus[2], 1 << 2);
    assert_int_equal(find(2, 0x1000, 1000)->event.page.unknown, 1);
    page_use_reach(pages, 1399);
    assert_int_equal(reported.count, 2);
    page_use_reach(pages, 1400);
    assert_int_equal(find(1, 0x1000, 1300)->event.page.until, 1400);
    page_use_free(pages);
}

/* Nobody looked while intervals went by: what was used in the first was not used in the others. */
static void test_late_end(void **state)
{
    (void)state;
    struct page_use *pages = start(100, 100, 1 << 20);
    use(pages, 1010, 1, 0x1000, 0, DIRECTION_WRITE);
    page_use_report_process(pages, UINT32_MAX, 1850);
    assert_int_equal(find(1, 0x1000, 1000)->event.page.until, 1100);
    use(pages, 1860, 1, 0x2000, 0, DIRECTION_WRITE);
    page_use_report_process(pages, UINT32_MAX, 1870);
    assert_int_equal(find(1, 0x2000, 1800)->event.page.until, 1870);
    use(pages, 1880, 1, 0x3000, 0, DIRECTION_WRITE);
    page_use_report_all(pages, 2400);
    assert_int_equal(find(1, 0x3000, 1800)->event.page.until, 1900);
    page_use_free(pages);
}

static void test_bounds(void **state)
{
    (void)state;
    struct page_use *pages = start(2, 4, 1 << 20);
    for (uint64_t page = 0; page < 10; page++)
        use(pages, 1001 + page, 1, page << 12, 0, DIRECTION_READ);
    assert_int_equal(reported.count, 8); /* two full chunks */
    use(pages, 1020, 2, 0, 0, DIRECTION_READ);
    use(pages, 1021, 3, 0, 0, DIRECTION_READ); /* one thread too many: the oldest goes */
    assert_int_equal(reported.count, 10);
    page_use_report_all(pages, 1022);
    assert_int_equal(reported.count, 12);
    assert_int_equal(page_use_totals(pages).early, 3);
    page_use_free(pages);

    pages = start(1000, 1000000, 10000); /* bytes */
    for (uint64_t page = 0; page < 100000; page++)
        use(pages, 1001, 1, page << 12, 0, DIRECTION_READ);
    page_use_report_all(pages, 1002);
    assert_int_equal(reported.count, 100000);
    assert_true(page_use_totals(pages).early > 500);
    page_use_free(pages);
}

static void test_written(void **state)
{
    (void)state;
    struct page_use *pages = start(10, 10, 1 << 20);
    struct page_written written = {
        .pid = UINT32_MAX, .tid = 0, .begin = 1000, .until = 1100, .mechanism = PAGE_SOFT_DIRTY};
    page_use_written(pages, &written, 0x5000);
    page_use_written(pages, &written, 0x4000);
    page_use_written_over(pages);
    assert_int_equal(reported.count, 2);
    const struct reported *one = find(0, 0x4000, 1000);
    assert_int_equal(one->event.page.writes, 1);
    assert_int_equal(one->event.page.cpu_words, 0);
    assert_int_equal(one->event.page.mechanism, PAGE_SOFT_DIRTY);
    page_use_written(pages, &written, 0x6000); /* never over: freed with the rest */
    page_use_free(pages);
    array_free(&reported);
}

static void use_own(struct page_use *pages, uint64_t time, const volatile char *page)
{
    struct page_access access = {.time = time, .addr = (uintptr_t)page, .pid = (uint32_t)getpid(), .tid = 1};
    page_use_add(pages, &access);
}

/* A thread that has no CPU in the middle of a fault: its page is not there for many intervals. */
static void test_slow_fault(void **state)
{
    (void)state;
    size_t size = (size_t)getpagesize();
    volatile char *memory = mmap(NULL, 3 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    struct page_use *pages = start(10, 10, 1 << 20);
    use_own(pages, 1010, memory);
    page_use_reach(pages, 1100);
    page_use_reach(pages, 1200);
    page_use_reach(pages, 1300);
    assert_int_equal(reported.count, 0);
    memory[0] = 1;
    for (uint64_t time = 1400; time <= 2000; time += 100)
        page_use_reach(pages, time);
    assert_int_equal(find(1, (uintptr_t)memory, 1000)->event.page.until, 1100);
    assert_int_equal(reported.count, 1);
    use_own(pages, 2010, memory + size); /* had its page, and lost it: the thread faults again */
    page_use_reach(pages, 2100);
    assert_int_equal(reported.count, 1);
    use_own(pages, 2110, memory + 2 * size);
    page_use_reach(pages, 2200);
    find(1, (uintptr_t)memory + size, 2000);
    assert_int_equal(reported.count, 2);
    for (uint64_t time = 2300; time <= 20000; time += 100)
        page_use_reach(pages, time);
    find(1, (uintptr_t)memory + 2 * size, 2100); /* never there: reported all the same */
    page_use_free(pages);
    munmap((void *)memory, 3 * size);
    array_free(&reported);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intervals), cmocka_unit_test(test_late_end),   cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_written),   cmocka_unit_test(test_slow_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
