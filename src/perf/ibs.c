/* perf/ibs.c - one tagged op: what it was, where its data came from, how long it took. */
#include "perf/ibs.h"

#include "perf/input.h"

#include <stdio.h>

enum { /* order of the registers behind the capabilities word */
       REGISTER_CONTROL,
       REGISTER_IP,
       REGISTER_DATA,
       REGISTER_DATA2,
       REGISTER_DATA3,
       REGISTER_LINEAR,
       REGISTER_PHYSICAL,
       REGISTERS,
};

enum { CAPABILITY_ZEN4 = 1 << 11 }; /* the data source has two more bits */

#define BIT(n) (1ULL << (n))

enum {             /* of families 17h and older, then as widened since Zen 4 */
       OLD_L3 = 1, /* family 10h only */
       OLD_CACHE = 2,
       OLD_FAR_CACHE = 4,
       NEW_L3 = 1,
       NEW_NEAR_CACHE = 2,
       NEW_FAR_CACHE = 5,
       NEW_PERSISTENT = 6,
       NEW_EXTENDED = 8,
       SOURCE_DRAM = 3,
       SOURCE_IO = 7,
};

struct op {
    uint64_t data2, data3;
    bool zen4;
    const struct ibs_cpu *cpu;
};

static bool far_node(const struct op *op)
{
    return op->data2 & BIT(4);
}

/* Family 19h, erratum 1293: without a miss buffer, or for a prefetch, L2's word and the data source are wrong. */
static bool source_unreliable(const struct op *op)
{
    return op->cpu->family == 0x19 && op->cpu->model <= 0x0f && op->data3 & (BIT(21) | BIT(16));
}

/* Zen 3 does not report the state of the line that answered. */
static bool state_known(const struct ibs_cpu *cpu)
{
    return cpu->family != 0x19 || (cpu->model > 0x0f && (cpu->model < 0x20 || cpu->model > 0x5f));
}

static void memory_level(struct memory_access *access, const struct op *op)
{
    access->level = far_node(op) ? LEVEL_REMOTE_RAM : LEVEL_RAM; /* of which socket is not reported */
}

/* A cache beyond the core's own two. */
static void cache_level(struct memory_access *access, const struct op *op, bool far)
{
    access->level = far ? LEVEL_REMOTE_CACHE : LEVEL_L3;
    if (state_known(op->cpu) && !(op->data2 & BIT(5))) /* 0: modified there; 1: owned */
        access->flags |= SAMPLE_HITM;
}

/* What both encodings have by the same number. */
static void level_of_both(struct memory_access *access, const struct op *op, unsigned source)
{
    if (source == SOURCE_DRAM)
        memory_level(access, op);
    else if (source == SOURCE_IO)
        access->level = LEVEL_IO;
}

static void level_new(struct memory_access *access, const struct op *op)
{
    unsigned source = (unsigned)((op->data2 >> 6 & 3) << 3 | (op->data2 & 7));
    switch (source) {
    case NEW_L3:
    case NEW_NEAR_CACHE:
        cache_level(access, op, false);
        break;
    case NEW_FAR_CACHE:
        cache_level(access, op, true);
        break;
    case NEW_PERSISTENT:
    case NEW_EXTENDED:
        memory_level(access, op);
        break;
    default:
        level_of_both(access, op, source);
        break;
    }
}

static void level_old(struct memory_access *access, const struct op *op)
{
    bool northbridge = op->cpu->family < 0x17;
    switch (op->data2 & 7) {
    case OLD_L3:
        if (northbridge)
            access->level = LEVEL_L3;
        break;
    case OLD_CACHE:
        cache_level(access, op, northbridge && far_node(op));
        break;
    case OLD_FAR_CACHE:
        if (!northbridge) {
            cache_level(access, op, true);
            access->flags &= (uint8_t)~SAMPLE_HITM; /* the state is reported for near caches only */
        }
        break;
    default:
        level_of_both(access, op, op->data2 & 7);
        break;
    }
}

/* Families 10h to 16h do not say whether the L2 had it: a miss of the L1 that no northbridge answered is one it had. */
static bool l2_answered(const struct op *op)
{
    if (op->cpu->family < 0x17)
        return (op->data2 & 7) == 0;
    return !(op->data3 & BIT(20)) && !source_unreliable(op);
}

static void find_level(struct memory_access *access, const struct op *op)
{
    if (op->data3 & BIT(14) && (op->data2 & 7) != SOURCE_IO) { /* uncached: nothing else is valid then */
        access->level = LEVEL_UNCACHED;
        return;
    }
    if (!(op->data3 & BIT(7))) {
        access->level = LEVEL_L1;
        return;
    }
    if (l2_answered(op)) {
        access->level = LEVEL_L2;
        return;
    }
    if (op->data3 & BIT(0) && !source_unreliable(op)) { /* the data source is good for loads only */
        if (op->zen4)
            level_new(access, op);
        else
            level_old(access, op);
    }
    if (access->level == LEVEL_UNKNOWN && op->data3 & BIT(16))
        access->level = LEVEL_LFB; /* someone else had already asked for the line */
    if (op->data3 & BIT(16))
        access->flags |= SAMPLE_JOINED;
}

static void find_flags(struct memory_access *access, const struct op *op)
{
    access->flags = 0;
    if (op->data3 & BIT(0))
        access->flags |= SAMPLE_READ;
    if (op->data3 & BIT(1))
        access->flags |= SAMPLE_WRITE;
    if (op->data3 & BIT(15))
        access->flags |= SAMPLE_LOCKED;
    if (op->data3 & BIT(2) && op->data3 & BIT(3))
        access->flags |= SAMPLE_TLB_MISS;
}

/* 1, 2, 4 ... 64 bytes; 0 when it is not reported. */
static uint16_t width_of(uint64_t data3)
{
    unsigned code = data3 >> 22 & 15;
    return code >= 1 && code <= 7 ? (uint16_t)(1u << (code - 1)) : 0;
}

bool memory_from_ibs(struct memory_access *access, const struct perf_sample *sample, const struct ibs_cpu *cpu)
{
    if (!sample->raw)
        return false;
    struct perf_walk walk = {sample->raw, sample->raw + sample->raw_size, false};
    uint32_t capabilities = perf_walk32(&walk);
    uint64_t registers[REGISTERS];
    for (unsigned i = 0; i < REGISTERS; i++)
        registers[i] = perf_walk64(&walk);
    struct op op = {registers[REGISTER_DATA2], registers[REGISTER_DATA3], capabilities & CAPABILITY_ZEN4, cpu};
    if (walk.short_of || !(op.data3 & (BIT(0) | BIT(1))) || !(op.data3 & BIT(17)))
        return false;
    *access = (struct memory_access){
        .time = sample->time,
        .ip = sample->present & PERF_SAMPLE_IP ? sample->ip : registers[REGISTER_IP],
        .addr = registers[REGISTER_LINEAR],
        .physical = op.data3 & BIT(18) ? registers[REGISTER_PHYSICAL] : 0,
        .pid = sample->pid,
        .tid = sample->tid,
        .cpu = (uint16_t)sample->cpu,
        .has_cpu = sample->present & PERF_SAMPLE_CPU,
        .size = width_of(op.data3),
    };
    find_flags(access, &op);
    find_level(access, &op);
    uint32_t latency = op.data3 >> 32 & 0xffff; /* from the miss to the data: reported for loads that missed */
    if (access->level != LEVEL_UNCACHED && op.data3 & BIT(0) && op.data3 & BIT(7) && latency) {
        access->latency = latency;
        access->flags |= SAMPLE_HAS_LATENCY;
    }
    return access->addr != 0;
}

bool ibs_cpu_of(const char *cpuid, struct ibs_cpu *cpu)
{
    unsigned family, model;
    if (sscanf(cpuid, "AuthenticAMD%*1[-,]%u%*1[-,]%u", &family, &model) != 2 || family > 0xff || model > 0xff)
        return false;
    *cpu = (struct ibs_cpu){(uint8_t)family, (uint8_t)model};
    return true;
}
