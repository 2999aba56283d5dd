/* isa/x86_64/engine_run.c - the loop over blocks, and faults in slots. Runs in bursts. */
#include "isa/x86_64/engine.h"
#include "isa/x86_64/frame.h"

static void repeat(struct engine *engine, const struct block *block)
{
    uint64_t remaining = --engine->registers.general[DECODE_RCX];
    bool equal = engine->flags & FLAG_ZERO;
    bool again = remaining != 0 && !(block->last.until_equal && equal) && !(block->last.while_equal && !equal);
    if (!again)
        engine->registers.rip = block->next;
}

static bool note_accesses(struct engine *engine, const struct block *block)
{
    struct decode_access accesses[DECODE_MAX_ACCESSES];
    if (block->first.operands[0].elements)
        vectors_show(engine);
    int count = decode_accesses(&block->first, &engine->registers, accesses);
    return count >= 0 && engine->accesses(engine, block, accesses, (unsigned)count);
}

/* Runs one block. False: the burst is over, and the registers are those before the instruction it ends at. */
static bool run_block(struct engine *engine, struct block *block)
{
    if (block->last.kind == OUTLINE_STOP && block->instructions == 1) {
        engine->stopped_at = (uint32_t)block->last.target;
        return false;
    }
    if (block->last.kind == OUTLINE_REPEAT && engine->registers.general[DECODE_RCX] == 0) {
        engine->registers.rip = block->next;
        return true;
    }
    if (block->first.operand_count > 0 && !note_accesses(engine, block))
        return false;
    if (block->code) {
        if (block->vector)
            vectors_load(engine);
        engine->current = block;
        engine->running = true;
        ((void (*)(uint64_t))engine->enter)((uint64_t)engine->code + block->code);
        engine->running = false;
        if (engine->faulted)
            return false;
    }
    if (block->last.kind == OUTLINE_REPEAT) {
        repeat(engine, block);
        return true;
    }
    if (block->last.kind == OUTLINE_BRANCH)
        return branch_take(engine, block);
    engine->registers.rip = block->next;
    return true;
}

void engine_run(struct engine *engine, uint64_t most)
{
    engine->faulted = false;
    engine->stopped_at = 0;
    for (engine->steps = 0; engine->steps < most;) {
        uint64_t pc = engine->registers.rip;
        if (pc >= VSYSCALL_PAGE || !engine->may_run(engine, pc))
            break;
        struct block *block = block_at(engine, pc);
        if (!block || !run_block(engine, block))
            break;
        engine->steps += block->instructions;
    }
    vectors_keep(engine);
}

bool engine_fault(struct engine *engine, ucontext_t *context)
{
    greg_t *general = context->uc_mcontext.gregs;
    uint64_t offset = (uint64_t)general[REG_RIP] - (uint64_t)engine->code;
    if (!engine->running || offset >= ENGINE_CODE)
        return false;
    const struct block *block = engine->current;
    unsigned which = block_instruction(block, (uint32_t)offset);
    for (unsigned i = 0; i < 16; i++)
        engine->registers.general[i] = (uint64_t)general[frame_order[i]];
    if (block->map[which].scratch != DECODE_NONE)
        engine->registers.general[block->map[which].scratch] = engine->scratch;
    engine->flags = (uint64_t)general[REG_EFL] & FLAGS_PROGRAM;
    engine->registers.rip = block->pc + block->map[which].source;
    engine->faulted = true;
    general[REG_RIP] = (greg_t)engine->leave_restored;
    general[REG_RSP] = (greg_t)engine->own_sp;
    general[REG_EFL] &= ~(greg_t)(FLAG_DIRECTION | FLAG_ALIGNMENT | FLAG_RESUME);
    return true;
}
