/* A buffer that the kernel would have filled: records come out whole, and what cannot be one is counted. */
#include "capture/perf/perf_ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { SIZE = 4096 };

struct record {
    struct perf_event_header header;
    uint64_t time;
};

static struct perf_event_mmap_page page;
static _Alignas(8) uint8_t bytes[SIZE];
static unsigned taken;

static struct perf_ring filled_ring(unsigned records)
{
    memset(&page, 0, sizeof page);
    for (unsigned i = 0; i < records; i++) {
        struct record record = {{PERF_RECORD_SAMPLE, 0, sizeof record}, i + 1};
        memcpy(bytes + i * sizeof record, &record, sizeof record);
    }
    page.data_head = records * sizeof(struct record);
    return (struct perf_ring){.fd = -1, .header = &page, .data = bytes, .size = SIZE};
}

static uint64_t time_of(const struct perf_event_header *record)
{
    return ((const struct record *)record)->time;
}

static void take(void *context, unsigned ring, const struct perf_event_header *record)
{
    (void)context, (void)ring, (void)record;
    taken++;
}

static void whole_records_are_taken(void **state)
{
    (void)state;
    struct perf_ring ring = filled_ring(10);
    taken = 0;
    perf_ring_merge(&ring, 1, time_of, UINT64_MAX, take, NULL);
    assert_int_equal(taken, 10);
    assert_int_equal(page.data_tail, page.data_head);
    assert_int_equal(perf_ring_corrupt(&ring), 0);
}

static void what_is_no_record_is_counted_once(void **state)
{
    (void)state;
    static const uint16_t sizes[] = {0, 4, sizeof(struct record) + 1, SIZE + 8, 7 * sizeof(struct record)};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct perf_ring ring = filled_ring(10);
        ((struct record *)(void *)bytes)[4].header.size = sizes[i];
        taken = 0;
        perf_ring_merge(&ring, 1, time_of, UINT64_MAX, take, NULL);
        assert_int_equal(taken, 4);
        assert_int_equal(perf_ring_corrupt(&ring), 1);
        assert_int_equal(perf_ring_corrupt(&ring), 0);
        assert_int_equal(page.data_tail, page.data_head);
        /* And it goes on behind it. */
        struct record record = {{PERF_RECORD_SAMPLE, 0, sizeof record}, 100};
        memcpy(bytes + page.data_head, &record, sizeof record);
        page.data_head += sizeof record;
        perf_ring_merge(&ring, 1, time_of, UINT64_MAX, take, NULL);
        assert_int_equal(taken, 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_records_are_taken),
        cmocka_unit_test(what_is_no_record_is_counted_once),
    };
    return cmocka_run_group_tests_name("perf_ring", tests, NULL, NULL);
}
