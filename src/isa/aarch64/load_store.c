/* isa/aarch64/load_store.c - plain loads and stores, one register or two, in every addressing mode. */
#include "isa/aarch64/access.h"
#include "isa/aarch64/cpu.h"

static access_load *const loads[5] = {access_load1, access_load2, access_load4, access_load8, access_load16};
static access_store *const stores[5] = {access_store1, access_store2, access_store4, access_store8, access_store16};

/* A load or store of `count` registers, taken apart. */
struct transfer {
    uint64_t addr;
    unsigned log2; /* of one register's bytes */
    unsigned rt, rt2, count;
    bool load, vector;
    unsigned sign;   /* 0, or the width that the loaded value's sign is spread to: 32 or 64 */
    bool write_back; /* rn becomes `base` */
    unsigned rn;
    uint64_t base;
};

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

static enum outcome transfer_one(struct cpu *cpu, const struct transfer *t)
{
    uint64_t value[2];
    if (t->load) {
        if (loads[t->log2](t->addr, value) != 0)
            return OUTCOME_FAULT;
        put_loaded(cpu, t, t->rt, value);
        return OUTCOME_NEXT;
    }
    get_stored(cpu, t, t->rt, value);
    return stores[t->log2](t->addr, value) == 0 ? OUTCOME_NEXT : OUTCOME_FAULT;
}

static enum outcome transfer_two(struct cpu *cpu, const struct transfer *t)
{
    static access_load *const load_pairs[3] = {access_load_pair4, access_load_pair8, access_load_pair16};
    static access_store *const store_pairs[3] = {access_store_pair4, access_store_pair8, access_store_pair16};
    uint64_t value[4];
    unsigned words = t->log2 == 4 ? 2 : 1;
    if (t->load) {
        if (load_pairs[t->log2 - 2](t->addr, value) != 0)
            return OUTCOME_FAULT;
        put_loaded(cpu, t, t->rt, value);
        put_loaded(cpu, t, t->rt2, value + words);
        return OUTCOME_NEXT;
    }
    get_stored(cpu, t, t->rt, value);
    get_stored(cpu, t, t->rt2, value + words);
    return store_pairs[t->log2 - 2](t->addr, value) == 0 ? OUTCOME_NEXT : OUTCOME_FAULT;
}

static enum outcome transfer(struct cpu *cpu, const struct transfer *t)
{
    if (t->vector && !cpu->vectors)
        return OUTCOME_UNKNOWN;
    if (t->rn == 31 && *cpu->sp & 15)
        return OUTCOME_UNKNOWN; /* the program gets its SIGBUS */
    if (t->write_back && !t->vector && t->rn != 31 && (t->rt == t->rn || (t->count == 2 && t->rt2 == t->rn)))
        return OUTCOME_UNKNOWN; /* the architecture leaves the result open */
    if (t->count == 2 && t->load && t->rt == t->rt2)
        return OUTCOME_UNKNOWN;
    enum outcome outcome = cpu->access(cpu, t->addr, t->count << t->log2, t->load ? SAMPLE_READ : SAMPLE_WRITE);
    if (outcome != OUTCOME_NEXT)
        return outcome;
    outcome = t->count == 2 ? transfer_two(cpu, t) : transfer_one(cpu, t);
    if (outcome == OUTCOME_NEXT && t->write_back)
        write_sp(cpu, t->rn, t->base, true);
    return outcome;
}

/* Fills in size, direction and sign from the fields that all one-register forms share; false when there is no such
 * instruction. Prefetches come out as `prefetch`. */
static bool decode_kind(uint32_t word, struct transfer *t, bool *prefetch)
{
    unsigned size = bits(word, 30, 2), opc = bits(word, 22, 2);
    *prefetch = false;
    t->vector = word >> 26 & 1;
    t->count = 1;
    t->rt = bits(word, 0, 5);
    t->rn = bits(word, 5, 5);
    if (t->vector) {
        t->log2 = size;
        if (opc & 2) {
            if (size != 0)
                return false;
            t->log2 = 4;
        }
        t->load = opc & 1;
        return true;
    }
    t->log2 = size;
    t->load = opc != 0;
    if (opc >= 2) {
        t->sign = opc == 2 ? 64 : 32;
        if (size == 3) {
            *prefetch = opc == 2;
            return *prefetch;
        }
        if (size == 2 && opc == 3)
            return false;
    }
    return true;
}

static enum outcome register_offset(struct cpu *cpu, uint32_t word, struct transfer *t)
{
    unsigned option = bits(word, 13, 3);
    if (!(option & 2))
        return OUTCOME_UNKNOWN;
    uint64_t offset = read_zero(cpu, bits(word, 16, 5));
    if (option == 2)
        offset = (uint32_t)offset;
    else if (option == 6)
        offset = (uint64_t)(int64_t)(int32_t)offset;
    t->addr = read_sp(cpu, t->rn) + (offset << (word >> 12 & 1 ? t->log2 : 0));
    return transfer(cpu, t);
}

static enum outcome one_register(struct cpu *cpu, uint32_t word)
{
    struct transfer t = {0};
    bool prefetch;
    unsigned mode = bits(word, 10, 2);
    bool immediate9 = !(word >> 24 & 1) && !(word >> 21 & 1);
    if (!(word >> 24 & 1) && word >> 21 & 1 && mode != 2)
        return mode == 0 && !(word >> 26 & 1) ? memory_atomic(cpu, word) : OUTCOME_UNKNOWN;
    if (!decode_kind(word, &t, &prefetch) || (immediate9 && mode == 2))
        return OUTCOME_UNKNOWN; /* unallocated; LDTR and STTR check other permissions */
    if (prefetch) {
        bool plain = word >> 24 & 1, unscaled = immediate9 && mode == 0, offset = !immediate9 && word >> 14 & 1;
        return plain || unscaled || offset ? OUTCOME_NEXT : OUTCOME_UNKNOWN;
    }
    uint64_t base = read_sp(cpu, t.rn);
    if (word >> 24 & 1) {
        t.addr = base + ((uint64_t)bits(word, 10, 12) << t.log2);
        return transfer(cpu, &t);
    }
    if (!immediate9)
        return register_offset(cpu, word, &t);
    t.base = base + (uint64_t)sign_extend(bits(word, 12, 9), 9);
    t.addr = mode == 1 ? base : t.base;
    t.write_back = mode & 1;
    return transfer(cpu, &t);
}

static enum outcome two_registers(struct cpu *cpu, uint32_t word)
{
    unsigned opc = bits(word, 30, 2), mode = bits(word, 23, 2);
    struct transfer t = {.vector = word >> 26 & 1,
                         .load = word >> 22 & 1,
                         .rt = bits(word, 0, 5),
                         .rt2 = bits(word, 10, 5),
                         .rn = bits(word, 5, 5),
                         .count = 2,
                         .write_back = mode & 1};
    if (opc == 3)
        return OUTCOME_UNKNOWN;
    if (t.vector) {
        t.log2 = 2 + opc;
    } else {
        t.log2 = opc == 2 ? 3 : 2;
        if (opc == 1) { /* LDPSW; as a store it is MTE's STGP */
            if (!t.load || mode == 0)
                return OUTCOME_UNKNOWN;
            t.sign = 64;
        }
    }
    uint64_t base = read_sp(cpu, t.rn);
    t.base = base + ((uint64_t)sign_extend(bits(word, 15, 7), 7) << t.log2);
    t.addr = mode == 1 ? base : t.base;
    return transfer(cpu, &t);
}

static enum outcome literal(struct cpu *cpu, uint32_t word)
{
    unsigned opc = bits(word, 30, 2);
    struct transfer t = {.vector = word >> 26 & 1, .load = true, .rt = bits(word, 0, 5), .count = 1, .log2 = 2 + opc};
    t.addr = *cpu->pc + (uint64_t)sign_extend(bits(word, 5, 19), 19) * 4;
    if (opc == 3)
        return t.vector ? OUTCOME_UNKNOWN : OUTCOME_NEXT; /* PRFM */
    if (!t.vector && opc == 2) {
        t.log2 = 2;
        t.sign = 64;
    }
    return transfer(cpu, &t);
}

enum outcome memory_access(struct cpu *cpu, uint32_t word)
{
    if ((word & 0xbe000000) == 0x0c000000)
        return memory_structure(cpu, word);
    if ((word & 0x3f000000) == 0x08000000 || (word & 0x3f200c00) == 0x19000000)
        return memory_ordered(cpu, word);
    if ((word & 0x3b000000) == 0x18000000)
        return literal(cpu, word);
    if ((word & 0x3a000000) == 0x28000000)
        return two_registers(cpu, word);
    if ((word & 0x3a000000) == 0x38000000)
        return one_register(cpu, word);
    return OUTCOME_UNKNOWN;
}
