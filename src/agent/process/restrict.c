#include "agent/process/restrict.h"

#include "agent/region/attach.h"
#include "agent/region/thread_ring.h"
#include "agent/sampling/sampler.h"
#include "agent/self.h"
#include "agent/signals/signals.h"
#include "base/sys.h"

#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

/* The number behind `label`, or -1. */
static long labelled(const char *text, const char *label)
{
    const char *at = strstr(text, label);
    if (!at)
        return -1;
    for (at += strlen(label); *at == '\t' || *at == ' ';)
        at++;
    long value = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (*at - '0');
    return value;
}

uint32_t restrict_filters(void)
{
    char text[4096];
    size_t length = 0;
    int fd = sys_open_read("/proc/self/status");
    if (fd < 0) {
        long mode = sys_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);
        return mode == 0 ? 0 : UINT32_MAX;
    }
    for (long got; length < sizeof text - 1 && (got = sys_read(fd, text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)got;
    sys_close(fd);
    text[length] = '\0';
    long filters = labelled(text, "\nSeccomp_filters:"), mode = labelled(text, "\nSeccomp:");
    if (filters >= 0)
        return (uint32_t)filters;
    return mode < 0 ? UINT32_MAX : mode > 0; /* before Linux 5.9 they are not counted */
}

bool restrict_beyond(uint64_t filters)
{
    uint32_t own = restrict_filters();
    return own == UINT32_MAX ? filters == 0 : own > filters;
}

bool restrict_found(uint64_t recorders_filters, enum loss_cause *cause)
{
    int counter = PR_TSC_ENABLE;
    *cause = LOSS_RESTRICTED;
    if (restrict_beyond(recorders_filters))
        return true;
    *cause = LOSS_NO_COUNTER;
    return sys_call(SYS_prctl, PR_GET_TSC, &counter, 0, 0, 0) == 0 && counter == PR_TSC_SIGSEGV;
}

static bool is_only_thread(void)
{
    struct stat tasks;
    return sys_call(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0) == 0 && tasks.st_nlink == 3;
}

static void end(enum loss_cause cause)
{
    if (!attach_live()) {
        /* Without a recorder there are still placement, and handlers of a recording that has ended. */
        sys_restricted = sys_restricted || cause == LOSS_RESTRICTED;
        return;
    }
    struct agent_thread *self = self_need();
    if (!self) {
        attach_give_up();
        sys_restricted = true;
        return;
    }
    int saved = errno;
    self->inside += AGENT_CALLS_LIBC;
    ring_lose(self, cause, 1);
    attach_give_up();
    if (attach_is_sampling()) {
        sampler_stop();
        /* Ticks of other threads still come: their handler stays, and does nothing. */
        if (is_only_thread())
            signals_give_back(self);
    }
    sys_restricted = true;
    self->inside -= AGENT_CALLS_LIBC;
    errno = saved;
}

void restrict_seccomp(unsigned long operation, unsigned long filter)
{
    /* Without a filter it is a question whether there could be one. */
    if (operation == SECCOMP_SET_MODE_STRICT || (operation == SECCOMP_SET_MODE_FILTER && filter))
        end(LOSS_RESTRICTED);
}

void restrict_prctl(unsigned long option, unsigned long value, unsigned long more)
{
    if (option == PR_SET_TSC && value == PR_TSC_SIGSEGV)
        end(LOSS_NO_COUNTER);
    else if (option == PR_SET_SECCOMP && (value == SECCOMP_MODE_STRICT || (value == SECCOMP_MODE_FILTER && more)))
        end(LOSS_RESTRICTED);
}
