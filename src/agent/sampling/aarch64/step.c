/* agent/sampling/aarch64/step.c - the burst: instruction after instruction carried out on the frame's registers.
 *
 * Runs in the tick's handler on the agent's own stack (entry.c): what the program pushes must not hit us. */
#include "base/units.h"
#include "agent/sampling/step.h"
#include "isa/probe.h"
#include "agent/sampling/aarch64/note_access.h"
#include "agent/sampling/aarch64/entry.h"
#include "isa/aarch64/slots.h"
#include "agent/unwind/unwind.h"

#include <sys/auxv.h>

enum { STEPS_PER_ACCESS = 64, RSEQ_BYTES = 32 };

/* libc's area for restartable sequences, from the thread pointer on; glibc 2.35 and later. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

void step_start(void)
{
    cpu_features = getauxval(AT_HWCAP);
    slots_start(); /* without them vector code ends bursts: fewer samples, no harm */
}

/* A restartable sequence begins with a store to the thread's area; the kernel must see the thread within it at its own
 * addresses. So a burst ends before. */
static bool begins_sequence(const struct step_access *access)
{
    uint64_t area;
    if (!&__rseq_size || !__rseq_size)
        return false;
    __asm__("mrs %0, tpidr_el0" : "=r"(area));
    area += (uint64_t)__rseq_offset;
    return access->addr + access->size > area && access->addr < area + RSEQ_BYTES;
}

enum outcome step_note_access(struct cpu *cpu, uint64_t addr, unsigned size, unsigned flags)
{
    struct step_access access = {
        .addr = addr & 0x00ffffffffffffff, /* the top byte is a tag */
        .size = (uint16_t)size,
        .flags = (uint8_t)flags,
    };
    if (flags & SAMPLE_WRITE && begins_sequence(&access))
        return OUTCOME_UNKNOWN;
    return burst_access(cpu->user, cpu->context, &access) ? OUTCOME_NEXT : OUTCOME_ENOUGH;
}

void step_burst(struct agent_thread *self, ucontext_t *context)
{
    struct cpu cpu;
    if (!cpu_view(&cpu, step_note_access, self, context))
        return;
    uint64_t limit = (uint64_t)STEPS_PER_ACCESS * (self->sampler.remaining + 1);
    while (self->sampler.steps < limit) {
        if (agent_owns_code(*cpu.pc) || cpu_step(&cpu) > OUTCOME_JUMPED)
            break;
        self->sampler.steps++;
    }
}

bool step_fault(struct agent_thread *self, ucontext_t *context, int signal)
{
    (void)signal;
    mcontext_t *registers = &context->uc_mcontext;
    if (slots_fault(registers) || step_long_fault(context))
        return true;
    if (self->sampler.guard_sp) {
        registers->sp = self->sampler.guard_sp;
        registers->pc = (uint64_t)guard_landing;
        return true;
    }
    return false;
}

bool step_probe(uint64_t addr, uint32_t *ticks)
{
    return probe_ticks(addr, ticks);
}

/* stnp only hints: the line is read all the same. */
bool step_is_nontemporal(uint64_t pc)
{
    (void)pc;
    return false;
}

ucontext_t *step_entered(const ucontext_t *context, uint64_t handler, int signal)
{
    const mcontext_t *registers = &context->uc_mcontext;
    if (registers->pc != handler || registers->regs[0] != (uint64_t)signal)
        return NULL;
    return (ucontext_t *)registers->regs[2];
}

bool step_back_to_trap(ucontext_t *context)
{
    return (*(const uint32_t *)context->uc_mcontext.pc & 0xffe0001f) == 0xd4200000; /* brk: the context is at it */
}

bool step_is_at_call(const ucontext_t *context)
{
    const uint32_t svc = 0xd4000001, *at = (const uint32_t *)context->uc_mcontext.pc;
    bool page_begins = context->uc_mcontext.pc % PAGE_UNIT == 0; /* what is before it need not be there */
    return *at == svc || (!page_begins && at[-1] == svc);        /* about to be made again, or just made */
}

void step_unwind_regs(const ucontext_t *context, struct unwind_regs *regs)
{
    const mcontext_t *registers = &context->uc_mcontext;
    *regs = (struct unwind_regs){
        .pc = registers->pc, .sp = registers->sp, .fp = registers->regs[29], .lr = registers->regs[30]};
}
