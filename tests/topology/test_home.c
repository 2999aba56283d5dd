#include "../skip.h"

#include "topology/home.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { PAGES = 10000 }; /* more than two batches */

static void touched_pages_have_a_home(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    madvise(memory, PAGES * page, MADV_NOHUGEPAGE);
    uint64_t *pages = calloc(PAGES, sizeof *pages);
    int32_t *nodes = calloc(PAGES, sizeof *nodes);
    for (size_t i = 0; i < PAGES; i++) {
        pages[i] = (uint64_t)(uintptr_t)(memory + i * page);
        nodes[i] = 12345;
        if (i % 2)
            memory[i * page] = 1;
    }
    struct error err = {0};
    int result = home_query(0, pages, PAGES, nodes, &err);
    if (result == -ENOSYS || result == -EPERM)
        skip_test("the kernel refuses it: %s", err.text);
    assert_int_equal(result, 0);
    for (size_t i = 0; i < PAGES; i++) {
        if (i % 2)
            assert_in_range(nodes[i], 0, 1023);
        else
            assert_true(nodes[i] == -ENOENT || nodes[i] == -EFAULT);
    }
    assert_int_equal(home_query(getpid(), pages + 1, 1, nodes, &err), 0);
    assert_in_range(nodes[0], 0, 1023);
    munmap(memory, PAGES * page);
    free(pages);
    free(nodes);
}

/* Pages put on one node after the other: numbers that are no node of this machine are refused by mbind. */
static void bound_pages_are_where_they_were_put(void **state)
{
    (void)state;
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    int found = 0;
    for (int node = 0; node < 64; node++) {
        unsigned long mask = 1ul << node;
        char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(page, MAP_FAILED);
        if (syscall(SYS_mbind, page, size, 2 /* MPOL_BIND */, &mask, 65, 0) == 0) {
            page[0] = 1;
            uint64_t addr = (uint64_t)(uintptr_t)page;
            int32_t home = -1;
            assert_int_equal(home_query(0, &addr, 1, &home, NULL), 0);
            assert_int_equal(home, node);
            found++;
        }
        munmap(page, size);
    }
    if (found == 0)
        skip_test("the kernel binds no page to a node here");
}

static void nothing_asked_is_nothing_done(void **state)
{
    (void)state;
    assert_int_equal(home_query(0, NULL, 0, NULL, NULL), 0);
}

static void a_dead_process_is_said_to_be_gone(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    uint64_t page = 4096;
    int32_t node;
    struct error err = {0};
    int result = home_query(child, &page, 1, &node, &err);
    if (result == -ENOSYS)
        skip_test("the kernel refuses it: %s", err.text);
    assert_int_equal(result, -ESRCH);
    assert_int_equal(err.code, -ESRCH);
    assert_non_null(strstr(err.text, "has ended"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(touched_pages_have_a_home),
        cmocka_unit_test(bound_pages_are_where_they_were_put),
        cmocka_unit_test(nothing_asked_is_nothing_done),
        cmocka_unit_test(a_dead_process_is_said_to_be_gone),
    };
    return cmocka_run_group_tests_name("home", tests, NULL, NULL);
}
