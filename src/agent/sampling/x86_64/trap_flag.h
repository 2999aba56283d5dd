/* agent/sampling/x86_64/trap_flag.h - a burst with a SIGTRAP for each instruction: see trap_flag.c. */
#pragma once

#include "agent/sampling/step.h"

/* As step_begin(). step_trap(), step_owes_trap() and step_goes_on() are here as well. */
enum step_state trap_flag_begin(struct agent_thread *self, ucontext_t *context);

/* The program's own fault: its handler is not to find our flag in the context. */
void trap_flag_fault(struct agent_thread *self, ucontext_t *context);
