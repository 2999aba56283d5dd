/* The program's dispositions of signals. Those that the sampler holds are its to keep and honour (agent/sampling/sampler.h); all
 * others go where they went. The older functions are written in terms of sigaction, as libc does. */
#include "agent/signals/alternate.h"
#include "agent/real.h"
#include "agent/sampling/sampler.h"
#include "agent/signals/signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int __sigaction(int signal, const struct sigaction *wanted, struct sigaction *old);
sighandler_t bsd_signal(int signal, sighandler_t handler);
sighandler_t __sysv_signal(int signal, sighandler_t handler);

/* True when the signal is held; `*before` is then the handler that was there, or SIG_ERR. */
static bool held_handler(int signal, sighandler_t handler, int flags, bool block_self, sighandler_t *before)
{
    struct sigaction wanted = {.sa_flags = flags}, old = {0};
    int result;
    wanted.sa_handler = handler;
    sigemptyset(&wanted.sa_mask);
    if (block_self)
        sigaddset(&wanted.sa_mask, signal);
    if (handler == SIG_ERR || signal < 1 || signal >= NSIG || !sampler_sigaction(signal, &wanted, &old, &result))
        return false;
    *before = result == 0 ? old.sa_handler : SIG_ERR;
    return true;
}

AGENT_EXPORT int sigaction(int signal, const struct sigaction *wanted, struct sigaction *old)
{
    int result;
    if (sampler_sigaction(signal, wanted, old, &result))
        return result;
    real_need();
    return signals_tick() ? alternate_sigaction(signal, wanted, old) : real.sigaction(signal, wanted, old);
}

AGENT_EXPORT int sigaltstack(const stack_t *wanted, stack_t *old)
{
    if (wanted && !(wanted->ss_flags & SS_DISABLE))
        alternate_set(wanted->ss_size);
    return (int)syscall(SYS_sigaltstack, wanted, old);
}

AGENT_EXPORT int __sigaction(int signal, const struct sigaction *wanted, struct sigaction *old)
{
    return sigaction(signal, wanted, old);
}

AGENT_EXPORT sighandler_t signal(int number, sighandler_t handler)
{
    sighandler_t before;
    if (held_handler(number, handler, SA_RESTART, true, &before))
        return before;
    real_need();
    return real.signal(number, handler);
}

AGENT_EXPORT sighandler_t bsd_signal(int number, sighandler_t handler)
{
    return signal(number, handler);
}

AGENT_EXPORT sighandler_t ssignal(int number, sighandler_t handler)
{
    return signal(number, handler);
}

AGENT_EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    sighandler_t before;
    if (held_handler(number, handler, (int)(SA_RESETHAND | SA_NODEFER), false, &before))
        return before;
    real_need();
    return real.sysv_signal(number, handler);
}

AGENT_EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
{
    return __sysv_signal(number, handler);
}

AGENT_EXPORT sighandler_t sigset(int number, sighandler_t handler)
{
    struct sigaction now;
    int result;
    real_need();
    if (number < 1 || number >= NSIG || handler == SIG_ERR || !sampler_sigaction(number, NULL, &now, &result))
        return real.sigset(number, handler);
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, number);
    sighandler_t old = now.sa_handler;
    if (handler != SIG_HOLD && !held_handler(number, handler, 0, false, &old))
        return SIG_ERR;
    if (pthread_sigmask(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &one, &before))
        return SIG_ERR;
    return sigismember(&before, number) ? SIG_HOLD : old;
}

AGENT_EXPORT int sigignore(int number)
{
    sighandler_t before;
    if (held_handler(number, SIG_IGN, 0, false, &before))
        return before == SIG_ERR ? -1 : 0;
    real_need();
    return real.sigignore(number);
}

AGENT_EXPORT int siginterrupt(int number, int interrupts)
{
    struct sigaction action;
    int result;
    real_need();
    if (!sampler_sigaction(number, NULL, &action, &result))
        return real.siginterrupt(number, interrupts);
    action.sa_flags = interrupts ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    sampler_sigaction(number, &action, NULL, &result);
    return result;
}
