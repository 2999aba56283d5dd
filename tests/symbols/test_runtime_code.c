/* Names of code that a runtime has made: perf's map and jitdump, whole, in pieces, and damaged. */
#include "symbols/runtime/runtime_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 8 };

static struct {
    struct runtime_name row;
    char name[RUNTIME_NAME_MOST], file[RUNTIME_NAME_MOST];
} seen[MOST];
static unsigned count;

static void see(void *context, const struct runtime_name *name)
{
    (void)context;
    assert_true(count < MOST);
    seen[count].row = *name;
    snprintf(seen[count].name, RUNTIME_NAME_MOST, "%s", name->name);
    snprintf(seen[count++].file, RUNTIME_NAME_MOST, "%s", name->file);
}

static void read_map(const char *text)
{
    count = 0;
    assert_int_equal(perf_map_read(text, strlen(text), see, NULL), strlen(text));
}

static void assert_row(unsigned i, uint64_t addr, uint64_t size, const char *name, const char *file, uint32_t line)
{
    assert_int_equal(seen[i].row.addr, addr);
    assert_int_equal(seen[i].row.size, size);
    assert_int_equal(seen[i].row.line, line);
    assert_string_equal(seen[i].name, name);
    assert_string_equal(seen[i].file, file);
}

static void names_of_each_runtime_are_as_its_programmers_know_them(void **state)
{
    (void)state;
    read_map("7f00c0a0 4c0 JS:*gather file:///srv/grid.js:5:16\n"
             "7f00d000 10 LazyCompile:~main /srv/a b.js:3\n"
             "7f00e000 10 JS:^ /srv/grid.js:12:9\n"
             "0x7f00f000 0x20 JS:~ /srv/grid.js:1:1\n"
             "7f010000 20 double Grid.gather(int)\n"
             "7f011000 20 TRACE_3::grid.lua:14\n"
             "7f012000 20 Builtin:StringAdd_CheckNone\n"
             "7f013000 8 JS:*nextTick node:internal/process/task_queues:104:18\n");
    assert_int_equal(count, 8);
    assert_row(0, 0x7f00c0a0, 0x4c0, "gather", "/srv/grid.js", 5);
    assert_row(1, 0x7f00d000, 0x10, "main /srv/a", "b.js",
               3); /* a blank in a folder: nobody can see where the name ends */
    assert_row(2, 0x7f00e000, 0x10, "(anonymous)", "/srv/grid.js", 12);
    assert_row(3, 0x7f00f000, 0x20, "(top level)", "/srv/grid.js", 1);
    assert_row(4, 0x7f010000, 0x20, "double Grid.gather(int)", "", 0);
    assert_row(5, 0x7f011000, 0x20, "TRACE_3::grid.lua:14", "", 0);
    assert_row(6, 0x7f012000, 0x20, "Builtin:StringAdd_CheckNone", "", 0);
    assert_row(7, 0x7f013000, 8, "nextTick", "node:internal/process/task_queues", 104);
}

static void a_map_that_is_none_gives_nothing(void **state)
{
    (void)state;
    char text[4096];
    read_map("\n \nx\n1\n1 2\n1 2 \n10000000000000000 2 a\n1 0 a\n1 ffffffffffff a\nffffffffffffffff 2 a\n");
    assert_int_equal(count, 0);
    read_map("1000 8 one\033[2J\n");
    assert_string_equal(seen[0].name, "one?[2J");
    memset(text, 'n', sizeof text);
    memcpy(text, "1000 8 ", 7);
    text[sizeof text - 2] = '\n';
    text[sizeof text - 1] = '\0';
    read_map(text);
    assert_int_equal(strlen(seen[0].name), RUNTIME_NAME_MOST - 1);
    /* A line that is not whole yet stays. */
    count = 0;
    assert_int_equal(perf_map_read("1000 8 one\n2000 8 tw", 20, see, NULL), 11);
    assert_int_equal(count, 1);
}

struct bytes {
    uint8_t data[2048];
    size_t size;
};

static void put(struct bytes *bytes, const void *from, size_t size)
{
    memcpy(bytes->data + bytes->size, from, size);
    bytes->size += size;
}

static void put32(struct bytes *bytes, uint32_t value)
{
    put(bytes, &value, sizeof value);
}

static void put64(struct bytes *bytes, uint64_t value)
{
    put(bytes, &value, sizeof value);
}

static void put_header(struct bytes *bytes)
{
    const uint32_t words[] = {0x4A695444, 1, 40, 62, 0, 123};
    put(bytes, words, sizeof words);
    put64(bytes, 1);
    put64(bytes, 0);
}

static void put_load(struct bytes *bytes, uint64_t time, uint64_t addr, uint64_t size, const char *name)
{
    put32(bytes, 0);
    put32(bytes, (uint32_t)(56 + strlen(name) + 1 + size));
    put64(bytes, time);
    put32(bytes, 123);
    put32(bytes, 124);
    put64(bytes, addr);
    put64(bytes, addr);
    put64(bytes, size);
    put64(bytes, 1);
    put(bytes, name, strlen(name) + 1);
    memset(bytes->data + bytes->size, 0x90, size);
    bytes->size += size;
}

static void put_lines(struct bytes *bytes, uint64_t addr)
{
    put32(bytes, 2);
    put32(bytes, 32 + 2 * 16 + sizeof "/srv/a.js" + sizeof "\xff");
    put64(bytes, 5);
    put64(bytes, addr);
    put64(bytes, 2);
    put64(bytes, addr);
    put32(bytes, 7);
    put32(bytes, 0);
    put(bytes, "/srv/a.js", sizeof "/srv/a.js");
    put64(bytes, addr + 8);
    put32(bytes, 9);
    put32(bytes, 0);
    put(bytes, "\xff", sizeof "\xff");
}

static void a_jitdump_has_times_and_lines(void **state)
{
    (void)state;
    struct bytes bytes = {0};
    put_header(&bytes);
    put_load(&bytes, 10, 0x1000, 16, "first");
    put_lines(&bytes, 0x1000);
    put_load(&bytes, 20, 0x1000, 32, "second");
    /* In all pieces: what is not whole is given again. */
    for (size_t piece = 1; piece < bytes.size; piece += 7) {
        struct jitdump dump = {0};
        count = 0;
        size_t at = 0;
        for (size_t end = piece; at < bytes.size; end = end + piece < bytes.size ? end + piece : bytes.size)
            at += jitdump_read(&dump, bytes.data + at, end - at, see, NULL);
        jitdump_free(&dump);
        assert_int_equal(count, 4);
        assert_row(0, 0x1000, 16, "first", "", 0);
        assert_int_equal(seen[0].row.time, 10);
        assert_row(1, 0x1000, 32, "second", "", 0);
        assert_row(2, 0x1000, 8, "second", "/srv/a.js", 7);
        assert_row(3, 0x1008, 24, "second", "/srv/a.js", 9);
        assert_int_equal(seen[3].row.time, 20);
    }
}

static void read_whole(const struct bytes *bytes)
{
    struct jitdump dump = {0};
    count = 0;
    assert_int_equal(jitdump_read(&dump, bytes->data, bytes->size, see, NULL), bytes->size);
    jitdump_free(&dump);
}

/* Lines of V8 are 0x40 bytes behind their code, and belong to its address. */
static void lines_of_another_file_than_the_function_s_are_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *name, *file;
        size_t rows;
    } cases[] = {{"JS:*gather /srv/a.js:6:1", "/srv/a.js", 3}, {"JS:*gather /srv/b.js:6:1", "/srv/b.js", 1}};
    for (size_t i = 0; i < 2; i++) {
        struct bytes bytes = {0};
        put_header(&bytes);
        size_t lines = bytes.size;
        put_lines(&bytes, 0x1040);
        memcpy(bytes.data + lines + 16, &(uint64_t){0x1000}, sizeof(uint64_t));
        put_load(&bytes, 20, 0x1000, 32, cases[i].name);
        read_whole(&bytes);
        assert_int_equal(count, cases[i].rows);
        assert_row(0, 0x1000, 32, "gather", cases[i].file, 6);
    }
}

static void a_damaged_jitdump_does_no_harm(void **state)
{
    (void)state;
    struct bytes bytes = {0};
    put_header(&bytes);
    put_lines(&bytes, 0x1000);
    put_load(&bytes, 20, 0x1000, 32, "second");
    for (size_t i = 0; i < bytes.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            struct jitdump dump = {0};
            bytes.data[i] ^= (uint8_t)(1 << bit);
            count = 0;
            assert_true(jitdump_read(&dump, bytes.data, bytes.size, see, NULL) <= bytes.size);
            bytes.data[i] ^= (uint8_t)(1 << bit);
            jitdump_free(&dump);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_each_runtime_are_as_its_programmers_know_them),
        cmocka_unit_test(a_map_that_is_none_gives_nothing),
        cmocka_unit_test(a_jitdump_has_times_and_lines),
        cmocka_unit_test(lines_of_another_file_than_the_function_s_are_left_out),
        cmocka_unit_test(a_damaged_jitdump_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
