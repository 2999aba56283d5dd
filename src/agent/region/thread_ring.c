/* The producer's end of the rings. Everything here may run inside the target's malloc, and all but the waiting in its
 * signal handlers: no allocation, no lock; system calls only when a ring is claimed, half full or full. */
#include "agent/region/thread_ring.h"

#include "agent/region/attach.h"
#include "agent/region/identity.h"
#include "base/sys.h"
#include "agent/process/thread.h"
#include "base/clock.h"

#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

enum {
    WAIT_NS = 20000000, /* one wait for room; the recorder wakes us earlier */
    SILENT_WAITS = 100, /* a recorder without a heartbeat for so many of them, 2 s, does not run. Not a time by the
                                * clock: both may have been stopped, and a time namespace has another clock */
    STUCK_WAITS = 500,  /* it runs, and takes nothing: 10 s. Whatever the cause, the program goes on */
    CLAIM_FAILURES = 4, /* free rings that cannot be mapped, before one gives up */
    CLAIM_TRIES = 4,    /* rings of this process, before another one is mapped */
    CLAIM_SKIP_MAX_SHIFT = 10, /* without a free ring, look again after at most 1024 events */
};

AGENT_HOT struct wire_region *agent_region; /* written once by attach.c */
AGENT_HOT uint32_t agent_ticks_per_us;      /* likewise */
union agent_switch agent_switch __attribute__((aligned(sizeof(union agent_switch))));
AGENT_FORKED uint32_t ring_image;
AGENT_HOT intptr_t ring_cpu_place;

/* The kernel keeps a thread's CPU number in the area that libc registers with it, since glibc 2.35; earlier ones have
 * no such names. The number is the area's second word. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

void ring_find_cpu(void)
{
    ring_cpu_place = &__rseq_size && __rseq_size ? __rseq_offset + (intptr_t)sizeof(int32_t) : 0;
}

/* The recorder does not run: the heartbeat that it was last heard with; else 0. Until it is heard again nobody waits for
 * it, and what finds no room is lost. Any thread writes it. */
static _Atomic uint64_t silent_since;

uint64_t agent_time(void)
{
    if (agent_region->config.flags & WIRE_COUNTER_IS_CPU)
        return wire_counter();
    return clock_now_ns();
}

uint16_t agent_cpu(void)
{
    int cpu = ring_rseq_cpu();
    if (cpu >= 0)
        return (uint16_t)cpu;
    int saved = errno;
    cpu = sched_getcpu();
    errno = saved;
    return cpu < 0 ? 0 : (uint16_t)cpu;
}

void ring_lose_all(enum loss_cause cause, uint64_t count)
{
    atomic_fetch_add_explicit(&agent_region->shared.lost[cause], count, memory_order_relaxed);
}

void ring_lose(struct agent_thread *self, enum loss_cause cause, uint64_t count)
{
    struct wire_ring *ring = self->producer.ring;
    if (!ring) {
        ring_lose_all(cause, count);
        return;
    }
    _Atomic uint64_t *lost = &ring->counters.lost[cause];
    atomic_store_explicit(lost, atomic_load_explicit(lost, memory_order_relaxed) + count, memory_order_relaxed);
}

static uint64_t heartbeat(void)
{
    return atomic_load_explicit(&agent_region->heartbeat_ns, memory_order_relaxed);
}

/* For good: it has ended, or was killed. */
static bool recorder_stopped(void)
{
    return !atomic_load_explicit(&agent_region->recording, memory_order_relaxed) ||
           atomic_load_explicit(&agent_region->recorder_tid, memory_order_relaxed) & FUTEX_OWNER_DIED;
}

/* Whether nobody is to wait for the recorder: it was silent, and still is. */
static bool recorder_away(void)
{
    uint64_t since = atomic_load_explicit(&silent_since, memory_order_relaxed);
    if (since && since != heartbeat())
        atomic_store_explicit(&silent_since, since = 0, memory_order_relaxed);
    return since != 0;
}

/* Whether this thread's ring is still its own; one that the recorder took for a dead thread's is not. */
static bool ring_is_own(const struct agent_thread *self)
{
    const struct wire_ring *ring = self->producer.ring;
    return atomic_load_explicit(&ring->state, memory_order_relaxed) == WIRE_RING_CLAIMED &&
           atomic_load_explicit(&ring->image, memory_order_relaxed) == ring_image && ring->pid == identity.pid;
}

/* By ring: where this process has it, or NULL. Written by whoever has claimed it, and stays. */
enum { RINGS_MOST = 4096 };
static _Atomic(uint8_t *) ring_places[RINGS_MOST];
static _Atomic(uint8_t *) all_rings; /* once ring_map_all() was called */

static uint64_t page_bytes(void)
{
    return getauxval(AT_PAGESZ);
}

/* The page in which the first ring begins. */
static uint64_t rings_page(const struct wire_region *region)
{
    return region->data_offset & ~(page_bytes() - 1);
}

uint64_t ring_prefix(const struct wire_region *region)
{
    return rings_page(region) + page_bytes();
}

/* The bytes of the region from the first ring up to `end`, mapped once more. No descriptor is needed for that: a shared
 * mapping whose old size is given as 0 is not moved but doubled, and may be larger. */
static uint8_t *map_again(uint64_t end)
{
    uint64_t start = rings_page(agent_region);
    long at = sys_call(SYS_mremap, (uint8_t *)agent_region + start, 0L, end - start, MREMAP_MAYMOVE);
    return sys_failed(at) ? NULL : (uint8_t *)at;
}

static uint8_t *map_ring(uint32_t index)
{
    struct wire_region *region = agent_region;
    uint64_t from = region->data_offset + (uint64_t)index * region->ring_bytes, start = rings_page(region);
    uint8_t *at = map_again(from + region->ring_bytes);
    uint64_t before = (from - start) & ~(page_bytes() - 1); /* those of other rings */
    if (at && before)
        sys_unmap(at, before);
    return at ? at + (from - start) : NULL;
}

void ring_map_all(void)
{
    const struct wire_region *region = agent_region;
    struct rlimit limit = {0};
    if (region->config.flags & WIRE_JOINED || atomic_load(&all_rings))
        return;
    /* Some 40 MiB: where address space is limited it is the program's. */
    if (sys_call(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY)
        return;
    uint8_t *at = map_again(region->data_offset + (uint64_t)region->ring_count * region->ring_bytes);
    if (at)
        atomic_store(&all_rings, at + (region->data_offset - rings_page(region)));
}

/* Where the ring's bytes are; NULL when they cannot be mapped, or may not. */
static uint8_t *ring_bytes_at(uint32_t index)
{
    if (agent_region->config.flags & WIRE_JOINED)
        return wire_ring_data(agent_region, index);
    if (index >= RINGS_MOST)
        return NULL;
    uint8_t *place = atomic_load_explicit(&ring_places[index], memory_order_relaxed);
    uint8_t *all = atomic_load_explicit(&all_rings, memory_order_relaxed);
    if (place || all)
        return place ? place : all + (uint64_t)index * agent_region->ring_bytes;
    place = attach_is_restricted() ? NULL : map_ring(index);
    atomic_store_explicit(&ring_places[index], place, memory_order_relaxed);
    return place;
}

static bool is_mapped(uint32_t index)
{
    return index < RINGS_MOST && atomic_load_explicit(&ring_places[index], memory_order_relaxed);
}

/* Takes a ring if it is free and can be mapped. */
enum claimed { CLAIM_TAKEN, CLAIM_OK, CLAIM_UNMAPPED };

static enum claimed claim(struct agent_thread *self, uint32_t index)
{
    struct wire_region *region = agent_region;
    struct wire_ring *ring = wire_ring_at(region, index);
    uint32_t expected = WIRE_RING_FREE;
    if (atomic_load_explicit(&ring->state, memory_order_relaxed) != WIRE_RING_FREE ||
        !atomic_compare_exchange_strong_explicit(&ring->state, &expected, WIRE_RING_CLAIMED, memory_order_acquire,
                                                 memory_order_relaxed))
        return CLAIM_TAKEN;
    uint8_t *bytes = ring_bytes_at(index);
    if (!bytes) {
        atomic_store_explicit(&ring->state, WIRE_RING_FREE, memory_order_release);
        return CLAIM_UNMAPPED;
    }
    self->pid = (uint32_t)sys_call(SYS_getpid);
    self->tid = (uint32_t)sys_call(SYS_gettid);
    ring->pid = identity.pid;
    ring->tid = identity_tid(self->pid, self->tid, &ring->local_tid);
    atomic_store_explicit(&ring->image, ring_image, memory_order_relaxed);
    self->claim_misses = 0;
    wire_producer_init(&self->producer, ring, bytes, region->ring_bytes);
    self->wake_at = self->producer.head + region->ring_bytes / 2;
    return CLAIM_OK;
}

/* The first free ring from `from` on, then from 0; gives up when mapping fails a few times. */
static bool claim_from(struct agent_thread *self, uint32_t from)
{
    struct wire_region *region = agent_region;
    uint32_t count = region->ring_count, failed = 0;
    for (uint32_t i = 0; i < count && failed < CLAIM_FAILURES; i++) {
        uint32_t index = (from + i) % count;
        enum claimed claimed = claim(self, index);
        if (claimed == CLAIM_OK) {
            atomic_store_explicit(&region->claim_hint, (index + 1) % count, memory_order_relaxed);
            return true;
        }
        failed += claimed == CLAIM_UNMAPPED;
    }
    return false;
}

/* One that another thread of this process has had: it is mapped already. Looks at a few only: where threads come and go
 * quickly, most are not free again yet. */
static bool claim_again(struct agent_thread *self)
{
    AGENT_FORKED static _Atomic uint32_t next; /* any thread: where to look first */
    uint32_t count = agent_region->ring_count, from = atomic_load_explicit(&next, memory_order_relaxed);
    for (uint32_t i = 0, tried = 0; i < count && tried < CLAIM_TRIES; i++) {
        uint32_t index = (from + i) % count;
        if (!is_mapped(index))
            continue;
        tried++;
        if (claim(self, index) == CLAIM_OK) {
            atomic_store_explicit(&next, index + 1, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

bool ring_claim(struct agent_thread *self)
{
    struct wire_region *region = agent_region;
    if (self->claim_skip) {
        self->claim_skip--;
        ring_lose(self, LOSS_NO_RING, 1);
        return false;
    }
    if (recorder_stopped()) {
        attach_give_up();
        return false;
    }
    if (claim_again(self))
        return true;
    uint32_t hint = atomic_load_explicit(&region->claim_hint, memory_order_relaxed);
    if (claim_from(self, hint) || claim_from(self, 0)) /* the first ones take least room for a moment: map_ring() */
        return true;
    if (self->claim_misses < CLAIM_SKIP_MAX_SHIFT)
        self->claim_misses++;
    self->claim_skip = 1u << self->claim_misses;
    ring_lose(self, LOSS_NO_RING, 1);
    return false;
}

void ring_forget(struct agent_thread *self)
{
    self->producer = (struct wire_producer){0};
    self->claim_skip = self->claim_misses = 0;
    self->stuck_at = self->rare_time = self->quick = 0;
}

void ring_close(struct agent_thread *self)
{
    struct wire_ring *ring = self->producer.ring;
    if (!ring)
        return;
    ring_forget(self);
    atomic_store_explicit(&ring->state, WIRE_RING_CLOSED, memory_order_release);
}

void ring_wake_recorder(void)
{
    struct wire_region *region = agent_region;
    /* Pairs with the recorder's fence between saying that it sleeps and looking at the heads once more. */
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load_explicit(&region->recorder_sleeps, memory_order_relaxed))
        return;
    atomic_fetch_add_explicit(&region->wake_word, 1, memory_order_release);
    sys_futex_wake(&region->wake_word, region->config.flags & WIRE_JOINED);
}

/* The next hook claims another; what is being recorded knows numbers of this one. */
static void lose_ring(struct agent_thread *self)
{
    self->ring_lost = true;
    self->producer.ring = NULL;
    self->quick = 0;
}

static void *wait_for_room(struct agent_thread *self, uint32_t words)
{
    struct wire_ring *ring = self->producer.ring;
    void *room = NULL;
    unsigned silent = 0, stuck = 0;
    uint64_t seen = atomic_load_explicit(&ring->tail, memory_order_relaxed), heard = heartbeat();
    if (self->stuck_at == seen + 1 || recorder_away())
        return NULL;
    while (agent_switch.live) {
        uint32_t word = atomic_load_explicit(&ring->tail_word, memory_order_acquire);
        atomic_store_explicit(&ring->waiting, 1, memory_order_seq_cst);
        atomic_thread_fence(memory_order_seq_cst);
        room = wire_ring_reserve(&self->producer, words);
        if (room)
            break;
        ring_wake_recorder();
        sys_futex_wait(&ring->tail_word, word, WAIT_NS);
        uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed), beat = heartbeat();
        silent = beat == heard ? silent + 1 : 0;
        stuck = tail == seen ? stuck + 1 : 0;
        seen = tail;
        heard = beat;
        if (recorder_stopped())
            attach_give_up();
        if (silent > SILENT_WAITS)
            atomic_store_explicit(&silent_since, beat, memory_order_relaxed);
        if (stuck > STUCK_WAITS)
            self->stuck_at = tail + 1; /* not waited for again until it moves */
        if (silent > SILENT_WAITS || stuck > STUCK_WAITS || !ring_is_own(self))
            break;
    }
    atomic_store_explicit(&ring->waiting, 0, memory_order_relaxed);
    return room;
}

/* Out of line: the first record of a thread, or a full ring. */
static __attribute__((noinline)) void *reserve_slow(struct agent_thread *self, uint32_t words, enum loss_cause cause,
                                                    bool may_wait)
{
    agent_calls_out(self);
    if (!self->producer.ring) {
        if (self->ring_lost)
            ring_lose(self, cause, 1);
        if (self->ring_lost || !thread_ready(self, may_wait))
            return NULL;
        void *room = wire_ring_reserve(&self->producer, words);
        if (room)
            return room;
    }
    if (may_wait) {
        void *room = wait_for_room(self, words);
        if (room)
            return room;
    }
    if (recorder_stopped())
        attach_give_up();
    if (!ring_is_own(self))
        lose_ring(self);
    ring_lose(self, cause, 1);
    return NULL;
}

void *agent_reserve(struct agent_thread *self, uint32_t words, enum loss_cause cause, bool may_wait)
{
    if (__builtin_expect(!agent_switch.live, 0))
        return NULL;
    if (__builtin_expect(self->producer.ring != NULL, 1)) {
        void *room = wire_ring_reserve(&self->producer, words);
        if (__builtin_expect(room != NULL, 1))
            return room;
    }
    return reserve_slow(self, words, cause, may_wait);
}

void ring_check_fill(struct agent_thread *self)
{
    uint64_t tail = atomic_load_explicit(&self->producer.ring->tail, memory_order_relaxed);
    uint32_t half = self->producer.bytes / 2;
    if (self->producer.head - tail < half) {
        self->wake_at = tail + half;
        return;
    }
    self->wake_at = self->producer.head + half / 4;
    ring_wake_recorder();
}

void ring_find_quick(struct agent_thread *self)
{
    const struct wire_producer *producer = &self->producer;
    uint64_t lap = (producer->head | (producer->bytes - 1)) + 1;
    uint64_t quick = lap < producer->limit ? lap : producer->limit;
    quick = quick < self->wake_at ? quick : self->wake_at;
    self->quick = agent_ticks_per_us && ring_rseq_cpu() >= 0 ? quick : 0;
}

void agent_commit(struct agent_thread *self, uint32_t words)
{
    ring_commit(self, words);
}
