/* test_ibs.c - the registers of one tagged op, as each family documents them. */
#include "bytes.h"
#include "perf/ibs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define BIT(n) (1ULL << (n))

enum { ZEN4_CAPABILITY = 1 << 11 };

#define LOAD       BIT(0)
#define STORE      BIT(1)
#define TLB1_MISS  BIT(2)
#define TLB2_MISS  BIT(3)
#define L1_MISS    BIT(7)
#define UNCACHED   BIT(14)
#define LOCKED     BIT(15)
#define NO_MAB     BIT(16)
#define LINEAR     BIT(17)
#define PHYSICAL   BIT(18)
#define L2_MISS    BIT(20)
#define PREFETCH   BIT(21)
#define WIDTH(n)   ((uint64_t)(n) << 22)
#define LATENCY(n) ((uint64_t)(n) << 32)
#define FAR        BIT(4)
#define OWNED      BIT(5)
#define WIDE(n)    ((uint64_t)((n)&7) | (uint64_t)((n) >> 3) << 6) /* the data source since Zen 4 */

#define MISSED_LOAD (LOAD | LINEAR | L1_MISS | L2_MISS)

struct expectation {
    const char *what;
    uint8_t family, model;
    bool zen4;
    uint64_t data2, data3;
    uint8_t level, flags;
};

static const struct expectation expectations[] = {
    /* family 10h: the northbridge's word; no bit for the L2 */
    {"10h: L1", 0x10, 4, false, 0, LOAD | LINEAR, LEVEL_L1, SAMPLE_READ},
    {"10h: L2", 0x10, 4, false, 0, LOAD | LINEAR | L1_MISS, LEVEL_L2, SAMPLE_READ},
    {"10h: L3", 0x10, 4, false, 1, LOAD | LINEAR | L1_MISS, LEVEL_L3, SAMPLE_READ},
    {"10h: near cache, modified", 0x10, 4, false, 2, LOAD | LINEAR | L1_MISS, LEVEL_L3, SAMPLE_READ | SAMPLE_HITM},
    {"10h: far cache, owned", 0x10, 4, false, 2 | FAR | OWNED, LOAD | LINEAR | L1_MISS, LEVEL_REMOTE_CACHE,
     SAMPLE_READ},
    {"10h: far memory", 0x10, 4, false, 3 | FAR, LOAD | LINEAR | L1_MISS, LEVEL_REMOTE_RAM, SAMPLE_READ},
    {"10h: input output", 0x10, 4, false, 7, LOAD | LINEAR | L1_MISS, LEVEL_IO, SAMPLE_READ},
    /* family 17h: Zen, Zen 2 */
    {"17h: L1 by a store", 0x17, 0x31, false, 3, STORE | LINEAR, LEVEL_L1, SAMPLE_WRITE},
    {"17h: L2", 0x17, 0x31, false, 0, LOAD | LINEAR | L1_MISS, LEVEL_L2, SAMPLE_READ},
    {"17h: near cache", 0x17, 0x31, false, 2 | OWNED, MISSED_LOAD, LEVEL_L3, SAMPLE_READ},
    {"17h: near cache, modified", 0x17, 0x31, false, 2, MISSED_LOAD, LEVEL_L3, SAMPLE_READ | SAMPLE_HITM},
    {"17h: near cache, the far bit means nothing", 0x17, 0x31, false, 2 | FAR | OWNED, MISSED_LOAD, LEVEL_L3,
     SAMPLE_READ},
    {"17h: far cache", 0x17, 0x31, false, 4, MISSED_LOAD, LEVEL_REMOTE_CACHE, SAMPLE_READ},
    {"17h: memory", 0x17, 0x31, false, 3, MISSED_LOAD, LEVEL_RAM, SAMPLE_READ},
    {"17h: far memory, walked", 0x17, 0x31, false, 3 | FAR, MISSED_LOAD | TLB1_MISS | TLB2_MISS, LEVEL_REMOTE_RAM,
     SAMPLE_READ | SAMPLE_TLB_MISS},
    {"17h: found in the second TLB", 0x17, 0x31, false, 3, MISSED_LOAD | TLB1_MISS, LEVEL_RAM, SAMPLE_READ},
    {"17h: a store that missed: the source is not reported", 0x17, 0x31, false, 3, STORE | LINEAR | L1_MISS | L2_MISS,
     LEVEL_UNKNOWN, SAMPLE_WRITE},
    {"17h: a line that is under way", 0x17, 0x31, false, 0, MISSED_LOAD | NO_MAB, LEVEL_LFB,
     SAMPLE_READ | SAMPLE_JOINED},
    {"17h: such a line of memory", 0x17, 0x31, false, 3, MISSED_LOAD | NO_MAB, LEVEL_RAM, SAMPLE_READ | SAMPLE_JOINED},
    {"17h: a store to such a line", 0x17, 0x31, false, 0, STORE | LINEAR | L1_MISS | L2_MISS | NO_MAB, LEVEL_LFB,
     SAMPLE_WRITE | SAMPLE_JOINED},
    {"17h: uncached", 0x17, 0x31, false, 3 | FAR, MISSED_LOAD | UNCACHED, LEVEL_UNCACHED, SAMPLE_READ},
    {"17h: locked, both ways", 0x17, 0x31, false, 0, LOAD | STORE | LINEAR | LOCKED, LEVEL_L1,
     SAMPLE_READ | SAMPLE_WRITE | SAMPLE_LOCKED},
    /* family 19h: Zen 3 has an erratum and no line states, Zen 4 the wider source */
    {"19h: Zen 3, erratum 1293", 0x19, 0x01, false, 3 | FAR, LOAD | LINEAR | L1_MISS | NO_MAB, LEVEL_LFB,
     SAMPLE_READ | SAMPLE_JOINED},
    {"19h: Zen 3, a prefetch", 0x19, 0x01, false, 3 | FAR, LOAD | LINEAR | L1_MISS | PREFETCH, LEVEL_UNKNOWN,
     SAMPLE_READ},
    {"19h: Zen 3, near cache: no state", 0x19, 0x01, false, 2, MISSED_LOAD, LEVEL_L3, SAMPLE_READ},
    {"19h: Zen 4, L3", 0x19, 0x11, true, WIDE(1) | OWNED, MISSED_LOAD, LEVEL_L3, SAMPLE_READ},
    {"19h: Zen 4, another complex", 0x19, 0x11, true, WIDE(2), MISSED_LOAD, LEVEL_L3, SAMPLE_READ | SAMPLE_HITM},
    {"19h: Zen 4, far complex", 0x19, 0x11, true, WIDE(5) | OWNED, MISSED_LOAD, LEVEL_REMOTE_CACHE, SAMPLE_READ},
    {"19h: Zen 4, memory", 0x19, 0x11, true, WIDE(3), MISSED_LOAD, LEVEL_RAM, SAMPLE_READ},
    {"19h: Zen 4, far memory", 0x19, 0x11, true, WIDE(3) | FAR, MISSED_LOAD, LEVEL_REMOTE_RAM, SAMPLE_READ},
    {"19h: Zen 4, persistent", 0x19, 0x11, true, WIDE(6), MISSED_LOAD, LEVEL_RAM, SAMPLE_READ},
    {"19h: Zen 4, CXL of another node", 0x19, 0x11, true, WIDE(8) | FAR, MISSED_LOAD, LEVEL_REMOTE_RAM, SAMPLE_READ},
    {"19h: Zen 4, input output", 0x19, 0x11, true, WIDE(7), MISSED_LOAD, LEVEL_IO, SAMPLE_READ},
    {"19h: Zen 4, reserved source", 0x19, 0x11, true, WIDE(20), MISSED_LOAD, LEVEL_UNKNOWN, SAMPLE_READ},
    /* family 1Ah: Zen 5 */
    {"1Ah: far memory", 0x1a, 0x02, true, WIDE(3) | FAR, MISSED_LOAD, LEVEL_REMOTE_RAM, SAMPLE_READ},
    {"1Ah: L2", 0x1a, 0x02, true, 0, LOAD | LINEAR | L1_MISS, LEVEL_L2, SAMPLE_READ},
};

static struct bytes registers(bool zen4, uint64_t data2, uint64_t data3)
{
    struct bytes raw = {0};
    put32(&raw, zen4 ? ZEN4_CAPABILITY : 0);
    put64(&raw, 0);        /* control */
    put64(&raw, 0x401234); /* instruction */
    put64(&raw, 0);        /* branch and retire data */
    put64(&raw, data2);
    put64(&raw, data3);
    put64(&raw, 0x7f0000001000); /* linear address */
    put64(&raw, 0x123456000);    /* physical address */
    return raw;
}

static bool decode(const struct bytes *raw, struct ibs_cpu cpu, struct memory_access *access)
{
    struct perf_sample sample = {.present = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW | PERF_SAMPLE_CPU,
                                 .time = 99,
                                 .cpu = 3,
                                 .pid = 7,
                                 .tid = 8,
                                 .raw = raw->data,
                                 .raw_size = (uint32_t)raw->size};
    return memory_from_ibs(access, &sample, &cpu);
}

static void test_levels(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
        const struct expectation *expected = &expectations[i];
        struct bytes raw = registers(expected->zen4, expected->data2, expected->data3);
        struct memory_access access;
        assert_true(decode(&raw, (struct ibs_cpu){expected->family, expected->model}, &access));
        if (access.level != expected->level || access.flags != expected->flags)
            fail_msg("%s: level %u flags %#x", expected->what, access.level, access.flags);
    }
}

static void test_fields(void **state)
{
    (void)state;
    const struct ibs_cpu zen2 = {0x17, 0x31};
    struct memory_access access;
    struct bytes raw = registers(false, 3, MISSED_LOAD | PHYSICAL | WIDTH(4) | LATENCY(512));
    assert_true(decode(&raw, zen2, &access));
    assert_int_equal(access.addr, 0x7f0000001000);
    assert_int_equal(access.physical, 0x123456000);
    assert_int_equal(access.ip, 0x401234);
    assert_int_equal(access.size, 8);
    assert_int_equal(access.latency, 512);
    assert_int_equal(access.flags, SAMPLE_READ | SAMPLE_HAS_LATENCY);
    assert_int_equal(access.time, 99);
    assert_int_equal(access.tid, 8);
    assert_true(access.has_cpu && access.cpu == 3);

    raw = registers(false, 3, MISSED_LOAD | LATENCY(512)); /* the physical address is not valid */
    assert_true(decode(&raw, zen2, &access) && access.physical == 0 && access.size == 0);
    raw = registers(false, 0, LOAD | LINEAR | LATENCY(512)); /* no miss: its latency is an old one */
    assert_true(decode(&raw, zen2, &access) && !(access.flags & SAMPLE_HAS_LATENCY));
    raw = registers(false, 0, LINEAR); /* neither load nor store */
    assert_false(decode(&raw, zen2, &access));
    raw = registers(false, 0, LOAD); /* no address */
    assert_false(decode(&raw, zen2, &access));
    raw = registers(false, 3, MISSED_LOAD);
    for (raw.size = 0; raw.size < 4 + 7 * 8; raw.size++)
        assert_false(decode(&raw, zen2, &access)); /* cut short */
}

static void test_cpuid(void **state)
{
    (void)state;
    struct ibs_cpu cpu;
    assert_true(ibs_cpu_of("AuthenticAMD-25-1-1", &cpu) && cpu.family == 0x19 && cpu.model == 1);
    assert_true(ibs_cpu_of("AuthenticAMD,26,2,1", &cpu) && cpu.family == 0x1a && cpu.model == 2);
    assert_false(ibs_cpu_of("GenuineIntel-6-85-4", &cpu));
    assert_false(ibs_cpu_of("AuthenticAMD-999-1", &cpu));
    assert_false(ibs_cpu_of("", &cpu));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels), cmocka_unit_test(test_fields),
                                       cmocka_unit_test(test_cpuid)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
