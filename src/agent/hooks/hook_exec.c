/* exec: the new program must find the signals as the old one set them, and the recorder must know when it cannot be
 * followed. posix_spawn starts from a fresh thread with nothing pending: there only the latter is seen to.
 *
 * A wrapper that sets LD_PRELOAD to a library of its own takes the agent out of it: it is put back in front. One that
 * empties it may know a program that no library may be preloaded into: that is respected, and counted. */
#include "agent/environment.h"
#include "agent/real.h"
#include "agent/region/thread_ring.h"
#include "agent/sampling/sampler.h"
#include "agent/self.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static bool is_followed(char *const *environment)
{
    size_t length = strlen(WIRE_ENVIRONMENT);
    for (; environment && *environment; environment++) {
        if (strncmp(*environment, WIRE_ENVIRONMENT, length) == 0 && (*environment)[length] == '=')
            return true;
    }
    return false;
}

static bool follows(void)
{
    return agent_switch.live && agent_region->config.flags & WIRE_FOLLOW_CHILDREN;
}

/* The environment for the new program: the one that was given, or a copy of it in this function's frame. */
#define WITH_AGENT(given, wanted)                                                                                      \
    size_t room_ = follows() && environment_preload(given) == PRELOAD_OTHERS ? environment_room(given) : 0;            \
    char *copy_[room_ / sizeof(char *) + 2];                                                                           \
    char *const *wanted = room_ ? environment_put_back(given, copy_) : (given)

/* When the new program is not followed, counts it; returns under which cause, or LOSS_CAUSES. */
static enum loss_cause count_stranger(char *const *environment)
{
    enum loss_cause cause = !follows()                                          ? LOSS_CAUSES
                            : !is_followed(environment)                         ? LOSS_CHILD_UNTRACKED
                            : environment_preload(environment) != PRELOAD_AGENT ? LOSS_CHILD_PRELOAD
                                                                                : LOSS_CAUSES;
    if (cause != LOSS_CAUSES)
        atomic_fetch_add_explicit(&agent_region->shared.lost[cause], 1, memory_order_relaxed);
    return cause;
}

/* Before and after the real call; the latter only when it failed. */
static enum loss_cause leave(char *const *environment)
{
    real_need();
    enum loss_cause counted = count_stranger(environment);
    struct agent_thread *self = agent_switch.live ? self_need() : NULL;
    if (self)
        sampler_exec_begin(self);
    return counted;
}

static int stay(int result, enum loss_cause counted)
{
    if (counted != LOSS_CAUSES)
        atomic_fetch_sub_explicit(&agent_region->shared.lost[counted], 1, memory_order_relaxed);
    struct agent_thread *self = agent_switch.live ? self_need() : NULL;
    if (self)
        sampler_exec_failed(self);
    return result;
}

AGENT_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    WITH_AGENT(environment, wanted);
    enum loss_cause counted = leave(wanted);
    return stay(real.execve(path, arguments, wanted), counted);
}

AGENT_EXPORT int execv(const char *path, char *const arguments[])
{
    return execve(path, arguments, environ);
}

AGENT_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    WITH_AGENT(environment, wanted);
    enum loss_cause counted = leave(wanted);
    return stay(real.execvpe(file, arguments, wanted), counted);
}

AGENT_EXPORT int execvp(const char *file, char *const arguments[])
{
    return execvpe(file, arguments, environ);
}

AGENT_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    WITH_AGENT(environment, wanted);
    enum loss_cause counted = leave(wanted);
    return stay(real.fexecve(fd, arguments, wanted), counted);
}

AGENT_EXPORT int execveat(int directory, const char *path, char *const arguments[], char *const environment[],
                          int flags)
{
    real_need();
    if (!real.execveat) {
        errno = ENOSYS;
        return -1;
    }
    WITH_AGENT(environment, wanted);
    enum loss_cause counted = leave(wanted);
    return stay(real.execveat(directory, path, arguments, wanted, flags), counted);
}

/* The arguments behind `first` up to their NULL, and, for execle, the environment behind that. */
#define LISTED_ARGUMENTS(first, listed, environment_too)                                                               \
    va_list arguments_;                                                                                                \
    size_t count_ = 1;                                                                                                 \
    va_start(arguments_, first);                                                                                       \
    while (va_arg(arguments_, char *))                                                                                 \
        count_++;                                                                                                      \
    va_end(arguments_);                                                                                                \
    char *listed[count_ + 1];                                                                                          \
    listed[0] = (char *)(first);                                                                                       \
    va_start(arguments_, first);                                                                                       \
    for (size_t i_ = 1; i_ <= count_; i_++)                                                                            \
        listed[i_] = va_arg(arguments_, char *);                                                                       \
    char *const *given_environment = (environment_too) ? va_arg(arguments_, char **) : environ;                        \
    va_end(arguments_)

AGENT_EXPORT int execl(const char *path, const char *first, ...)
{
    LISTED_ARGUMENTS(first, listed, false);
    return execve(path, listed, given_environment);
}

AGENT_EXPORT int execle(const char *path, const char *first, ...)
{
    LISTED_ARGUMENTS(first, listed, true);
    return execve(path, listed, given_environment);
}

AGENT_EXPORT int execlp(const char *file, const char *first, ...)
{
    LISTED_ARGUMENTS(first, listed, false);
    return execvpe(file, listed, given_environment);
}

AGENT_EXPORT int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    WITH_AGENT(environment, wanted);
    real_need();
    int result = real.posix_spawn(child, path, actions, attributes, arguments, wanted);
    if (result == 0)
        count_stranger(wanted);
    return result;
}

AGENT_EXPORT int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    WITH_AGENT(environment, wanted);
    real_need();
    int result = real.posix_spawnp(child, file, actions, attributes, arguments, wanted);
    if (result == 0)
        count_stranger(wanted);
    return result;
}
