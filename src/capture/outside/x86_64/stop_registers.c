#include "capture/outside/stop_registers.h"

#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

enum { RESTART = -514 }; /* ERESTARTNOHAND, which the kernel keeps to itself */

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
    job->bases[0] = from->fs_base;
    job->bases[1] = from->gs_base;
    struct iovec state = {job->state, sizeof job->state};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &state) < 0)
        return false;
    job->state_bytes = (uint32_t)state.iov_len;
    return true;
}

enum stop_state stop_registers(pid_t tid, struct executor_job *job)
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
