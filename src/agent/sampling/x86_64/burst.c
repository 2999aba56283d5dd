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

struct burst {
    struct agent_thread *self;
    ucontext_t *context;
};

/* Notes what the block's first instruction is about to access. False: the burst ends before it. */
static bool note_accesses(struct engine *engine, const struct block *block, const struct decode_access *accesses,
                          unsigned count)
{
    struct burst *burst = engine->user;
    struct agent_thread *self = burst->self;
    if (block->writes)
        for (unsigned i = 0; i < count; i++)
            if (accesses[i].flags & SAMPLE_WRITE &&
                (begins_sequence(engine, &accesses[i]) ||
                 (accesses[i].addr < block->next && accesses[i].addr + accesses[i].size > block->pc)))
                return false;       /* or it changes the very instructions that were copied */
    if (count > self->sampler.skip) /* else they are let pass, and nobody looks */
        show_registers(engine, burst->context);
    for (unsigned i = 0; i < count; i++) {
        struct step_access access = {.addr = accesses[i].addr, .size = accesses[i].size, .flags = accesses[i].flags};
        if (!burst_access(self, burst->context, &access))
            return false;
    }
    return true;
}

static bool may_run(struct engine *engine, uint64_t pc)
{
    (void)engine;
    return !agent_owns_code(pc);
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
    struct burst burst = {self, context};
    engine->user = &burst;
    engine->accesses = note_accesses;
    engine->may_run = may_run;
    self->sampler.calls_out = keep_vectors;
    engine->flags = flags & FLAGS_PROGRAM;
    frame_registers(context, &engine->registers, &engine->vectors);
    engine_run(engine, (uint64_t)STEPS_PER_ACCESS * (self->sampler.remaining + self->sampler.skip + 1));
    self->sampler.calls_out = NULL;
    self->sampler.steps = (uint32_t)engine->steps;
    if (engine->stopped_at)
        self->sampler.stopped_at = engine->stopped_at;
    show_registers(engine, context);
    general[REG_EFL] = (greg_t)((flags & ~(uint64_t)(FLAGS_PROGRAM | FLAG_RESUME)) | (engine->flags & FLAGS_PROGRAM));
}
