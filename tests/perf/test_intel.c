/* test_intel.c - where a load was answered, by the number that PEBS writes for it: every number of every generation of cores, in
 * the words that Linux 6.12 makes of them. A generation has those of the table above it but for the ones that it lists. */
#include "data_src.h"

#define HIT   (OP(LOAD) | LVL(HIT))
#define CLEAN (SNOOP(NONE) | SNOOP(MISS))

enum { L1 = 1, L2, L3, L4, MISS_BUFFER, MEMORY_SIDE, ANY_CACHE = 11, LFB, RAM, PERSISTENT, UNSAID };
enum { READ = SAMPLE_READ, MODIFIED = SAMPLE_READ | SAMPLE_HITM };

static const struct expectation sandy_bridge[] = {
    {"00: not known", OP(LOAD) | LVL(MISS) | NUMBER(L3) | SNOOP(NA), LEVEL_UNKNOWN, READ},
    {"01: L1", HIT | LVL(L1) | NUMBER(L1) | SNOOP(NONE), LEVEL_L1, READ},
    {"02: fill buffer", HIT | LVL(LFB) | NUMBER(LFB) | SNOOP(NONE), LEVEL_LFB, READ},
    {"03: L2", HIT | LVL(L2) | NUMBER(L2) | SNOOP(NONE), LEVEL_L2, READ},
    {"04: L3", HIT | LVL(L3) | NUMBER(L3) | SNOOP(NONE), LEVEL_L3, READ},
    {"05: L3, snoop missed", HIT | LVL(L3) | NUMBER(L3) | SNOOP(MISS), LEVEL_L3, READ},
    {"06: L3, snoop hit", HIT | LVL(L3) | NUMBER(L3) | SNOOP(HIT), LEVEL_L3, READ},
    {"07: L3, modified", HIT | LVL(L3) | NUMBER(L3) | SNOOP(HITM), LEVEL_L3, MODIFIED},
    {"08: another socket's cache", HIT | LVL(REM_CCE1) | REMOTE | NUMBER(L3) | SNOOP(HIT), LEVEL_REMOTE_CACHE, READ},
    {"09: another socket's cache, modified", HIT | LVL(REM_CCE1) | REMOTE | NUMBER(L3) | SNOOP(HITM),
     LEVEL_REMOTE_CACHE, MODIFIED},
    {"0a: memory, shared", HIT | LVL(LOC_RAM) | NUMBER(RAM) | SNOOP(HIT), LEVEL_RAM, READ},
    {"0b: another socket's memory, shared", HIT | LVL(REM_RAM1) | REMOTE | NUMBER(L3) | SNOOP(HIT), LEVEL_REMOTE_RAM,
     READ},
    {"0c: memory", HIT | LVL(LOC_RAM) | NUMBER(RAM) | CLEAN, LEVEL_RAM, READ},
    {"0d: another socket's memory", HIT | LVL(REM_RAM1) | REMOTE | NUMBER(RAM) | CLEAN, LEVEL_REMOTE_RAM, READ},
    {"0e: devices", HIT | LVL(IO) | NUMBER(UNSAID) | SNOOP(NONE), LEVEL_IO, READ},
    {"0f: uncached", HIT | LVL(UNC) | NUMBER(UNSAID) | SNOOP(NONE), LEVEL_UNCACHED, READ},
};

static const struct expectation nehalem[] = {
    {"05: L3, snoop hit", HIT | LVL(L3) | NUMBER(L3) | SNOOP(HIT), LEVEL_L3, READ},
    {"06: L3, modified", HIT | LVL(L3) | NUMBER(L3) | SNOOP(HITM), LEVEL_L3, MODIFIED},
};

/* To Sapphire Rapids, and the large cores of Alder and Meteor Lake. */
static const struct expectation skylake[] = {
    {"08: L4", HIT | NUMBER(L4) | SNOOP(HIT), LEVEL_L3, READ},
    {"08: persistent memory", HIT | NUMBER(PERSISTENT) | SNOOP(HIT), LEVEL_RAM, READ},
    {"09: another socket's L4", HIT | NUMBER(L4) | REMOTE | SNOOP(HIT), LEVEL_REMOTE_CACHE, READ},
    {"09: another socket's persistent memory", HIT | NUMBER(PERSISTENT) | REMOTE | SNOOP(HIT), LEVEL_REMOTE_RAM, READ},
    {"0b: another socket's memory", HIT | NUMBER(RAM) | REMOTE | SNOOP(NONE), LEVEL_REMOTE_RAM, READ},
    {"0c: another socket's cache", HIT | NUMBER(ANY_CACHE) | REMOTE | FORWARDED, LEVEL_REMOTE_CACHE, READ},
    {"0d: another socket's cache, modified", HIT | NUMBER(ANY_CACHE) | REMOTE | SNOOP(HITM), LEVEL_REMOTE_CACHE,
     MODIFIED},
};

/* The small cores of Alder Lake; then those of Meteor Lake and Sierra Forest. */
static const struct expectation gracemont[] = {
    {"05: L3, snoop hit", HIT | LVL(L3) | NUMBER(L3) | SNOOP(HIT), LEVEL_L3, READ},
    {"06: L3, modified", HIT | LVL(L3) | NUMBER(L3) | SNOOP(HITM), LEVEL_L3, MODIFIED},
    {"08: L3, forwarded", HIT | LVL(L3) | NUMBER(L3) | FORWARDED, LEVEL_L3, READ},
};

static const struct expectation crestmont[] = {
    {"07: L3, forwarded", HIT | LVL(L3) | NUMBER(L3) | FORWARDED, LEVEL_L3, READ},
    {"08: L3, modified", HIT | LVL(L3) | NUMBER(L3) | SNOOP(HITM), LEVEL_L3, MODIFIED},
    {"0a: memory", HIT | LVL(LOC_RAM) | NUMBER(RAM) | SNOOP(NONE), LEVEL_RAM, READ},
    {"0b: another socket's memory", HIT | NUMBER(RAM) | REMOTE | SNOOP(NONE), LEVEL_REMOTE_RAM, READ},
    {"0c: another socket, forwarded", HIT | NUMBER(RAM) | REMOTE | FORWARDED, LEVEL_REMOTE_RAM, READ},
    {"0d: another socket, modified", HIT | NUMBER(RAM) | REMOTE | SNOOP(HITM), LEVEL_REMOTE_RAM, MODIFIED},
};

/* The large cores of Lunar and Arrow Lake have numbers of their own, with gaps. */
static const struct expectation lion_cove[] = {
    {"00: not known", OP(LOAD) | LVL(MISS) | NUMBER(L3) | SNOOP(NA), LEVEL_UNKNOWN, READ},
    {"01, 02: L1", HIT | LVL(L1) | NUMBER(L1) | SNOOP(NONE), LEVEL_L1, READ},
    {"03: fill buffer", HIT | LVL(LFB) | NUMBER(LFB) | SNOOP(NONE), LEVEL_LFB, READ},
    {"04 and others: kept free", OP(LOAD) | NUMBER(UNSAID) | SNOOP(NA), LEVEL_UNKNOWN, READ},
    {"05: L2", HIT | LVL(L2) | NUMBER(L2) | SNOOP(NONE), LEVEL_L2, READ},
    {"06: L2's miss buffer", HIT | NUMBER(MISS_BUFFER) | SNOOP(NONE), LEVEL_L2, READ},
    {"08: L3", HIT | LVL(L3) | NUMBER(L3) | SNOOP(NONE), LEVEL_L3, READ},
    {"0c: L3, forwarded", HIT | LVL(L3) | NUMBER(L3) | FORWARDED, LEVEL_L3, READ},
    {"0d: L3, modified", HIT | LVL(L3) | NUMBER(L3) | SNOOP(HITM), LEVEL_L3, MODIFIED},
    {"0f: missed the L3, modified", OP(LOAD) | LVL(MISS) | LVL(L3) | NUMBER(L3) | SNOOP(HITM), LEVEL_UNKNOWN, MODIFIED},
    {"10: cache at the memory's side", HIT | NUMBER(MEMORY_SIDE) | SNOOP(NONE), LEVEL_L3, READ},
    {"11: memory", HIT | LVL(LOC_RAM) | NUMBER(RAM) | SNOOP(NONE), LEVEL_RAM, READ},
};

/* Stores say whether the L1 had the line; all say whether the second TLB knew the page, but for Nehalem. */
static const struct expectation stores[] = {
    {"store, L1 hit", OP(STORE) | LVL(L1) | LVL(HIT) | SNOOP(NA) | TLB(L2) | TLB(HIT), LEVEL_L1, SAMPLE_WRITE},
    {"store, L1 miss, walked", OP(STORE) | LVL(L1) | LVL(MISS) | SNOOP(NA) | TLB(L2) | TLB(MISS), LEVEL_UNKNOWN,
     SAMPLE_WRITE | SAMPLE_TLB_MISS},
    {"store, locked", OP(STORE) | LVL(L1) | LVL(HIT) | TLB(L2) | TLB(HIT) | LOCKED, LEVEL_L1,
     SAMPLE_WRITE | SAMPLE_LOCKED},
    {"load, both TLBs knew", HIT | LVL(L1) | NUMBER(L1) | TLB(HIT) | TLB(L1) | TLB(L2), LEVEL_L1, READ},
    {"load, walked", HIT | LVL(L1) | NUMBER(L1) | TLB(MISS) | TLB(L2), LEVEL_L1, READ | SAMPLE_TLB_MISS},
};

#define test_of(generation)                                                                                            \
    static void test_##generation(void **state)                                                                        \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        expect_all(generation, sizeof generation / sizeof *generation);                                                \
    }

test_of(sandy_bridge);
test_of(nehalem);
test_of(skylake);
test_of(gracemont);
test_of(crestmont);
test_of(lion_cove);
test_of(stores);

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sandy_bridge), cmocka_unit_test(test_nehalem),   cmocka_unit_test(test_skylake),
        cmocka_unit_test(test_gracemont),    cmocka_unit_test(test_crestmont), cmocka_unit_test(test_lion_cove),
        cmocka_unit_test(test_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
