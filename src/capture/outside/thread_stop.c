#include "capture/outside/thread_stop.h"

#include "base/units.h"
#include "capture/outside/stop_registers.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum {
    STACK_PAGES = 2,
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
    uint64_t low = job->general[EXECUTOR_SP] & ~(PAGE_UNIT - 1ull);
    struct iovec to = {job->copies, STACK_PAGES * PAGE_UNIT}, from = {(void *)low, STACK_PAGES * PAGE_UNIT};
    ssize_t got = process_vm_readv(tid, &to, 1, &from, 1, 0);
    for (ssize_t i = 0; i < STACK_PAGES && got >= (i + 1) * (ssize_t)PAGE_UNIT; i++)
        job->copy_of[i] = low + (uint64_t)i * PAGE_UNIT;
}

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
    for (unsigned i = 0; job && i < EXECUTOR_COPIES; i++)
        job->copy_of[i] = 0;
    return stop_registers(tid, job);
}
