/* isa/aarch64/vector.c - vector and floating-point instructions: run in slots on the frame's registers.
 *
 * The group is closed: its instructions touch V registers, flags, FPSR and in a few forms one general register. Those
 * forms are distinguished here and the general register renamed to x0. What the processor does not know raises SIGILL in
 * the slot and is left to the program. */
#include "isa/aarch64/cpu.h"
#include "isa/aarch64/slots.h"

/* FPCR's trap enables: with one set an instruction may raise SIGFPE. */
#define FPCR_TRAPS 0x9f00u

enum general { GENERAL_NONE, GENERAL_SOURCE, GENERAL_TARGET };

static enum general general_register(uint32_t word)
{
    /* DUP, INS, SMOV, UMOV */
    if ((word & 0x9fe08400) == 0x0e000400) {
        unsigned imm4 = bits(word, 11, 4);
        if (word >> 29 & 1)
            return GENERAL_NONE; /* INS (element) */
        if (imm4 == 1 || imm4 == 3)
            return GENERAL_SOURCE;
        return imm4 == 5 || imm4 == 7 ? GENERAL_TARGET : GENERAL_NONE;
    }
    /* conversions between floating point and integer or fixed point: bit 21 and bits 15:10 distinguish them */
    bool integer = (word & 0x7f20fc00) == 0x1e200000, fixed = (word & 0x7f200000) == 0x1e000000;
    if (integer || fixed) {
        unsigned opcode = bits(word, 16, 3);
        if (opcode == 2 || opcode == 3 || (integer && opcode == 7))
            return GENERAL_SOURCE;
        return GENERAL_TARGET;
    }
    return GENERAL_NONE;
}

/* FCMP, FCMPE, FCCMP, FCCMPE write flags only. */
static bool is_compare(uint32_t word)
{
    return (word & 0xff20fc07) == 0x1e202000 || (word & 0xff200c00) == 0x1e200400;
}

enum outcome vector_process(struct cpu *cpu, uint32_t word)
{
    if (!cpu->vectors || cpu->vectors->fpcr & FPCR_TRAPS)
        return OUTCOME_UNKNOWN;
    enum general general = general_register(word);
    unsigned rd = bits(word, 0, 5), rn = bits(word, 5, 5);
    struct slot_state state = {
        .nzcv = *cpu->pstate & (FLAG_N | FLAG_Z | FLAG_C | FLAG_V),
        .fpsr = cpu->vectors->fpsr,
        .vectors = cpu->vectors->vregs,
    };
    uint32_t renamed = word;
    if (general == GENERAL_SOURCE) {
        state.x[0] = read_zero(cpu, rn);
        renamed = word & ~0x3e0u;
    } else if (general == GENERAL_TARGET) {
        renamed = word & ~0x1fu;
    }
    enum outcome outcome = slot_execute(renamed, &state);
    if (outcome != OUTCOME_NEXT)
        return OUTCOME_UNKNOWN;
    cpu->vectors->fpsr = (uint32_t)state.fpsr;
    *cpu->pstate = (*cpu->pstate & ~(uint64_t)(FLAG_N | FLAG_Z | FLAG_C | FLAG_V)) |
                   (state.nzcv & (FLAG_N | FLAG_Z | FLAG_C | FLAG_V));
    if (general == GENERAL_TARGET)
        write_zero(cpu, rd, state.x[0], true);
    else if (!is_compare(word))
        cpu_vector_written(cpu, rd);
    return OUTCOME_NEXT;
}
