/* exec: the new program must find the signals as the old one wished them, and the recorder must know when it cannot be
 * followed. posix_spawn starts from a fresh thread with nothing pending: there only the latter is seen to. */
#include "agent/attach.h"
#include "agent/real.h"
#include "agent/ring.h"
#include "agent/sampler.h"

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

/* True when the new program was counted as one that is not followed. */
static bool count_stranger(char *const *environment)
{
    if (!agent_switch.live || !(agent_region->config.flags & WIRE_FOLLOW_CHILDREN) || is_followed(environment))
        return false;
    atomic_fetch_add_explicit(&agent_region->shared.lost[LOSS_CHILD_UNTRACKED], 1, memory_order_relaxed);
    return true;
}

/* Before and after the real call; the latter only when it failed. */
static bool leave(char *const *environment)
{
    real_need();
    bool counted = count_stranger(environment);
    if (agent_switch.live)
        sampler_exec_begin(&agent_self);
    return counted;
}

static int stay(int result, bool counted)
{
    if (counted)
        atomic_fetch_sub_explicit(&agent_region->shared.lost[LOSS_CHILD_UNTRACKED], 1, memory_order_relaxed);
    if (agent_switch.live)
        sampler_exec_failed(&agent_self);
    return result;
}

AGENT_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    bool counted = leave(environment);
    return stay(real.execve(path, arguments, environment), counted);
}

AGENT_EXPORT int execv(const char *path, char *const arguments[])
{
    return execve(path, arguments, environ);
}

AGENT_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    bool counted = leave(environment);
    return stay(real.execvpe(file, arguments, environment), counted);
}

AGENT_EXPORT int execvp(const char *file, char *const arguments[])
{
    return execvpe(file, arguments, environ);
}

AGENT_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    bool counted = leave(environment);
    return stay(real.fexecve(fd, arguments, environment), counted);
}

AGENT_EXPORT int execveat(int directory, const char *path, char *const arguments[], char *const environment[],
                          int flags)
{
    real_need();
    if (!real.execveat) {
        errno = ENOSYS;
        return -1;
    }
    bool counted = leave(environment);
    return stay(real.execveat(directory, path, arguments, environment, flags), counted);
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
    real_need();
    int result = real.posix_spawn(child, path, actions, attributes, arguments, environment);
    if (result == 0)
        count_stranger(environment);
    return result;
}

AGENT_EXPORT int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    real_need();
    int result = real.posix_spawnp(child, file, actions, attributes, arguments, environment);
    if (result == 0)
        count_stranger(environment);
    return result;
}
