/* The functions that change signal masks: see agent/signals/mask.h. */
#include "agent/signals/mask.h"
#include "agent/real.h"
#include "agent/sampling/sampler.h"
#include "agent/self.h"

#include <errno.h>
#include <string.h>

AGENT_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    struct agent_thread *self = sampler_is_active() ? self_need() : thread_self();
    if (self && (sampler_is_active() || mask_hidden(self)))
        return mask_change(self, how, set, old);
    real_need();
    return real.pthread_sigmask(how, set, old);
}

AGENT_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    int error = pthread_sigmask(how, set, old);
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

/* The old functions, which know 32 signals. Shells still use them between fork and exec. */

static int change_old(int how, int mask)
{
    sigset_t set, old;
    uint32_t bits = (uint32_t)mask;
    sigemptyset(&set);
    sigemptyset(&old);
    memcpy(&set, &bits, sizeof bits);
    pthread_sigmask(how, &set, &old);
    memcpy(&bits, &old, sizeof bits);
    return (int)bits;
}

AGENT_EXPORT int sigblock(int mask)
{
    return change_old(SIG_BLOCK, mask);
}

AGENT_EXPORT int sigsetmask(int mask)
{
    return change_old(SIG_SETMASK, mask);
}

AGENT_EXPORT int siggetmask(void)
{
    return change_old(SIG_BLOCK, 0);
}

static int change_one(int how, int signal)
{
    sigset_t set;
    sigemptyset(&set);
    return sigaddset(&set, signal) < 0 ? -1 : sigprocmask(how, &set, NULL);
}

AGENT_EXPORT int sighold(int signal)
{
    return change_one(SIG_BLOCK, signal);
}

AGENT_EXPORT int sigrelse(int signal)
{
    return change_one(SIG_UNBLOCK, signal);
}
