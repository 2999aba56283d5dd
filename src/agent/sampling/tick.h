/* agent/sampling/tick.h - a signal every so often of a thread's CPU time: what starts bursts.
 *
 * Best is a perf software event that sends SIGTRAP (cpu-clock with sigtrap): it fires only while the thread runs user
 * code, to the nanosecond, and never interrupts a system call. The event is kept alive by a mapping of its first page,
 * so no descriptor stays open. Where perf is refused or older than 5.19 (before it killed a program that blocked
 * SIGTRAP), a CPU-time timer per thread sends a real-time signal at the kernel's timer resolution; pace.h has who else gets
 * one. A timer's tick that falls into a system call comes at its end. */
#pragma once

#include "agent/agent.h"

#include <signal.h>

/* Starts this thread's tick with a mean of `tick_ns`. Its real spacing is left in self->sampler.tick_ns: shorter, when
 * the ticks come evenly and the caller is to let some pass at random. False when neither way works. Also in handlers. */
bool tick_start(struct agent_thread *self, uint64_t tick_ns, bool timer_only, int timer_signal);

/* Whether the kernel keeps a perf event's SIGTRAP while that is blocked: before 5.19 it killed the program. */
bool tick_kernel_defers(void);

/* May be called in handlers, and when there is no tick. */
void tick_stop(struct agent_thread *self);

/* After a fork: forgets the parent's tick, which the child does not have. */
void tick_forget(struct agent_thread *self);

/* Sets the timer for its next tick in `ns`; nothing for perf. False when the kernel refuses. In handlers. */
bool tick_rearm(struct agent_thread *self, uint64_t ns);

/* A number that changes with each context switch to the thread; always 0 for the timer. In handlers. */
uint32_t tick_context_switches(const struct agent_thread *self);

/* Whether this signal is a tick; and whether it waited while its signal was blocked, so that it comes at a place that
 * has nothing to do with it. */
bool tick_is(int signal, const siginfo_t *info);
bool tick_is_perf(int signal, const siginfo_t *info, const void *mark); /* of the perf event with this sig_data */
bool tick_is_late(int signal, const siginfo_t *info);
