/* Frames of Python 3.11, 3.12 and 3.13 in a made-up memory: walked, with lines and names; and what is half written gives nothing. */
#include "base/python_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum {
    BASE = 0x10000,
    SIZE = 8192,
    RUNTIME = BASE,
    INTERPRETER = BASE + 0x100,
    OTHER_THREAD = BASE + 0x200,
    THREAD = BASE + 0x300,
    HOLDER = BASE + 0x400,
    INNER = BASE + 0x500,
    OUTER = BASE + 0x580,
    SHIM = BASE + 0x5d8,
    CODE = BASE + 0x640,
    NAME = BASE + 0x800,
    FILE_NAME = BASE + 0x880,
    LINES = BASE + 0x900,
    TID = 77,
};

static uint8_t memory[SIZE];

static bool read_memory(void *context, uint64_t from, void *to, size_t bytes)
{
    (void)context;
    if (from < BASE || from > BASE + SIZE || bytes > BASE + SIZE - from)
        return false;
    memcpy(to, memory + (from - BASE), bytes);
    return true;
}

static const struct python_reader reader = {.read = read_memory};

static void put(uint64_t at, uint64_t value)
{
    memcpy(memory + (at - BASE), &value, sizeof value);
}

static void put_text(uint64_t at, const char *text)
{
    put(at + 16, strlen(text));
    put(at + 32, 1 << 2 | 1 << 5 | 1 << 6); /* a byte a character, compact, ASCII */
    memcpy(memory + (at - BASE) + 48, text, strlen(text));
}

static struct python_where make(void)
{
    struct python_where where = {.runtime = RUNTIME};
    uint64_t published[64] = {0};
    assert_true(python_layout_of(&where.layout, 0x030b02f0, published));
    memset(memory, 0, sizeof memory);
    put(RUNTIME + 40, INTERPRETER);
    put(INTERPRETER + 16, OTHER_THREAD);
    put(OTHER_THREAD + 8, THREAD);
    put(OTHER_THREAD + 160, TID + 1);
    put(THREAD + 160, TID);
    put(THREAD + 56, HOLDER);
    put(HOLDER + 8, INNER);
    put(INNER + 32, CODE);
    put(INNER + 48, OUTER);
    put(INNER + 56, CODE + 184 + 2 * 2);
    put(OUTER + 32, CODE);
    put(OUTER + 56, CODE + 184 + 3 * 2);
    memory[OUTER - BASE + 68] = 1;
    put(CODE + 112, FILE_NAME);
    put(CODE + 128, NAME);
    put(CODE + 136, LINES);
    put(CODE + 72, 10);
    put_text(NAME, "World.step");
    put_text(FILE_NAME, "/srv/world.py");
    /* One unit on line 10, two on 11, one on 311, one without a line. */
    static const uint8_t table[] = {0x80 | 10 << 3, 0,       0, 0x80 | 11 << 3 | 1, 0, 0,
                                    0x80 | 13 << 3, 64 | 24, 9, 0x80 | 15 << 3};
    put(LINES + 16, sizeof table);
    memcpy(memory + (LINES - BASE) + 32, table, sizeof table);
    return where;
}

static void frames_have_names_and_lines(void **state)
{
    (void)state;
    struct python_where where = make();
    struct python_frame frames[PYTHON_FRAMES];
    char text[PYTHON_FILE];
    uint64_t thread = python_thread(&where, &reader, TID);
    assert_int_equal(thread, THREAD);
    assert_int_equal(python_thread(&where, &reader, TID + 2), 0);
    assert_int_equal(python_walk(&where, &reader, thread, frames), 2);
    assert_false(frames[0].entry);
    assert_true(frames[1].entry);
    assert_int_equal(python_line(&where, &reader, &frames[0]), 11);
    assert_int_equal(python_line(&where, &reader, &frames[1]), 311);
    frames[0].instruction = CODE + 184;
    assert_int_equal(python_line(&where, &reader, &frames[0]), 10);
    frames[0].instruction = CODE + 184 + 4 * 2;
    assert_int_equal(python_line(&where, &reader, &frames[0]), 0);
    frames[0].instruction = CODE + 184 + 400;
    assert_int_equal(python_line(&where, &reader, &frames[0]), 0);
    assert_int_equal(python_text(&where, &reader, NAME, text, sizeof text, false), sizeof "World.step");
    assert_string_equal(text, "World.step");
    assert_true(python_text(&where, &reader, FILE_NAME, text, 10, true)); /* its end */
    assert_string_equal(text, "rld.py");
}

/* What 3.13 publishes (struct _Py_DebugOffsets of its Include/internal/pycore_runtime.h), by words, as 3.13.0 for x86-64 does. */
static const uint64_t
    published_13
        [64] =
            {
                [1] = 0x030d00f0, /* version */
                [3] = 0x452b8,    /* runtime: size, finalizing, interpreters_head */
                [4] = 0x260,
                [5] = 0x278,
                [6] = 0x2f998, /* interpreter: size, id, next, threads_head, others */
                [7] = 0x1c68,
                [8] = 0x1c60,
                [9] = 0x1cb0,
                [10] = 0x1ce8,
                [11] = 0x1de8,
                [12] = 0x1dd8,
                [13] = 0x1de0,
                [14] = 0x10,
                [15] = 0x1e48,
                [17] = 0x1e58,
                [18] = 0x1e50,
                [19] = 0x130, /* thread: size, prev, next, interp, current_frame, thread_id, native_thread_id, others */
                [21] = 8,
                [22] = 16,
                [23] = 0x48,
                [24] = 0x98,
                [25] = 0xa0,
                [26] = 0xe8,
                [27] = 0x20,
                [28] = 0x50, /* frame: size, previous, executable, instr_ptr, localsplus, owner */
                [29] = 8,
                [31] = 0x38,
                [32] = 0x48,
                [33] = 0x46,
                [34] = 0xd0, /* code: size, filename, name, qualname, linetable, firstlineno, others, co_code_adaptive */
                [35] = 0x70,
                [36] = 0x78,
                [37] = 0x80,
                [38] = 0x88,
                [39] = 0x44,
                [40] = 0x34,
                [41] = 0x60,
                [42] = 0x68,
                [43] = 0xc8,
};

/* Places of 3.12 (frames between calls from C have an owner of their own), and of 3.13, which reads them from the program. */
static struct python_where make_later(uint64_t version)
{
    struct python_where where = {.runtime = RUNTIME};
    uint64_t published[64];
    bool is_13 = version >> 16 == 0x030d;
    memcpy(published, published_13, sizeof published);
    memcpy(published, "xdebugpy", 8);
    assert_true(python_layout_of(&where.layout, version, published));
    make(); /* names and lines */
    uint64_t code_bytes = is_13 ? 200 : 192, text = 40, native_id = is_13 ? 0xa0 : 144;
    for (uint64_t at = RUNTIME; at < CODE; at += 8)
        put(at, 0);
    put(RUNTIME + (is_13 ? 0x278 : 40), INTERPRETER);
    put(INTERPRETER + (is_13 ? 0x1cb0 : 72), OTHER_THREAD);
    put(OTHER_THREAD + 8, THREAD);
    put(OTHER_THREAD + native_id, TID + 1);
    put(THREAD + native_id, TID);
    uint64_t holder = is_13 ? THREAD + 72 : HOLDER;
    if (!is_13)
        put(THREAD + 56, HOLDER);
    put(holder, INNER);
    put(INNER, CODE);
    put(INNER + 8, SHIM);
    put(INNER + 56, CODE + code_bytes + 2 * 2);
    put(SHIM + 8, OUTER);
    memory[SHIM - BASE + 70] = PYTHON_OWNED_BY_C;
    put(OUTER, CODE);
    put(OUTER + 56, CODE + code_bytes + 3 * 2);
    for (uint64_t at = CODE; at < CODE + 184; at += 8)
        put(at, 0);
    put(CODE + 64, (uint64_t)10 << 32);
    put(CODE + 112, FILE_NAME);
    put(CODE + 120, FILE_NAME); /* co_name: not what is asked for */
    put(CODE + 128, NAME);
    put(CODE + 136, LINES);
    memmove(memory + (NAME - BASE) + text, memory + (NAME - BASE) + 48, sizeof "World.step");
    return where;
}

static void frames_of_later_versions(void **state)
{
    (void)state;
    static const uint64_t versions[] = {0x030c01f0, 0x030d01f0};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct python_where where = make_later(versions[i]);
        struct python_frame frames[PYTHON_FRAMES];
        char text[PYTHON_FILE];
        assert_int_equal(python_thread(&where, &reader, TID), THREAD);
        assert_int_equal(python_thread(&where, &reader, TID + 2), 0);
        assert_int_equal(python_walk(&where, &reader, THREAD, frames), 2);
        assert_true(frames[0].entry); /* C called it: a frame of C's is between the two */
        assert_false(frames[1].entry);
        assert_int_equal(python_line(&where, &reader, &frames[0]), 11);
        assert_int_equal(python_line(&where, &reader, &frames[1]), 311);
        uint64_t name = python_head(&frames[0], where.layout.name);
        assert_int_equal(python_text(&where, &reader, name, text, sizeof text, false), sizeof "World.step");
        assert_string_equal(text, "World.step");
        put(SHIM + 8, 0xdead0008); /* not there */
        assert_int_equal(python_walk(&where, &reader, THREAD, frames), 1);
    }
}

static void what_is_half_written_ends_the_walk(void **state)
{
    (void)state;
    struct python_where where = make();
    struct python_frame frames[PYTHON_FRAMES];
    put(OUTER + 48, INNER); /* a circle */
    assert_int_equal(python_walk(&where, &reader, THREAD, frames), PYTHON_FRAMES);
    put(OUTER + 32, 0xdead0000);
    assert_int_equal(python_walk(&where, &reader, THREAD, frames), 1);
    put(HOLDER + 8, 0x123456789);
    assert_int_equal(python_walk(&where, &reader, THREAD, frames), 0);
    put(OTHER_THREAD + 8, OTHER_THREAD);
    assert_int_equal(python_thread(&where, &reader, TID), 0);
    /* Any word of it another one: nothing is read that is not there. */
    for (uint64_t at = BASE; at < BASE + SIZE; at += 8) {
        char text[PYTHON_FILE];
        make();
        put(at, at * 0x9e3779b97f4a7c15u);
        unsigned count = python_walk(&where, &reader, THREAD, frames);
        for (unsigned i = 0; i < count; i++) {
            python_line(&where, &reader, &frames[i]);
            python_text(&where, &reader, python_head(&frames[i], where.layout.name), text, sizeof text, true);
        }
    }
}

static void other_versions_are_refused(void **state)
{
    (void)state;
    struct python_layout layout;
    uint64_t published[64] = {0};
    assert_false(python_layout_of(&layout, 0x030a0df0, published));
    assert_false(python_layout_of(&layout, 0x030d00f0, published)); /* publishes nothing */
    assert_true(python_layout_of(&layout, 0x030c01f0, published));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_have_names_and_lines),
        cmocka_unit_test(frames_of_later_versions),
        cmocka_unit_test(what_is_half_written_ends_the_walk),
        cmocka_unit_test(other_versions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
