/* agent/signals/alternate.h - alternate signal stacks of the program, which may have room for one frame and no more.
 *
 * A frame takes up to 3.4 KiB where a processor has AVX-512, and programs set stacks of 4096 bytes. While a handler of the
 * program runs on one, no tick may come: there would be no room for its frame. So once it has
 * set a small one, ticks are blocked in all of its handlers that run on alternate stacks; it does not see that. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* The program is about to set an alternate stack of this size. */
void alternate_set(size_t size);

/* Whether some alternate stack is too small for handlers of the agent; and whether one cannot even hold the kernel's frame.
 * In handlers. */
bool alternate_is_small(void);
bool alternate_is_useless(void);

/* What sigaction() does, for a signal that the sampler does not hold while it holds others. */
int alternate_sigaction(int signal, const struct sigaction *wanted, struct sigaction *old);

/* For handlers that were set before the sampler began, or before the first small stack. */
void alternate_begin(void);
