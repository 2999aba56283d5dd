/* Waiting for signals. A thread that blocks the ticks' signals and waits for them would get ticks: they are passed
 * over here (agent/sampling/sampler.h). */
#include "agent/region/attach.h"
#include "agent/real.h"
#include "agent/sampling/sampler.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>

static int wait_info(const sigset_t *set, siginfo_t *info)
{
    siginfo_t own = {0};
    int signal;
    real_need();
    do
        signal = real.sigwaitinfo(set, info ? info : &own);
    while (signal > 0 && sampler_is_tick(info ? info : &own));
    return signal;
}

AGENT_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    return wait_info(set, info);
}

AGENT_EXPORT int sigwait(const sigset_t *set, int *signal)
{
    int saved = errno, got;
    do
        got = wait_info(set, NULL);
    while (got < 0 && errno == EINTR);
    int error = got < 0 ? errno : 0;
    errno = saved;
    if (got > 0)
        *signal = got;
    return error;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

AGENT_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    siginfo_t own = {0};
    siginfo_t *into = info ? info : &own;
    real_need();
    if (!timeout)
        return wait_info(set, info);
    int64_t began = now_ns(), whole = (int64_t)timeout->tv_sec * 1000000000 + timeout->tv_nsec;
    int signal = real.sigtimedwait(set, into, timeout);
    while (signal > 0 && sampler_is_tick(into)) {
        int64_t remaining = whole - (now_ns() - began);
        if (remaining < 0)
            remaining = 0;
        struct timespec rest = {.tv_sec = (time_t)(remaining / 1000000000), .tv_nsec = (long)(remaining % 1000000000)};
        signal = real.sigtimedwait(set, into, &rest);
    }
    return signal;
}

AGENT_EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    real_need();
    if (!attach_is_sampling())
        return real.signalfd(fd, set, flags);
    sigset_t without = *set;
    sampler_clear_ticks(&without);
    return real.signalfd(fd, &without, flags);
}
