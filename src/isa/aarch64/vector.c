/* isa/aarch64/vector.c - vector and floating-point instructions: run in slots on the frame's registers.
 *
 * The group is closed: its instructions touch V registers, flags, FPSR and in a few forms one general register. Those
 * forms are distinguished here and the general register renamed to x0. What the processor does not know raises SIGILL in
 * the slot and is left to the program. */
#include "isa/aarch64/cpu.h"
#include "isa/aarch64/transfer.h"
#include "isa/aarch64/slots.h"

/* FPCR's trap enables: with one set an instruction may raise SIGFPE. */
#define FPCR_TRAPS 0x9f00u

/* FCMP, FCMPE, FCCMP, FCCMPE write flags only. */
static bool is_compare(uint32_t word)
{
    return (word & 0xff20fc07) == 0x1e202000 || (word & 0xff200c00) == 0x1e200400;
}

enum outcome vector_process(struct cpu *cpu, uint32_t word)
{
    if (!cpu->vectors || cpu->vectors->fpcr & FPCR_TRAPS)
        return OUTCOME_UNKNOWN;
    enum vector_general general = vector_general_register(word);
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
