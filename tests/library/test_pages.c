/* The pages that look like perf's: layout, wrapping, fullness. */
#include "lib/numap/numap_pages.h"

#include "work.h"

#include <string.h>
#include <unistd.h>

static void fields_lie_in_the_kernels_order(void **state)
{
    (void)state;
    struct perf_event_mmap_page *page = pages_make(1);
    const nlens_sample sample = {
        .ip = 1, .tid = 2, .time = 3, .addr = 4, .cpu = 5, .latency = 7, .data_src = 8, .read = true};
    uint64_t lost = 0;
    assert_true(pages_put(page, &sample, PAGES_SAMPLE_TYPES, 6, &lost));
    const uint8_t *data = (const uint8_t *)page + page->data_offset;
    struct perf_event_header header;
    uint64_t body[8];
    memcpy(&header, data, sizeof header);
    memcpy(body, data + sizeof header, sizeof body);
    assert_int_equal(header.type, PERF_RECORD_SAMPLE);
    assert_int_equal(header.size, 72);
    assert_int_equal(page->data_head, 72);
    const uint64_t expected[8] = {1, (uint64_t)2 << 32 | (uint32_t)getpid(), 3, 4, 5, 6, 7, 8};
    assert_memory_equal(body, expected, sizeof body);
    assert_int_equal(page->data_offset, sysconf(_SC_PAGESIZE));
    pages_free(page);
}

static void full_pages_lose_and_tell(void **state)
{
    (void)state;
    struct perf_event_mmap_page *page = pages_make(1);
    nlens_sample sample = {.read = true};
    uint64_t lost = 0, put = 0;
    const uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
    while (pages_put(page, &sample, type, 1, &lost))
        put++;
    assert_int_equal(put, (page->data_size - 1) / 40);
    assert_false(pages_put(page, &sample, type, 1, &lost));
    assert_int_equal(lost, 2);
    uint64_t before = page->data_head;
    page->data_tail = page->data_head % page->data_size; /* as NumaMMA writes it */
    assert_true(pages_put(page, &sample, type, 1, &lost));
    assert_int_equal(lost, 0);
    assert_int_equal(page->data_head - before, 24 + 40);
    pages_free(page);
}

static void count_samples(void *context, const struct sample *sample)
{
    uint64_t *next = context;
    assert_int_equal(sample->ip, *next);
    assert_int_equal(sample->addr, *next * 2);
    ++*next;
}

static void records_wrap_whole(void **state)
{
    (void)state;
    struct perf_event_mmap_page *page = pages_make(1);
    uint64_t lost = 0, next = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        const nlens_sample sample = {.ip = i, .addr = i * 2, .read = true};
        assert_true(pages_put(page, &sample,
                              PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC, 1, &lost));
        pages_each(page, count_samples, &next);
        assert_int_equal(next, i + 1);
        page->data_tail = page->data_head;
    }
    pages_free(page);
}

static void sizes_are_powers_of_two(void **state)
{
    (void)state;
    struct perf_event_mmap_page *page = pages_make(5);
    assert_int_equal(page->data_size, 8 * (uint64_t)sysconf(_SC_PAGESIZE));
    pages_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_lie_in_the_kernels_order),
        cmocka_unit_test(full_pages_lose_and_tell),
        cmocka_unit_test(records_wrap_whole),
        cmocka_unit_test(sizes_are_powers_of_two),
    };
    return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
