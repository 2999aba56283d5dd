/* Waiting for children: the parent is who learns how a child ended, so it is the parent's agent that reports. A child that is
 * waited for inside libc (system, pclose) or not at all stays without a status. */
#include "agent/region/attach.h"
#include "agent/real.h"
#include "agent/region/hook_record.h"

#include <signal.h>
#include <sys/wait.h>

static void report(pid_t child, int status)
{
    enum { WORDS = sizeof(struct wire_waited) / 8 };
    struct agent_thread *self;
    int saved;
    /* Programs wait in handlers of SIGCHLD too: nothing here may wait, and a thread that is not known yet stays so. */
    if (child <= 0 || !(WIFEXITED(status) || WIFSIGNALED(status)) || !attach_heap() || !(self = thread_self()) ||
        !self->producer.ring || !record_begin(self, &saved))
        return;
    struct wire_waited *record = ring_reserve(self, WORDS, LOSS_RING_FULL, false);
    if (record) {
        record->head =
            (struct wire_head){.type = WIRE_WAITED, .words = WORDS, .cpu = ring_cpu(), .value = (uint32_t)child};
        record->time = ring_time();
        record->status = (uint64_t)(uint32_t)status;
        ring_commit(self, WORDS);
    }
    record_end(self, saved);
}

AGENT_EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    int own = 0;
    real_need();
    pid_t child = real.wait4(pid, &own, options, usage);
    if (child > 0 && status)
        *status = own;
    report(child, own);
    return child;
}

AGENT_EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
    return wait4(-1, status, options, usage);
}

AGENT_EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
    return wait4(pid, status, options, NULL);
}

AGENT_EXPORT pid_t wait(int *status)
{
    return wait4(-1, status, 0, NULL);
}

AGENT_EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    siginfo_t own = {0};
    siginfo_t *into = info ? info : &own;
    real_need();
    int result = real.waitid(type, id, into, options);
    if (result != 0 || (options & WNOWAIT))
        return result;
    if (into->si_code == CLD_EXITED)
        report(into->si_pid, (into->si_status & 0xff) << 8);
    else if (into->si_code == CLD_KILLED || into->si_code == CLD_DUMPED)
        report(into->si_pid, into->si_status & 0x7f);
    return result;
}
