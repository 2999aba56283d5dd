/* Mappings as the kernel reports them, and huge pages put together. */
#include "../skip.h"
#include "fixture.h"

#include "migrate/ranges.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static const char maps[] = "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/a program\n"
                           "00e03000-00e24000 rw-p 00000000 00:00 0           [heap]\n"
                           "7f0000000000-7f0000200000 rw-p 00000000 00:00 0 \n"
                           "7f0000200000-7f0000300000 rw-p 00000000 00:00 0           [anon:arena]\n"
                           "7f0000400000-7f0000800000 rw-s 00000000 00:0f 20 /dev/hugepages/x\n"
                           "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0           [stack]\n"
                           "7ffd00100000-7ffd00102000 r-xp 00000000 00:00 0           [vdso]\n"
                           "nonsense\n";
static const char numa_maps[] = "00400000 default file=/usr/bin/a\\040program mapped=82 N0=82 kernelpagesize_kB=4\n"
                                "00e03000 default heap anon=3 dirty=3 N0=3 kernelpagesize_kB=4\n"
                                "7f0000000000 bind:1 anon=512 dirty=512 N1=512 kernelpagesize_kB=4\n"
                                "7f0000200000 interleave:0-3 anon=4 kernelpagesize_kB=4\n"
                                "7f0000400000 prefer:1 file=/dev/hugepages/x huge dirty=2 kernelpagesize_kB=2048\n"
                                "7f0000900000 default\n" /* came meanwhile */
                                "7ffd00000000 local stack anon=3 kernelpagesize_kB=4\n";

static void test_parse(void **state)
{
    (void)state;
    struct ranges ranges = {0};
    FILE *one = fmemopen((void *)maps, sizeof maps - 1, "r"),
         *other = fmemopen((void *)numa_maps, sizeof numa_maps - 1, "r");
    ranges_parse(&ranges, one, other);
    assert_int_equal(ranges.count, 7);
    const struct range *range = ranges_find(&ranges, 0x400123);
    assert_true(range && range->file && !range->bound && !range->special);
    range = ranges_find(&ranges, 0xe03000);
    assert_true(range && !range->file && !range->bound && !range->special);
    range = ranges_find(&ranges, 0x7f00001fffff);
    assert_true(range && range->bound);
    range = ranges_find(&ranges, 0x7f0000200000);
    assert_true(range && range->bound && !range->special);
    range = ranges_find(&ranges, 0x7f0000412345);
    assert_true(range && range->file && range->bound);
    assert_int_equal(range->page_bytes, 2 << 20);
    range = ranges_find(&ranges, 0x7ffd00000100);
    assert_true(range && !range->bound && !range->special);
    range = ranges_find(&ranges, 0x7ffd00100100);
    assert_true(range && range->special);
    assert_null(ranges_find(&ranges, 0));
    assert_null(ranges_find(&ranges, 0x452000));
    assert_null(ranges_find(&ranges, 0x7f0000380000));
    assert_null(ranges_find(&ranges, UINT64_MAX));
    ranges_free(&ranges);
    fclose(one);
    fclose(other);
}

static void test_own_process(void **state)
{
    (void)state;
    struct ranges ranges;
    int here;
    assert_int_equal(ranges_read(&ranges, (uint32_t)getpid()), 0);
    const struct range *range = ranges_find(&ranges, (uintptr_t)&here);
    assert_true(range && !range->special && !range->file);
    ranges_free(&ranges);
    assert_int_equal(ranges_read(&ranges, 0x7ffffff0), -ESRCH);
}

/* A real huge page of this process, where the kernel gives one. */
static void test_huge_pages_are_found(void **state)
{
    (void)state;
    struct ranges ranges;
    ranges_read(&ranges, (uint32_t)getpid());
    uint64_t size = ranges.huge_bytes;
    if (size == 0)
        skip_test("the kernel has no huge pages");
    char *memory = mmap(NULL, 3 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    char *huge = (char *)(((uintptr_t)memory + size - 1) & ~(size - 1));
    madvise(huge, size, MADV_HUGEPAGE);
    madvise(huge + size, size, MADV_NOHUGEPAGE);
    huge[0] = huge[size] = 1;
    ranges_free(&ranges);
    ranges_read(&ranges, (uint32_t)getpid());
    uint64_t small = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t pages[] = {(uintptr_t)huge, (uintptr_t)huge + small, (uintptr_t)huge + size};
    bool found[3];
    bool reported = ranges_huge(&ranges, (uint32_t)getpid(), pages, 3, found);
    assert_false(found[2]);
    if (reported && found[0]) /* memory may be too fragmented for one */
        assert_true(found[1]);
    munmap(memory, 3 * size);
    ranges_free(&ranges);
}

/* Accesses to parts of a huge page are accesses to it. hugetlbfs' page size comes from numa_maps: here the stack of a
 * survey with ranges set by hand cannot be had, so the merge is looked at through a page of our own. */
static void test_survey_of_own_process(void **state)
{
    (void)state;
    struct topology *topology = machine_of("numa:2 core:1");
    struct toy toy = {0};
    struct memory memory = toy_memory(&toy);
    struct page_map *map = page_map_new(1000);
    struct ranges ranges;
    ranges_read(&ranges, (uint32_t)getpid());
    uint64_t size = ranges.huge_bytes ? ranges.huge_bytes : 1 << 21;
    char *block = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(block, MAP_FAILED);
    char *huge = (char *)(((uintptr_t)block + size - 1) & ~(size - 1));
    madvise(huge, size, MADV_HUGEPAGE);
    memset(huge, 1, size);
    uint64_t small = (uint64_t)sysconf(_SC_PAGESIZE), pages[1] = {(uintptr_t)huge};
    bool is_huge;
    ranges_free(&ranges);
    ranges_read(&ranges, (uint32_t)getpid());
    ranges_huge(&ranges, (uint32_t)getpid(), pages, 1, &is_huge);
    for (unsigned i = 0; i < 10; i++) {
        struct page_access access = {
            .addr = (uintptr_t)huge + i * small, .pid = (uint32_t)getpid(), .thread = i % 2, .node = i % 2};
        page_map_add(map, &access);
        *map64_insert(&toy.homes, access.addr >> page_shift(), NULL) = 0;
    }
    struct survey survey;
    survey_make(&survey, map, &memory, topology, true);
    assert_int_equal(survey.process_count, 1);
    assert_int_equal(survey.accesses, 10);
    assert_int_equal(survey.remote, 5);
    if (is_huge) {
        assert_int_equal(survey.page_count, 1);
        assert_int_equal(survey.pages[0].bytes, size);
        assert_int_equal(survey.pages[0].address, (uintptr_t)huge);
        assert_int_equal(survey.pages[0].access_count, 2);
        assert_int_equal(nlens_policy_accesses(&survey.pages[0].accesses[0]), 5);
        assert_true(survey.pages[0].flags & NLENS_PAGE_HUGE);
    } else {
        assert_int_equal(survey.page_count, 10);
    }
    survey_free(&survey);
    ranges_free(&ranges);
    page_map_free(map);
    toy_close(&toy);
    topology_free(topology);
    munmap(block, 2 * size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_own_process),
        cmocka_unit_test(test_huge_pages_are_found),
        cmocka_unit_test(test_survey_of_own_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
