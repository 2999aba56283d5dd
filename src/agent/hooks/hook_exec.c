/* exec: the new program must find the signals as the old one set them, and the recorder must know when it cannot be
 * followed. posix_spawn starts from a fresh thread with nothing pending: there only the latter is seen to.
 *
 * A wrapper that sets LD_PRELOAD to a library of its own takes the agent out of it: it is put back in front. One that
 * empties it may know a program that no library may be preloaded into: that is respected, and counted. Where it is known that the
 * agent would harm the new program (a sanitizer, a debugger, valgrind), it is taken out, and counted too. */
#include "agent/environment.h"
#include "agent/place/place_hooks.h"
#include "agent/real.h"
#include "agent/region/thread_ring.h"
#include "agent/sampling/sampler.h"
#include "agent/self.h"
#include "base/sanitizer.h"
#include "base/sys.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

AGENT_EXPORT long ptrace(enum __ptrace_request request, ...)
{
    long words[3];
    va_list arguments;
    va_start(arguments, request);
    for (unsigned i = 0; i < 3; i++)
        words[i] = va_arg(arguments, long);
    va_end(arguments);
    real_need();
    if (agent_switch.live)
        atomic_store_explicit(&agent_region->tracing, 1, memory_order_relaxed);
    return real.ptrace((long)request, words[0], words[1], words[2]);
}

/* Whether this process is traced by one that is recorded, or is about to become valgrind. Ticks would stop it in a debugger and
 * kill it in valgrind, and a tracer would show the agent's system calls. */
static bool is_traced(char *const *environment)
{
    char text[256] = "";
    if (environment_value(environment, "VALGRIND_LAUNCHER"))
        return true;
    if (!atomic_load_explicit(&agent_region->tracing, memory_order_relaxed))
        return false;
    int fd = sys_open_read("/proc/self/status");
    if (fd < 0)
        return true; /* without /proc nobody can say */
    sys_read(fd, text, sizeof text - 1);
    sys_close(fd);
    const char *tracer = strstr(text, "\nTracerPid:\t");
    return tracer && tracer[strlen("\nTracerPid:\t")] != '0';
}

/* The way execvp goes. */
static __attribute__((noinline)) bool is_sanitized_in_path(const char *file)
{
    char candidate[PATH_MAX];
    const char *path = environment_value(environ, "PATH");
    size_t length = strlen(file);
    if (strchr(file, '/'))
        return sanitizer_in_program(AT_FDCWD, file);
    for (const char *end = path ? path : "/bin:/usr/bin"; *file; end++) {
        const char *begin = end;
        end += strcspn(end, ":");
        size_t folder = (size_t)(end - begin);
        if (folder + length + 2 <= sizeof candidate) {
            memcpy(candidate, begin, folder);
            candidate[folder] = '/';
            memcpy(candidate + folder + (folder > 0), file, length + 1);
            if (sys_call(SYS_faccessat, AT_FDCWD, candidate, X_OK) == 0)
                return sanitizer_in_program(AT_FDCWD, candidate);
        }
        if (!*end)
            break;
    }
    return false;
}

static bool follows(void)
{
    return agent_switch.live && agent_region->config.flags & WIRE_FOLLOW_CHILDREN;
}

/* Why the agent must not be in a program that would load it; LOSS_CAUSES: it may. */
#define CAUSE_APART(given, is_sanitized)                                                                               \
    (environment_preload(given) == PRELOAD_NOTHING || !environment_value(given, WIRE_ENVIRONMENT) ? LOSS_CAUSES        \
     : sys_restricted && agent_region                                                             ? LOSS_RESTRICTED    \
     : !follows()                                                                                 ? LOSS_CAUSES        \
     : is_traced(given)                                                                           ? LOSS_TRACED        \
     : sanitizer_in_list(list_of(given)) || (is_sanitized)                                        ? LOSS_SANITIZED     \
                                                                                                  : LOSS_CAUSES)

static const char *list_of(char *const *environment)
{
    const char *list = environment_value(environment, "LD_PRELOAD");
    return list ? list : "";
}

static char *const *copy_environment(char *const *given, char **room, enum loss_cause apart)
{
    environment_put_back(given, room);
    if (apart != LOSS_CAUSES)
        environment_strip(room);
    return room;
}

/* The environment for the new program: the one that was given, or a copy of it in this function's frame. */
#define WITH_AGENT(given, wanted, apart, is_sanitized)                                                                 \
    enum loss_cause apart = CAUSE_APART(given, is_sanitized);                                                          \
    bool others_ = follows() && environment_preload(given) == PRELOAD_OTHERS;                                          \
    size_t room_ = others_ || (apart) != LOSS_CAUSES ? environment_room(given) : 0;                                    \
    char *copy_[room_ / sizeof(char *) + 2];                                                                           \
    char *const *wanted = room_ ? copy_environment(given, copy_, apart) : (given)

static void account(enum loss_cause cause, uint64_t by)
{
    atomic_fetch_add_explicit(&agent_region->shared.lost[cause], by, memory_order_relaxed);
    if (cause == LOSS_RESTRICTED) /* as its own agent would have */
        atomic_fetch_add_explicit(&agent_region->explained, (uint32_t)by, memory_order_relaxed);
}

/* When the new program is not followed, counts it; returns under which cause, or LOSS_CAUSES. */
static enum loss_cause count_stranger(char *const *environment, enum loss_cause apart)
{
    enum loss_cause cause = apart != LOSS_CAUSES || !follows()                  ? apart
                            : !environment_value(environment, WIRE_ENVIRONMENT) ? LOSS_CHILD_UNTRACKED
                            : environment_preload(environment) != PRELOAD_AGENT ? LOSS_CHILD_PRELOAD
                                                                                : LOSS_CAUSES;
    if (cause != LOSS_CAUSES)
        account(cause, 1);
    return cause;
}

static struct place_held leave_cpus(void)
{
    return place_wants.threads ? place_exec_begin() : (struct place_held){0};
}

/* Before anything else: a child of fork that reset its signals by system calls of its own (Chromium's) dies of its next tick. */
static struct place_held leave(void)
{
    real_need();
    struct agent_thread *self = agent_switch.live ? self_need() : NULL;
    if (self)
        sampler_exec_begin(self);
    if (place_wants.huge)
        place_huge_look();
    return leave_cpus();
}

/* After a call that failed. */
static int stay(int result, enum loss_cause counted, const struct place_held *held)
{
    place_exec_failed(held);
    if (counted != LOSS_CAUSES)
        account(counted, (uint64_t)-1);
    struct agent_thread *self = agent_switch.live ? self_need() : NULL;
    if (self)
        sampler_exec_failed(self);
    return result;
}

AGENT_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    struct place_held held = leave();
    WITH_AGENT(environment, wanted, apart, sanitizer_in_program(AT_FDCWD, path));
    enum loss_cause counted = count_stranger(wanted, apart);
    return stay(real.execve(path, arguments, wanted), counted, &held);
}

AGENT_EXPORT int execv(const char *path, char *const arguments[])
{
    return execve(path, arguments, environ);
}

AGENT_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    struct place_held held = leave();
    WITH_AGENT(environment, wanted, apart, is_sanitized_in_path(file));
    enum loss_cause counted = count_stranger(wanted, apart);
    return stay(real.execvpe(file, arguments, wanted), counted, &held);
}

AGENT_EXPORT int execvp(const char *file, char *const arguments[])
{
    return execvpe(file, arguments, environ);
}

AGENT_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    struct place_held held = leave();
    WITH_AGENT(environment, wanted, apart, sanitizer_in_file(fd));
    enum loss_cause counted = count_stranger(wanted, apart);
    return stay(real.fexecve(fd, arguments, wanted), counted, &held);
}

AGENT_EXPORT int execveat(int directory, const char *path, char *const arguments[], char *const environment[],
                          int flags)
{
    real_need();
    if (!real.execveat) {
        errno = ENOSYS;
        return -1;
    }
    struct place_held held = leave();
    WITH_AGENT(environment, wanted, apart,
               *path ? sanitizer_in_program(directory, path) : sanitizer_in_file(directory));
    enum loss_cause counted = count_stranger(wanted, apart);
    return stay(real.execveat(directory, path, arguments, wanted, flags), counted, &held);
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
    WITH_AGENT(environment, wanted, apart, sanitizer_in_program(AT_FDCWD, path));
    real_need();
    struct place_held held = leave_cpus();
    int result = real.posix_spawn(child, path, actions, attributes, arguments, wanted);
    place_exec_failed(&held);
    if (result == 0)
        count_stranger(wanted, apart);
    return result;
}

AGENT_EXPORT int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    WITH_AGENT(environment, wanted, apart, is_sanitized_in_path(file));
    real_need();
    struct place_held held = leave_cpus();
    int result = real.posix_spawnp(child, file, actions, attributes, arguments, wanted);
    place_exec_failed(&held);
    if (result == 0)
        count_stranger(wanted, apart);
    return result;
}
