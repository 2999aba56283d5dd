/* isa/x86_64/linked_run.c - long bursts: the way in and out, what is done by hand, faults. Runs in bursts: general registers only, no calls out. */
#include "isa/linked.h"
#include "isa/x86_64/frame.h"
#include "isa/x86_64/guard.h"

enum { SYSCALL_NAME = 2 << 24 | 0x0f << 16 | 0x05 << 8, SYSCALL_BYTES = 2 };

static uint64_t base_of(const struct linked *linked, unsigned segment)
{
    return segment == DECODE_FS ? linked->state.fs_base : segment == DECODE_GS ? linked->state.gs_base : 0;
}

static uint64_t address_of(const struct linked *linked, const struct linked_block *block)
{
    const struct decode_operand *operand = &block->own.through;
    uint64_t address = (uint64_t)operand->disp;
    if (operand->base == DECODE_RIP)
        address += block->next;
    else if (operand->base != DECODE_NONE)
        address += linked->state.general[operand->base];
    if (operand->index != DECODE_NONE)
        address += linked->state.general[operand->index] * operand->scale;
    if (operand->address32)
        address = (uint32_t)address;
    return address + base_of(linked, operand->segment);
}

/* What translated code leaves to the engine; false: it would fault, and nothing was changed. */
static bool branch_by_hand(struct linked *linked, const struct linked_block *block)
{
    uint64_t *counter = &linked->state.general[DECODE_RCX], *sp = &linked->state.general[DECODE_RSP],
             target = block->own.last.target;
    bool zero = linked->state.flags & FLAG_ZERO, taken = true;
    switch (block->own.last.branch) {
    case BRANCH_JUMP_MEMORY:
        if (!guard_load(address_of(linked, block), &target))
            return false;
        break;
    case BRANCH_CALL_MEMORY:
        if (!guard_load(address_of(linked, block), &target) || !guard_store(*sp - 8, block->next))
            return false;
        *sp -= 8;
        break;
    case BRANCH_LOOP:
        taken = --*counter != 0;
        break;
    case BRANCH_LOOP_EQUAL:
        taken = --*counter != 0 && zero;
        break;
    case BRANCH_LOOP_UNEQUAL:
        taken = --*counter != 0 && !zero;
        break;
    case BRANCH_COUNTER_ZERO:
        taken = *counter == 0;
        break;
    default:
        return false;
    }
    linked->pc = taken ? target : block->next;
    return true;
}

/* A string instruction in one go, then its lines. */
static bool run_repeat(struct linked *linked, const struct linked_block *block)
{
    uint64_t count = linked->state.general[DECODE_RCX], from[DECODE_MAX_OPERANDS] = {0, 0};
    if (count && linked->state.flags & FLAG_DIRECTION)
        return false;
    for (unsigned i = 0; i < block->own.operands; i++)
        from[i] = linked->state.general[linked->sites[block->first_site + i].segment];
    linked_enter_block(linked, block);
    if (linked->faulted)
        return false;
    linked->pc = block->next;
    uint64_t bytes = (count - linked->state.general[DECODE_RCX]) * block->own.repeat_bytes;
    for (unsigned i = 0; i < block->own.operands && bytes; i++)
        for (uint64_t line = from[i] / CACHE_LINE; line <= (from[i] + bytes - 1) / CACHE_LINE; line++) {
            if (linked->mode == LINKED_COUNTS) {
                linked->remaining--;
                continue;
            }
            if (linked->log >= linked->log_limit && !linked_hand_over(linked))
                linked->must_stop = true;
            uint64_t *record = (uint64_t *)linked->log;
            record[0] = LINKED_BLOCKS | (uint64_t)(block->first_site + i) << 32;
            record[1] = (uint64_t)(block - linked->blocks);
            record[2] = line * CACHE_LINE;
            linked->log += 3 * sizeof *record;
        }
    return true;
}

bool linked_carry_out(struct linked *linked, const struct linked_block *block)
{
    if (block->kind == LINKED_REPEATS)
        return run_repeat(linked, block);
    linked_enter_block(linked, block);
    if (linked->faulted || linked->exit_link || linked->exit_block >= LINKED_BLOCKS)
        return !linked->faulted;
    const struct linked_block *exited = &linked->blocks[linked->exit_block];
    if (branch_by_hand(linked, exited))
        return true;
    linked->pc = exited->pc + linked->places[exited->first_place + exited->places - 1].source;
    return false;
}

void linked_settle(struct linked *linked)
{
    (void)linked;
    if (!frame_is_emulated())
        guard_serialize();
}

void linked_prepare_ways(struct linked *linked)
{
    struct linked_state *state = &linked->state;
    struct emit_state ways = {state->general, &state->flags, &state->own_sp, &state->target};
    struct emitter out = {.to = linked->writable, .at = (uint64_t)linked->code};
    state->log_minus = -linked->log_limit;
    state->enter = out.at;
    emit_enter(&out, &ways);
    out.count = (out.count + 63) & ~63u;
    linked->leave = out.at + out.count;
    state->leave_restored = emit_way_out(&out, &ways);
}

void linked_call_code(struct linked *linked, uint64_t code)
{
    ((void (*)(uint64_t))linked->state.enter)(code);
}

uint64_t linked_address(const struct linked *linked, const struct linked_site *site, uint64_t word)
{
    return word + base_of(linked, site->segment);
}

unsigned linked_call(const struct linked *linked, uint64_t *number)
{
    *number = linked->state.general[DECODE_RAX];
    return linked->stop_name == SYSCALL_NAME ? SYSCALL_BYTES : 0;
}

uint64_t linked_return_address(const struct linked *linked)
{
    uint64_t back;
    return guard_load(linked->state.general[DECODE_RSP], &back) ? back : 0;
}

bool linked_read(uint64_t from, uint64_t *to)
{
    return guard_load(from, to);
}

/* The last x87 instruction ran in translated code; to the program it did so at its own place. */
static void fix_x87(const struct linked *linked, uint8_t *image)
{
    uint64_t *last = (uint64_t *)(void *)(image + FRAME_X87_LAST), offset = *last - (uint64_t)linked->code;
    if (offset >= LINKED_CODE)
        return;
    const struct linked_block *block = linked_holding(linked, (uint32_t)offset);
    *last = block ? block->pc + linked_place_at(linked, block, (uint32_t)offset)->source : 0;
}

bool linked_run(struct linked *linked, void *thread, ucontext_t *context)
{
    struct engine *engine = thread;
    greg_t *general = context->uc_mcontext.gregs;
    uint64_t flags = (uint64_t)general[REG_EFL];
    struct decode_registers registers;
    if (flags & (FLAG_TRAP | FLAG_ALIGNMENT) || !vectors_fit(engine, context))
        return false;
    frame_registers(context, &registers, &engine->vectors);
    for (unsigned i = 0; i < 16; i++)
        ((volatile uint64_t *)linked->state.general)[i] = registers.general[i];
    linked->pc = registers.rip;
    linked->state.fs_base = registers.fs_base;
    linked->state.gs_base = registers.gs_base;
    linked->state.flags = flags & FLAGS_PROGRAM;
    vectors_load(engine);
    linked->stopped = linked_loop(linked);
    vectors_keep(engine);
    fix_x87(linked, engine->image);
    linked_hand_over(linked);
    for (unsigned i = 0; i < 16; i++)
        general[frame_order[i]] = (greg_t)linked->state.general[i];
    general[REG_RIP] = (greg_t)linked->pc;
    general[REG_EFL] =
        (greg_t)((flags & ~(uint64_t)(FLAGS_PROGRAM | FLAG_RESUME)) | (linked->state.flags & FLAGS_PROGRAM));
    return true;
}

bool linked_fault(struct linked *linked, ucontext_t *context)
{
    greg_t *general = context->uc_mcontext.gregs;
    uint64_t offset = (uint64_t)general[REG_RIP] - (uint64_t)linked->code;
    if (!linked->running || offset >= LINKED_CODE)
        return false;
    const struct linked_block *block = linked_holding(linked, (uint32_t)offset);
    if (!block)
        return false;
    for (unsigned i = 0; i < 16; i++)
        ((volatile uint64_t *)linked->state.general)[i] = (uint64_t)general[frame_order[i]];
    linked->state.flags = (uint64_t)general[REG_EFL] & FLAGS_PROGRAM;
    if (offset >= block->own.body && offset < block->own.end) {
        linked->state.general[block->x] = linked->state.save_x;
        linked->state.general[block->y] = linked->state.save_y;
    }
    const struct linked_place *place = linked_place_at(linked, block, (uint32_t)offset);
    if (place->scratch != LINKED_NO_REGISTER)
        linked->state.general[place->scratch] = linked->state.scratch;
    linked_end_at(linked, block, place);
    general[REG_RIP] = (greg_t)linked->state.leave_restored;
    general[REG_RSP] = (greg_t)linked->state.own_sp;
    general[REG_EFL] &= ~(greg_t)(FLAG_DIRECTION | FLAG_ALIGNMENT | FLAG_RESUME);
    return true;
}
