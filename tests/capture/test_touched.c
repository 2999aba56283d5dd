#include "capture/perf/touched_pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { PAGE = 4096 };

static void a_page_is_new_once(void **state)
{
    (void)state;
    struct touched set;
    touched_init(&set, 1 << 20);
    for (uint64_t page = 0; page < 3000; page++)
        assert_true(touched_add(&set, 7, 0x7f0000000000 + page * PAGE + page % PAGE));
    for (uint64_t page = 0; page < 3000; page++)
        assert_false(touched_add(&set, 7, 0x7f0000000000 + page * PAGE));
    assert_true(touched_add(&set, 8, 0x7f0000000000));
    touched_free(&set);
}

static void new_memory_is_new_again(void **state)
{
    (void)state;
    struct touched set;
    touched_init(&set, 1 << 20);
    for (uint64_t page = 0; page < 2000; page++)
        touched_add(&set, 7, page * PAGE);
    touched_add(&set, 8, 600 * PAGE);
    touched_forget(&set, 7, 500 * PAGE + 10, 1000 * PAGE);
    for (uint64_t page = 0; page < 2000; page++)
        assert_int_equal(touched_add(&set, 7, page * PAGE), page >= 500 && page <= 1500);
    assert_false(touched_add(&set, 8, 600 * PAGE));
    /* A range larger than the set, and one that ends behind the last address. */
    touched_forget(&set, 7, 0, (uint64_t)1 << 56);
    touched_forget(&set, 8, UINT64_MAX - PAGE, PAGE * 2);
    assert_true(touched_add(&set, 7, 0));
    touched_forget_process(&set, 8);
    assert_true(touched_add(&set, 8, 600 * PAGE));
    touched_free(&set);
}

static void memory_is_bounded(void **state)
{
    (void)state;
    struct touched set;
    touched_init(&set, 1 << 20);
    for (uint64_t region = 0; region < 1000000; region++)
        touched_add(&set, 7, region << 21);
    assert_true(set.capacity * sizeof *set.bitmaps + set.regions.capacity * 16 <= 2 << 20);
    touched_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_new_once),
        cmocka_unit_test(new_memory_is_new_again),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests_name("touched", tests, NULL, NULL);
}
