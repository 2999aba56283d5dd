#include "fixture.h"

#include <unistd.h>

static void test_orders_pages_and_adds_up(void **state)
{
    (void)state;
    struct page_map *map = page_map_new(100);
    touch(map, 9, 1, 0, 3);
    touch(map, 2, 1, 0, 1);
    touch(map, 2, 2, 1, 4);
    touch(map, 2, 1, 0, 1);
    touch(map, 2, 1, 3, 1); /* the thread has moved to another node */
    struct nlens_policy_page *pages;
    struct nlens_policy_access *accesses;
    size_t count;
    page_map_survey(map, &pages, &count, &accesses);
    assert_int_equal(count, 2);
    assert_int_equal(pages[0].address, page_at(2));
    assert_int_equal(pages[1].address, page_at(9));
    assert_int_equal(pages[0].access_count, 3);
    assert_int_equal(pages[0].home, NLENS_NOWHERE);
    uint32_t by_node[4] = {0};
    for (uint32_t i = 0; i < pages[0].access_count; i++)
        by_node[pages[0].accesses[i].node] += pages[0].accesses[i].reads;
    assert_int_equal(by_node[0], 2);
    assert_int_equal(by_node[1], 4);
    assert_int_equal(by_node[3], 1);
    assert_int_equal(page_map_samples(map), 10);
    assert_int_equal(page_map_threads(map), 2);
    page_map_free(map);
}

static void test_lines_writes_latency(void **state)
{
    (void)state;
    struct page_map *map = page_map_new(100);
    uint64_t line = (uint64_t)sysconf(_SC_PAGESIZE) / 64;
    struct page_access access = {.addr = page_at(5), .pid = PID, .thread = 1, .timed = true, .latency = 100};
    page_map_add(map, &access);
    access.addr += 1; /* the same line */
    access.latency = 300;
    page_map_add(map, &access);
    access.addr += 3 * line;
    access.write = true;
    access.timed = false;
    page_map_add(map, &access);
    struct nlens_policy_page *pages;
    struct nlens_policy_access *accesses;
    size_t count;
    page_map_survey(map, &pages, &count, &accesses);
    assert_int_equal(count, 1);
    assert_int_equal(accesses[0].lines, 2);
    assert_int_equal(accesses[0].reads, 2);
    assert_int_equal(accesses[0].writes, 1);
    assert_int_equal(accesses[0].timed, 2);
    assert_int_equal(accesses[0].latency, 400);
    page_map_free(map);
}

static void test_processes_apart(void **state)
{
    (void)state;
    struct page_map *map = page_map_new(100);
    struct page_access access = {.addr = page_at(7), .pid = 1, .thread = 1};
    page_map_add(map, &access);
    access.pid = 2;
    access.addr = page_at(3);
    page_map_add(map, &access);
    access.addr = page_at(7);
    page_map_add(map, &access);
    struct nlens_policy_page *pages;
    struct nlens_policy_access *accesses;
    size_t count;
    page_map_survey(map, &pages, &count, &accesses);
    assert_int_equal(count, 3);
    assert_int_equal(pages[0].pid, 1);
    assert_int_equal(pages[1].pid, 2);
    assert_int_equal(pages[1].address, page_at(3));
    assert_int_equal(pages[2].address, page_at(7));
    page_map_free(map);
}

static void test_bounded(void **state)
{
    (void)state;
    struct page_map *map = page_map_new(10);
    for (uint64_t page = 1; page <= 15; page++)
        touch(map, page, 1, 0, 1);
    touch(map, 3, 1, 0, 1); /* known ones still count */
    assert_int_equal(page_map_samples(map), 16);
    assert_int_equal(page_map_lost(map), 5);
    page_map_clear(map);
    touch(map, 15, 1, 0, 1);
    assert_int_equal(page_map_lost(map), 0);
    page_map_free(map);
}

static void test_many_stay_sorted(void **state)
{
    (void)state;
    enum { PAGES = 5000 };
    struct page_map *map = page_map_new(PAGES);
    for (uint64_t i = 0; i < PAGES; i++)
        touch(map, (i * 7919) % PAGES * 65537 + 1, 1, 0, 1); /* scattered over more than 32 bits of address */
    for (unsigned round = 0; round < 2; round++) {           /* a second survey finds all as it is */
        struct nlens_policy_page *pages;
        struct nlens_policy_access *accesses;
        size_t count;
        page_map_survey(map, &pages, &count, &accesses);
        assert_int_equal(count, PAGES);
        for (size_t i = 1; i < count; i++)
            assert_true(pages[i - 1].address < pages[i].address);
    }
    page_map_free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders_pages_and_adds_up), cmocka_unit_test(test_lines_writes_latency),
        cmocka_unit_test(test_processes_apart),          cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_many_stay_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
