#include "capture/faults/own_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#define LIBRARY "/usr/lib/numalens/libnumalens-agent.so"

static void only_what_is_named_so_is_ours(void **state)
{
    (void)state;
    struct own_memory own = {0};
    own_memory_map(&own, 7, 0x10000, 0x1000, "/usr/lib/libc.so.6");
    own_memory_map(&own, 7, 0x20000, 0x1000, "//anon");
    own_memory_map(&own, 7, 0x30000, 0x1000, "/home/libnumalens-agent.so.txt");
    assert_false(own_memory_has(&own, 7, 0x10000) || own_memory_has(&own, 7, 0x20000) ||
                 own_memory_has(&own, 7, 0x30000));
    own_memory_map(&own, 7, 0x40000, 0x8000, LIBRARY);
    own_memory_map(&own, 7, 0x50000, 0x2000, "/memfd:numalens (deleted)");
    assert_true(own_memory_has(&own, 7, 0x40000) && own_memory_has(&own, 7, 0x47fff) &&
                own_memory_has(&own, 7, 0x51000));
    assert_false(own_memory_has(&own, 7, 0x3ffff) || own_memory_has(&own, 7, 0x48000) || own_memory_has(&own, 7, 0));
    assert_false(own_memory_has(&own, 8, 0x40000));
    own_memory_free(&own);
}

static void parts_of_a_whole_are_kept_once(void **state)
{
    (void)state;
    struct own_memory own = {0};
    own_memory_map(&own, 7, 0x40000, 0x8000, LIBRARY);
    for (uint64_t part = 0x40000; part < 0x48000; part += 0x1000)
        own_memory_map(&own, 7, part, 0x1000, LIBRARY);
    assert_true(own_memory_has(&own, 7, 0x44000));
    assert_int_equal(own.of->ranges.count, 1);
    own_memory_free(&own);
}

static void children_have_what_their_parents_had(void **state)
{
    (void)state;
    struct own_memory own = {0};
    own_memory_map(&own, 7, 0x40000, 0x8000, LIBRARY);
    own_memory_fork(&own, 8, 7);
    own_memory_fork(&own, 9, 6); /* nobody knows it */
    own_memory_fork(&own, 7, 7);
    assert_true(own_memory_has(&own, 8, 0x40000) && own_memory_has(&own, 7, 0x40000));
    assert_false(own_memory_has(&own, 9, 0x40000));
    own_memory_forget(&own, 7);
    own_memory_forget(&own, 7);
    assert_false(own_memory_has(&own, 7, 0x40000));
    assert_true(own_memory_has(&own, 8, 0x40000));
    own_memory_map(&own, 7, 0x60000, 0x1000, LIBRARY); /* another program */
    assert_true(own_memory_has(&own, 7, 0x60000));
    assert_false(own_memory_has(&own, 7, 0x40000));
    own_memory_free(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_named_so_is_ours),
        cmocka_unit_test(parts_of_a_whole_are_kept_once),
        cmocka_unit_test(children_have_what_their_parents_had),
    };
    return cmocka_run_group_tests_name("own_memory", tests, NULL, NULL);
}
