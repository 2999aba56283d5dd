/* executor/aarch64/processor.c - see executor/processor.h: instructions carried out one by one on an image of the registers
 * (isa/aarch64/cpu.h). None of the program's runs in place: a slot has one that touches neither memory nor the program counter, or an
 * access whose address was asked about before. */
#include "executor/processor.h"

#include "base/sys.h"
#include "isa/aarch64/cpu.h"
#include "isa/aarch64/slots.h"

#include <asm/ptrace.h>
#include <linux/audit.h>
#include <sys/auxv.h>

const uint32_t processor_audit = AUDIT_ARCH_AARCH64, processor_call = SYS_exit_group;

/* The ways in and out of this program. */
__asm__(".text\n"
        ".globl _start\n"
        "_start:\n"
        "    mov x0, sp\n"
        "    adrp x1, executor_stack + 65536\n"
        "    add x1, x1, :lo12:executor_stack + 65536\n"
        "    mov sp, x1\n"
        "    mov x29, #0\n"
        "    mov x30, #0\n"
        "    bl executor_main\n"
        "    brk #0\n"
        ".globl executor_restore\n"
        "executor_restore:\n"
        "    mov x8, #139\n"
        "    svc #0\n");

static uint64_t general[EXECUTOR_GENERAL], pc, pstate;
static struct fpsimd_context vectors;

size_t processor_bytes(void)
{
    return slots_bytes();
}

bool processor_make(void *reserved)
{
    cpu_features = getauxval(AT_HWCAP);
    return slots_make(reserved);
}

bool processor_begin(const struct executor_job *job, uint8_t *state)
{
    const struct user_fpsimd_state *given = (const void *)state;
    if (job->flags & PSR_MODE32_BIT || job->pc & 3 || job->state_bytes != sizeof *given)
        return false;
    for (unsigned i = 0; i < EXECUTOR_GENERAL; i++)
        general[i] = job->general[i];
    pc = job->pc;
    pstate = job->flags;
    for (unsigned i = 0; i < 32; i++)
        vectors.vregs[i] = given->vregs[i];
    vectors.fpsr = given->fpsr;
    vectors.fpcr = given->fpcr;
    uint64_t control =
        given->fpcr; /* of an instruction in a slot; with traps of its own none is run there (isa/aarch64/vector.c) */
    __asm__ volatile("msr fpcr, %0\n msr tpidr_el0, %1" : : "r"(control), "r"(job->bases[0]));
    return true;
}

static enum outcome note(struct cpu *cpu, uint64_t addr, unsigned size, unsigned flags)
{
    const struct native_at at = {.pc = *cpu->pc, .sp = *cpu->sp, .fp = cpu->x[29], .lr = cpu->x[30]};
    return job_note(&at, addr & 0x00ffffffffffffff /* the top byte is a tag */, size, flags) ? OUTCOME_NEXT
                                                                                             : OUTCOME_ENOUGH;
}

void processor_run(struct executor_job *job, uint64_t most)
{
    struct cpu cpu = {.access = note,
                      .foreign = true,
                      .x = general,
                      .sp = &general[EXECUTOR_SP],
                      .pc = &pc,
                      .pstate = &pstate,
                      .vectors = &vectors};
    for (; job->steps < most && job_may_run(pc); job->steps++) {
        enum outcome outcome = cpu_step(&cpu);
        if (outcome == OUTCOME_UNKNOWN || outcome == OUTCOME_FAULT)
            job->end = outcome == OUTCOME_FAULT ? EXECUTOR_FAULT : EXECUTOR_INSTRUCTION;
        if (outcome > OUTCOME_JUMPED)
            return;
    }
}

bool processor_fault(ucontext_t *context)
{
    return slots_fault(&context->uc_mcontext);
}
