/* agent/region/hook_record.h - the records that hooks send. Call with inside > 0, on a thread that thread_ready() said yes to. */
#pragma once

#include "agent/agent.h"
#include "agent/region/thread_ring.h"
#include "agent/self.h"
#include "agent/process/thread.h"
#include "agent/unwind/unwind.h"

#include <errno.h>

/* One call in 64 is timed, not the first ones: those set up the thread. This one is due: returns when it begins, or 0. */
uint64_t record_hook_due(struct agent_thread *self);

/* It ends `now`. `began` may be 0. */
void record_hook_took(struct agent_thread *self, uint64_t began, uint64_t now);

/* Adds what was done since `began` (ring_time()) to the account, when the thread has one. */
void record_rare_work(struct agent_thread *self, uint64_t began);

/* The same for work that may wait: by the thread's CPU time, which takes a system call. Into the account at once: many children of a
 * fork end without anybody being asked. */
uint64_t record_cpu_ns(void);
void record_rare_cpu(struct agent_thread *self, uint64_t began);

/* The thread ends: what it has kept back of that goes into the account now. */
void record_rare_account(struct agent_thread *self);

/* Opens a hook's work: false when the thread is already inside the agent or has no block (`self` is NULL) or ring. `*saved` keeps errno. */
static inline bool record_begin(struct agent_thread *self, int *saved)
{
    if (__builtin_expect(!self, 0)) {
        ring_lose_all(self_has_ended() ? LOSS_THREAD_ENDED : LOSS_NO_RING, 1);
        return false;
    }
    if (__builtin_expect(self->inside != 0, 0)) {
        /* A signal handler of the program interrupted the agent. */
        if (self->inside < AGENT_CALLS_LIBC)
            ring_lose(self, LOSS_RING_FULL, 1);
        return false;
    }
    *saved = errno;
    self->inside = AGENT_BUSY;
    __asm__ volatile("" ::: "memory");
    if (__builtin_expect(!self->producer.ring || (!self->stack_high && !self->stack_asked), 0)) {
        if (!thread_ready(self, true)) {
            self->inside = 0;
            errno = *saved;
            return false;
        }
        if (!self->stack_high && !self->stack_asked)
            thread_find_stack(self);
    }
    if (__builtin_expect(self->hook_left == 0, 0))
        self->hook_began = record_hook_due(self);
    self->hook_left--;
    return true;
}

static inline void record_end(struct agent_thread *self, int saved)
{
    if (__builtin_expect(self->hook_began != 0, 0)) {
        record_hook_took(self, self->hook_began, ring_time());
        self->hook_began = 0;
    }
    __asm__ volatile("" ::: "memory");
    self->inside = 0;
    errno = saved;
}

struct record_map {
    uint64_t addr, size, offset;
    uint32_t prot, flags;
    enum map_kind kind;
    const char *path;
};

void record_map(struct agent_thread *self, const struct record_map *map, uint32_t stack);
void record_unmap(struct agent_thread *self, uint64_t addr, uint64_t size);

enum { RECORD_ALLOC_WORDS = sizeof(struct wire_alloc) / 8, RECORD_FREE_WORDS = sizeof(struct wire_free) / 8 };

static inline void record_fill_alloc(struct wire_alloc *record, uint16_t cpu, uint64_t time, uint64_t addr,
                                     uint64_t size, enum alloc_fn fn, uint32_t stack)
{
    record->head = (struct wire_head){.type = WIRE_ALLOC, .words = RECORD_ALLOC_WORDS, .cpu = cpu, .value = stack};
    record->time = time;
    record->addr = addr;
    record->size_fn = (size & (((uint64_t)1 << WIRE_FN_SHIFT) - 1)) | (uint64_t)fn << WIRE_FN_SHIFT;
}

static inline void record_alloc(struct agent_thread *self, uint64_t addr, uint64_t size, enum alloc_fn fn,
                                uint32_t stack)
{
    struct wire_alloc *record = ring_reserve(self, RECORD_ALLOC_WORDS, LOSS_RING_FULL, true);
    if (!record)
        return;
    record_fill_alloc(record, ring_cpu(), ring_time(), addr, size, fn, stack);
    ring_commit(self, RECORD_ALLOC_WORDS);
}

static inline void record_fill_free(struct wire_free *record, uint16_t cpu, uint64_t time, uint64_t addr,
                                    enum alloc_fn fn)
{
    record->head = (struct wire_head){.type = WIRE_FREE, .words = RECORD_FREE_WORDS, .cpu = cpu, .value = fn};
    record->time = time;
    record->addr = addr;
}

static inline void record_free(struct agent_thread *self, uint64_t addr, enum alloc_fn fn)
{
    struct wire_free *record = ring_reserve(self, RECORD_FREE_WORDS, LOSS_RING_FULL, true);
    if (!record)
        return;
    record_fill_free(record, ring_cpu(), ring_time(), addr, fn);
    ring_commit(self, RECORD_FREE_WORDS);
}
