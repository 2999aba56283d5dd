#include "base/strtab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void equal_texts_share_a_number(void **state)
{
    (void)state;
    struct strtab *table = strtab_new();
    char text[32];
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 1; i < 5000; i++) {
            snprintf(text, sizeof text, "name %u", i);
            assert_int_equal(strtab_add(table, text), i);
        }
    }
    assert_string_equal(strtab_text(table, 4999), "name 4999");
    assert_int_equal(strtab_add(table, ""), 0);
    assert_string_equal(strtab_text(table, 123456), "");
    strtab_free(table);
}

static void a_long_text_has_room(void **state)
{
    (void)state;
    struct strtab *table = strtab_new();
    static char text[200000];
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(strlen(strtab_intern(table, text)), sizeof text - 1);
    strtab_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_share_a_number),
        cmocka_unit_test(a_long_text_has_room),
    };
    return cmocka_run_group_tests_name("strtab", tests, NULL, NULL);
}
