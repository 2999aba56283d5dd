/* Jumps out of handlers. libc restores the signal mask first and leaves the stack then: a tick that has waited comes in
 * between, on an alternate stack that may have no room for it (agent/signals/alternate.h). So the jump is made from a stack of the
 * agent's. All of these are one function in libc, but the one that checks where it goes, which would not know that stack. */
#include "agent/signals/alternate.h"
#include "agent/signals/aside.h"
#include "agent/real.h"
#include "agent/self.h"
#include "base/sys.h"

#include <setjmp.h>

void __longjmp_chk(struct __jmp_buf_tag *place, int value) __attribute__((noreturn));

struct jump {
    struct __jmp_buf_tag *place;
    int value;
};

static void go(void *argument)
{
    struct jump *jump = argument;
    real.siglongjmp(jump->place, jump->value);
}

static bool on_alternate(void)
{
    stack_t stack;
    return sys_call(SYS_sigaltstack, NULL, &stack) == 0 && stack.ss_flags & SS_ONSTACK;
}

static void leave_alternate(struct __jmp_buf_tag *place, int value)
{
    struct jump jump = {place, value};
    struct agent_thread *self = alternate_is_small() ? thread_self() : NULL;
    real_need();
    if (self && on_alternate())
        aside_call(self_stack(self, 0), go, &jump);
}

AGENT_EXPORT void siglongjmp(struct __jmp_buf_tag place[1], int value)
{
    leave_alternate(place, value);
    real.siglongjmp(place, value);
    __builtin_unreachable();
}

AGENT_EXPORT void longjmp(struct __jmp_buf_tag place[1], int value)
{
    siglongjmp(place, value);
}

AGENT_EXPORT void _longjmp(struct __jmp_buf_tag place[1], int value)
{
    siglongjmp(place, value);
}

AGENT_EXPORT void __longjmp_chk(struct __jmp_buf_tag *place, int value)
{
    leave_alternate(place, value);
    if (real.longjmp_chk)
        real.longjmp_chk(place, value);
    real.siglongjmp(place, value);
    __builtin_unreachable();
}
