/* agent/arch/aarch64/step.c - the burst: instruction after instruction carried out on the frame's registers.
 *
 * Runs in the tick's handler on the agent's own stack (entry.c): what the program pushes must not hit us. */
#include "agent/step.h"
#include "agent/probe.h"
#include "agent/arch/aarch64/cpu.h"
#include "agent/arch/aarch64/entry.h"
#include "agent/arch/aarch64/slots.h"
#include "agent/unwind.h"

#include <sys/auxv.h>

#ifndef GCS_MAGIC
#define GCS_MAGIC 0x47435300
#endif

enum { STEPS_PER_ACCESS = 64 };

unsigned long cpu_features;

bool step_start(bool by_trap)
{
    (void)by_trap; /* there is no such flag */
    cpu_features = getauxval(AT_HWCAP);
    slots_start(); /* without them vector code ends bursts: fewer samples, no harm */
    return true;
}

bool cpu_view(struct cpu *cpu, struct agent_thread *self, ucontext_t *context)
{
    struct sigcontext *frame = (struct sigcontext *)&context->uc_mcontext;
    *cpu = (struct cpu){.self = self,
                        .context = context,
                        .x = (uint64_t *)frame->regs,
                        .sp = (uint64_t *)&frame->sp,
                        .pc = (uint64_t *)&frame->pc,
                        .pstate = (uint64_t *)&frame->pstate};
    uint8_t *at = frame->__reserved, *end = at + sizeof(frame->__reserved);
    while (at + sizeof(struct _aarch64_ctx) <= end) {
        struct _aarch64_ctx *head = (struct _aarch64_ctx *)at;
        if (head->magic == 0)
            return true;
        if (head->size < sizeof(*head) || head->size > (size_t)(end - at))
            return false;
        if (head->magic == FPSIMD_MAGIC) {
            cpu->vectors = (struct fpsimd_context *)at;
        } else if (head->magic == SVE_MAGIC) {
            struct sve_context *sve = (struct sve_context *)at;
            if (sve->flags & SVE_SIG_FLAG_SM)
                return false;
            if (head->size >= SVE_SIG_CONTEXT_SIZE(sve_vq_from_vl(sve->vl))) {
                cpu->scalable = at + SVE_SIG_ZREGS_OFFSET;
                cpu->scalable_bytes = sve->vl;
            }
        } else if (head->magic == GCS_MAGIC || head->magic == EXTRA_MAGIC) {
            return false; /* calls would have to write the shadow stack; frames with more were not copied */
        }
        at += head->size;
    }
    return false;
}

void cpu_vector_written(struct cpu *cpu, unsigned number)
{
    /* sigreturn takes the low 128 bits from the FPSIMD record and the rest from the SVE record */
    for (uint32_t i = 16; i < cpu->scalable_bytes; i++)
        cpu->scalable[(size_t)number * cpu->scalable_bytes + i] = 0;
}

bool cpu_condition(const struct cpu *cpu, unsigned condition)
{
    uint64_t flags = *cpu->pstate;
    bool n = flags & FLAG_N, z = flags & FLAG_Z, c = flags & FLAG_C, v = flags & FLAG_V;
    bool holds;
    switch (condition >> 1) {
    case 0:
        holds = z;
        break;
    case 1:
        holds = c;
        break;
    case 2:
        holds = n;
        break;
    case 3:
        holds = v;
        break;
    case 4:
        holds = c && !z;
        break;
    case 5:
        holds = n == v;
        break;
    case 6:
        holds = n == v && !z;
        break;
    default:
        return true;
    }
    return condition & 1 ? !holds : holds;
}

enum outcome cpu_access(struct cpu *cpu, uint64_t addr, unsigned size, unsigned flags)
{
    struct step_access access = {
        .addr = addr & 0x00ffffffffffffff, /* the top byte is a tag */
        .size = (uint16_t)size,
        .flags = (uint8_t)flags,
    };
    return burst_access(cpu->self, cpu->context, &access) ? OUTCOME_NEXT : OUTCOME_ENOUGH;
}

enum outcome cpu_execute(struct cpu *cpu, uint32_t word)
{
    switch (bits(word, 25, 4)) { /* the architecture's op0 */
    case 8:
    case 9:
        return integer_immediate(cpu, word);
    case 10:
    case 11:
        return branch_or_system(cpu, word);
    case 4:
    case 6:
    case 12:
    case 14:
        return memory_access(cpu, word);
    case 5:
    case 13:
        return integer_register(cpu, word);
    case 7:
    case 15:
        return vector_process(cpu, word);
    }
    return OUTCOME_UNKNOWN;
}

enum step_state step_begin(struct agent_thread *self, ucontext_t *context)
{
    struct cpu cpu;
    if (!cpu_view(&cpu, self, context))
        return STEP_DONE;
    uint64_t limit = (uint64_t)STEPS_PER_ACCESS * (self->sampler.left + 1);
    while (self->sampler.steps < limit) {
        uint64_t pc = *cpu.pc, word;
        if (agent_owns_code(pc) || access_load4(pc, &word) != 0)
            break;
        enum outcome outcome = cpu_execute(&cpu, (uint32_t)word);
        if (outcome > OUTCOME_JUMPED)
            break;
        if (outcome == OUTCOME_NEXT) {
            *cpu.pc = pc + 4;
            *cpu.pstate &= ~(uint64_t)PSTATE_BTYPE;
        }
        self->sampler.steps++;
    }
    return STEP_DONE;
}

enum step_state step_trap(struct agent_thread *self, ucontext_t *context)
{
    (void)self;
    (void)context;
    return STEP_DONE;
}

bool step_fault(struct agent_thread *self, ucontext_t *context, int signal)
{
    (void)signal;
    mcontext_t *registers = &context->uc_mcontext;
    if (registers->pc - (uint64_t)access_begin < (uint64_t)access_end - (uint64_t)access_begin) {
        registers->regs[0] = 1;
        registers->pc = registers->regs[30];
        return true;
    }
    if (slots_hold(registers->pc)) {
        registers->pc = (uint64_t)slot_faulted;
        return true;
    }
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

ucontext_t *step_entered(const ucontext_t *context, uint64_t handler, int signal)
{
    const mcontext_t *registers = &context->uc_mcontext;
    if (registers->pc != handler || registers->regs[0] != (uint64_t)signal)
        return NULL;
    return (ucontext_t *)registers->regs[2];
}

void step_unwind_regs(const ucontext_t *context, struct unwind_regs *regs)
{
    const mcontext_t *registers = &context->uc_mcontext;
    *regs = (struct unwind_regs){
        .pc = registers->pc, .sp = registers->sp, .fp = registers->regs[29], .lr = registers->regs[30]};
}
