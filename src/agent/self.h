/* agent/self.h - where each thread's state is kept: in blocks of the agent's own, found by a pthread key.
 *
 * Static TLS would move the thread-local variables of the program, which share the top of each thread's stack with it: into
 * other pages, which other threads touch first. The values of a process's first 32 keys are kept in libc's descriptor
 * of each thread: they take no room of their own, setting one allocates nothing, and they are found at a fixed
 * distance from the thread pointer. thread_self() in agent/agent.h reads ours. Blocks are page by page in mappings that
 * only grow: a block is touched first by the thread it belongs to, and may be looked at by others at any time. */
#pragma once

#include "agent/agent.h"

#include <pthread.h>

/* Once per process, before any block is made: creates the key. `at_end` is called with a thread's block when that
 * thread ends, once in each pass of key destructors. False when no key below 32 is free. Not in handlers. */
bool self_setup(void (*at_end)(void *block));

/* The calling thread's block, made when there is none; NULL when the thread has ended or there is no memory. Handlers
 * may call it. */
struct agent_thread *self_make(void);

static inline struct agent_thread *self_need(void)
{
    struct agent_thread *self = thread_self();
    return __builtin_expect(self != NULL, 1) ? self : self_make();
}

/* Whether that is so because the calling thread has ended: libc and other libraries still clean up. */
bool self_has_ended(void);

/* The same for a thread that begins: whoever had its number before has ended for good. */
struct agent_thread *self_begin(void);

/* For handlers: also finds the block while libc has it taken out to call `at_end`. NULL: this thread has none. */
struct agent_thread *self_in_handler(void);

/* The top of the block's stack for ticks (0) or for faults (1); each has some 30 KiB. And whether `sp` is on one. */
void *self_stack(const struct agent_thread *self, unsigned number);
bool self_is_inside(const struct agent_thread *self, uint64_t sp);

/* In a pass of key destructors: keeps the block for the next pass. */
void self_keep(struct agent_thread *self);

/* The thread has ended: its block may be given to another one, and self_make() makes it no new one. */
void self_release(struct agent_thread *self);

/* In a fork's child: the blocks of its parent's other threads are free. */
void self_forked(void);

/* The block of any thread of this process, or NULL. */
const struct agent_thread *self_of(pthread_t thread);
