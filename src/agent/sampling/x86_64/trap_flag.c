/* agent/sampling/x86_64/trap_flag.c - stepping by the trap flag: the fall-back where the engine gets no executable
 * memory. Runs in signal handlers.
 *
 * With TF set in the interrupted context the next instruction ends in a SIGTRAP (TRAP_TRACE). The kernel clears TF when
 * it starts a handler of the program in between, and the flag comes back when that returns; should it leave by a jump,
 * the flag is lost and no trap follows. So `owed` counts the contexts that still hold our flag, rather than whether a
 * burst goes on: a nested burst may have ended before an outer context gets its trap. */
#include "agent/sampling/x86_64/trap_flag.h"

#include "agent/sampling/step.h"
#include "isa/x86_64/decode.h"
#include "isa/x86_64/frame.h"
#include "isa/x86_64/guard.h"

enum {
    TRAP_FLAG = 1 << 8,
    STEP_LIMIT = 128, /* instructions in a burst: where nothing is accessed, it ends here */
};

/* Per thread, in the room that the sampler leaves to the processor. */
static uint64_t *owed(struct agent_thread *self)
{
    return &self->sampler.spare[0];
}

static bool has_trap_flag(const ucontext_t *context)
{
    return context->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG;
}

static void set_trap_flag(struct agent_thread *self, ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    ++*owed(self);
}

static void clear_trap_flag(struct agent_thread *self, ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    if (*owed(self) > 0)
        --*owed(self);
}

bool step_owes_trap(const struct agent_thread *self)
{
    return self->sampler.spare[0] > 0;
}

bool step_goes_on(const struct agent_thread *self, const ucontext_t *context)
{
    return step_owes_trap(self) && has_trap_flag(context);
}

/* Reports the accesses of the instruction the context is at. False: the burst ends before it. */
static bool report_accesses(struct agent_thread *self, const ucontext_t *context)
{
    struct decode_registers registers;
    struct decode_vectors vectors;
    struct decoded decoded;
    struct decode_access accesses[DECODE_MAX_ACCESSES];
    uint8_t bytes[DECODE_MAX_BYTES];
    uint64_t rip = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    if (agent_owns_code(rip) || rip >= VSYSCALL_PAGE)
        return false;
    size_t readable = guard_copy(bytes, (const void *)rip, sizeof bytes);
    if (!decode_instruction(bytes, readable, &decoded))
        return false;
    frame_registers(context, &registers, &vectors);
    int count = decode_accesses(&decoded, &registers, accesses);
    for (int i = 0; i < count; i++) {
        struct step_access access = {.addr = accesses[i].addr, .size = accesses[i].size, .flags = accesses[i].flags};
        if (!burst_access(self, context, &access))
            return false;
    }
    return count >= 0;
}

static bool may_step(struct agent_thread *self, const ucontext_t *context)
{
    if (self->sampler.steps >= STEP_LIMIT || !report_accesses(self, context))
        return false;
    self->sampler.steps++;
    return true;
}

enum step_state trap_flag_begin(struct agent_thread *self, ucontext_t *context)
{
    if (has_trap_flag(context) || !may_step(self, context)) /* a program may step itself */
        return STEP_DONE;
    set_trap_flag(self, context);
    return STEP_PENDING;
}

enum step_state step_trap(struct agent_thread *self, ucontext_t *context)
{
    if (self->sampler.bursting && may_step(self, context))
        return STEP_PENDING;
    clear_trap_flag(self, context);
    return STEP_DONE;
}

void trap_flag_fault(struct agent_thread *self, ucontext_t *context)
{
    if (step_goes_on(self, context)) {
        clear_trap_flag(self, context);
        self->sampler.bursting = false;
    }
}
