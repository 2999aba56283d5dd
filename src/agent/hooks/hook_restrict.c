/* prctl and syscall: the ways by which programs restrict themselves (agent/process/restrict.h), and prctl's by which threads get a
 * name. seccomp() has no function of its own in libc. */
#include "agent/region/attach.h"
#include "agent/real.h"
#include "agent/region/hook_record.h"
#include "agent/process/restrict.h"
#include "agent/sampling/long_burst.h"
#include "agent/self.h"
#include "base/sys.h"

#include <stdarg.h>

static void report_name(const char *name)
{
    struct agent_thread *self = attach_live() ? self_need() : NULL;
    int saved;
    if (!self || !record_begin(self, &saved))
        return;
    thread_renamed(self, 0, name);
    record_end(self, saved);
}

AGENT_EXPORT int prctl(int option, ...)
{
    unsigned long words[4];
    va_list arguments;
    va_start(arguments, option);
    for (unsigned i = 0; i < 4; i++)
        words[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    real_need();
    restrict_prctl((unsigned long)option, words[0], words[1]);
    int result = real.prctl(option, words[0], words[1], words[2], words[3]);
    if (option == PR_SET_NAME && result == 0)
        report_name((const char *)words[0]);
    /* Nobody without privileges can filter his own system calls without this. */
    if (option == PR_SET_NO_NEW_PRIVS && result == 0) {
        attach_restrict();
        long_stop();
    }
    return result;
}

/* libc's declaration has no names for the arguments; they are where a function of seven has them. The real one is jumped
 * to: what is called may return twice. */
AGENT_EXPORT long hook_syscall(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");

AGENT_EXPORT long hook_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == SYS_prctl)
        restrict_prctl((unsigned long)a, (unsigned long)b, (unsigned long)c);
    else if (number == SYS_seccomp)
        restrict_seccomp((unsigned long)a, (unsigned long)c);
    if (__builtin_expect(real.syscall != NULL, 1))
        return real.syscall(number, a, b, c, d, e, f);
    long result = sys_raw(number, a, b, c, d, e, f);
    if (sys_failed(result)) {
        errno = (int)-result;
        return -1;
    }
    return result;
}
