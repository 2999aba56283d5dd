/* Waiting at barriers. A thread asleep gets no ticks, so no sample would report it. */
#include "agent/region/attach.h"
#include "agent/real.h"
#include "agent/region/hook_record.h"
#include "agent/self.h"

AGENT_EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    enum { WORDS = sizeof(struct wire_barrier) / 8 };
    struct agent_thread *self;
    struct wire_barrier *record;
    int saved;
    real_need();
    if (!attach_live())
        return real.pthread_barrier_wait(barrier);
    uint64_t since = agent_time();
    int result = real.pthread_barrier_wait(barrier);
    /* Another thread may destroy the barrier without waiting for this one: it is not used from here on. */
    if (!attach_live() || !(self = self_need()) || !record_begin(self, &saved))
        return result;
    record = agent_reserve(self, WORDS, LOSS_RING_FULL, true);
    if (record) {
        record->head = (struct wire_head){.type = WIRE_BARRIER, .words = WORDS, .cpu = agent_cpu()};
        record->time = agent_time();
        record->since = since;
        agent_commit(self, WORDS);
    }
    record_end(self, saved);
    return result;
}
