/* perf/memory_access.c - data_src, the kernel's own word for where an access was answered. */
#include "perf/memory_access.h"

/* The fields of perf_mem_data_src by shifting: a bit-field of the compiler would follow this machine's byte order. */
static unsigned field(uint64_t data_src, unsigned shift, unsigned bits)
{
    return (unsigned)(data_src >> shift) & ((1U << bits) - 1);
}

enum { /* fields and values that older headers lack */
       SHIFT_LEVEL = PERF_MEM_LVL_SHIFT,
       SHIFT_SNOOP = PERF_MEM_SNOOP_SHIFT,
       SHIFT_LOCK = PERF_MEM_LOCK_SHIFT,
       SHIFT_TLB = PERF_MEM_TLB_SHIFT,
       SHIFT_NUMBER = 33,
       SHIFT_REMOTE = 37,
       SHIFT_HOPS = 43,
       NUMBER_L1 = 1,
       NUMBER_L2 = 2,
       NUMBER_L3 = 3,
       NUMBER_L4 = 4,
       NUMBER_L2_MHB = 5,
       NUMBER_MSC = 6,
       NUMBER_UNCACHED = 8,
       NUMBER_CXL = 9,
       NUMBER_IO = 10,
       NUMBER_ANY_CACHE = 11,
       NUMBER_LFB = 12,
       NUMBER_RAM = 13,
       NUMBER_PMEM = 14,
       NUMBER_NONE = 15,
       HOPS_CORE = 1,
};

/* A cache beyond the core that is on another node answers like any other remote cache. */
static uint8_t cache_level(uint8_t level, bool remote)
{
    return remote ? LEVEL_REMOTE_CACHE : level;
}

static uint8_t level_of_number(unsigned number, bool remote)
{
    switch (number) {
    case NUMBER_L1:
        return LEVEL_L1;
    case NUMBER_L2:
    case NUMBER_L2_MHB:
        return cache_level(LEVEL_L2, remote);
    case NUMBER_L3:
    case NUMBER_L4:
    case NUMBER_MSC:
    case NUMBER_ANY_CACHE:
        return cache_level(LEVEL_L3, remote);
    case NUMBER_LFB:
        return LEVEL_LFB;
    case NUMBER_RAM:
    case NUMBER_PMEM:
    case NUMBER_CXL:
        return remote ? LEVEL_REMOTE_RAM : LEVEL_RAM;
    case NUMBER_IO:
        return LEVEL_IO;
    case NUMBER_UNCACHED:
        return LEVEL_UNCACHED;
    default:
        return LEVEL_UNKNOWN;
    }
}

static uint8_t level_of_bits(unsigned bits)
{
    static const struct {
        unsigned bits;
        uint8_t level;
    } order[] = {
        {PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2, LEVEL_REMOTE_RAM},
        {PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2, LEVEL_REMOTE_CACHE},
        {PERF_MEM_LVL_LOC_RAM, LEVEL_RAM},
        {PERF_MEM_LVL_L3, LEVEL_L3},
        {PERF_MEM_LVL_L2, LEVEL_L2},
        {PERF_MEM_LVL_LFB, LEVEL_LFB},
        {PERF_MEM_LVL_L1, LEVEL_L1},
        {PERF_MEM_LVL_IO, LEVEL_IO},
        {PERF_MEM_LVL_UNC, LEVEL_UNCACHED},
    };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (bits & order[i].bits)
            return order[i].level;
    return LEVEL_UNKNOWN;
}

void memory_from_data_src(struct memory_access *access, uint64_t data_src)
{
    unsigned op = field(data_src, 0, 5), bits = field(data_src, SHIFT_LEVEL, 14);
    unsigned number = field(data_src, SHIFT_NUMBER, 4), hops = field(data_src, SHIFT_HOPS, 3);
    /* another core of the same node (hop 0) is remote to the core, not to the node */
    bool remote = field(data_src, SHIFT_REMOTE, 1) && hops != HOPS_CORE;

    uint8_t level = number && number != NUMBER_NONE ? level_of_number(number, remote) : LEVEL_UNKNOWN;
    uint8_t old_level = level_of_bits(bits);
    bool old_remote = old_level == LEVEL_REMOTE_RAM || old_level == LEVEL_REMOTE_CACHE;
    /* an old bit that says remote is true, but for AMD's "another core's cache of the same node" */
    if (level == LEVEL_UNKNOWN || (old_remote && hops != HOPS_CORE))
        level = old_level;
    /* "L1 miss" of stores, "L3 miss" of loads whose source the core does not know: who answered is not reported */
    bool missed = bits & PERF_MEM_LVL_MISS && !(bits & PERF_MEM_LVL_HIT);
    if (missed && level >= LEVEL_L1 && level <= LEVEL_L3)
        level = LEVEL_UNKNOWN;

    access->level = level;
    access->flags = 0;
    if (op & PERF_MEM_OP_LOAD)
        access->flags |= SAMPLE_READ;
    if (op & PERF_MEM_OP_STORE)
        access->flags |= SAMPLE_WRITE;
    if (field(data_src, SHIFT_LOCK, 2) & PERF_MEM_LOCK_LOCKED)
        access->flags |= SAMPLE_LOCKED;
    if (field(data_src, SHIFT_SNOOP, 5) & PERF_MEM_SNOOP_HITM)
        access->flags |= SAMPLE_HITM;
    unsigned tlb = field(data_src, SHIFT_TLB, 7);
    if ((tlb & PERF_MEM_TLB_MISS) || (tlb & (PERF_MEM_TLB_WK | PERF_MEM_TLB_OS)))
        access->flags |= SAMPLE_TLB_MISS;
}

/* Who and where. False when it has no address. */
static bool take_address(struct memory_access *access, const struct perf_sample *sample)
{
    *access = (struct memory_access){
        .time = sample->time,
        .ip = sample->ip,
        .addr = sample->addr,
        .physical = sample->physical,
        .pid = sample->pid,
        .tid = sample->tid,
        .cpu = (uint16_t)sample->cpu,
        .has_cpu = sample->present & PERF_SAMPLE_CPU,
    };
    return sample->present & PERF_SAMPLE_ADDR && sample->addr != 0;
}

bool memory_from_fault(struct memory_access *access, const struct perf_sample *sample)
{
    bool there = take_address(access, sample);
    access->flags = SAMPLE_FIRST;
    return there;
}

bool memory_from_sample(struct memory_access *access, const struct perf_sample *sample)
{
    if (!take_address(access, sample))
        return false;
    if (sample->present & PERF_SAMPLE_DATA_SRC)
        memory_from_data_src(access, sample->data_src);
    if (!(access->flags & (SAMPLE_READ | SAMPLE_WRITE)))
        return false;
    if (sample->present & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT) && sample->latency) {
        access->latency = sample->latency;
        access->flags |= SAMPLE_HAS_LATENCY;
    }
    return true;
}
