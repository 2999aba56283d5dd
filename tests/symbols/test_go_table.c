/* The table of functions and lines that a Go program carries, made up: two functions, the first with a line of another file in it. */
#include "symbols/runtime/go_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { NAMES = 0, UNITS = 32, FILES = 48, VALUES = 72, FUNCTIONS = 100, FIRST = 24, SECOND = FIRST + 36, SIZE = 200 };

static void put(uint8_t *bytes, size_t at, uint32_t value)
{
    memcpy(bytes + at, &value, sizeof value);
}

static struct go_table made_up(uint8_t bytes[SIZE])
{
    memset(bytes, 0, SIZE);
    memcpy(bytes + NAMES, "\0main.gather\0main.(*T).scale", 28);
    put(bytes, UNITS, 0);
    put(bytes, UNITS + 4, 9);
    memcpy(bytes + FILES, "/a/b.go\0\0/a/c.go", 17);
    /* Differences of the value in zigzag, then of addresses; lines 10, 300, 12; files 0, 1, 0. */
    memcpy(bytes + VALUES,
           "\0"
           "\x16\x04\xc4\x04\x02\xbf\x04\x0a\0"
           "\x02\x04\x02\x02\x01\x0a\0",
           17);
    const struct {
        uint32_t entry, record;
    } list[] = {{0, FIRST}, {16, SECOND}, {32, 0}};
    for (unsigned i = 0; i < 3; i++) {
        put(bytes, FUNCTIONS + i * 8, list[i].entry);
        put(bytes, FUNCTIONS + i * 8 + 4, list[i].record);
    }
    put(bytes, FUNCTIONS + FIRST + 4, 1);
    put(bytes, FUNCTIONS + FIRST + 20, 10);
    put(bytes, FUNCTIONS + FIRST + 24, 1);
    put(bytes, FUNCTIONS + SECOND + 4, 13);
    return (struct go_table){.opened = true,
                             .bytes = bytes,
                             .size = SIZE,
                             .text = 0x401000,
                             .count = 2,
                             .names = NAMES,
                             .units = UNITS,
                             .files = FILES,
                             .values = VALUES,
                             .functions = FUNCTIONS,
                             .quantum = 1};
}

static void functions_and_lines_are_found(void **state)
{
    (void)state;
    uint8_t bytes[SIZE];
    struct go_table table = made_up(bytes);
    struct symbol_frame frame;
    assert_true(go_table_frame(&table, 0x401002, &frame));
    assert_string_equal(frame.function, "main.gather");
    assert_string_equal(frame.file, "/a/b.go");
    assert_int_equal(frame.line, 10);
    assert_int_equal(frame.offset, 2);
    assert_true(go_table_frame(&table, 0x401005, &frame)); /* inlined, from c.go */
    assert_string_equal(frame.file, "/a/b.go");
    assert_int_equal(frame.line, 0);
    assert_true(go_table_frame(&table, 0x401008, &frame));
    assert_int_equal(frame.line, 12);
    assert_true(go_table_frame(&table, 0x401010, &frame));
    assert_string_equal(frame.function, "main.(*T).scale");
    assert_int_equal(frame.line, 0);
    assert_false(go_table_frame(&table, 0x400fff, &frame));
    assert_false(go_table_frame(&table, 0x401020, &frame));
}

static void damage_does_no_harm(void **state)
{
    (void)state;
    uint8_t bytes[SIZE];
    struct go_table table = made_up(bytes);
    struct symbol_frame frame;
    for (unsigned i = 0; i < SIZE * 8; i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        for (uint64_t addr = 0x401000; addr < 0x401020; addr++)
            if (go_table_frame(&table, addr, &frame))
                assert_true(strlen(frame.function) < SIZE && strlen(frame.file) < SIZE);
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_and_lines_are_found),
        cmocka_unit_test(damage_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
