#include "capture/faults/code_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char path[] = "/tmp/numalens-code-XXXXXX";
static uint64_t inode;

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    struct stat status;
    for (int i = 0; i < 4096; i++)
        if (write(fd, &(uint8_t){(uint8_t)(i / 16)}, 1) != 1)
            return -1;
    if (fstat(fd, &status) != 0)
        return -1;
    inode = status.st_ino;
    return close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* The byte at `addr`, or -1. */
static int byte_at(struct code_files *code, uint32_t pid, uint64_t addr)
{
    uint8_t byte;
    return code_files_read(code, pid, addr, &byte, 1) == 1 ? byte : -1;
}

static void map(struct code_files *code, uint32_t pid, uint64_t addr, uint64_t size, uint64_t offset)
{
    code_files_map(code, pid, &(struct code_map){addr, size, offset, inode, true, path});
}

static void code_is_read_from_its_file(void **state)
{
    (void)state;
    struct code_files code = {0};
    uint8_t bytes[16];
    assert_int_equal(byte_at(&code, 7, 0x10000), -1);
    map(&code, 7, 0x10000, 0x800, 0x400);
    assert_int_equal(byte_at(&code, 7, 0x10000), 0x40);
    assert_int_equal(byte_at(&code, 7, 0x107ff), 0xbf);
    assert_int_equal(byte_at(&code, 7, 0x10800), -1);
    assert_int_equal(byte_at(&code, 7, 0xffff), -1);
    assert_int_equal(byte_at(&code, 8, 0x10000), -1);
    assert_int_equal(code_files_read(&code, 7, 0x107fa, bytes, sizeof bytes), 6); /* what is behind it is another's */
    code_files_fork(&code, 8, 7);
    code_files_forget(&code, 7);
    assert_int_equal(byte_at(&code, 7, 0x10000), -1);
    assert_int_equal(byte_at(&code, 8, 0x10010), 0x41);
    code_files_free(&code);
}

static void another_file_at_the_path_is_not_read(void **state)
{
    (void)state;
    struct code_files code = {0};
    code_files_map(&code, 7, &(struct code_map){0x10000, 0x1000, 0, inode + 1, true, path});
    code_files_map(&code, 7, &(struct code_map){0x20000, 0x1000, 0, inode, true, "/tmp"});
    code_files_map(&code, 7, &(struct code_map){0x30000, 0x1000, 0, inode, true, "//anon"});
    code_files_map(&code, 7, &(struct code_map){0x40000, 0x1000, 0, inode, false, path});
    code_files_map(&code, 7, &(struct code_map){UINT64_MAX - 0xff, 0x1000, 0, inode, true, path});
    for (uint64_t addr = 0x10000; addr <= 0x40000; addr += 0x10000)
        assert_int_equal(byte_at(&code, 7, addr), -1);
    assert_int_equal(byte_at(&code, 7, UINT64_MAX - 0xff), -1);
    code_files_free(&code);
}

static void what_is_mapped_later_covers_it(void **state)
{
    (void)state;
    struct code_files code = {0};
    map(&code, 7, 0x10000, 0x1000, 0);
    code_files_map(&code, 7, &(struct code_map){0x10800, 0x1000, 0, 0, false, ""}); /* its end */
    assert_int_equal(byte_at(&code, 7, 0x107f0), 0x7f);
    assert_int_equal(byte_at(&code, 7, 0x10800), -1);
    code_files_map(&code, 7, &(struct code_map){0xf000, 0x1100, 0, 0, false, ""}); /* its beginning */
    assert_int_equal(byte_at(&code, 7, 0x100f0), -1);
    assert_int_equal(byte_at(&code, 7, 0x10100), 0x10);
    map(&code, 7, 0x10400, 0x100, 0); /* the middle */
    assert_int_equal(byte_at(&code, 7, 0x103f0), 0x3f);
    assert_int_equal(byte_at(&code, 7, 0x10400), 0);
    assert_int_equal(byte_at(&code, 7, 0x10500), -1);
    map(&code, 7, 0x10000, 0x1000, 0); /* all */
    assert_int_equal(byte_at(&code, 7, 0x10500), 0x50);
    code_files_free(&code);
}

static void there_is_an_end_to_what_is_kept(void **state)
{
    (void)state;
    struct code_files code = {0};
    char name[32];
    for (uint64_t i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "/nowhere/%u", (unsigned)i);
        code_files_map(&code, 7, &(struct code_map){i << 12, 0x1000, 0, 1, true, i % 2 ? name : path});
    }
    assert_true(code.files.count <= 256);
    assert_int_equal(byte_at(&code, 7, 0), -1); /* another inode */
    code_files_free(&code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_is_read_from_its_file),
        cmocka_unit_test(another_file_at_the_path_is_not_read),
        cmocka_unit_test(what_is_mapped_later_covers_it),
        cmocka_unit_test(there_is_an_end_to_what_is_kept),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
