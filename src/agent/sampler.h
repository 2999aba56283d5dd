/* agent/sampler.h - precise memory samples with no PMU: every so often a thread is stepped through its next few
 * accesses, and each one's address, size, direction, latency and call chain are noted. docs/architecture.md has why. */
#ifndef NUMALENS_AGENT_SAMPLER_H
#define NUMALENS_AGENT_SAMPLER_H

#include "agent/agent.h"

/* Process-wide: installs handlers, opens the tick. Called from the constructor and in a fork's child (`forked`).
 * Returns false when sampling cannot work here; allocation tracking goes on. */
bool sampler_start(bool forked);
void sampler_stop(void);

/* For each thread, on that thread. thread_stop may be called with ticks still pending. */
void sampler_thread_start(struct agent_thread *self);
void sampler_thread_stop(struct agent_thread *self);

/* The program's wishes for the signals the sampler holds (SIGSEGV, SIGBUS, SIGILL, SIGTRAP and the tick's): kept and
 * honoured as if the agent were not there. True when the signal is held: the call is then done, `*result` is what the
 * program gets to see (0 or -1 with errno set). Interposed sigaction(), signal() & co. ask this first. */
struct sigaction;
bool sampler_sigaction(int signal, const struct sigaction *wanted, struct sigaction *old, int *result);

#endif
