/* agent/signals/signals.h - the signals the sampler holds, and the program's dispositions of them.
 *
 * The kernel calls the agent for SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP (which a fault brings along) and the signal of ticks: SIGURG or
 * SIGWINCH, whose default is to be ignored, so that none kills, whatever the program does. What is not the agent's own
 * business goes to the program as if it had been called directly: its handler, on its stack, under its mask; or death by
 * the same signal at the same place. */
#pragma once

#include "agent/agent.h"

#include <signal.h>

/* Takes the signals; what was set before is kept as the program's disposition. False when that fails. */
bool signals_start(void);

/* Takes back those that the program has set meanwhile; what it set is its disposition from now on. Not in handlers. */
bool signals_retake(void);

/* After a fork, before anything else: whoever held the lock is not in the child. */
void signals_forked(void);

/* Whether the kernel still calls us: a program may set handlers behind libc's back. One or two system calls; in handlers.
 */
bool signals_held(void);

/* Whether a fault of this thread, in no handler of ours, would come to us: neither blocked nor taken behind libc's back. Three system calls. */
bool signals_take_faults(void);

/* Whether this is the process whose signals are held, and not a vfork's child in its memory. */
bool signals_is_own_process(void);

/* Keeps the handlers of all signals from being changed, and all signals from coming. */
uint64_t signals_lock(void);
void signals_unlock(uint64_t mask);

/* Sets the handlers of the held signals in the kernel again, after a change in agent/signals/alternate.h. */
void signals_renew(void);

/* Whether the sampler holds this signal, once it holds any. */
bool signals_is_held(int signal);

/* The signal of ticks; 0 before there is one. And with it SIGTRAP and the signal of ticks before they moved, as the kernel's bits. */
int signals_tick(void);
uint64_t signals_tick_bits(void);

/* The program wants these signals for a descriptor or a handler: ticks that come by one of them come by another signal from now on. False: they did
 * not come so, or all that they could come by are wanted. */
bool signals_move_ticks(const sigset_t *wanted);

/* Takes back ticks of this thread that wait; their signals are blocked. */
void signals_drop_ticks(const struct agent_thread *self);

/* Before exec: makes ignored what the program ignores; and back. */
void signals_exec_begin(void);
void signals_exec_failed(void);

/* In sampler.c: handles a signal that is the agent's own business; false when it is the program's. */
bool sampler_signal(int signal, siginfo_t *info, ucontext_t *context);

/* Sampling has ended for good and this thread, whose tick is stopped, is the process's only one: the kernel gets the
 * program's dispositions, and nothing comes to the agent any more. */
void signals_give_back(struct agent_thread *self);
