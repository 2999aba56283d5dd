/* agent/process/thread.h - the beginning and end of threads, as the recorder learns of them. */
#pragma once

#include "agent/agent.h"

/* Once per process, before any thread is reported. False: threads cannot be distinguished here (agent/self.h). */
bool thread_setup(void);

/* Makes sure that this thread has a ring and that its start was recorded; false when it cannot have one. `may_ask`:
 * not in a handler, so the kernel may be asked for the range of the stack. */
bool thread_ready(struct agent_thread *self, bool may_ask);

/* Finds the stack of a thread that was not started through pthread_create. */
void thread_find_stack(struct agent_thread *self);

/* Records the start, at `time`, with what is known. The thread has a ring. */
void thread_report(struct agent_thread *self, uint64_t entry, uint64_t time);

/* The start of a thread made by pthread_create, on that thread. `created` is when its creator asked for it: so threads
 * are reported in the order of their creation, whichever of them runs first. */
void thread_begin(struct agent_thread *self, uint64_t entry, uint64_t created);

/* Records the end and closes the ring. What the thread still does is lost, and counted. */
void thread_end(struct agent_thread *self);

/* The name of a thread of this process changed. */
void thread_renamed(struct agent_thread *self, uint32_t tid, const char *name);
