/* agent/sampling/long_burst.h - now and then a thread is stepped through millions of its accesses: after how many of them lines
 * are used again (reuse_times.h), and how many accesses it makes in a while.
 *
 * One at a time in a process, which then takes some of its memory; a part of the budget in all. First accesses are counted at nearly the program's own speed, then they are looked at. Before a
 * system call, a hook of the agent's or what cannot be stepped the burst pauses, and goes on behind it by a breakpoint where the
 * kernel gives one; else it ends there. Its rows are sent when it is over, as the ring has room.
 *
 * Everything but long_start and long_forget runs in handlers. */
#pragma once

#include "agent/sampling/step.h"

/* Once a process. In a fork's child: first forgets what was the parent's. */
void long_start(void);
void long_forget(void);

/* Of the budget, millionths of CPU time that long bursts take. */
uint32_t long_budget_ppm(void);

/* A tick of `since_ns` has come to this thread: whether it is to start a long burst. Then one must be started or long_skip() be
 * called. At a system call none starts, since ticks that fell into it come there. */
bool long_is_due(struct agent_thread *self, uint64_t since_ns, bool at_call);
void long_skip(struct agent_thread *self);

/* As step_apart() wants it: begins, or goes on behind a pause. */
void long_run(struct agent_thread *self, ucontext_t *context);

/* Whether a signal is the breakpoint's that ends a pause. Then that is taken away; true: long_run() is to follow, or long_skip(). */
bool long_is_resume(const siginfo_t *info);
bool long_resumes(struct agent_thread *self);

/* Gives a burst that pauses up, whichever thread's: before the program may refuse the system calls that go on with it. */
void long_stop(void);

/* At ticks: sends what has not been sent yet. At the thread's end: or counts it as lost. */
void long_send(struct agent_thread *self);
void long_thread_stop(struct agent_thread *self);
