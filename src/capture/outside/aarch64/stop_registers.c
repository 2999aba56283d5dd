/* The kernel of this processor forgets a call before a stop: that a thread is in one is seen from the instructions it is between, and the
 * call's first argument, which its result has replaced, is shown by /proc only while the call's number is set again. */
#include "capture/outside/stop_registers.h"

#include "base/small_file.h"

#include <asm/ptrace.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { SVC = 0xd4000001, SVC_BYTES = 4, NUMBER_REGISTER = 8, AT_CALL = SIGTRAP | 0x80 };

#define RESTART (-514l) /* ERESTARTNOHAND, which the kernel keeps to itself */

static bool get_set(pid_t tid, long which, void *to, size_t bytes)
{
    struct iovec all = {to, bytes};
    return ptrace(PTRACE_GETREGSET, tid, (void *)which, &all) == 0 && all.iov_len == bytes;
}

static bool put_set(pid_t tid, long which, void *from, size_t bytes)
{
    struct iovec all = {from, bytes};
    return ptrace(PTRACE_SETREGSET, tid, (void *)which, &all) == 0;
}

static bool is_svc(pid_t tid, uint64_t pc)
{
    errno = 0;
    return (uint32_t)ptrace(PTRACE_PEEKTEXT, tid, (void *)pc, NULL) == SVC && errno == 0;
}

/* The thread's first argument of the call that has just failed. */
static bool first_argument(pid_t tid, int number, uint64_t *argument)
{
    char *text, *behind = NULL;
    int none = -1;
    if (!put_set(tid, NT_ARM_SYSTEM_CALL, &number, sizeof number))
        return false;
    text = small_file_line("/proc/%d/syscall", (int)tid);
    if (text && strtol(text, &behind, 10) == number)
        *argument = strtoull(behind, &behind, 16);
    bool known = behind && *behind == ' ';
    free(text);
    put_set(tid, NT_ARM_SYSTEM_CALL, &none, sizeof none);
    return known;
}

/* How the thread stopped next: waitpid()'s status, or -1: it has been killed, and its end is yet to be taken. */
static int next_stop(pid_t tid)
{
    siginfo_t info = {0};
    int status;
    while (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL) < 0 && errno == EINTR)
        ;
    bool stopped = info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
    return stopped && waitpid(tid, &status, __WALL) == tid ? status : -1;
}

/* The stop made the call fail. The kernel makes a call again, or lets it fail for a handler of the program's that runs first, when it
 * looks for signals behind the call; it has looked already. So the thread is moved back before the call and enters it once more, without
 * effect (PTRACE_SYSEMU, Linux 5.3), and letting it go there has the kernel look. Where a signal comes before that, the call has failed as
 * it would have. Not so close(): the descriptor is free already, and may be another thread's by then. */
static enum stop_state repair_call(pid_t tid, const struct user_pt_regs *registers)
{
    struct user_pt_regs back = *registers, failed = *registers;
    uint64_t argument = 0;
    if (!first_argument(tid, (int)registers->regs[NUMBER_REGISTER], &argument))
        return STOP_IN_CALL;
    back.regs[0] = argument;
    back.pc -= SVC_BYTES;
    if (ptrace(PTRACE_SETOPTIONS, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) < 0 ||
        !put_set(tid, NT_PRSTATUS, &back, sizeof back))
        return STOP_IN_CALL;
    int status = 0;
    if (ptrace(PTRACE_SYSEMU, tid, NULL, NULL) == 0 && (status = next_stop(tid)) < 0)
        return STOP_NOT_YET;
    bool entered = status && WSTOPSIG(status) == AT_CALL;
    if (entered)
        failed.regs[0] = (uint64_t)RESTART;
    put_set(tid, NT_PRSTATUS, &failed, sizeof failed);
    if (entered || !status)
        return STOP_IN_CALL;
    int number = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status); /* a signal goes on to the program */
    return ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)number) == 0 ? STOP_OTHER : STOP_NOT_YET;
}

static bool copy_registers(pid_t tid, const struct user_pt_regs *from, struct executor_job *job)
{
    struct user_fpsimd_state vectors; /* with SVE, the low parts of its registers: instructions of SVE end a burst */
    memcpy(job->general, from->regs, sizeof from->regs);
    job->general[EXECUTOR_SP] = from->sp;
    job->pc = from->pc;
    job->flags = from->pstate;
    if (!get_set(tid, NT_PRFPREG, &vectors, sizeof vectors) ||
        !get_set(tid, NT_ARM_TLS, job->bases, sizeof *job->bases))
        return false;
    memcpy(job->state, &vectors, sizeof vectors);
    job->state_bytes = sizeof vectors;
    return true;
}

enum stop_state stop_registers(pid_t tid, struct executor_job *job)
{
    struct user_pt_regs registers;
    errno = 0;
    if (!get_set(tid, NT_PRSTATUS, &registers, sizeof registers)) /* of a 32-bit program they are others */
        return errno == ESRCH ? STOP_NOT_YET : STOP_IN_CALL;
    if (is_svc(tid, registers.pc - SVC_BYTES)) {
        bool failed = (int64_t)registers.regs[0] == -EINTR && registers.regs[NUMBER_REGISTER] != SYS_close;
        return failed ? repair_call(tid, &registers) : STOP_IN_CALL;
    }
    return job && !is_svc(tid, registers.pc) && copy_registers(tid, &registers, job) ? STOP_TAKEN : STOP_IN_CALL;
}
