/* agent/ring.h - a thread's ring: claimed from the region, filled, closed. The way into it is in agent/agent.h. */
#ifndef NUMALENS_AGENT_RING_H
#define NUMALENS_AGENT_RING_H

#include "agent/agent.h"

/* What `inside` grows by while the agent asks libc for something that may come back through the hooks. Other nesting
 * means that a signal handler of the program interrupted the agent: what that does is lost, and counted. */
enum { AGENT_BUSY = 1, AGENT_CALLS_LIBC = 0x10000 };

/* Takes a free ring; false when there is none (counted) or nothing is to be recorded. Safe in handlers. */
bool ring_claim(struct agent_thread *self);

/* Gives the ring back to the recorder, which frees it once it is drained. */
void ring_close(struct agent_thread *self);

/* Forgets a ring that is another process's: after fork. */
void ring_forget(struct agent_thread *self);

/* Counts a loss in the thread's ring, or for all when it has none. */
void ring_lose(struct agent_thread *self, enum loss_cause cause, uint64_t count);

/* The number of this program image; told in each ring. Written at start and after fork, by the only thread there is. */
extern uint32_t ring_image;

#endif
