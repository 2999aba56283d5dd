/* tests/agent/test_unwind_cfi.c - the reader of .eh_frame, on tables that are whole and on damaged ones.
 *
 * A copy of this program's tables is between two pages that cannot be read. All in it is relative, so the copy
 * describes code that would be as far from the program's as the copy does from the original. */
#include "agent/unwind/unwind_modules.h"
#include "isa/unwind/unwind_cfi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

static struct unwind_module original, copy;
static uint64_t delta;
static uint8_t *whole; /* the copy as it should be */
static size_t size;

static int set_up(void **state)
{
    (void)state;
    bool removed;
    unwind_modules_build(&removed);
    const struct unwind_module *module = unwind_module_at(unwind_modules_get(), (uint64_t)set_up);
    assert_non_null(module);
    assert_non_null(module->index);
    original = *module;
    unwind_modules_put();
    size = original.high - original.low;
    enum { GUARD = 65536 };
    size_t room = (size + 15 + GUARD - 1) / GUARD * GUARD;
    uint8_t *low = mmap(NULL, room + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(low, MAP_FAILED);
    low += GUARD;
    assert_int_equal(mprotect(low, room, PROT_READ | PROT_WRITE), 0);
    /* Its end is near a page's end, so that a long step beyond is felt; but rules of a .plt count addresses in 16s. */
    uint8_t *at = low + room - size;
    at -= ((uint64_t)at - original.low) & 15;
    memcpy(at, (void *)original.low, size);
    whole = malloc(size);
    memcpy(whole, at, size);
    delta = (uint64_t)at - original.low;
    copy = original;
    copy.start += delta;
    copy.end += delta;
    copy.low += delta;
    copy.high += delta;
    copy.index += delta;
    copy.index_rows += delta;
    return 0;
}

static bool same_rule(const struct unwind_rule *a, const struct unwind_rule *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void a_copy_tells_the_same(void **state)
{
    (void)state;
    unsigned known = 0;
    for (uint64_t at = original.start; at < original.end; at++) {
        struct unwind_rule here = unwind_cfi_rule(&original, at), there = unwind_cfi_rule(&copy, at + delta);
        assert_true(same_rule(&here, &there));
        known += here.kind == UNWIND_FRAME;
    }
    assert_true(known > 1000);
}

static void damage_is_survived(void **state)
{
    (void)state;
    srand(5);
    unsigned changed = 0;
    for (int round = 0; round < 3000; round++) {
        for (int i = 0; i < 1 + rand() % 20; i++)
            ((uint8_t *)copy.low)[(size_t)rand() % size] = (uint8_t)(rand() % 3 ? rand() : 0xff);
        for (int i = 0; i < 30; i++) {
            uint64_t at = original.start + (uint64_t)rand() % (original.end - original.start);
            struct unwind_rule here = unwind_cfi_rule(&original, at), there = unwind_cfi_rule(&copy, at + delta);
            changed += !same_rule(&here, &there);
            assert_in_range(there.kind, UNWIND_NONE, UNWIND_CUT);
        }
        if (round % 10 == 9)
            memcpy((void *)copy.low, whole, size);
    }
    assert_true(changed > 0);
}

/* Tables that end too early: whatever is left, nothing beyond it is read. */
static void an_early_end_is_survived(void **state)
{
    (void)state;
    memcpy((void *)copy.low, whole, size);
    for (int round = 0; round < 20000; round++) {
        struct unwind_module module = copy;
        module.low = copy.high - 1 - (uint64_t)rand() % 4096;
        module.high = copy.high;
        module.index = (const uint8_t *)module.low;
        int32_t row[2] = {INT32_MIN, rand() % 4096};
        module.index_rows = (const uint8_t *)row;
        module.index_count = 1;
        unwind_cfi_rule(&module, copy.start + (uint64_t)rand() % 4096);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_tells_the_same),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(an_early_end_is_survived),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
