/* agent/sampling/x86_64/step.c - stepping by the engine. Runs in signal handlers, but for step_start, step_thread_start
 * and step_thread_stop. */
#include "agent/sampling/step.h"

#include "isa/probe.h"
#include "agent/sampling/x86_64/burst.h"
#include "isa/x86_64/frame.h"
#include "isa/x86_64/guard.h"
#include "agent/unwind/unwind.h"

void step_start(void)
{
    frame_learn();
}

bool step_thread_start(struct agent_thread *self)
{
    if (!self->sampler.step_stack)
        self->sampler.step_stack = engine_take();
    return self->sampler.step_stack != NULL;
}

void step_thread_stop(struct agent_thread *self)
{
    struct engine *engine = self->sampler.step_stack;
    self->sampler.step_stack = NULL;
    if (engine)
        engine_give_back(engine);
}

void step_forget(struct agent_thread *self)
{
    engine_forget();
    self->sampler.step_stack = NULL;
    self->sampler.calls_out = NULL;
    self->sampler.guard_sp = 0;
}

/* With a shadow stack a call would have to write that too, and the way back from a copied frame would be refused. */
static bool has_shadow_stack(void)
{
    uint64_t pointer = 0;
    __asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(pointer)); /* rdsspq %rax: a nop where there is none */
    return pointer != 0;
}

bool step_apart(struct agent_thread *self, siginfo_t *info, ucontext_t *context,
                void (*work)(struct agent_thread *self, ucontext_t *context))
{
    struct engine *engine = self->sampler.step_stack;
    (void)info;
    if (!engine || has_shadow_stack() || !engine_ready(engine))
        return false;
    ucontext_t *copy = frame_copy(context, engine_stack_top(engine));
    if (!copy)
        return false;
    step_return(copy, self, work);
}

void step_burst(struct agent_thread *self, ucontext_t *context)
{
    engine_burst(self->sampler.step_stack, self, context);
}

bool step_fault(struct agent_thread *self, ucontext_t *context, int signal)
{
    (void)signal;
    uint64_t end = guard_resume((uint64_t)context->uc_mcontext.gregs[REG_RIP]);
    if (end) {
        context->uc_mcontext.gregs[REG_RIP] = (greg_t)end;
        return true;
    }
    if (self->sampler.step_stack && (engine_fault(self->sampler.step_stack, context) || step_long_fault(context)))
        return true;
    if (self->sampler.guard_sp) {
        context->uc_mcontext.gregs[REG_RSP] = (greg_t)self->sampler.guard_sp;
        context->uc_mcontext.gregs[REG_RIP] = (greg_t)guard_landing;
        return true;
    }
    return false;
}

bool step_guarded(struct agent_thread *self, void (*work)(void *argument), void *argument)
{
    return guard_call(&self->sampler.guard_sp, work, argument) == 1;
}

bool step_probe(uint64_t addr, uint32_t *ticks)
{
    return probe_ticks(addr, ticks);
}

/* movnti (0F C3), movntps and movntpd (0F 2B), movntdq (0F E7); and repeated movs and stos, which for long runs write lines
 * without reading them. */
bool step_is_nontemporal(uint64_t pc)
{
    uint8_t bytes[DECODE_MAX_BYTES];
    struct decoded decoded;
    size_t count = guard_copy(bytes, (const void *)pc, sizeof bytes);
    if (!decode_instruction(bytes, count, &decoded) || decoded.map > 1)
        return false;
    if (decoded.map == 0)
        return decoded.repeated && ((decoded.opcode & 0xfe) == 0xa4 || (decoded.opcode & 0xfe) == 0xaa);
    return decoded.opcode == 0x2b || decoded.opcode == 0xe7 ||
           (decoded.opcode == 0xc3 && decoded.encoding == DECODE_LEGACY);
}

ucontext_t *step_entered(const ucontext_t *context, uint64_t handler, int signal)
{
    const greg_t *general = context->uc_mcontext.gregs;
    if ((uint64_t)general[REG_RIP] != handler || general[REG_RDI] != signal)
        return NULL;
    return (ucontext_t *)general[REG_RDX];
}

bool step_back_to_trap(ucontext_t *context)
{
    greg_t *at = &context->uc_mcontext.gregs[REG_RIP];
    if (*(const uint8_t *)(*at - 1) != 0xcc) /* it has just been executed */
        return false;
    --*at;
    return true;
}

bool step_is_at_call(const ucontext_t *context)
{
    enum { SYSCALL_BYTES = 2 };
    uint8_t around[2 * SYSCALL_BYTES]; /* behind it, or back at it when it is made again */
    const uint8_t *at = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP];
    size_t count = guard_copy(around, at - SYSCALL_BYTES, sizeof around);
    return (count >= SYSCALL_BYTES && around[0] == 0x0f && around[1] == 0x05) ||
           (count == sizeof around && around[2] == 0x0f && around[3] == 0x05);
}

void step_unwind_regs(const ucontext_t *context, struct unwind_regs *regs)
{
    const greg_t *general = context->uc_mcontext.gregs;
    *regs = (struct unwind_regs){
        .pc = (uint64_t)general[REG_RIP], .sp = (uint64_t)general[REG_RSP], .fp = (uint64_t)general[REG_RBP]};
}
