#include "agent/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void blocks_are_apart_and_aligned(void **state)
{
    (void)state;
    char *blocks[200];
    for (size_t i = 0; i < 200; i++) {
        size_t align = (size_t)1 << i % 8;
        blocks[i] = arena_alloc(i, align);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % align, 0);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        assert_int_equal(arena_size(blocks[i]), i);
        assert_true(arena_owns(blocks[i]));
        for (size_t k = 0; k < i; k++)
            assert_int_equal(blocks[i][k], 0);
        memset(blocks[i], 1, i);
    }
    int other;
    assert_false(arena_owns(&other));
    assert_false(arena_owns(NULL));
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(arena_size(blocks[i]), i);
}

static void it_ends(void **state)
{
    (void)state;
    assert_null(arena_alloc(ARENA_BYTES, 16));
    assert_null(arena_alloc(SIZE_MAX, 16));
    assert_null(arena_alloc(1, (size_t)1 << 62));
    size_t got = 0;
    while (arena_alloc(1000, 16))
        got++;
    assert_true(got > 100 && got < ARENA_BYTES / 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_apart_and_aligned),
        cmocka_unit_test(it_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
