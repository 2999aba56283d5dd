/* exec, which keeps what is ignored and what is pending: the sampler sees to it that these are the program's own
 * (agent/sampler.h). posix_spawn needs nothing but the first, which libc does in the child and out of reach. */
#include "agent/attach.h"
#include "agent/real.h"
#include "agent/sampler.h"

#include <alloca.h>
#include <stdarg.h>
#include <unistd.h>

#define AROUND_EXEC(call)                                                                                              \
    do {                                                                                                               \
        real_need();                                                                                                   \
        sampler_exec_begin(&agent_self);                                                                               \
        int result_ = call;                                                                                            \
        sampler_exec_failed(&agent_self);                                                                              \
        return result_;                                                                                                \
    } while (0)

AGENT_EXPORT int execve(const char *path, char *const *arguments, char *const *environment)
{
    AROUND_EXEC(real.execve(path, arguments, environment));
}

AGENT_EXPORT int execv(const char *path, char *const *arguments)
{
    AROUND_EXEC(real.execve(path, arguments, environ));
}

AGENT_EXPORT int execvp(const char *file, char *const *arguments)
{
    AROUND_EXEC(real.execvpe(file, arguments, environ));
}

AGENT_EXPORT int execvpe(const char *file, char *const *arguments, char *const *environment)
{
    AROUND_EXEC(real.execvpe(file, arguments, environment));
}

AGENT_EXPORT int fexecve(int fd, char *const *arguments, char *const *environment)
{
    AROUND_EXEC(real.fexecve(fd, arguments, environment));
}

/* The list that begins with `first`, as an array in the caller's frame. */
#define LIST_TO_ARRAY(first, list, array)                                                                              \
    char **array;                                                                                                      \
    do {                                                                                                               \
        va_list copy_;                                                                                                 \
        size_t count_ = 1;                                                                                             \
        va_start(list, first);                                                                                         \
        va_copy(copy_, list);                                                                                          \
        for (const char *one_ = first; one_; one_ = va_arg(copy_, const char *))                                       \
            count_++;                                                                                                  \
        va_end(copy_);                                                                                                 \
        array = alloca(count_ * sizeof *array);                                                                        \
        array[0] = (char *)first;                                                                                      \
        for (size_t i_ = 1; i_ < count_; i_++)                                                                         \
            array[i_] = va_arg(list, char *);                                                                          \
    } while (0)

AGENT_EXPORT int execl(const char *path, const char *first, ...)
{
    va_list list;
    LIST_TO_ARRAY(first, list, arguments);
    va_end(list);
    return execv(path, arguments);
}

AGENT_EXPORT int execlp(const char *file, const char *first, ...)
{
    va_list list;
    LIST_TO_ARRAY(first, list, arguments);
    va_end(list);
    return execvp(file, arguments);
}

AGENT_EXPORT int execle(const char *path, const char *first, ...)
{
    va_list list;
    LIST_TO_ARRAY(first, list, arguments);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, arguments, environment);
}
