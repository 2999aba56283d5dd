#include "base/map64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void keeps_what_was_put_in_and_not_removed(void **state)
{
    (void)state;
    struct map64 map = {0};
    assert_null(map64_find(&map, 1));
    for (uint64_t key = 0; key < 10000; key++)
        *map64_insert(&map, key * 64, NULL) = key;
    for (uint64_t key = 0; key < 10000; key += 2)
        assert_true(map64_remove(&map, key * 64));
    assert_false(map64_remove(&map, 0));
    assert_int_equal(map.count, 5000);
    for (uint64_t key = 0; key < 10000; key++) {
        uint64_t *value = map64_find(&map, key * 64);
        if (key % 2)
            assert_int_equal(*value, key);
        else
            assert_null(value);
    }
    map64_free(&map);
}

/* What stands for an empty place is a key as any other. */
static void takes_any_key(void **state)
{
    (void)state;
    struct map64 map = {0};
    bool is_new = false;
    assert_false(map64_remove(&map, MAP64_EMPTY));
    *map64_insert(&map, MAP64_EMPTY, &is_new) = 5;
    assert_true(is_new);
    assert_int_equal(*map64_insert(&map, MAP64_EMPTY, &is_new), 5);
    assert_false(is_new);
    assert_int_equal(*map64_find(&map, MAP64_EMPTY), 5);
    assert_int_equal(map.count, 1);
    assert_true(map64_remove(&map, MAP64_EMPTY));
    assert_null(map64_find(&map, MAP64_EMPTY));
    map64_free(&map);
}

static void says_whether_a_key_is_new(void **state)
{
    (void)state;
    struct map64 map = {0};
    bool is_new = false;
    map64_insert(&map, 7, &is_new);
    assert_true(is_new);
    map64_insert(&map, 7, &is_new);
    assert_false(is_new);
    map64_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_was_put_in_and_not_removed),
        cmocka_unit_test(says_whether_a_key_is_new),
        cmocka_unit_test(takes_any_key),
    };
    return cmocka_run_group_tests_name("map64", tests, NULL, NULL);
}
