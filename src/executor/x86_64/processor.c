/* executor/x86_64/processor.c - see executor/processor.h: bursts of copied instructions (isa/x86_64/engine.h). */
#include "executor/pages.h"
#include "executor/processor.h"

#include "base/sys.h"
#include "isa/x86_64/engine.h"
#include "isa/x86_64/frame.h"
#include "isa/x86_64/guard.h"

#include <asm/prctl.h>
#include <elf.h>
#include <linux/audit.h>
#include <sys/auxv.h>

enum {
    HAS_FSGSBASE = 1 << 1,
    FRAME_MAGIC = 0x46505853, /* as in signal frames: see isa/x86_64/frame.c */
    SOFTWARE_BYTES = 464,
    XSAVE_HEADER = 512,
    STATE_COMPONENTS = 0xe7,
};

const uint32_t processor_audit = AUDIT_ARCH_X86_64, processor_call = SYS_arch_prctl;

/* The ways in and out of this program. */
__asm__(".text\n"
        ".globl _start\n"
        "_start:\n"
        "    mov %rsp, %rdi\n"
        "    lea executor_stack+65536(%rip), %rsp\n"
        "    xor %ebp, %ebp\n"
        "    call executor_main\n"
        "    hlt\n"
        ".globl executor_restore\n"
        "executor_restore:\n"
        "    mov $15, %eax\n"
        "    syscall\n");

static struct engine *engine;

size_t processor_bytes(void)
{
    return engine_bytes();
}

static bool note(struct engine *self, const struct block *block, const struct decode_access *accesses, unsigned count)
{
    (void)block;
    enum { SP = 4, FP = 5 };
    const uint64_t *general = self->registers.general;
    const struct native_at at = {.pc = self->registers.rip, .sp = general[SP], .fp = general[FP]};
    for (unsigned i = 0; i < count; i++)
        if (!job_note(&at, accesses[i].addr, accesses[i].size, accesses[i].flags))
            return false;
    return true;
}

/* A block is translated from so many bytes, fewer where the next page cannot be read. */
static bool may_run(struct engine *self, uint64_t pc)
{
    (void)self;
    if (!job_may_run(pc))
        return false;
    pages_have(pc + BLOCK_SOURCE + DECODE_MAX_BYTES - 1, 1);
    return true;
}

bool processor_make(void *reserved)
{
    frame_learn();
    engine = engine_make(reserved);
    if (!engine)
        return false;
    engine->accesses = note;
    engine->may_run = may_run;
    return true;
}

/* Vector registers as the other thread had them, in the form of a signal frame. */
static bool take_state(uint8_t *state, uint32_t bytes, ucontext_t *context)
{
    uint32_t low, high;
    if (bytes < XSAVE_HEADER + 64 || bytes > EXECUTOR_STATE)
        return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    *(uint32_t *)(void *)(state + SOFTWARE_BYTES) = FRAME_MAGIC;
    *(uint32_t *)(void *)(state + SOFTWARE_BYTES + 4) = EXECUTOR_STATE;
    *(uint64_t *)(void *)(state + SOFTWARE_BYTES + 8) = low & STATE_COMPONENTS;
    *(uint32_t *)(void *)(state + SOFTWARE_BYTES + 16) = EXECUTOR_STATE;
    *(uint64_t *)(void *)(state + XSAVE_HEADER) &= low & STATE_COMPONENTS;
    for (unsigned i = 1; i < 8; i++)
        ((volatile uint64_t *)(void *)(state + XSAVE_HEADER))[i] = 0;
    context->uc_mcontext.fpregs = (void *)state;
    return vectors_fit(engine, context);
}

static void set_bases(uint64_t fs, uint64_t gs)
{
    if (getauxval(AT_HWCAP2) & HAS_FSGSBASE) {
        __asm__ volatile("wrfsbase %0\n wrgsbase %1" : : "r"(fs), "r"(gs));
    } else {
        sys_call(SYS_arch_prctl, ARCH_SET_FS, fs);
        sys_call(SYS_arch_prctl, ARCH_SET_GS, gs);
    }
}

bool processor_begin(const struct executor_job *job, uint8_t *state)
{
    ucontext_t context;
    if (job->flags & (FLAG_TRAP | FLAG_ALIGNMENT) || !take_state(state, job->state_bytes, &context))
        return false;
    set_bases(job->bases[0], job->bases[1]);
    engine->registers = (struct decode_registers){
        .rip = job->pc, .fs_base = job->bases[0], .gs_base = job->bases[1], .has_fs = true, .has_gs = true};
    for (unsigned i = 0; i < 16; i++)
        engine->registers.general[i] = job->general[i];
    engine->registers.vectors = frame_vectors(state, &engine->vectors) ? &engine->vectors : NULL;
    engine->flags = job->flags & FLAGS_PROGRAM;
    return true;
}

void processor_run(struct executor_job *job, uint64_t most)
{
    engine_run(engine, most);
    job->steps = engine->steps;
    if (engine->stopped_at)
        job->end = EXECUTOR_INSTRUCTION;
}

bool processor_fault(ucontext_t *context)
{
    uint64_t resume = guard_resume((uint64_t)context->uc_mcontext.gregs[REG_RIP]);
    if (resume)
        context->uc_mcontext.gregs[REG_RIP] = (greg_t)resume;
    return resume || engine_fault(engine, context);
}
