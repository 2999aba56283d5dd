/* isa/aarch64/load_store.c - plain loads and stores, one register or two, carried out. */
#include "isa/aarch64/access.h"
#include "isa/aarch64/cpu.h"
#include "isa/aarch64/transfer.h"

static access_load *const loads[5] = {access_load1, access_load2, access_load4, access_load8, access_load16};
static access_store *const stores[5] = {access_store1, access_store2, access_store4, access_store8, access_store16};

static void put_loaded(struct cpu *cpu, const struct transfer *t, unsigned rt, const uint64_t *value)
{
    if (t->vector) {
        cpu->vectors->vregs[rt] = t->log2 == 4 ? (__uint128_t)value[1] << 64 | value[0] : value[0];
        cpu_vector_written(cpu, rt);
    } else if (t->sign) {
        write_zero(cpu, rt, (uint64_t)sign_extend(value[0], 8u << t->log2), t->sign == 64);
    } else {
        write_zero(cpu, rt, value[0], true);
    }
}

static void get_stored(const struct cpu *cpu, const struct transfer *t, unsigned rt, uint64_t *value)
{
    if (t->vector) {
        value[0] = (uint64_t)cpu->vectors->vregs[rt];
        value[1] = (uint64_t)(cpu->vectors->vregs[rt] >> 64);
    } else {
        value[0] = read_zero(cpu, rt);
    }
}

static enum outcome transfer_one(struct cpu *cpu, const struct transfer *t, uint64_t addr)
{
    uint64_t value[2];
    if (t->load) {
        if (loads[t->log2](addr, value) != 0)
            return OUTCOME_FAULT;
        put_loaded(cpu, t, t->rt, value);
        return OUTCOME_NEXT;
    }
    get_stored(cpu, t, t->rt, value);
    return stores[t->log2](addr, value) == 0 ? OUTCOME_NEXT : OUTCOME_FAULT;
}

static enum outcome transfer_two(struct cpu *cpu, const struct transfer *t, uint64_t addr)
{
    static access_load *const load_pairs[3] = {access_load_pair4, access_load_pair8, access_load_pair16};
    static access_store *const store_pairs[3] = {access_store_pair4, access_store_pair8, access_store_pair16};
    uint64_t value[4];
    unsigned words = t->log2 == 4 ? 2 : 1;
    if (t->load) {
        if (load_pairs[t->log2 - 2](addr, value) != 0)
            return OUTCOME_FAULT;
        put_loaded(cpu, t, t->rt, value);
        put_loaded(cpu, t, t->rt2, value + words);
        return OUTCOME_NEXT;
    }
    get_stored(cpu, t, t->rt, value);
    get_stored(cpu, t, t->rt2, value + words);
    return store_pairs[t->log2 - 2](addr, value) == 0 ? OUTCOME_NEXT : OUTCOME_FAULT;
}

static uint64_t offset_of(const struct cpu *cpu, const struct transfer *t)
{
    if (!t->extend)
        return (uint64_t)t->offset;
    uint64_t offset = read_zero(cpu, t->rm);
    if (t->extend == 2)
        offset = (uint32_t)offset;
    else if (t->extend == 6)
        offset = (uint64_t)(int64_t)(int32_t)offset;
    return offset << t->shift;
}

static enum outcome transfer(struct cpu *cpu, uint32_t word)
{
    struct transfer t;
    if (!transfer_decode(word, &t) || (t.vector && !cpu->vectors))
        return OUTCOME_UNKNOWN;
    if (t.prefetch)
        return OUTCOME_NEXT;
    if (!t.literal && t.rn == 31 && *cpu->sp & 15)
        return OUTCOME_UNKNOWN; /* the program gets its SIGBUS */
    uint64_t base = t.literal ? *cpu->pc : read_sp(cpu, t.rn), moved = base + offset_of(cpu, &t),
             addr = t.post ? base : moved;
    enum outcome outcome = cpu->access(cpu, addr, t.count << t.log2, t.load ? SAMPLE_READ : SAMPLE_WRITE);
    if (outcome != OUTCOME_NEXT)
        return outcome;
    outcome = t.count == 2 ? transfer_two(cpu, &t, addr) : transfer_one(cpu, &t, addr);
    if (outcome == OUTCOME_NEXT && t.write_back)
        write_sp(cpu, t.rn, moved, true);
    return outcome;
}

enum outcome memory_access(struct cpu *cpu, uint32_t word)
{
    if ((word & 0xbe000000) == 0x0c000000)
        return memory_structure(cpu, word);
    if ((word & 0x3f000000) == 0x08000000 || (word & 0x3f200c00) == 0x19000000)
        return memory_ordered(cpu, word);
    if ((word & 0x3f200c00) == 0x38200000)
        return memory_atomic(cpu, word);
    return transfer(cpu, word);
}
