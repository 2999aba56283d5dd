/* executor/executor.c - numalens-executor: see executor.h.
 *
 * Instructions of somebody else's program run here. Those that the decoder does not know, and all that ask something of the kernel,
 * end a burst; the rest can reach no further than this process. It has no C library, no file but its descriptors, and once it is
 * prepared the kernel lets it do nothing but read those, map memory that cannot be executed, answer and end. Its engine, stacks and
 * state are in a window of the address space where programs have nothing; all else is given up, so that any page of the other process
 * can be put where it belongs.
 *
 * Built like the agent's bursts: general registers only, no calls out. */
#include "executor/pages.h"

#include "base/sys.h"
#include "base/units.h"
#include "isa/x86_64/engine.h"
#include "isa/x86_64/frame.h"
#include "isa/x86_64/guard.h"

#include <asm/prctl.h>
#include <elf.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

enum {
    STACK_BYTES = 64 << 10,
    STEPS_PER_ACCESS = 64,
    ENGINE_AT = 16 << 20, /* in the window */
    AREA_AT = 32 << 20,
    TIME_AT = 48 << 20,
    TIME_MOST = 1 << 20,
    MEMORY_MOST = 256 << 20,
    HAS_FSGSBASE = 1 << 1,
    FRAME_MAGIC = 0x46505853, /* as in signal frames: see isa/x86_64/frame.c */
    SOFTWARE_BYTES = 464,
    XSAVE_HEADER = 512,
    STATE_COMPONENTS = 0xe7,
};

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

void executor_main(const uint64_t *initial) __attribute__((noreturn));
void executor_restore(void) __attribute__((visibility("hidden")));

uint8_t executor_stack[STACK_BYTES] __attribute__((aligned(64)));
static uint8_t signal_stack[STACK_BYTES] __attribute__((aligned(64)));
static uint64_t capabilities; /* AT_HWCAP2 */
static struct executor_setup setup;
static struct executor_job *job;
static struct engine *engine;

/* For isa/x86_64/frame.c. */
unsigned long getauxval(unsigned long type)
{
    return type == AT_HWCAP2 ? capabilities : 0;
}

/* The compiler's own calls. */
void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    void *result = to;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
    return result;
}

void *memset(void *to, int value, size_t bytes)
{
    void *result = to;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
    return result;
}

__attribute__((noreturn)) static void leave(int status)
{
    for (;;)
        sys_call(SYS_exit_group, status);
}

static void say(uint8_t byte)
{
    long result;
    do
        result = sys_call(SYS_write, EXECUTOR_TALK, &byte, 1);
    while (result == -EINTR);
    if (result != 1)
        leave(0);
}

static void hear(void *to, size_t bytes)
{
    for (uint8_t *at = to; bytes;) {
        long got = sys_call(SYS_read, EXECUTOR_TALK, at, bytes);
        if (got == -EINTR)
            continue;
        if (got <= 0)
            leave(0); /* the recorder has ended */
        at += got;
        bytes -= (size_t)got;
    }
}

/* Vector registers as the other thread had them, in the form of a signal frame. */
static bool take_state(ucontext_t *context)
{
    uint8_t *state = job->state;
    uint32_t low, high;
    if (job->state_bytes < XSAVE_HEADER + 64 || job->state_bytes > EXECUTOR_STATE)
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

static void set_bases(void)
{
    if (capabilities & HAS_FSGSBASE) {
        __asm__ volatile("wrfsbase %0\n wrgsbase %1" : : "r"(job->fs_base), "r"(job->gs_base));
    } else {
        sys_call(SYS_arch_prctl, ARCH_SET_FS, job->fs_base);
        sys_call(SYS_arch_prctl, ARCH_SET_GS, job->gs_base);
    }
}

static bool note(struct engine *self, const struct block *block, const struct decode_access *accesses, unsigned count)
{
    (void)block;
    for (unsigned i = 0; i < count; i++) {
        bool can = pages_have(accesses[i].addr, accesses[i].size);
        if (job->skip) {
            job->skip--;
        } else {
            if (job->count >= EXECUTOR_ACCESSES)
                return false;
            job->accesses[job->count++] = (struct executor_access){.pc = self->registers.rip,
                                                                   .addr = accesses[i].addr,
                                                                   .size = accesses[i].size,
                                                                   .flags = accesses[i].flags};
        }
        job->end = job->count >= job->want ? EXECUTOR_ENOUGH : EXECUTOR_UNREADABLE;
        if (!can || job->count >= job->want)
            return false;
    }
    return true;
}

/* A block is translated from so many bytes, fewer where the next page cannot be read. */
static bool may_run(struct engine *self, uint64_t pc)
{
    (void)self;
    job->end = EXECUTOR_CODE;
    if (!pages_have(pc, 1))
        return false;
    pages_have(pc + BLOCK_SOURCE + DECODE_MAX_BYTES - 1, 1);
    job->end = EXECUTOR_FAULT; /* unless it ends in another way */
    return true;
}

static void run(void)
{
    ucontext_t context;
    uint32_t skip = job->skip, want = job->want;
    job->count = job->pages = 0;
    job->steps = job->stopped_at = 0;
    job->end = EXECUTOR_REFUSED;
    pages_begin(job, &setup);
    if (skip > EXECUTOR_ACCESSES || want > EXECUTOR_ACCESSES || want == 0 ||
        job->flags & (FLAG_TRAP | FLAG_ALIGNMENT) || !take_state(&context))
        return;
    set_bases();
    engine->registers = (struct decode_registers){
        .rip = job->pc, .fs_base = job->fs_base, .gs_base = job->gs_base, .has_fs = true, .has_gs = true};
    for (unsigned i = 0; i < 16; i++)
        engine->registers.general[i] = job->general[i];
    engine->registers.vectors = frame_vectors(job->state, &engine->vectors) ? &engine->vectors : NULL;
    engine->flags = job->flags & FLAGS_PROGRAM;
    engine->accesses = note;
    engine->may_run = may_run;
    uint64_t most = (uint64_t)STEPS_PER_ACCESS * (skip + want + 1);
    engine_run(engine, most);
    job->steps = engine->steps;
    job->stopped_at = engine->stopped_at;
    if (engine->stopped_at)
        job->end = EXECUTOR_INSTRUCTION;
    else if (engine->steps >= most)
        job->end = EXECUTOR_STEPS;
}

static void take_fault(int number, siginfo_t *info, void *argument)
{
    ucontext_t *context = argument;
    (void)info;
    uint64_t resume = guard_resume((uint64_t)context->uc_mcontext.gregs[REG_RIP]);
    if (resume)
        context->uc_mcontext.gregs[REG_RIP] = (greg_t)resume;
    else if (!engine_fault(engine, context))
        leave(128 + number);
}

static bool take_signals(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    struct {
        void (*handler)(int, siginfo_t *, void *);
        uint64_t flags;
        void (*restorer)(void);
        uint64_t mask;
    } action = {take_fault, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | 0x04000000 /* SA_RESTORER */, executor_restore, 0};
    stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    const uint64_t none = 0;
    if (sys_failed(sys_call(SYS_sigaltstack, &stack, NULL)) ||
        sys_failed(sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8))) /* who starts it has blocked all */
        return false;
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        if (sys_failed(sys_call(SYS_rt_sigaction, faults[i], &action, NULL, 8)))
            return false;
    return true;
}

static bool map_own(void)
{
    uint8_t *window = (uint8_t *)EXECUTOR_WINDOW;
    long at = sys_call(SYS_mmap, window + ENGINE_AT, engine_bytes(), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0L);
    if (sys_failed(at) || !(engine = engine_make((void *)at)))
        return false;
    at = sys_call(SYS_mmap, window + AREA_AT, sizeof *job, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE,
                  EXECUTOR_AREA, 0L);
    job = (struct executor_job *)at;
    return !sys_failed(at);
}

/* All but the window: where the kernel put it, the other process may have something. */
static bool give_up_rest(void)
{
    struct executor_range *own = &setup.own_time;
    if (own->high > own->low && own->high - own->low <= TIME_MOST) {
        uint64_t size = own->high - own->low, to = EXECUTOR_WINDOW + TIME_AT;
        if (sys_failed(sys_call(SYS_mremap, own->low, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to)))
            return false;
        *own = (struct executor_range){to, to + size};
    } else {
        setup.its_time = (struct executor_range){0, 0};
    }
    for (unsigned i = 0; i < EXECUTOR_HOLES; i++)
        if (setup.own[i].high > setup.own[i].low &&
            sys_failed(sys_call(SYS_munmap, setup.own[i].low, setup.own[i].high - setup.own[i].low)))
            return false;
    return true;
}

#define ALLOW(number)                                                                                                  \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static bool restrict_self(void)
{
    static const struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(read),
        ALLOW(pread64),
        ALLOW(write),
        ALLOW(munmap),
        ALLOW(rt_sigreturn),
        ALLOW(exit_group),
        ALLOW(arch_prctl),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ | PROT_WRITE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof lines / sizeof *lines, (struct sock_filter *)lines};
    struct rlimit memory = {MEMORY_MOST, MEMORY_MOST}, none = {0, 0};
    if (sys_failed(sys_call(SYS_prlimit64, 0, RLIMIT_AS, &memory, NULL)) ||
        sys_failed(sys_call(SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL)) ||
        sys_failed(sys_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))
        return false;
    return !sys_failed(sys_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter)) ||
           !sys_failed(sys_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter));
}

void executor_main(const uint64_t *initial)
{
    const uint64_t *at = initial + 1 + initial[0] + 1; /* behind the arguments and their end */
    while (*at++)
        ;
    for (; at[0] != AT_NULL; at += 2)
        if (at[0] == AT_HWCAP2)
            capabilities = at[1];
    say(0);
    hear(&setup, sizeof setup);
    frame_learn();
    bool (*const steps[])(void) = {map_own, give_up_rest, take_signals, restrict_self};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (!steps[i]()) {
            say((uint8_t)(i + 1));
            leave(1);
        }
    say(0);
    for (uint8_t byte;;) {
        hear(&byte, 1);
        run();
        say(0);
    }
}
