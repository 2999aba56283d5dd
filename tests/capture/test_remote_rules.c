/* test_remote_rules.c - which code a process has and the way from its frames to their callers, by its files: those of this process, which knows the truth; and
 * files that are damaged. */
#include "capture/outside/code_image.h"
#include "capture/outside/remote_rules.h"
#include "executor/executor.h"
#include "isa/unwind/unwind_cfi.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { DAMAGES = 3000 };

static __attribute__((noinline)) uint64_t return_address(void)
{
    __asm__ volatile("");
    return (uint64_t)__builtin_return_address(0);
}

static void code_has_rules(void **state)
{
    (void)state;
    struct rule_files *files = rule_files_new(1 << 20);
    struct remote_rules *rules = remote_rules_new((uint32_t)getpid(), files);
    assert_int_equal(remote_rules_number(rules), 0);
    remote_rules_look(rules);
    uint32_t number = remote_rules_number(rules);
    assert_int_not_equal(number, 0);
    assert_int_equal(remote_rules_of(rules, return_address() - 1).kind, UNWIND_FRAME);
    assert_int_equal(remote_rules_of(rules, (uint64_t)(uintptr_t)strtol).kind, UNWIND_FRAME);
    assert_int_equal(remote_rules_of(rules, (uint64_t)&number).kind, EXECUTOR_NO_CODE);
    assert_int_equal(remote_rules_of(rules, 0).kind, EXECUTOR_NO_CODE);
    assert_int_equal(remote_rules_of(rules, UINT64_MAX).kind, EXECUTOR_NO_CODE);
    remote_rules_look(rules);
    assert_int_equal(remote_rules_number(rules), number);

    void *made = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(made, MAP_FAILED);
    remote_rules_look(rules);
    assert_int_not_equal(remote_rules_number(rules), number);
    assert_int_equal(remote_rules_of(rules, (uint64_t)made + 8).kind, UNWIND_NONE);
    munmap(made, 4096);
    remote_rules_free(rules);
    rule_files_free(files);
}

static int take_main(struct dl_phdr_info *info, size_t size, void *to)
{
    (void)size;
    *(struct dl_phdr_info *)to = *info;
    return 1;
}

/* Each address of this program, stubs of the .plt too, by the file and by what is loaded of it. */
static void the_file_says_what_is_loaded(void **state)
{
    (void)state;
    struct dl_phdr_info info;
    struct unwind_module loaded = {.high = UINT64_MAX};
    uint64_t eh_frame;
    int file = open("/proc/self/exe", O_RDONLY);
    struct code_image *image = code_image_read(file, 1 << 20);
    assert_non_null(image);
    dl_iterate_phdr(take_main, &info);
    for (unsigned i = 0; i < info.dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &info.dlpi_phdr[i];
        const uint8_t *start = (const uint8_t *)info.dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_GNU_EH_FRAME)
            assert_true(unwind_cfi_index(&loaded, start, segment->p_memsz, &eh_frame));
    }
    unsigned kinds[256] = {0};
    for (unsigned i = 0; i < info.dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &info.dlpi_phdr[i];
        for (uint64_t at = 0; segment->p_type == PT_LOAD && segment->p_flags & PF_X && at < segment->p_filesz; at++) {
            struct unwind_rule is = code_image_rule(image, segment->p_offset + at),
                               wanted = unwind_cfi_rule(&loaded, info.dlpi_addr + segment->p_vaddr + at);
            assert_memory_equal(&is, &wanted, sizeof is);
            kinds[is.kind]++;
        }
    }
    assert_true(kinds[UNWIND_FRAME] > 1000);
    code_image_free(image);
    close(file);
}

/* Many processes with large files: those above the limit have no rules. */
static void files_take_no_more_than_they_may(void **state)
{
    (void)state;
    struct rule_files *files = rule_files_new(100);
    struct remote_rules *rules = remote_rules_new((uint32_t)getpid(), files);
    remote_rules_look(rules);
    assert_int_equal(remote_rules_of(rules, return_address() - 1).kind, UNWIND_NONE);
    remote_rules_free(rules);
    rule_files_free(files);
}

static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    int own = open("/proc/self/exe", O_RDONLY), file = memfd_create("damaged", 0);
    off_t size = lseek(own, 0, SEEK_END), from = 0;
    uint8_t *bytes = malloc((size_t)size);
    assert_true(own >= 0 && file >= 0 && bytes && pread(own, bytes, (size_t)size, 0) == size);
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)(void *)bytes;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(void *)(bytes + head->e_phoff);
    for (unsigned i = 0; i < head->e_phnum; i++)
        from = segments[i].p_type == PT_GNU_EH_FRAME ? (off_t)segments[i].p_offset : from;
    assert_true(from > 0 && pwrite(file, bytes, (size_t)size, 0) == size);
    unsigned read = 0, kinds[256] = {0};
    srand(34);
    for (unsigned i = 0; i < DAMAGES; i++) {
        off_t at = i % 4 ? from + rand() % 8000 : rand() % 1200;
        uint64_t any = (uint64_t)rand() << 33 ^ (uint64_t)rand();
        size_t length = 1u << rand() % 4;
        if (at + (off_t)length > size)
            continue;
        assert_true(pwrite(file, &any, length, at) == (ssize_t)length);
        struct code_image *image = code_image_read(file, 1 << 20);
        for (unsigned k = 0; image && k < 200; k++)
            kinds[code_image_rule(image, (uint64_t)rand() % (uint64_t)size).kind]++;
        read += image != NULL;
        code_image_free(image);
        assert_true(pwrite(file, bytes + at, length, at) == (ssize_t)length);
    }
    assert_true(ftruncate(file, from + 100) == 0);
    code_image_free(code_image_read(file, 1 << 20));
    assert_true(read > DAMAGES / 2 && kinds[UNWIND_FRAME] > 1000 && kinds[UNWIND_NONE] > 1000);
    free(bytes);
    close(file);
    close(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_has_rules),
        cmocka_unit_test(the_file_says_what_is_loaded),
        cmocka_unit_test(files_take_no_more_than_they_may),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests_name("remote_rules", tests, NULL, NULL);
}
