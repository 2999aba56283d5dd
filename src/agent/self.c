/* agent/self.c - see self.h. All but self_setup and self_forked may run in handlers. */
#include "agent/self.h"

#include "base/sys.h"
#include "base/units.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

enum {
    KEYS_INSIDE = 32,    /* PTHREAD_KEY_2NDLEVEL_SIZE of every glibc: keys whose values are in the descriptor */
    SLOT_WITHIN = 1536,  /* of the descriptor's start; x86-64 has the first key's at 0x318, aarch64 earlier */
    BLOCK_BYTES = 65536, /* state, then the stacks */
    CHUNK_FIRST = 8,     /* blocks in the first mapping; each further one has twice as many */
    CHUNKS = 20,
    ENDED = 64,
};
_Static_assert(sizeof(struct agent_thread) <= BLOCK_BYTES / 16, "a thread's block");

AGENT_HOT intptr_t agent_slot;  /* written once by self_setup */
static intptr_t slot_in_thread; /* the same from a pthread_t on */
static pthread_key_t key;

/* A mapping: who owns each block (a thread pointer; 0: nobody), then the blocks. */
struct chunk {
    _Atomic uint64_t owners[CHUNK_FIRST]; /* or more */
};
static _Atomic(struct chunk *) chunks[CHUNKS];

/* Threads that ended a moment ago and may still release something, by number. */
static _Atomic uint32_t ended[ENDED];

static uint64_t thread_pointer(void)
{
    return (uint64_t)__builtin_thread_pointer();
}

static uint32_t chunk_count(unsigned number)
{
    return (uint32_t)CHUNK_FIRST << number;
}

static size_t owners_bytes(unsigned number)
{
    return (chunk_count(number) * sizeof(uint64_t) + PAGE_UNIT - 1) & ~(size_t)(PAGE_UNIT - 1);
}

static struct agent_thread *block_at(struct chunk *chunk, unsigned number, uint32_t index)
{
    return (struct agent_thread *)((char *)chunk + owners_bytes(number) + (size_t)index * BLOCK_BYTES);
}

/* How far behind the descriptor's start the key's value is: two values are seen to come and go there. 0: nowhere. */
static intptr_t find_slot(void)
{
    static char marks[2];
    const char *thread = (const char *)pthread_self();
    for (intptr_t at = 0; at < SLOT_WITHIN; at += (intptr_t)sizeof(void *)) {
        const void *const volatile *place = (const void *const volatile *)(thread + at);
        bool found = true;
        for (unsigned i = 0; i < 2 && found; i++)
            found = pthread_setspecific(key, &marks[i]) == 0 && *place == &marks[i];
        if (found) {
            pthread_setspecific(key, NULL);
            return *place ? 0 : at;
        }
    }
    pthread_setspecific(key, NULL);
    return 0;
}

bool self_setup(void (*at_end)(void *block))
{
    if (agent_slot)
        return true;
    if (pthread_key_create(&key, at_end) != 0)
        return false;
    slot_in_thread = key < KEYS_INSIDE ? find_slot() : 0;
    if (slot_in_thread == 0) {
        pthread_key_delete(key);
        return false;
    }
    agent_slot = slot_in_thread + (intptr_t)((uint64_t)pthread_self() - thread_pointer());
    return true;
}

/* The block whose owner is `pointer`. */
static struct agent_thread *find(uint64_t pointer)
{
    for (unsigned number = 0; number < CHUNKS; number++) {
        struct chunk *chunk = atomic_load_explicit(&chunks[number], memory_order_acquire);
        for (uint32_t i = 0; chunk && i < chunk_count(number); i++)
            if (atomic_load_explicit(&chunk->owners[i], memory_order_relaxed) == pointer)
                return block_at(chunk, number, i);
        if (!chunk)
            break;
    }
    return NULL;
}

static struct agent_thread *take_from(struct chunk *chunk, unsigned number, uint64_t pointer)
{
    for (uint32_t i = 0; i < chunk_count(number); i++) {
        uint64_t nobody = 0;
        if (atomic_load_explicit(&chunk->owners[i], memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&chunk->owners[i], &nobody, pointer))
            return block_at(chunk, number, i);
    }
    return NULL;
}

static struct agent_thread *take(uint64_t pointer)
{
    for (unsigned number = 0; number < CHUNKS; number++) {
        struct chunk *chunk = atomic_load_explicit(&chunks[number], memory_order_acquire), *none = NULL;
        size_t bytes = owners_bytes(number) + (size_t)chunk_count(number) * BLOCK_BYTES;
        if (!chunk) {
            chunk = sys_pages(bytes);
            if (!chunk)
                return NULL;
            if (!atomic_compare_exchange_strong(&chunks[number], &none, chunk)) {
                sys_unmap(chunk, bytes);
                chunk = none;
            }
        }
        struct agent_thread *block = take_from(chunk, number, pointer);
        if (block)
            return block;
    }
    return NULL;
}

/* A block that another thread had and did not clear: one that went without its destructors, or one that this fork's
 * child does not have. A handler of the program may come in between and make the block its thread's too. */
static void clear_of_others(struct agent_thread *self, uint32_t tid)
{
    uint64_t all = ~0ull, before = 0;
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    if (self->made_by != tid)
        memset(self, 0, sizeof *self);
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

static struct agent_thread *make(uint32_t tid)
{
    /* There is one when a handler of the program interrupted this function and allocates; or in place of a thread that
     * went without its destructors. */
    struct agent_thread *self = find(thread_pointer());
    if (!self)
        self = take(thread_pointer());
    if (!self)
        return NULL;
    if (self->made_by != 0 && self->made_by != tid)
        clear_of_others(self, tid);
    self->made_by = tid;
    pthread_setspecific(key, self); /* a key below 32: this only stores */
    return self;
}

static bool has_ended(uint32_t tid)
{
    return atomic_load_explicit(&ended[tid % ENDED], memory_order_relaxed) == tid;
}

bool self_has_ended(void)
{
    return has_ended((uint32_t)sys_call(SYS_gettid));
}

struct agent_thread *self_make(void)
{
    if (!agent_slot)
        return NULL;
    uint32_t tid = (uint32_t)sys_call(SYS_gettid);
    return has_ended(tid) ? NULL : make(tid);
}

struct agent_thread *self_begin(void)
{
    if (!agent_slot)
        return NULL;
    uint32_t tid = (uint32_t)sys_call(SYS_gettid), mark = tid;
    atomic_compare_exchange_strong(&ended[tid % ENDED], &mark, 0);
    return make(tid);
}

struct agent_thread *self_in_handler(void)
{
    struct agent_thread *self = thread_self();
    return self || !agent_slot ? self : find(thread_pointer());
}

void *self_stack(const struct agent_thread *self, unsigned number)
{
    return (char *)self + BLOCK_BYTES - number * (BLOCK_BYTES / 2);
}

bool self_is_inside(const struct agent_thread *self, uint64_t sp)
{
    return sp - (uint64_t)self < BLOCK_BYTES;
}

void self_keep(struct agent_thread *self)
{
    pthread_setspecific(key, self);
}

void self_release(struct agent_thread *self)
{
    atomic_store_explicit(&ended[self->made_by % ENDED], self->made_by, memory_order_relaxed);
    for (unsigned number = 0; number < CHUNKS; number++) {
        struct chunk *chunk = atomic_load_explicit(&chunks[number], memory_order_acquire);
        uint64_t offset = (uint64_t)self - (uint64_t)chunk - owners_bytes(number);
        if (!chunk)
            return;
        if (offset / BLOCK_BYTES < chunk_count(number)) {
            memset(self, 0, sizeof *self);
            atomic_store_explicit(&chunk->owners[offset / BLOCK_BYTES], 0, memory_order_release);
            return;
        }
    }
}

void self_forked(void)
{
    struct agent_thread *own = thread_self();
    for (unsigned number = 0; number < CHUNKS; number++) {
        struct chunk *chunk = atomic_load_explicit(&chunks[number], memory_order_acquire);
        for (uint32_t i = 0; chunk && i < chunk_count(number); i++)
            if (block_at(chunk, number, i) != own && atomic_load_explicit(&chunk->owners[i], memory_order_relaxed))
                atomic_store_explicit(&chunk->owners[i], 0, memory_order_relaxed);
    }
    if (own)
        own->made_by = (uint32_t)sys_call(SYS_gettid);
    for (unsigned i = 0; i < ENDED; i++)
        if (atomic_load_explicit(&ended[i], memory_order_relaxed)) /* a store would copy the page */
            atomic_store_explicit(&ended[i], 0, memory_order_relaxed);
}

const struct agent_thread *self_of(pthread_t thread)
{
    return agent_slot ? *(const struct agent_thread *const volatile *)((const char *)thread + slot_in_thread) : NULL;
}
