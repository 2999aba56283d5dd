/* agent/sampling/x86_64/burst.c - see burst.h and isa/x86_64/engine.h. Runs in bursts: general registers only, no calls out. */
#include "agent/sampling/x86_64/burst.h"
#include "isa/x86_64/frame.h"
#include "agent/sampling/step.h"

enum {
    STEPS_PER_ACCESS = 64,
    TLS_BYTES = 64 << 10, /* below the thread pointer: the area of restartable sequences that is not libc's */
};

/* A restartable sequence begins with a store to the thread's area; the kernel must see the thread within it at its own
 * addresses. So a burst ends before. Where libc has registered none, some other library may have. */
static bool begins_sequence(const struct engine *engine, const struct decode_access *access)
{
    uint64_t area;
    if (frame_rseq_area(engine->registers.fs_base, &area))
        return access->addr + access->size > area && access->addr < area + RSEQ_BYTES;
    return access->size == 8 && access->addr - (engine->registers.fs_base - TLS_BYTES) < 2 * TLS_BYTES;
}

static void show_registers(const struct engine *engine, ucontext_t *context)
{
    for (unsigned i = 0; i < 16; i++)
        context->uc_mcontext.gregs[frame_order[i]] = (greg_t)engine->registers.general[i];
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)engine->registers.rip;
}

/* Notes what the block's first instruction is about to access. False: the burst ends before it. */
static bool note_accesses(struct engine *engine, const struct block *block, ucontext_t *context)
{
    struct agent_thread *self = engine->user;
    struct decode_access accesses[DECODE_MAX_ACCESSES];
    if (block->first.operands[0].elements)
        vectors_show(engine);
    int count = decode_accesses(&block->first, &engine->registers, accesses);
    if (block->writes)
        for (int i = 0; i < count; i++)
            if (accesses[i].flags & SAMPLE_WRITE &&
                (begins_sequence(engine, &accesses[i]) ||
                 (accesses[i].addr < block->next && accesses[i].addr + accesses[i].size > block->pc)))
                return false;                              /* or it changes the very instructions that were copied */
    if (count > 0 && (uint32_t)count > self->sampler.skip) /* else they are let pass, and nobody looks */
        show_registers(engine, context);
    for (int i = 0; i < count; i++) {
        struct step_access access = {.addr = accesses[i].addr, .size = accesses[i].size, .flags = accesses[i].flags};
        if (!burst_access(self, context, &access))
            return false;
    }
    return count >= 0;
}

static void repeat(struct engine *engine, const struct block *block)
{
    uint64_t remaining = --engine->registers.general[DECODE_RCX];
    bool equal = engine->flags & FLAG_ZERO;
    bool again = remaining != 0 && !(block->last.until_equal && equal) && !(block->last.while_equal && !equal);
    if (!again)
        engine->registers.rip = block->next;
}

/* Runs one block. False: the burst is over, and the registers are those before the instruction it ends at. */
static bool run_block(struct engine *engine, struct block *block, ucontext_t *context)
{
    if (block->last.kind == OUTLINE_STOP && block->instructions == 1) {
        struct agent_thread *self = engine->user;
        self->sampler.stopped_at = (uint32_t)block->last.target;
        return false;
    }
    if (block->last.kind == OUTLINE_REPEAT && engine->registers.general[DECODE_RCX] == 0) {
        engine->registers.rip = block->next;
        return true;
    }
    if (block->first.operand_count > 0 && !note_accesses(engine, block, context))
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

static void keep_vectors(struct agent_thread *self)
{
    vectors_keep(self->sampler.step_stack);
}

void engine_burst(struct engine *engine, struct agent_thread *self, ucontext_t *context)
{
    greg_t *general = context->uc_mcontext.gregs;
    uint64_t flags = (uint64_t)general[REG_EFL];
    if (flags & (FLAG_TRAP | FLAG_ALIGNMENT) || !vectors_fit(engine, context))
        return;
    engine->user = self;
    self->sampler.calls_out = keep_vectors;
    engine->faulted = false;
    engine->flags = flags & FLAGS_PROGRAM;
    frame_registers(context, &engine->registers, &engine->vectors);
    uint64_t limit = (uint64_t)STEPS_PER_ACCESS * (self->sampler.remaining + self->sampler.skip + 1);
    while (self->sampler.steps < limit) {
        uint64_t pc = engine->registers.rip;
        if (agent_owns_code(pc) || pc >= VSYSCALL_PAGE)
            break;
        struct block *block = block_at(engine, pc);
        if (!block || !run_block(engine, block, context))
            break;
        self->sampler.steps += block->instructions;
    }
    vectors_keep(engine);
    self->sampler.calls_out = NULL;
    show_registers(engine, context);
    general[REG_EFL] = (greg_t)((flags & ~(uint64_t)(FLAGS_PROGRAM | FLAG_RESUME)) | (engine->flags & FLAGS_PROGRAM));
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
