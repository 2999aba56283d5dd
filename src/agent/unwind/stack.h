/* agent/unwind/stack.h - numbers for call chains: each chain is sent once per thread, then named by its number. */
#pragma once

#include "agent/agent.h"
#include "agent/unwind/unwind.h"

/* The number of the chain that begins at `regs` (0 when none can be kept), sent as WIRE_STACK when it is new. Call with
 * inside > 0. A chain that equals the thread's last one costs one comparison a frame. */
uint32_t stack_number(struct agent_thread *self, const struct unwind_regs *regs, bool pc_is_return, bool may_wait);

/* Forgets what this thread has sent. stack_forked: in the child of a fork, whose ring is new. */
void stack_forget(struct agent_thread *self);
void stack_forked(struct agent_thread *self);
