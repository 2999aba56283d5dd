/* isa/aarch64/linked_run.c - long bursts: registers from and to signal frames, faults. Runs in bursts: no calls out. */
#include "isa/aarch64/access.h"
#include "isa/aarch64/cpu.h"
#include "isa/linked.h"

#include <stddef.h>

_Static_assert(offsetof(struct linked_state, sp) == 248 && offsetof(struct linked_state, nzcv) == 280 &&
                   offsetof(struct linked_state, own_sp) == 288 && offsetof(struct linked_state, vectors) == 296 &&
                   offsetof(struct linked_state, scalable) == 304,
               "as linked_enter.S has them");

enum { S = LINKED_STATE_REGISTER, WORD_SVC = 0xd4000001, PSTATE_TCO = 1 << 25 };

static const uint64_t all_flags = FLAG_N | FLAG_Z | FLAG_C | FLAG_V;

/* Blocks with instructions of SVE are for frames that have its registers. */
static void take_scalable(struct linked *linked, const struct cpu *cpu)
{
    if (linked->state.scalable_bytes != cpu->scalable_bytes)
        linked_forget(linked);
    linked->state.scalable = cpu->scalable;
    linked->state.scalable_bytes = cpu->scalable_bytes;
}

bool linked_run(struct linked *linked, void *thread, ucontext_t *context)
{
    struct linked_state *state = &linked->state;
    struct cpu cpu;
    (void)thread;
    /* checks of memory's tags are on in handlers */
    if (!cpu_view(&cpu, NULL, NULL, context) || !cpu.vectors || *cpu.pstate & PSTATE_TCO)
        return false;
    for (unsigned i = 0; i < 31; i++)
        state->x[i] = cpu.x[i];
    state->sp = *cpu.sp;
    state->nzcv = *cpu.pstate & all_flags;
    state->vectors = cpu.vectors;
    linked->pc = *cpu.pc;
    take_scalable(linked, &cpu);
    linked->stopped = linked_loop(linked);
    linked_hand_over(linked);
    if (linked->stopped == LINKED_INSTRUCTION && linked_is_scalable(linked->stop_name) && !cpu.scalable &&
        linked_open_scalable(&cpu)) {
        take_scalable(linked, &cpu);
        linked->stopped = linked_loop(linked);
        linked_hand_over(linked);
    }
    for (unsigned i = 0; i < 31; i++)
        cpu.x[i] = state->x[i];
    *cpu.sp = state->sp;
    *cpu.pstate = (*cpu.pstate & ~(all_flags | PSTATE_BTYPE)) | (state->nzcv & all_flags);
    *cpu.pc = linked->pc;
    return true;
}

bool linked_carry_out(struct linked *linked, const struct linked_block *block)
{
    linked_enter_block(linked, block);
    return !linked->faulted;
}

void linked_call_code(struct linked *linked, uint64_t code)
{
    linked_enter(&linked->state, code - 4);
}

void linked_settle(struct linked *linked)
{
    (void)linked; /* what was written has been made visible; this processor may have fetched it before */
    __asm__ volatile("isb" ::: "memory");
}

bool linked_fault(struct linked *linked, ucontext_t *context)
{
    struct linked_state *state = &linked->state;
    mcontext_t *registers = &context->uc_mcontext;
    uint64_t offset = registers->pc - (uint64_t)linked->code;
    if (!linked->running || offset >= LINKED_CODE)
        return false;
    const struct linked_block *block = linked_holding(linked, (uint32_t)offset);
    if (!block)
        return false;
    uint64_t programs = state->x[S];
    for (unsigned i = 0; i < 31; i++)
        state->x[i] = registers->regs[i];
    state->x[S] = block->own.z == LINKED_NO_REGISTER ? programs : registers->regs[block->own.z];
    if (block->own.z != LINKED_NO_REGISTER)
        state->x[block->own.z] = state->save_z;
    if (linked->mode == LINKED_LOGS && block->accesses) { /* only copies of instructions fault */
        state->x[block->x] = state->save_x;
        state->x[block->y] = state->save_y;
    }
    const struct linked_place *place = linked_place_at(linked, block, (uint32_t)offset);
    if (place->scratch != LINKED_NO_REGISTER)
        state->x[place->scratch] = state->save_y;
    state->sp = registers->sp;
    state->nzcv = registers->pstate & all_flags;
    linked_end_at(linked, block, place);
    registers->regs[S] = (uint64_t)state;
    registers->pc = (uint64_t)linked_leave_vectors;
    registers->pstate &= ~(uint64_t)PSTATE_BTYPE;
    return true;
}

uint64_t linked_address(const struct linked *linked, const struct linked_site *site, uint64_t word)
{
    (void)linked, (void)site;
    return word & 0x00ffffffffffffff; /* the top byte is a tag */
}

unsigned linked_call(const struct linked *linked, uint64_t *number)
{
    *number = linked->state.x[8];
    return linked->stop_name == WORD_SVC ? 4 : 0;
}

uint64_t linked_return_address(const struct linked *linked)
{
    return linked->state.x[30];
}

bool linked_read(uint64_t from, uint64_t *to)
{
    return access_load8(from, to) == 0;
}
