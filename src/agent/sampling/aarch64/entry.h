/* agent/sampling/aarch64/entry.h - the functions of entry.S. */
#pragma once

#include "agent/agent.h"

#include <ucontext.h>

/* Calls work(self, context) with the stack beginning at `frame` and returns from the signal whose frame that is. */
_Noreturn void step_return(void *frame, struct agent_thread *self, ucontext_t *context,
                           void (*work)(struct agent_thread *self, ucontext_t *context));

/* Calls work(argument) with the stack pointer kept in *sp meanwhile: 1, or 0 when guard_landing was jumped to with that
 * stack pointer. */
unsigned guard_call(uint64_t *sp, void (*work)(void *argument), void *argument);
extern const char guard_landing[];
