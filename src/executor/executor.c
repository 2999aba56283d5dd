/* executor/executor.c - numalens-executor: see executor.h.
 *
 * Instructions of somebody else's program run here. Those that the decoder does not know, and all that ask something of the kernel,
 * end a burst; the rest can reach no further than this process. It has no C library, no file but its descriptors, and once it is
 * prepared the kernel lets it do nothing but read those, map memory that cannot be executed, answer and end. Its engine, stacks and
 * state are in a window of the address space where programs have nothing; all else is given up, so that any page of the other process
 * can be put where it belongs.
 *
 * Built like the agent's bursts: on x86-64 general registers only, no calls out. What differs by processor is behind processor.h. */
#include "executor/native_frames.h"
#include "executor/pages.h"
#include "executor/processor.h"
#include "executor/script_frames.h"

#include "base/sys.h"
#include "base/units.h"

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
};

uint8_t executor_stack[STACK_BYTES] __attribute__((aligned(64)));
static uint8_t signal_stack[STACK_BYTES] __attribute__((aligned(64)));
static uint64_t capabilities[2]; /* AT_HWCAP, AT_HWCAP2 */
static struct executor_setup setup;
static struct executor_job *job;

/* For isa. */
unsigned long getauxval(unsigned long type)
{
    return type == AT_HWCAP ? capabilities[0] : type == AT_HWCAP2 ? capabilities[1] : 0;
}

/* The compiler's own calls. */
void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)to)[i] = (uint8_t)value;
    return to;
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

void executor_ask(struct executor_job *asking, uint64_t address)
{
    uint8_t byte;
    asking->asked = address;
    say(EXECUTOR_ASKS);
    hear(&byte, 1);
}

bool job_note(const struct native_at *at, uint64_t addr, uint64_t size, unsigned flags)
{
    bool can = pages_have(addr, size);
    if (job->skip) {
        job->skip--;
    } else {
        if (job->count >= EXECUTOR_ACCESSES)
            return false;
        script_frames_note(job, job->count);
        native_frames_note(job, job->count, at);
        job->accesses[job->count++] =
            (struct executor_access){.pc = at->pc, .addr = addr, .size = (uint16_t)size, .flags = (uint8_t)flags};
    }
    job->end = job->count >= job->want ? EXECUTOR_ENOUGH : EXECUTOR_UNREADABLE;
    return can && job->count < job->want;
}

bool job_may_run(uint64_t pc)
{
    bool can = pages_have(pc, 1);
    job->end = can ? EXECUTOR_FAULT : EXECUTOR_CODE; /* unless it ends in another way */
    return can;
}

static void run(void)
{
    uint32_t skip = job->skip, want = job->want;
    job->count = job->pages = 0;
    job->steps = 0;
    job->end = EXECUTOR_REFUSED;
    pages_begin(job, &setup);
    script_frames_begin(job);
    native_frames_begin(job);
    if (skip > EXECUTOR_ACCESSES || want > EXECUTOR_ACCESSES || want == 0 || !processor_begin(job, job->state))
        return;
    uint64_t most = (uint64_t)STEPS_PER_ACCESS * (skip + want + 1);
    processor_run(job, most);
    if (job->steps >= most)
        job->end = EXECUTOR_STEPS;
}

static void take_fault(int number, siginfo_t *info, void *argument)
{
    (void)info;
    if (!processor_fault(argument))
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
    long at = sys_call(SYS_mmap, window + ENGINE_AT, processor_bytes(), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0L);
    if (sys_failed(at) || !processor_make((void *)at))
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

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static bool restrict_self(void)
{
    const struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, processor_audit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_read),
        ALLOW(SYS_pread64),
        ALLOW(SYS_write),
        ALLOW(SYS_munmap),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_exit_group),
        ALLOW(processor_call),
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
        if (at[0] == AT_HWCAP || at[0] == AT_HWCAP2)
            capabilities[at[0] == AT_HWCAP2] = at[1];
    say(0);
    hear(&setup, sizeof setup);
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
        say(EXECUTOR_DONE);
    }
}
