/* test_spe.c - packets byte by byte as the architecture lays them out, in whole and in pieces. */
#include "bytes.h"
#include "perf/spe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { NEOVERSE_V1 = 0x411fd401, AMPERE_ONE_A = 0xc00fac40u, UNKNOWN_CORE = 0x410fd050 };
enum {
    L1_ACCESS = 1 << 2,
    L1_REFILL = 1 << 3,
    TLB_WALK = 1 << 5,
    LLC_ACCESS = 1 << 8,
    LLC_MISS = 1 << 9,
    REMOTE = 1 << 10
};
enum { L2_ACCESS = 1 << 19, L2_MISS = 1 << 20, MODIFIED = 1 << 21, SNOOPED = 1 << 23 };

static void put_address(struct bytes *bytes, unsigned index, uint64_t value)
{
    put8(bytes, (uint8_t)(0xb0 | index));
    put64(bytes, value);
}

static void put_events(struct bytes *bytes, uint32_t events)
{
    put8(bytes, 0x62);
    put32(bytes, events);
}

static void put_source(struct bytes *bytes, uint8_t source)
{
    put8(bytes, 0x43);
    put8(bytes, source);
}

static void put_end(struct bytes *bytes, uint64_t ticks)
{
    put8(bytes, 0x71);
    put64(bytes, ticks);
}

/* A load in the order in which a Neoverse core writes it; `operation` is the payload of its operation packet. */
static void put_access(struct bytes *bytes, uint8_t operation, uint32_t events, int source, uint64_t ticks)
{
    put_address(bytes, 0, 0x401000 | 1ULL << 63); /* instruction; not secure, exception level 0 */
    put8(bytes, 0x65);                            /* context of EL2 */
    put32(bytes, 4242);
    put8(bytes, 0x49);
    put8(bytes, operation);
    put8(bytes, 0x99); /* issue latency */
    put16(bytes, 12);
    put8(bytes, 0x98); /* total latency */
    put16(bytes, 345);
    put8(bytes, 0x9a); /* translation latency */
    put16(bytes, 1);
    put_events(bytes, events);
    if (source >= 0)
        put_source(bytes, (uint8_t)source);
    put_address(bytes, 2, 0x7f0000001000 | 0x3aULL << 56); /* data, with a tag */
    put_address(bytes, 3, 0x123456000 | 1ULL << 63);
    put_end(bytes, ticks);
}

static struct memory_access decode_one(const struct bytes *bytes, uint64_t midr)
{
    struct spe_decoder decoder = {.midr = midr};
    const uint8_t *at = bytes->data;
    struct memory_access access;
    assert_true(spe_next(&decoder, &at, bytes->data + bytes->size, &access));
    assert_ptr_equal(at, bytes->data + bytes->size);
    assert_int_equal(decoder.records, 1);
    assert_int_equal(decoder.skipped, 0);
    return access;
}

static void test_fields(void **state)
{
    (void)state;
    struct bytes bytes = {0};
    put_access(&bytes, 0x00, L1_ACCESS | L1_REFILL | TLB_WALK, 0xe, 777);
    struct memory_access access = decode_one(&bytes, NEOVERSE_V1);
    assert_int_equal(access.addr, 0x7f0000001000); /* without its tag */
    assert_int_equal(access.physical, 0x123456000);
    assert_int_equal(access.ip, 0x401000);
    assert_int_equal(access.tid, 4242);
    assert_int_equal(access.latency, 345);
    assert_int_equal(access.time, 777); /* no clock is known: ticks */
    assert_int_equal(access.level, LEVEL_RAM);
    assert_int_equal(access.flags, SAMPLE_READ | SAMPLE_TLB_MISS | SAMPLE_HAS_LATENCY);
}

struct expectation {
    const char *what;
    uint64_t midr;
    uint32_t events;
    int source; /* -1: no such packet */
    uint8_t operation, level;
};

static const struct expectation expectations[] = {
    {"L1", NEOVERSE_V1, L1_ACCESS, 0x0, 0, LEVEL_L1},
    {"L2", NEOVERSE_V1, L1_ACCESS | L1_REFILL, 0x8, 0, LEVEL_L2},
    {"another core", NEOVERSE_V1, L1_REFILL, 0x9, 0, LEVEL_L2},
    {"the cluster", NEOVERSE_V1, L1_REFILL, 0xa, 0, LEVEL_L3},
    {"the system's cache", NEOVERSE_V1, LLC_ACCESS, 0xb, 0, LEVEL_L3},
    {"another cluster", NEOVERSE_V1, L1_REFILL, 0xc, 0, LEVEL_L3},
    {"another socket", NEOVERSE_V1, L1_REFILL, 0xd, 0, LEVEL_REMOTE_CACHE},
    {"memory", NEOVERSE_V1, L1_REFILL, 0xe, 0, LEVEL_RAM},
    {"a reserved source: events", NEOVERSE_V1, L1_ACCESS | LLC_ACCESS, 0x7, 0, LEVEL_L3},
    {"a store's source means nothing", NEOVERSE_V1, L1_ACCESS, 0xd, 1, LEVEL_L1},
    {"AmpereOne: L1", AMPERE_ONE_A, L1_ACCESS, 0x8, 0, LEVEL_L1},
    {"AmpereOne: memory", AMPERE_ONE_A, L1_REFILL, 0x7, 0, LEVEL_RAM},
    {"AmpereOne: another chip", AMPERE_ONE_A, L1_REFILL, 0x5, 0, LEVEL_REMOTE_CACHE},
    {"unknown core: its source is not read", UNKNOWN_CORE, L1_ACCESS, 0xd, 0, LEVEL_L1},
    {"events: L1 missed", UNKNOWN_CORE, L1_ACCESS | L1_REFILL, -1, 0, LEVEL_L2},
    {"events: last level", UNKNOWN_CORE, L1_REFILL | LLC_ACCESS, -1, 0, LEVEL_L3},
    {"events: beyond it", UNKNOWN_CORE, LLC_ACCESS | LLC_MISS, -1, 0, LEVEL_RAM},
    {"events: remote", UNKNOWN_CORE, LLC_ACCESS | LLC_MISS | REMOTE, -1, 0, LEVEL_REMOTE_CACHE},
    {"events: L2, reported by SPE 1.4", UNKNOWN_CORE, L1_ACCESS | L2_ACCESS, -1, 0, LEVEL_L2},
    {"events: L2 missed", UNKNOWN_CORE, L1_REFILL | L2_ACCESS | L2_MISS, -1, 0, LEVEL_L3},
    {"nothing known", 0, 2, -1, 0, LEVEL_UNKNOWN},
};

static void test_levels(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
        const struct expectation *expected = &expectations[i];
        struct bytes bytes = {0};
        put_access(&bytes, expected->operation, expected->events, expected->source, 1);
        struct memory_access access = decode_one(&bytes, expected->midr);
        if (access.level != expected->level)
            fail_msg("%s: level %u", expected->what, access.level);
    }
    struct bytes bytes = {0};
    put_access(&bytes, 0, L1_REFILL | SNOOPED | MODIFIED, 0x9, 1);
    assert_true(decode_one(&bytes, NEOVERSE_V1).flags & SAMPLE_HITM);
}

static void test_operations(void **state)
{
    (void)state;
    static const struct {
        uint8_t payload, flags;
    } operations[] = {
        {0x00, SAMPLE_READ}, /* general registers */
        {0x01, SAMPLE_WRITE},
        {0x04, SAMPLE_READ}, /* vector registers */
        {0x05, SAMPLE_WRITE},
        {0x06, SAMPLE_READ | SAMPLE_WRITE | SAMPLE_LOCKED}, /* atomic */
        {0x07, SAMPLE_READ | SAMPLE_WRITE | SAMPLE_LOCKED},
        {0x0a, SAMPLE_READ},  /* load exclusive */
        {0x13, SAMPLE_WRITE}, /* store release */
        {0x12, SAMPLE_READ},  /* load acquire */
        {0x88, SAMPLE_READ},  /* gather */
    };
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        struct bytes bytes = {0};
        put_access(&bytes, operations[i].payload, L1_ACCESS, -1, 1);
        unsigned flags = decode_one(&bytes, 0).flags & ~(unsigned)SAMPLE_HAS_LATENCY;
        if (flags != operations[i].flags)
            fail_msg("operation %#x: flags %#x", operations[i].payload, flags);
    }
}

static void test_other_packets(void **state)
{
    (void)state;
    struct bytes bytes = {0};
    put8(&bytes, 0x00); /* padding */
    put8(&bytes, 0x23); /* alignment to 16 bytes */
    put8(&bytes, 0x00);
    for (int i = 0; i < 5; i++)
        put8(&bytes, 0x00);
    put_address(&bytes, 0, 0x401000);
    put8(&bytes, 0x4a); /* a branch */
    put8(&bytes, 0x01);
    put8(&bytes, 0x52); /* events of two bytes */
    put16(&bytes, 2);
    put8(&bytes, 0x01); /* end, without a time */
    put8(&bytes, 0x20); /* a counter with an extended header: unknown, but whole */
    put8(&bytes, 0x9b);
    put16(&bytes, 5);
    put8(&bytes, 0xff); /* no packet */
    put_access(&bytes, 0x00, L1_ACCESS, 0, 5);
    put_address(&bytes, 0, 0x401000); /* a record that goes on elsewhere */

    struct spe_decoder decoder = {.midr = NEOVERSE_V1};
    const uint8_t *at = bytes.data, *end = bytes.data + bytes.size;
    struct memory_access access;
    assert_true(spe_next(&decoder, &at, end, &access));
    assert_int_equal(access.time, 5);
    assert_false(spe_next(&decoder, &at, end, &access));
    assert_int_equal(end - at, 9);
    assert_int_equal(decoder.records, 1);
    assert_int_equal(decoder.other, 1);
    assert_int_equal(decoder.skipped, 1);
}

static void test_clock(void **state)
{
    (void)state;
    const struct spe_clock clock = {.zero = 1000, .mult = 3 << 4, .shift = 4}; /* three ns a tick */
    assert_int_equal(spe_time(&clock, 0), 1000);
    assert_int_equal(spe_time(&clock, 7), 1021);
    assert_int_equal(spe_time(&clock, 1ULL << 40), 1000 + (3ULL << 40));
    const struct spe_clock narrow = {.mult = 1, .cycles = 0x1f0, .mask = 0xff}; /* eight bits, wrapped since */
    assert_int_equal(spe_time(&narrow, 0xf5), 0x1f5);
    assert_int_equal(spe_time(&narrow, 0x05), 0x205);
    const struct spe_clock hostile = {.mult = 1, .shift = 200};
    assert_int_equal(spe_time(&hostile, 5), 5);
}

/* Records in buffers of every size: each comes out once, whole. */
static void test_pieces(void **state)
{
    (void)state;
    enum { RECORDS = 12 };
    struct bytes bytes = {0};
    for (unsigned i = 0; i < RECORDS; i++)
        put_access(&bytes, 0x00, L1_ACCESS, 0, 100 + i);
    for (size_t piece = 1; piece < bytes.size; piece++) {
        struct spe_stream stream = {.decoder.midr = NEOVERSE_V1};
        unsigned count = 0;
        for (size_t at = 0; at < bytes.size; at += piece) {
            struct memory_access access;
            spe_stream_add(&stream, bytes.data + at, bytes.size - at < piece ? bytes.size - at : piece);
            while (spe_stream_next(&stream, &access))
                assert_int_equal(access.time, 100 + count++);
        }
        assert_int_equal(count, RECORDS);
        assert_int_equal(stream.decoder.skipped, 0);
        spe_stream_free(&stream);
    }
    struct spe_stream stream = {0};
    struct memory_access access;
    spe_stream_add(&stream, bytes.data, 20);
    assert_false(spe_stream_next(&stream, &access));
    spe_stream_cut(&stream); /* the rest was lost */
    assert_int_equal(stream.decoder.skipped, 20);
    spe_stream_add(&stream, bytes.data, bytes.size);
    assert_true(spe_stream_next(&stream, &access));
    assert_int_equal(access.time, 100);
    spe_stream_free(&stream);
}

/* Packets without an end do not pile up. */
static void test_endless(void **state)
{
    (void)state;
    struct bytes bytes = {0};
    while (bytes.size + 9 <= sizeof bytes.data)
        put_address(&bytes, 0, 0x401000);
    struct spe_stream stream = {0};
    struct memory_access access;
    for (unsigned i = 0; i < 1000; i++) {
        spe_stream_add(&stream, bytes.data, bytes.size);
        assert_false(spe_stream_next(&stream, &access));
    }
    assert_true(stream.capacity < 64 << 10);
    assert_true(stream.decoder.skipped > 0);
    spe_stream_free(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),        cmocka_unit_test(test_levels), cmocka_unit_test(test_operations),
        cmocka_unit_test(test_other_packets), cmocka_unit_test(test_clock),  cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_endless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
