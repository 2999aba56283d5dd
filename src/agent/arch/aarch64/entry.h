/* agent/arch/aarch64/entry.h - the function of entry.S. */
#ifndef NUMALENS_AGENT_AARCH64_ENTRY_H
#define NUMALENS_AGENT_AARCH64_ENTRY_H

#include "agent/agent.h"

#include <ucontext.h>

/* Calls work(self, context) with the stack beginning at `frame` and returns from the signal whose frame that is. */
_Noreturn void step_return(void *frame, struct agent_thread *self, ucontext_t *context,
                           void (*work)(struct agent_thread *self, ucontext_t *context));

#endif
