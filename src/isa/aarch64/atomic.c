/* isa/aarch64/atomic.c - loads and stores with an order, atomic read-modify-writes, and vector structures.
 *
 * The ones that C could not do as one access run in slots, with their registers renamed and the address in one of
 * them. Exclusive loads and stores are not touched: a pair of them cannot be split. */
#include "isa/aarch64/cpu.h"
#include "isa/aarch64/transfer.h"
#include "isa/aarch64/slots.h"

static enum outcome check_base(const struct cpu *cpu, unsigned rn)
{
    return rn == 31 && *cpu->sp & 15 ? OUTCOME_UNKNOWN : OUTCOME_NEXT;
}

static enum outcome load_acquire(struct cpu *cpu, uint64_t addr, unsigned log2, unsigned rt, unsigned sign)
{
    static access_load *const loads[4] = {access_acquire1, access_acquire2, access_acquire4, access_acquire8};
    enum outcome outcome = cpu->access(cpu, addr, 1u << log2, SAMPLE_READ);
    if (outcome != OUTCOME_NEXT)
        return outcome;
    uint64_t value;
    if (loads[log2](addr, &value) != 0)
        return OUTCOME_FAULT;
    if (sign)
        write_zero(cpu, rt, (uint64_t)sign_extend(value, 8u << log2), sign == 64);
    else
        write_zero(cpu, rt, value, true);
    return OUTCOME_NEXT;
}

static enum outcome store_release(struct cpu *cpu, uint64_t addr, unsigned log2, unsigned rt)
{
    static access_store *const stores[4] = {access_release1, access_release2, access_release4, access_release8};
    enum outcome outcome = cpu->access(cpu, addr, 1u << log2, SAMPLE_WRITE);
    if (outcome != OUTCOME_NEXT)
        return outcome;
    uint64_t value = read_zero(cpu, rt);
    return stores[log2](addr, &value) == 0 ? OUTCOME_NEXT : OUTCOME_FAULT;
}

static enum outcome atomic_in_slot(struct cpu *cpu, uint32_t word, struct slot_state *state, uint64_t addr,
                                   unsigned size)
{
    enum outcome outcome = cpu->access(cpu, addr, size, SAMPLE_READ | SAMPLE_WRITE | SAMPLE_LOCKED);
    return outcome == OUTCOME_NEXT ? slot_execute(word, state) : outcome;
}

static enum outcome compare_and_swap(struct cpu *cpu, uint32_t word)
{
    unsigned rs = bits(word, 16, 5), rn = bits(word, 5, 5), rt = bits(word, 0, 5);
    uint64_t addr = read_sp(cpu, rn);
    struct slot_state state = {.x = {addr, read_zero(cpu, rs), read_zero(cpu, rt)}};
    uint32_t renamed = (word & ~0x1f03ffu) | 1u << 16 | 0u << 5 | 2u;
    enum outcome outcome = atomic_in_slot(cpu, renamed, &state, addr, 1u << bits(word, 30, 2));
    if (outcome == OUTCOME_NEXT)
        write_zero(cpu, rs, state.x[1], true);
    return outcome;
}

static enum outcome compare_and_swap_pair(struct cpu *cpu, uint32_t word)
{
    unsigned rs = bits(word, 16, 5), rn = bits(word, 5, 5), rt = bits(word, 0, 5);
    if (rs & 1 || rt & 1 || rs == 30 || rt == 30)
        return OUTCOME_UNKNOWN;
    uint64_t addr = read_sp(cpu, rn);
    struct slot_state state = {.x = {cpu->x[rs], cpu->x[rs + 1], cpu->x[rt], cpu->x[rt + 1], addr}};
    uint32_t renamed = (word & ~0x1f03ffu) | 4u << 5 | 2u;
    enum outcome outcome = atomic_in_slot(cpu, renamed, &state, addr, word >> 30 & 1 ? 16 : 8);
    if (outcome == OUTCOME_NEXT) {
        cpu->x[rs] = state.x[0];
        cpu->x[rs + 1] = state.x[1];
    }
    return outcome;
}

enum outcome memory_ordered(struct cpu *cpu, uint32_t word)
{
    unsigned size = bits(word, 30, 2), rn = bits(word, 5, 5), rt = bits(word, 0, 5);
    if (check_base(cpu, rn) != OUTCOME_NEXT)
        return OUTCOME_UNKNOWN;
    if (word >> 24 & 1) { /* LDAPUR, STLUR */
        unsigned opc = bits(word, 22, 2);
        if (!(cpu_features & HWCAP_ILRCPC))
            return OUTCOME_UNKNOWN;
        uint64_t addr = read_sp(cpu, rn) + (uint64_t)sign_extend(bits(word, 12, 9), 9);
        if (opc == 0)
            return store_release(cpu, addr, size, rt);
        if (size + (opc >= 2) + (opc == 3) > 3)
            return OUTCOME_UNKNOWN;
        return load_acquire(cpu, addr, size, rt, opc == 1 ? 0 : opc == 2 ? 64 : 32);
    }
    bool o2 = word >> 23 & 1, o1 = word >> 21 & 1;
    if (bits(word, 10, 5) != 31)
        return OUTCOME_UNKNOWN;
    if (o2 && !o1) { /* LDAR, STLR; with bit 15 clear they are LDLAR and STLLR */
        if (bits(word, 16, 5) != 31 || !(word >> 15 & 1))
            return OUTCOME_UNKNOWN;
        uint64_t addr = read_sp(cpu, rn);
        return word >> 22 & 1 ? load_acquire(cpu, addr, size, rt, 0) : store_release(cpu, addr, size, rt);
    }
    if (o2)
        return compare_and_swap(cpu, word);
    return o1 && !(word >> 31) ? compare_and_swap_pair(cpu, word) : OUTCOME_UNKNOWN;
}

enum outcome memory_atomic(struct cpu *cpu, uint32_t word)
{
    unsigned size = bits(word, 30, 2), rs = bits(word, 16, 5), rn = bits(word, 5, 5), rt = bits(word, 0, 5);
    unsigned opcode = bits(word, 12, 4);
    if (check_base(cpu, rn) != OUTCOME_NEXT)
        return OUTCOME_UNKNOWN;
    uint64_t addr = read_sp(cpu, rn);
    if (opcode == 12) { /* LDAPR */
        if (rs != 31 || bits(word, 22, 2) != 2 || !(cpu_features & HWCAP_LRCPC))
            return OUTCOME_UNKNOWN;
        return load_acquire(cpu, addr, size, rt, 0);
    }
    if (opcode > 8)
        return OUTCOME_UNKNOWN;
    struct slot_state state = {.x = {addr, read_zero(cpu, rs)}};
    enum outcome outcome = atomic_in_slot(cpu, (word & ~0x1f03ffu) | 1u << 16 | 0u << 5 | 2u, &state, addr, 1u << size);
    if (outcome == OUTCOME_NEXT)
        write_zero(cpu, rt, state.x[2], true);
    return outcome;
}

enum outcome memory_structure(struct cpu *cpu, uint32_t word)
{
    unsigned registers, bytes, rn = bits(word, 5, 5), rm = bits(word, 16, 5), rt = bits(word, 0, 5);
    bool load = word >> 22 & 1, post = word >> 23 & 1;
    if (!cpu->vectors || !structure_shape(word, &registers, &bytes) || (!post && rm != 0) ||
        check_base(cpu, rn) != OUTCOME_NEXT)
        return OUTCOME_UNKNOWN;
    uint64_t addr = read_sp(cpu, rn);
    enum outcome outcome = cpu->access(cpu, addr, bytes, load ? SAMPLE_READ : SAMPLE_WRITE);
    if (outcome != OUTCOME_NEXT)
        return outcome;
    struct slot_state state = {.x = {addr}, .fpsr = cpu->vectors->fpsr, .vectors = cpu->vectors->vregs};
    outcome = slot_execute(word & ~(1u << 23 | 0x1f03e0u), &state);
    if (outcome != OUTCOME_NEXT)
        return outcome;
    for (unsigned i = 0; load && i < registers; i++)
        cpu_vector_written(cpu, (rt + i) & 31);
    if (post)
        write_sp(cpu, rn, addr + (rm == 31 ? bytes : cpu->x[rm]), true);
    return OUTCOME_NEXT;
}
