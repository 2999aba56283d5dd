/* agent/signals/mask.h - the program's signal masks, and what the kernel gets of them.
 *
 * Threads that block every signal are common (compressors' workers, emulators, servers with one thread for signals), and
 * a thread that blocks the sampler's signals cannot be sampled. Nobody who blocks everything means the signals of his
 * own faults. So when a program blocks all of them at once they are left open in the kernel and remembered as blocked:
 * the program is shown its own mask, and a held signal that is *sent* meanwhile is made to wait as it would have. A
 * program that blocks only some of them is taken at its word, but for the ticks': that is the agent's choice, and servers block
 * all but their faults. */
#pragma once

#include "agent/agent.h"

#include <signal.h>

/* What pthread_sigmask() does: 0 or an error number. */
int mask_change(struct agent_thread *self, int how, const sigset_t *set, sigset_t *old);

/* Ticks no longer come by this signal: what the program believes of it becomes true. */
void mask_show(struct agent_thread *self, int signal);

/* Whether the program believes this signal to be blocked in this thread while it is not. In handlers, with the interrupted mask. */
bool mask_hides(const struct agent_thread *self, int signal, const sigset_t *blocked);

/* A new thread begins with its creator's mask: what to hand over (`self` may be NULL), and to take over. */
uint64_t mask_hidden(const struct agent_thread *self);
void mask_inherit(struct agent_thread *self, uint64_t hidden);

/* A new image inherits the kernel's mask: makes it what the program believes; and back, when there is none. */
void mask_exec_begin(struct agent_thread *self);
void mask_exec_failed(struct agent_thread *self);
