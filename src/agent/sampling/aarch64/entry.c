/* agent/sampling/aarch64/entry.c - bursts run on a stack of the agent's, with a copy of the signal frame.
 *
 * The kernel puts the frame of a signal right below the interrupted stack pointer. The instructions that a burst
 * carries out push to that very place. So the frame is copied away first; the copy is what the burst works on, and
 * rt_sigreturn takes it back from there: the kernel takes a frame from any address. */
#include "agent/sampling/aarch64/entry.h"
#include "agent/sampling/step.h"
#include "base/sys.h"

#include <asm/sigcontext.h>
#include <string.h>

enum { STACK_BYTES = 65536 };

/* As the kernel lays it out: info, then context, at the stack pointer. */
struct frame {
    siginfo_t info;
    ucontext_t context;
};
_Static_assert(sizeof(siginfo_t) == 128, "the kernel's siginfo");

bool step_thread_start(struct agent_thread *self)
{
    if (self->sampler.step_stack)
        return true;
    self->sampler.step_stack = sys_pages(STACK_BYTES);
    return self->sampler.step_stack != NULL;
}

void step_thread_stop(struct agent_thread *self)
{
    if (self->sampler.step_stack)
        sys_unmap(self->sampler.step_stack, STACK_BYTES);
    self->sampler.step_stack = NULL;
}

void step_forget(struct agent_thread *self)
{
    (void)self; /* the stack came along */
}

/* The frame's bytes up to and with the record that ends it; 0 when there are records outside it. */
static size_t frame_bytes(const ucontext_t *context)
{
    const struct sigcontext *machine = (const struct sigcontext *)&context->uc_mcontext;
    size_t at = 0;
    while (at + sizeof(struct _aarch64_ctx) <= sizeof(machine->__reserved)) {
        const struct _aarch64_ctx *head = (const struct _aarch64_ctx *)(machine->__reserved + at);
        if (head->magic == 0)
            return (size_t)(machine->__reserved - (const uint8_t *)context) + at + sizeof(*head) + sizeof(siginfo_t);
        if (head->magic == EXTRA_MAGIC || head->size < sizeof(*head))
            return 0;
        at += head->size;
    }
    return 0;
}

bool step_apart(struct agent_thread *self, siginfo_t *info, ucontext_t *context,
                void (*work)(struct agent_thread *self, ucontext_t *context))
{
    size_t bytes = frame_bytes(context);
    if (!self->sampler.step_stack || bytes == 0 || (char *)context - (char *)info != sizeof(siginfo_t))
        return false;
    char *top = (char *)self->sampler.step_stack + STACK_BYTES;
    struct frame *copy = (struct frame *)(((uint64_t)top - sizeof(struct frame)) & ~15ull);
    memcpy(copy, info, bytes);
    step_return(copy, self, &copy->context, work);
}

bool step_guarded(struct agent_thread *self, void (*work)(void *argument), void *argument)
{
    return guard_call(&self->sampler.guard_sp, work, argument) == 1;
}
