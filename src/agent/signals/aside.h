/* agent/signals/aside.h - calls a function on another stack: CPU/aside.S.
 *
 * The stack that a signal comes on is the program's, and may hold little more than the kernel's frame: threads with
 * small stacks, alternate stacks of 4096 bytes. So handlers do their work on the agent's own (agent/self.h). */
#pragma once

#include <stdint.h>

/* Calls work(argument) with the stack pointer at `top`, which is a multiple of 16, and comes back. */
void aside_call(void *top, void (*work)(void *argument), void *argument);
