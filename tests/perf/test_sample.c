/* test_sample.c - samples put together as the kernel lays them out, taken apart again. */
#include "bytes.h"
#include "perf/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const uint64_t everything = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                   PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
                                   PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
                                   PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                                   PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |
                                   PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
                                   PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_AUX;

static struct perf_layout layout_of(void)
{
    return (struct perf_layout){.sample_type = everything,
                                .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED,
                                .branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX,
                                .sample_regs_user = 0x7,
                                .sample_regs_intr = 0x3,
                                .sample_id_all = true};
}

static struct bytes full_sample(void)
{
    struct bytes bytes = {0};
    put_header(&bytes, PERF_RECORD_SAMPLE);
    put64(&bytes, 77);                    /* identifier */
    put64(&bytes, 0x401000);              /* ip */
    put32(&bytes, 10), put32(&bytes, 11); /* pid, tid */
    put64(&bytes, 123456789);             /* time */
    put64(&bytes, 0x7f0000001040);        /* addr */
    put64(&bytes, 77);                    /* id */
    put64(&bytes, 5);                     /* stream */
    put32(&bytes, 3), put32(&bytes, 0);   /* cpu */
    put64(&bytes, 1000);                  /* period */
    put64(&bytes, 2), put64(&bytes, 9);   /* read: count, time enabled */
    for (uint64_t i = 0; i < 4; i++)
        put64(&bytes, i);
    put64(&bytes, 2), put64(&bytes, 0xa), put64(&bytes, 0xb); /* call chain */
    put32(&bytes, 12);                                        /* raw */
    for (uint8_t i = 0; i < 12; i++)
        put8(&bytes, i);
    put64(&bytes, 1), put64(&bytes, 0); /* branches: count, index */
    put64(&bytes, 1), put64(&bytes, 2), put64(&bytes, 3);
    put64(&bytes, PERF_SAMPLE_REGS_ABI_64); /* user registers */
    put64(&bytes, 1), put64(&bytes, 2), put64(&bytes, 3);
    put64(&bytes, 8), put64(&bytes, 0), put64(&bytes, 8);        /* user stack */
    put64(&bytes, (uint64_t)7 << 48 | (uint64_t)30 << 32 | 420); /* weights */
    put64(&bytes, 0x68100142);                                   /* data_src */
    put64(&bytes, 0);                                            /* transaction */
    put64(&bytes, PERF_SAMPLE_REGS_ABI_NONE);                    /* no registers follow */
    put64(&bytes, 0x123000);                                     /* physical */
    put64(&bytes, 1);                                            /* cgroup */
    put64(&bytes, 4096), put64(&bytes, 2097152);
    put64(&bytes, 8), put64(&bytes, 0); /* aux */
    return bytes;
}

static void test_every_field(void **state)
{
    (void)state;
    struct bytes bytes = full_sample();
    struct perf_layout layout = layout_of();
    struct perf_sample sample;
    assert_true(perf_sample_parse(&sample, &layout, bytes.data, bytes.size));
    assert_int_equal(sample.id, 77);
    assert_int_equal(sample.ip, 0x401000);
    assert_int_equal(sample.pid, 10);
    assert_int_equal(sample.tid, 11);
    assert_int_equal(sample.time, 123456789);
    assert_int_equal(sample.addr, 0x7f0000001040);
    assert_int_equal(sample.cpu, 3);
    assert_int_equal(sample.period, 1000);
    assert_int_equal(sample.callchain_count, 2);
    assert_int_equal(perf_sample_frame(&sample, 0), 0xa);
    assert_int_equal(perf_sample_frame(&sample, 1), 0xb);
    assert_int_equal(sample.raw_size, 12);
    assert_int_equal(sample.raw[11], 11);
    assert_int_equal(sample.latency, 420);
    assert_int_equal(sample.data_src, 0x68100142);
    assert_int_equal(sample.physical, 0x123000);
}

/* A record that is cut anywhere is refused, never read beyond. The compiler's and valgrind's eyes are on the copy. */
static void test_cut_anywhere(void **state)
{
    (void)state;
    struct bytes bytes = full_sample();
    struct perf_layout layout = layout_of();
    struct perf_sample sample;
    for (size_t size = 0; size < bytes.size; size++)
        assert_false(perf_sample_parse(&sample, &layout, bytes.data, size));
}

/* Counts that would wrap a multiplication. */
static void test_absurd_counts(void **state)
{
    (void)state;
    static const uint64_t kinds[] = {PERF_SAMPLE_CALLCHAIN,  PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_READ,
                                     PERF_SAMPLE_STACK_USER, PERF_SAMPLE_AUX,          PERF_SAMPLE_RAW};
    static const uint64_t counts[] = {UINT64_MAX, 1ULL << 61, (1ULL << 61) + 1, 1ULL << 32, UINT64_MAX / 3 + 1};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            struct perf_layout layout = {.sample_type = kinds[k], .read_format = PERF_FORMAT_GROUP};
            struct bytes bytes = {0};
            struct perf_sample sample;
            put_header(&bytes, PERF_RECORD_SAMPLE);
            put64(&bytes, counts[c] | (kinds[k] == PERF_SAMPLE_RAW ? 0xffffffff : 0));
            put64(&bytes, 0);
            assert_false(perf_sample_parse(&sample, &layout, bytes.data, bytes.size));
        }
}

static void test_trailer(void **state)
{
    (void)state;
    struct perf_layout layout = {.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                                                PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP,
                                 .sample_id_all = true};
    struct bytes bytes = {0};
    struct perf_sample sample;
    put_header(&bytes, PERF_RECORD_COMM);
    put64(&bytes, 0); /* the record's own fields */
    put32(&bytes, 10), put32(&bytes, 11);
    put64(&bytes, 99);
    put32(&bytes, 6), put32(&bytes, 0);
    put64(&bytes, 1234);
    assert_true(perf_sample_parse_id(&sample, &layout, bytes.data, bytes.size));
    assert_int_equal(sample.tid, 11);
    assert_int_equal(sample.time, 99);
    assert_int_equal(sample.cpu, 6);
    assert_int_equal(sample.id, 1234);
    layout.sample_id_all = false;
    assert_false(perf_sample_parse_id(&sample, &layout, bytes.data, bytes.size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_absurd_counts),
        cmocka_unit_test(test_trailer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
