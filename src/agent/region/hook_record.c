#include "agent/region/hook_record.h"

#include "base/sys.h"

#include <string.h>
#include <time.h>

/* What took longer was interrupted or waited, and used no CPU time meanwhile. A hook takes 0.03 us, 10 with a call chain that is new; on
 * a busy machine one in 10,000 loses the CPU for 100 or more, which would weigh as much as all others. */
enum { HOOK_MOST_US = 20, RARE_MOST_US = 2000 };

/* Rare work of a thread goes into the account when it is that much: the account is in memory shared with the recorder. */
enum { RARE_KEPT_US = 50 };

static uint64_t to_time(uint64_t us)
{
    return us * (agent_ticks_per_us ? agent_ticks_per_us : 1000);
}

static void add(_Atomic uint64_t *counter, uint64_t count)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + count, memory_order_relaxed);
}

/* At random distances: a server makes the same calls for each request, of which the first finds cold caches. */
uint64_t record_hook_due(struct agent_thread *self)
{
    enum { LEAST = 32, SPREAD = 65 };
    uint64_t stands_for = self->hook_stride;
    self->hook_stride = LEAST + (uint32_t)(ring_time() * 0x9e3779b97f4a7c15u >> 32) % SPREAD;
    self->hook_left = self->hook_stride;
    if (!stands_for || !self->producer.ring)
        return 0;
    add(&self->producer.ring->counters.hook_calls, stands_for);
    return ring_time();
}

void record_hook_took(struct agent_thread *self, uint64_t began, uint64_t now)
{
    uint64_t clock = ring_time() - now; /* to look at it takes a third as long as a hook */
    uint64_t took = now - began > clock ? now - began - clock : 0;
    if (!began || !self->producer.ring || took >= to_time(HOOK_MOST_US))
        return;
    add(&self->producer.ring->counters.hook_timed, 1);
    add(&self->producer.ring->counters.hook_time, took);
}

void record_rare_work(struct agent_thread *self, uint64_t began)
{
    uint64_t took = ring_time() - began;
    if (took < to_time(RARE_MOST_US))
        self->rare_time += took;
    if (self->rare_time >= to_time(RARE_KEPT_US))
        record_rare_account(self);
}

uint64_t record_cpu_ns(void)
{
    struct timespec now = {0};
    sys_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void record_rare_cpu(struct agent_thread *self, uint64_t began)
{
    self->rare_time += to_time(record_cpu_ns() - began) / 1000;
    record_rare_account(self);
}

void record_rare_account(struct agent_thread *self)
{
    if (self->producer.ring)
        add(&self->producer.ring->counters.hook_rare_time, self->rare_time);
    self->rare_time = 0;
}

void record_map(struct agent_thread *self, const struct record_map *map, uint32_t stack)
{
    size_t length = strnlen(map->path, WIRE_MAX_TEXT);
    uint32_t words = (uint32_t)(sizeof(struct wire_map) + length + 8) / 8;
    struct wire_map *record = agent_reserve(self, words, LOSS_RING_FULL, true);
    if (!record)
        return;
    record->head = (struct wire_head){.type = WIRE_MAP, .words = (uint8_t)words, .cpu = agent_cpu(), .value = stack};
    record->time = agent_time();
    record->addr = map->addr;
    record->size = map->size;
    record->offset = map->offset;
    record->prot = map->prot;
    record->flags = map->flags;
    record->map_kind = map->kind;
    memset((uint64_t *)record + words - 1, 0, 8);
    memcpy(record->path, map->path, length);
    agent_commit(self, words);
}

void record_unmap(struct agent_thread *self, uint64_t addr, uint64_t size)
{
    enum { WORDS = sizeof(struct wire_unmap) / 8 };
    struct wire_unmap *record = agent_reserve(self, WORDS, LOSS_RING_FULL, true);
    if (!record)
        return;
    record->head = (struct wire_head){.type = WIRE_UNMAP, .words = WORDS, .cpu = agent_cpu()};
    record->time = agent_time();
    record->addr = addr;
    record->size = size;
    agent_commit(self, WORDS);
}
