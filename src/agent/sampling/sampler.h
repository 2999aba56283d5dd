/* agent/sampling/sampler.h - precise memory samples with no PMU: every so often a thread is stepped through its next few
 * accesses, and each one's address, size, direction, latency and call chain are noted. docs/architecture.md has why. */
#pragma once

#include "agent/agent.h"

#include <signal.h>

/* Process-wide: installs handlers, starts the tick, and starts the calling thread. Called from the constructor and in a
 * fork's child (`forked`). Returns false when sampling cannot work here; allocation tracking goes on. */
bool sampler_start(bool forked);
void sampler_stop(void);

/* Like sampler_start, but starts no thread: for a recorder in this process. */
bool sampler_join(void);

/* The same once more, when the program has taken one of the signals and sampling has ended. */
bool sampler_rejoin(void);

/* Then: gives the calling thread a ring and a tick of config.tick_ns, or changes its tick to that. Also in handlers; call
 * with inside > 0. */
void sampler_arm(struct agent_thread *self);

/* For each thread, on that thread; starting twice does nothing. thread_stop may be called with ticks still pending. */
void sampler_thread_start(struct agent_thread *self);
void sampler_thread_stop(struct agent_thread *self);

/* Whether this process is being sampled. */
bool sampler_is_active(void);

/* The program's dispositions of the signals the sampler holds (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP and the tick's): kept and
 * honoured as if the agent were not there. True when the signal is held: the call is then done, `*result` is what the
 * program gets to see (0 or -1 with errno set). Interposed sigaction(), signal() & co. ask this first. */
struct sigaction;
bool sampler_sigaction(int signal, const struct sigaction *wanted, struct sigaction *old, int *result);

/* Ticks of a thread that blocks their signal stay pending, where the program could find them.
 * sampler_is_tick: whether what sigwaitinfo() & co. returned is one; the caller then waits again.
 * sampler_clear_ticks: a set is meant for signalfd(), which cannot distinguish them, or for a handler, whose signal would be lost where
 * it comes while a tick waits: it does not queue. Ticks come by another signal then; the set of one who wants both that they can come by
 * is made smaller. */
bool sampler_is_tick(const siginfo_t *info);
void sampler_clear_ticks(sigset_t *set);

/* Around execve(): signals the program ignores are made ignored for the new image (a held signal would become default),
 * and a tick that is pending and blocked is taken back (the new image would find it). In a vfork's child only the first.
 * sampler_exec_failed undoes it. */
void sampler_exec_begin(struct agent_thread *self);
void sampler_exec_failed(struct agent_thread *self);

/* Set, never unset, by the mmap hook when the program maps a character device: reading such memory could have effects,
 * so latencies are no longer probed. */
extern volatile bool agent_device_mapped;
