/* agent/sampling/watch.h - when a line that a long burst used is used again, however much later: a burst sees no more than its own
 * length, and longer ones would hold up who waits for the thread.
 *
 * At the end of a burst one of the lines that it followed is chosen at random, and the processor's breakpoints on data wait for it:
 * one on the word of it that was used last, one on another. The kernel keeps what it has seen in a page: the program gets no signal and runs at its own
 * speed. Whether the other word is used first, or with it, shows what words say of their line (analysis/reuse/watches.h).
 *
 * One in a thread, some in a process. In handlers, but for watch_forget. */
#pragma once

#include "agent/agent.h"
#include "agent/sampling/reuse_times.h"

#include <stdbool.h>
#include <stddef.h>

/* Address space that is reserved for them. */
size_t watch_bytes(void);

/* In a fork's child, and before the first: `reserved` is what watch_bytes() asked for, or NULL. */
void watch_forget(uint8_t *reserved);

/* Whether the kernel gives breakpoints, as far as is known. */
bool watch_may(void);

/* A burst of this thread has followed lines up to now. */
void watch_start(struct agent_thread *self, const struct reuse_times *times, uint32_t burst);

/* At ticks: whether there is something new to send. */
bool watch_look(struct agent_thread *self, struct event_reuse *row);

/* The thread ends; watch_look() has been called before. */
void watch_thread_stop(const struct agent_thread *self);
