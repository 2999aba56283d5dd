/* agent/sampling/tick.h - a signal every so often of a thread's CPU time: what starts bursts.
 *
 * The signal is one whose default is to be ignored (signals/signals.h): a program that resets its signals behind libc's back, the
 * child of a fork above all, gets no ticks then, and does not die of them. So SIGTRAP is not for ticks: perf's own way of
 * sending a signal knows no other.
 *
 * Best is a perf software event (cpu-clock) that sends it as descriptors do (F_SETSIG): it fires only while the thread runs
 * user code, to the nanosecond, and never interrupts a system call. The event is kept alive by a mapping of its first page, so no
 * descriptor stays open. Where perf is refused, a CPU-time timer per thread sends it at the kernel's timer resolution;
 * pace.h has who else gets one. A timer's tick that falls into a system call comes at its end. */
#pragma once

#include "agent/agent.h"

#include <signal.h>

/* Starts this thread's tick with a mean of `tick_ns`. Its real spacing is left in self->sampler.tick_ns: shorter, when
 * the ticks come evenly and the caller is to let some pass at random. False when neither way works. Also in handlers. */
bool tick_start(struct agent_thread *self, uint64_t tick_ns, bool timer_only, int signal);

/* A perf event of this thread's user code which sends it `signal`; mapped at `at`, or where there is room, which keeps it. NULL when
 * it is refused. `*number` is by what tick_is_event() recognises its signals: more than `above`. Also in handlers. */
struct perf_event_attr;
void *tick_event(struct perf_event_attr *attr, void *at, int signal, int above, int *number);
bool tick_is_event(const siginfo_t *info, int number);

/* May be called in handlers, and when there is no tick. */
void tick_stop(struct agent_thread *self);

/* After a fork: forgets the parent's tick, which the child does not have. */
void tick_forget(struct agent_thread *self);

/* Sets the timer for its next tick in `ns`; nothing for perf. False when the kernel refuses. In handlers. */
bool tick_rearm(struct agent_thread *self, uint64_t ns);

/* A number that changes with each context switch to the thread; always 0 for the timer. In handlers. */
uint32_t tick_context_switches(const struct agent_thread *self);

/* Whether a signal that this thread got is a tick. `self` may be NULL. */
bool tick_is(const struct agent_thread *self, const siginfo_t *info);
