/* isa/aarch64/branch.c - branches, hints and the few system instructions that ordinary code uses. */
#include "isa/aarch64/cpu.h"
#include "isa/aarch64/slots.h"

static enum outcome jump(struct cpu *cpu, uint64_t target)
{
    *cpu->pc = target;
    *cpu->pstate &= ~(uint64_t)PSTATE_BTYPE;
    return OUTCOME_JUMPED;
}

/* A wild target is left to the program: the processor changes and reports such addresses in its own way. */
static bool is_plausible(uint64_t target)
{
    return !(target & 3) && !(target >> 55);
}

enum {
    WORD_PACIA = 0xdac10000,
    WORD_PACIB = 0xdac10400,
    WORD_AUTIA = 0xdac11000,
    WORD_AUTIB = 0xdac11400,
    WORD_XPACI = 0xdac143e0,
};

/* Signs or checks the link register with the stack pointer as modifier, as PACIASP and its kin do. With other keys than the program's a
 * signature would be another one, and none be right: there pointers stay unsigned, and signatures are taken away unchecked. */
static enum outcome authenticate(struct cpu *cpu, uint32_t word)
{
    if (cpu->foreign && (word == WORD_PACIA || word == WORD_PACIB))
        return OUTCOME_NEXT;
    struct slot_state state = {.x = {cpu->x[30], *cpu->sp}};
    enum outcome outcome = slot_execute(cpu->foreign ? WORD_XPACI : word | 1u << 5, &state);
    if (outcome == OUTCOME_NEXT)
        cpu->x[30] = state.x[0];
    return outcome == OUTCOME_NEXT ? OUTCOME_NEXT : OUTCOME_UNKNOWN;
}

static enum outcome hint(struct cpu *cpu, unsigned number)
{
    if (hint_is_nothing(number))
        return OUTCOME_NEXT;
    bool pointer = number == 7 || (number >= 8 && number <= 15) || (number >= 24 && number <= 31);
    if (!pointer)
        return OUTCOME_UNKNOWN;
    if (!(cpu_features & HWCAP_PACA))
        return OUTCOME_NEXT; /* a NOP on this processor */
    switch (number) {
    case 25:
        return authenticate(cpu, WORD_PACIA);
    case 27:
        return authenticate(cpu, WORD_PACIB);
    case 29:
        return authenticate(cpu, WORD_AUTIA);
    case 31:
        return authenticate(cpu, WORD_AUTIB);
    }
    return OUTCOME_UNKNOWN;
}

static enum outcome jump_register(struct cpu *cpu, uint32_t word)
{
    uint64_t target = read_zero(cpu, bits(word, 5, 5));
    if (!is_plausible(target) && (word & 0xc00) == 0)
        return OUTCOME_UNKNOWN;
    if ((word & 0xfffffc1f) == 0xd61f0000 || (word & 0xfffffc1f) == 0xd65f0000) /* BR, RET */
        return jump(cpu, target);
    if ((word & 0xfffffc1f) == 0xd63f0000) { /* BLR */
        cpu->x[30] = *cpu->pc + 4;
        return jump(cpu, target);
    }
    if (word == 0xd65f0bff || word == 0xd65f0fff) { /* RETAA, RETAB */
        uint64_t link = cpu->x[30];
        enum outcome outcome = authenticate(cpu, word == 0xd65f0bff ? WORD_AUTIA : WORD_AUTIB);
        if (outcome == OUTCOME_NEXT && is_plausible(cpu->x[30]))
            return jump(cpu, cpu->x[30]);
        cpu->x[30] = link;
        return OUTCOME_UNKNOWN;
    }
    return OUTCOME_UNKNOWN;
}

static enum outcome zero_block(struct cpu *cpu, uint32_t word)
{
    uint64_t dczid;
    __asm__("mrs %0, dczid_el0" : "=r"(dczid));
    if (dczid & 16)
        return OUTCOME_UNKNOWN;
    unsigned size = 4u << (dczid & 15);
    uint64_t addr = read_zero(cpu, bits(word, 0, 5));
    enum outcome outcome = cpu->access(cpu, addr & ~(uint64_t)(size - 1), size, SAMPLE_WRITE);
    if (outcome != OUTCOME_NEXT)
        return outcome;
    return access_zero_block(addr) == 0 ? OUTCOME_NEXT : OUTCOME_FAULT;
}

static enum outcome system_register(struct cpu *cpu, uint32_t word)
{
    unsigned rt = bits(word, 0, 5);
    uint64_t value;
    switch (word & 0xffffffe0) {
    case 0xd53bd040: /* MRS tpidr_el0 */
        __asm__("mrs %0, tpidr_el0" : "=r"(value));
        break;
    case 0xd53be040: /* cntvct_el0 */
        __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(value));
        break;
    case 0xd53be000: /* cntfrq_el0 */
        __asm__("mrs %0, cntfrq_el0" : "=r"(value));
        break;
    case 0xd53b00e0: /* dczid_el0 */
        __asm__("mrs %0, dczid_el0" : "=r"(value));
        break;
    case 0xd53b0020: /* ctr_el0 may be trapped and changed by the kernel: so is this one */
        __asm__("mrs %0, ctr_el0" : "=r"(value));
        break;
    case 0xd53b4200: /* nzcv */
        value = *cpu->pstate & (FLAG_N | FLAG_Z | FLAG_C | FLAG_V);
        break;
    case 0xd53b4400: /* fpcr */
        if (!cpu->vectors)
            return OUTCOME_UNKNOWN;
        value = cpu->vectors->fpcr;
        break;
    case 0xd53b4420: /* fpsr */
        if (!cpu->vectors)
            return OUTCOME_UNKNOWN;
        value = cpu->vectors->fpsr;
        break;
    case 0xd51b4200: /* MSR nzcv */
        *cpu->pstate = (*cpu->pstate & ~(uint64_t)(FLAG_N | FLAG_Z | FLAG_C | FLAG_V)) |
                       (read_zero(cpu, rt) & (FLAG_N | FLAG_Z | FLAG_C | FLAG_V));
        return OUTCOME_NEXT;
    default:
        return OUTCOME_UNKNOWN;
    }
    write_zero(cpu, rt, value, true);
    return OUTCOME_NEXT;
}

static enum outcome barrier(uint32_t word)
{
    unsigned opcode = bits(word, 5, 3);
    if (opcode == 4 || opcode == 5) { /* DSB, DMB: at least as strong */
        __asm__ volatile("dsb sy" ::: "memory");
        return OUTCOME_NEXT;
    }
    if (opcode == 6) {
        __asm__ volatile("isb" ::: "memory");
        return OUTCOME_NEXT;
    }
    return OUTCOME_UNKNOWN; /* CLREX, SB */
}

enum outcome branch_or_system(struct cpu *cpu, uint32_t word)
{
    uint64_t pc = *cpu->pc;
    if ((word & 0x7c000000) == 0x14000000) { /* B, BL */
        if (word >> 31)
            cpu->x[30] = pc + 4;
        return jump(cpu, pc + (uint64_t)sign_extend(bits(word, 0, 26), 26) * 4);
    }
    if ((word & 0xff000000) == 0x54000000) { /* B.cond, BC.cond */
        if (!cpu_condition(cpu, bits(word, 0, 4)))
            return OUTCOME_NEXT;
        return jump(cpu, pc + (uint64_t)sign_extend(bits(word, 5, 19), 19) * 4);
    }
    if ((word & 0x7e000000) == 0x34000000) { /* CBZ, CBNZ */
        uint64_t value = read_zero(cpu, bits(word, 0, 5));
        if (!(word >> 31))
            value = (uint32_t)value;
        if ((value != 0) != (word >> 24 & 1))
            return OUTCOME_NEXT;
        return jump(cpu, pc + (uint64_t)sign_extend(bits(word, 5, 19), 19) * 4);
    }
    if ((word & 0x7e000000) == 0x36000000) { /* TBZ, TBNZ */
        unsigned bit = bits(word, 31, 1) << 5 | bits(word, 19, 5);
        if ((read_zero(cpu, bits(word, 0, 5)) >> bit & 1) != (word >> 24 & 1))
            return OUTCOME_NEXT;
        return jump(cpu, pc + (uint64_t)sign_extend(bits(word, 5, 14), 14) * 4);
    }
    if ((word & 0xfe000000) == 0xd6000000)
        return jump_register(cpu, word);
    if ((word & 0xfffff01f) == 0xd503201f)
        return hint(cpu, bits(word, 5, 7));
    if ((word & 0xfffff01f) == 0xd503301f)
        return barrier(word);
    if ((word & 0xffffffe0) == 0xd50b7420)
        return zero_block(cpu, word);
    return system_register(cpu, word);
}
