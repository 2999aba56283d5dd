/* agent/region/thread_ring.h - a thread's ring: claimed from the region, filled, closed. The way into it is in agent/agent.h. */
#pragma once

#include "agent/agent.h"

/* What `inside` grows by while the agent asks libc for something that may come back through the hooks. Other nesting
 * means that a signal handler of the program interrupted the agent: what that does is lost, and counted. */
enum { AGENT_BUSY = 1, AGENT_CALLS_LIBC = 0x10000 };

/* Takes a free ring; false when there is none (counted) or nothing is to be recorded. Safe in handlers. */
bool ring_claim(struct agent_thread *self);

/* How much of the region is mapped at the start: all but the rings' bytes, and a page of those. Rings are mapped when they
 * are claimed, and stay. ring_map_all: maps them all, while system calls are still allowed. */
uint64_t ring_prefix(const struct wire_region *region);
void ring_map_all(void);

/* Gives the ring back to the recorder, which frees it once it is drained. */
void ring_close(struct agent_thread *self);

/* Forgets a ring that is another process's: after fork. */
void ring_forget(struct agent_thread *self);

/* Counts a loss in the thread's ring, or for all when it has none. */
void ring_lose(struct agent_thread *self, enum loss_cause cause, uint64_t count);

/* The same for a thread that has no block either. */
void ring_lose_all(enum loss_cause cause, uint64_t count);

/* Out of line: wakes the recorder if the ring is half full. */
void ring_check_fill(struct agent_thread *self);

/* agent_reserve(), agent_commit(), agent_time() and agent_cpu() for the hooks of the heap, where a call counts. */
static inline void *ring_reserve(struct agent_thread *self, uint32_t words, enum loss_cause cause, bool may_wait)
{
    if (__builtin_expect(agent_switch.live && self->producer.ring != NULL, 1)) {
        void *room = wire_ring_reserve(&self->producer, words);
        if (__builtin_expect(room != NULL, 1))
            return room;
    }
    return agent_reserve(self, words, cause, may_wait);
}

/* Sets `quick`: up to the first of where the ring's bytes end, where the recorder has not read yet, and where it may have to be woken.
 * Nowhere, while the time or the CPU must be asked for. */
void ring_find_quick(struct agent_thread *self);

static inline void ring_commit(struct agent_thread *self, uint32_t words)
{
    wire_ring_commit(&self->producer, words);
    if (__builtin_expect(self->producer.head >= self->wake_at, 0))
        ring_check_fill(self);
    if (__builtin_expect(self->producer.head >= self->quick, 0))
        ring_find_quick(self);
}

static inline uint64_t ring_time(void)
{
    return __builtin_expect(agent_ticks_per_us, 1) ? wire_counter() : agent_time();
}

/* From the thread pointer to where the kernel keeps the thread's CPU number; 0: nowhere. Set with the region. */
extern intptr_t ring_cpu_place AGENT_OWN;
void ring_find_cpu(void);

/* Negative when there is no such place. */
static inline int32_t ring_rseq_cpu(void)
{
    intptr_t place = ring_cpu_place;
    return place ? *(const volatile int32_t *)((const char *)__builtin_thread_pointer() + place) : -1;
}

/* Of a thread with a `quick`. */
static inline uint16_t ring_cpu_quick(void)
{
    return *(const uint16_t *)((const char *)__builtin_thread_pointer() + ring_cpu_place);
}

static inline uint16_t ring_cpu(void)
{
    int32_t cpu = ring_rseq_cpu();
    return __builtin_expect(cpu >= 0, 1) ? (uint16_t)cpu : agent_cpu();
}

/* Wakes the recorder when it sleeps. */
void ring_wake_recorder(void);

/* The number of this program image; reported in each ring. Written at start and after fork, by the only thread there is. */
extern uint32_t ring_image;
