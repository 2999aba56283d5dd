#include "agent/process/own_maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

struct search {
    uint64_t addr;
    struct maps_line found;
    char path[4096];
    uint64_t last_end;
    unsigned count, disorder;
};

static bool see(const struct maps_line *line, void *data)
{
    struct search *search = data;
    search->count++;
    search->disorder += line->start < search->last_end || line->end <= line->start;
    search->last_end = line->end;
    if (search->addr < line->start || search->addr >= line->end)
        return false;
    search->found = *line;
    strcpy(search->path, line->path);
    return true;
}

static void the_stack_is_found(void **state)
{
    (void)state;
    int here;
    struct search search = {.addr = (uint64_t)&here};
    assert_true(maps_find(see, &search));
    assert_string_equal(search.path, "[stack]");
    assert_int_equal(search.found.prot, PROT_READ | PROT_WRITE);
    assert_int_equal(search.disorder, 0);
    search = (struct search){.addr = 1};
    assert_false(maps_find(see, &search));
    assert_true(search.count > 5);
    search = (struct search){.addr = (uint64_t)&here};
    assert_true(maps_find_huge(see, &search));
    assert_true(search.found.start <= (uint64_t)&here && (uint64_t)&here < search.found.end);
    assert_int_equal(search.found.huge % (2 << 20), 0);
    assert_int_equal(search.disorder, 0);
    assert_int_equal(search.disorder, 0);
}

/* Many maps, so that lines straddle every edge of the buffer, and a path longer than it. */
static void every_line_is_whole(void **state)
{
    (void)state;
    char folder[] = "/tmp/numalens-maps-XXXXXX", name[260];
    assert_non_null(mkdtemp(folder));
    int home = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(folder), 0);
    memset(name, 'n', 250);
    name[250] = '\0';
    for (unsigned depth = 0; depth < 6; depth++)
        assert_int_equal(mkdir(name, 0700) | chdir(name), 0);
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0 && ftruncate(fd, 1 << 20) == 0);
    char *maps[100];
    for (unsigned i = 0; i < 100; i++) {
        bool of_file = i % 10 == 3;
        maps[i] = mmap(NULL, 8192, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE,
                       of_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, of_file ? fd : -1, of_file ? 8192 : 0);
        assert_ptr_not_equal(maps[i], MAP_FAILED);
    }
    for (unsigned i = 0; i < 100; i++) {
        struct search search = {.addr = (uint64_t)maps[i]};
        assert_true(maps_find(see, &search));
        assert_int_equal(search.disorder, 0);
        assert_int_equal(search.found.shared, i % 10 == 3);
        if (i % 10 == 3) {
            assert_memory_equal(search.path, folder, strlen(folder));
            assert_int_equal(search.found.offset, 8192);
        }
    }
    close(fd);
    unlink("file");
    for (unsigned depth = 0; depth < 6; depth++)
        assert_int_equal(chdir("..") | rmdir(name), 0);
    assert_int_equal(fchdir(home), 0);
    assert_int_equal(rmdir(folder), 0);
    close(home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stack_is_found),
        cmocka_unit_test(every_line_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
