/* agent/sampling/account.h - what the sampler counts for the recorder, and its random numbers. In handlers. */
#pragma once

#include "agent/agent.h"
#include "agent/region/attach.h"

#include <stdatomic.h>

static inline struct wire_counters *account_of(struct agent_thread *self)
{
    return self->producer.ring ? &self->producer.ring->counters : &agent_region->shared;
}

static inline void count(_Atomic uint64_t *counter, uint64_t by)
{
    atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static inline void account_loss(struct agent_thread *self, enum loss_cause cause)
{
    count(&account_of(self)->lost[cause], 1);
}

/* The thread has no tick, and will get none. Once a thread: it may be tried again. */
static inline void account_no_tick(struct agent_thread *self)
{
    if (!self->sampler.refused)
        account_loss(self, LOSS_NO_TICK);
    self->sampler.refused = true;
}

static inline uint64_t account_random(struct agent_thread *self)
{
    uint64_t x = self->sampler.random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return self->sampler.random = x;
}
