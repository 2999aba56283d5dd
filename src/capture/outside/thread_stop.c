#include "capture/outside/thread_stop.h"

#include "base/units.h"

#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum {
    STACK_PAGES = 2,
    RSP = 4,        /* by its number in encodings */
    RESTART = -514, /* ERESTARTNOHAND, which the kernel keeps to itself */
};

int stop_ask(pid_t tid)
{
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
        return -errno;
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL); /* where it fails, the thread is ending, and its end is what is taken */
    return 0;
}

static bool detach(pid_t tid, int number)
{
    return ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)number) == 0;
}

bool stop_let_go(pid_t tid)
{
    return detach(tid, 0);
}

/* What is above the stack pointer has been used, so that reading it brings nothing in. */
void stop_copy_stack(pid_t tid, struct executor_job *job)
{
    uint64_t low = job->general[RSP] & ~(PAGE_UNIT - 1ull);
    struct iovec to = {job->copies, STACK_PAGES * PAGE_UNIT}, from = {(void *)low, STACK_PAGES * PAGE_UNIT};
    ssize_t got = process_vm_readv(tid, &to, 1, &from, 1, 0);
    for (ssize_t i = 0; i < STACK_PAGES && got >= (i + 1) * (ssize_t)PAGE_UNIT; i++)
        job->copy_of[i] = low + (uint64_t)i * PAGE_UNIT;
}

#if defined(__x86_64__)
/* The stop made the call fail. Made again it is, unless a handler of the program's runs first: then it fails as it would have. Not so close():
 * the descriptor is free already, and may be another thread's by then. */
static void repair_call(pid_t tid, const struct user_regs_struct *registers)
{
    struct user_regs_struct repaired = *registers;
    struct iovec all = {&repaired, sizeof repaired};
    repaired.rax = (unsigned long long)RESTART;
    ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &all);
}

static bool copy_registers(pid_t tid, const struct user_regs_struct *from, struct executor_job *job)
{
    const uint64_t general[16] = {from->rax, from->rcx, from->rdx, from->rbx, from->rsp, from->rbp,
                                  from->rsi, from->rdi, from->r8,  from->r9,  from->r10, from->r11,
                                  from->r12, from->r13, from->r14, from->r15};
    for (unsigned i = 0; i < 16; i++)
        job->general[i] = general[i];
    job->pc = from->rip;
    job->flags = from->eflags;
    job->fs_base = from->fs_base;
    job->gs_base = from->gs_base;
    struct iovec state = {job->state, sizeof job->state};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &state) < 0)
        return false;
    job->state_bytes = (uint32_t)state.iov_len;
    for (unsigned i = 0; i < EXECUTOR_COPIES; i++)
        job->copy_of[i] = 0;
    return true;
}

/* Of a thread that has stopped for us. One that is killed meanwhile has no registers any more, and its end is still to be taken. */
static enum stop_state take(pid_t tid, struct executor_job *job)
{
    struct user_regs_struct registers;
    struct iovec all = {&registers, sizeof registers};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &all) < 0)
        return errno == ESRCH ? STOP_NOT_YET : STOP_IN_CALL;
    bool in_call = (long)registers.orig_rax >= 0;
    if (in_call && (long)registers.rax == -EINTR && registers.orig_rax != SYS_close)
        repair_call(tid, &registers);
    return !in_call && job && copy_registers(tid, &registers, job) ? STOP_TAKEN : STOP_IN_CALL;
}
#else
/* attach_check() refuses every process on other processors: there is no executor for them. */
static enum stop_state take(pid_t tid, struct executor_job *job)
{
    (void)tid, (void)job;
    return STOP_IN_CALL;
}
#endif

static bool has_ended(pid_t tid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 ||
           (info.si_pid && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED);
}

enum stop_state stop_take(pid_t tid, bool child, struct executor_job *job)
{
    int status;
    if (child && has_ended(tid))
        return STOP_ENDED;
    pid_t found = waitpid(tid, &status, __WALL | WNOHANG);
    if (found == 0)
        return STOP_NOT_YET;
    if (found < 0 || !WIFSTOPPED(status))
        return STOP_ENDED;
    if (status >> 16 != PTRACE_EVENT_STOP || WSTOPSIG(status) != SIGTRAP) {
        int number = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status); /* a signal goes on to the program */
        return detach(tid, number) ? STOP_OTHER : STOP_NOT_YET;
    }
    return take(tid, job);
}
