/* test_memory.c - data_src words as the kernel makes them for each generation of processor. */
#include "data_src.h"

static const struct expectation expectations[] = {
    /* Nehalem to Broadwell: old bits */
    {"L1 hit", OP(LOAD) | LVL(HIT) | LVL(L1) | SNOOP(NONE), LEVEL_L1, SAMPLE_READ},
    {"fill buffer", OP(LOAD) | LVL(HIT) | LVL(LFB), LEVEL_LFB, SAMPLE_READ},
    {"local memory", OP(LOAD) | LVL(HIT) | LVL(LOC_RAM) | SNOOP(HIT), LEVEL_RAM, SAMPLE_READ},
    {"one hop memory", OP(LOAD) | LVL(HIT) | LVL(REM_RAM1), LEVEL_REMOTE_RAM, SAMPLE_READ},
    {"remote modified", OP(LOAD) | LVL(HIT) | LVL(REM_CCE1) | SNOOP(HITM), LEVEL_REMOTE_CACHE,
     SAMPLE_READ | SAMPLE_HITM},
    {"two hops cache", OP(LOAD) | LVL(HIT) | LVL(REM_CCE2), LEVEL_REMOTE_CACHE, SAMPLE_READ},
    {"store, L1 miss", OP(STORE) | LVL(MISS) | LVL(L1), LEVEL_UNKNOWN, SAMPLE_WRITE},
    {"locked, walked", OP(LOAD) | LVL(HIT) | LVL(L2) | LOCKED | TLB(WK) | TLB(MISS), LEVEL_L2,
     SAMPLE_READ | SAMPLE_LOCKED | SAMPLE_TLB_MISS},
    {"input output", OP(LOAD) | LVL(HIT) | LVL(IO), LEVEL_IO, SAMPLE_READ},
    {"uncached", OP(LOAD) | LVL(HIT) | LVL(UNC), LEVEL_UNCACHED, SAMPLE_READ},
    /* Skylake and later: the old bits say "L3 miss" only, the new ones who answered */
    {"Skylake remote memory", OP(LOAD) | LVL(MISS) | LVL(L3) | NUMBER(13) | REMOTE, LEVEL_REMOTE_RAM, SAMPLE_READ},
    {"Skylake, unknown source behind the L3", OP(LOAD) | LVL(MISS) | LVL(L3) | NUMBER(3), LEVEL_UNKNOWN, SAMPLE_READ},
    {"Skylake local memory", OP(LOAD) | NUMBER(13), LEVEL_RAM, SAMPLE_READ},
    {"Skylake remote cache", OP(LOAD) | NUMBER(11) | REMOTE | SNOOP(HITM), LEVEL_REMOTE_CACHE,
     SAMPLE_READ | SAMPLE_HITM},
    {"persistent memory", OP(LOAD) | NUMBER(14), LEVEL_RAM, SAMPLE_READ},
    {"remote persistent", OP(LOAD) | NUMBER(14) | REMOTE, LEVEL_REMOTE_RAM, SAMPLE_READ},
    {"CXL memory", OP(LOAD) | NUMBER(9), LEVEL_RAM, SAMPLE_READ},
    /* AMD since Zen 4, POWER10: hops */
    {"another core's cache", OP(LOAD) | NUMBER(11) | REMOTE | HOPS(1), LEVEL_L3, SAMPLE_READ},
    {"another node, same socket", OP(LOAD) | NUMBER(11) | REMOTE | HOPS(2), LEVEL_REMOTE_CACHE, SAMPLE_READ},
    {"another socket's memory", OP(LOAD) | NUMBER(13) | REMOTE | HOPS(3), LEVEL_REMOTE_RAM, SAMPLE_READ},
    {"another board's memory", OP(LOAD) | NUMBER(13) | REMOTE | HOPS(4), LEVEL_REMOTE_RAM, SAMPLE_READ},
    /* AMD's IBS, as Linux 6.1 and later put it: old and new fields together */
    {"Zen to Zen 3, near cache", OP(LOAD) | LVL(HIT) | LVL(L3) | LVL(REM_CCE1) | NUMBER(11) | HOPS(1), LEVEL_L3,
     SAMPLE_READ},
    {"Zen 4, another complex", OP(LOAD) | LVL(HIT) | LVL(REM_CCE1) | NUMBER(11) | REMOTE | HOPS(1), LEVEL_L3,
     SAMPLE_READ},
    {"Zen 4, far complex", OP(LOAD) | LVL(HIT) | LVL(REM_CCE2) | NUMBER(11) | REMOTE | HOPS(2), LEVEL_REMOTE_CACHE,
     SAMPLE_READ},
    {"Zen, far memory", OP(LOAD) | LVL(HIT) | LVL(REM_RAM1) | NUMBER(13) | REMOTE | HOPS(2), LEVEL_REMOTE_RAM,
     SAMPLE_READ},
    {"Zen 4, CXL of another node", OP(LOAD) | NUMBER(9) | REMOTE | HOPS(2), LEVEL_REMOTE_RAM, SAMPLE_READ},
    /* Ice Lake to Sapphire Rapids: forwarded lines, stores by the new number */
    {"Ice Lake, forwarded by another core", OP(LOAD) | LVL(HIT) | LVL(L3) | NUMBER(3) | (uint64_t)1 << 38, LEVEL_L3,
     SAMPLE_READ},
    {"Sapphire Rapids, store hit L1", OP(STORE) | LVL(HIT) | LVL(L1) | NUMBER(1), LEVEL_L1, SAMPLE_WRITE},
    {"Sapphire Rapids, remote cache, not modified", OP(LOAD) | NUMBER(11) | REMOTE | SNOOP(HIT), LEVEL_REMOTE_CACHE,
     SAMPLE_READ},
    {"Gracemont, fill buffer", OP(LOAD) | NUMBER(12), LEVEL_LFB, SAMPLE_READ},
    {"Panther Lake, L2's miss buffer", OP(LOAD) | NUMBER(5), LEVEL_L2, SAMPLE_READ},
    {"Arm SPE as perf inject puts it", OP(LOAD) | LVL(REM_CCE1) | NUMBER(11) | REMOTE, LEVEL_REMOTE_CACHE, SAMPLE_READ},
    {"number not available", OP(LOAD) | NUMBER(15) | LVL(L3) | LVL(HIT), LEVEL_L3, SAMPLE_READ},
    {"nothing known", OP(NA) | LVL(NA), LEVEL_UNKNOWN, 0},
};

static void test_data_src(void **state)
{
    (void)state;
    expect_all(expectations, sizeof expectations / sizeof *expectations);
}

static void test_sample(void **state)
{
    (void)state;
    struct perf_sample sample = {.present = PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT,
                                 .addr = 0x1000,
                                 .data_src = OP(LOAD) | NUMBER(13),
                                 .latency = 300};
    struct memory_access access;
    assert_true(memory_from_sample(&access, &sample));
    assert_int_equal(access.latency, 300);
    assert_true(access.flags & SAMPLE_HAS_LATENCY);
    sample.addr = 0; /* the hardware did not know: no access to speak of */
    assert_false(memory_from_sample(&access, &sample));
    sample.addr = 0x1000;
    sample.data_src = OP(NA);
    assert_false(memory_from_sample(&access, &sample));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_data_src), cmocka_unit_test(test_sample)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
