/* The functions that change signal masks: see agent/mask.h. */
#include "agent/attach.h"
#include "agent/mask.h"
#include "agent/real.h"
#include "agent/sampler.h"

#include <errno.h>

AGENT_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    if (sampler_is_active() || mask_hidden(&agent_self))
        return mask_change(how, set, old);
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
