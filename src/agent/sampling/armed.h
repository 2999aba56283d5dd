/* agent/sampling/armed.h - which threads have a tick, for a recorder in the same process, and the call to start one.
 *
 * A tick can only be started by its own thread. So the recorder sends the thread a signal that the sampler holds
 * anyway, with a mark that nobody else knows, and its handler does it. */
#pragma once

#include "agent/agent.h"

#include <signal.h>

/* By the thread itself, also in handlers. Full: the thread is not listed, and called in vain now and then. */
void armed_add(uint32_t tid, uint64_t tick_ns);
void armed_remove(uint32_t tid);

/* The spacing of the thread's ticks as it was asked for, or 0: it has none. */
uint64_t armed_tick(uint32_t tid);

/* Sends the call; 0 or a negative errno (-ESRCH: there is no such thread in this process). */
int armed_call(uint32_t tid, int signal);

/* Whether this signal is one. In handlers. */
bool armed_is_call(const siginfo_t *info);
