#include "agent/process/thread.h"

#include "agent/process/locals.h"
#include "agent/process/own_maps.h"
#include "agent/process/modules.h"
#include "agent/process/own_process.h"
#include "agent/region/hook_record.h"
#include "agent/region/thread_ring.h"
#include "agent/sampling/sampler.h"
#include "agent/self.h"
#include "agent/unwind/stack.h"
#include "base/sys.h"
#include "base/units.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

enum {
    DESCRIPTOR_WORDS = 280, /* that every glibc has on x86-64 */
    STACK_LEAST = 16384
}; /* words that are looked through; PTHREAD_STACK_MIN at its least */

/* However a thread ends. */
static void end_destructor(void *value)
{
    struct agent_thread *self = value;
    /* Destructors of other keys may still allocate and release: let them run first, in as many passes as there are. */
    if (++self->destructor_passes < PTHREAD_DESTRUCTOR_ITERATIONS) {
        self_keep(self);
        return;
    }
    thread_end(self);
    self_release(self);
}

bool thread_setup(void)
{
    return self_setup(end_destructor);
}

struct stack_search {
    uint64_t sp, low, high;
};

static bool holds_sp(const struct maps_line *line, void *data)
{
    struct stack_search *search = data;
    if (search->sp < line->start || search->sp >= line->end)
        return false;
    search->low = line->start;
    search->high = line->end;
    return true;
}

void thread_find_stack(struct agent_thread *self)
{
    struct stack_search search = {.sp = (uint64_t)__builtin_frame_address(0)};
    self->stack_asked = true;
    if (!maps_find(holds_sp, &search))
        return;
    /* glibc puts its descriptor at the stack's top; beyond it the map may belong to somebody else. */
    uint64_t descriptor = (uint64_t)pthread_self();
    if (descriptor > search.sp && descriptor < search.high)
        search.high = descriptor & ~(uint64_t)15;
    self->stack_low = search.low;
    self->stack_high = search.high;
}

/* Where libc's descriptor of a thread keeps the stack: its lowest address, its size, its guard's size, twice. To ask libc
 * (pthread_getattr_np) would make it allocate for the program's thread, which may never do so itself. Found in the first
 * thread that asks, and then held against what the kernel says; 0: not looked for yet, negative: not found. */
static _Atomic int descriptor_stack;

struct descriptor_stack {
    uint64_t low, size, guard, reported_guard;
};

/* This thread's, when they are at this place of its descriptor. */
static bool is_stack(const struct descriptor_stack *stack)
{
    uint64_t sp = (uint64_t)__builtin_frame_address(0), descriptor = (uint64_t)pthread_self();
    return stack->low && stack->low % 16 == 0 && stack->size >= STACK_LEAST && sp - stack->low < stack->size &&
           descriptor - stack->low < stack->size && stack->guard < stack->size && stack->guard % PAGE_UNIT == 0 &&
           stack->low + stack->guard <= sp && stack->reported_guard <= stack->guard;
}

static int look_for_stack(struct agent_thread *self)
{
    const uint64_t *words = (const uint64_t *)pthread_self();
    int64_t count = (const uint64_t *)__builtin_thread_pointer() - words; /* up to there, or from there on */
    if (count <= 0 || count > DESCRIPTOR_WORDS)
        count = DESCRIPTOR_WORDS;
    thread_find_stack(self);
    for (int at = 1; at + 4 <= count && self->stack_high; at++) {
        const struct descriptor_stack *stack = (const struct descriptor_stack *)(words + at);
        /* the kernel's map may be larger: neighbours that look alike are one */
        if (is_stack(stack) && stack->low + stack->guard >= self->stack_low &&
            stack->low + stack->size >= self->stack_high)
            return at;
    }
    return -1;
}

/* The stack as libc has it; false when that cannot be found out. */
static bool read_descriptor(struct agent_thread *self)
{
    int at = atomic_load_explicit(&descriptor_stack, memory_order_relaxed);
    if (at == 0) {
        at = look_for_stack(self);
        atomic_store_explicit(&descriptor_stack, at, memory_order_relaxed);
    }
    const struct descriptor_stack *stack = (const struct descriptor_stack *)((const uint64_t *)pthread_self() + at);
    if (at < 0 || !is_stack(stack))
        return false;
    self->stack_asked = true;
    self->stack_low = stack->low + stack->guard;
    self->stack_high = stack->low + stack->size;
    return true;
}

void thread_report(struct agent_thread *self, uint64_t entry, uint64_t time)
{
    enum { WORDS = sizeof(struct wire_thread) / 8 };
    struct wire_thread *record = agent_reserve(self, WORDS, LOSS_RING_FULL, false);
    self->started = true;
    if (!record)
        return;
    record->head = (struct wire_head){.type = WIRE_THREAD, .words = WORDS, .cpu = agent_cpu(), .value = self->tid};
    record->time = time;
    record->stack_low = self->stack_low;
    record->stack_high = self->stack_high;
    record->entry = entry;
    memset(record->name, 0, sizeof record->name);
    sys_call(SYS_prctl, PR_GET_NAME, record->name, 0, 0, 0);
    agent_commit(self, WORDS);
}

bool thread_ready(struct agent_thread *self, bool may_ask)
{
    if (self->producer.ring)
        return true;
    if (self->ended) {
        ring_lose(self, LOSS_THREAD_ENDED, 1);
        return false;
    }
    if (self->ring_lost) { /* what was said in it must be said again */
        self->ring_lost = false;
        ring_forget(self);
        stack_forget(self);
    }
    if (may_ask && !self->stack_high && !self->stack_asked)
        thread_find_stack(self);
    if (!ring_claim(self))
        return false;
    process_report(self);
    thread_report(self, 0, agent_time());
    locals_report(self);
    if (may_ask)
        sampler_thread_start(self);
    return true;
}

void thread_begin(struct agent_thread *self, uint64_t entry, uint64_t created)
{
    uint64_t began = ring_time();
    int saved = errno;
    self->inside += AGENT_BUSY;
    if (!read_descriptor(self))
        thread_find_stack(self);
    if (!self->producer.ring && ring_claim(self)) {
        process_report(self);
        thread_report(self, entry, created);
        locals_report(self);
    }
    /* The linker allocated for this thread, so it looks as if it had loaded something; a thread that never allocates
     * would leave it at that. */
    if (agent_switch.modules && self->producer.ring)
        modules_refresh(self);
    sampler_thread_start(self);
    record_rare_work(self, began);
    self->inside -= AGENT_BUSY;
    errno = saved;
}

void thread_end(struct agent_thread *self)
{
    int saved = errno;
    uint64_t began = ring_time();
    self->inside += AGENT_BUSY;
    sampler_thread_stop(self);
    if (self->producer.ring) {
        enum { WORDS = sizeof(struct wire_thread_exit) / 8 };
        struct wire_thread_exit *record = agent_reserve(self, WORDS, LOSS_RING_FULL, true);
        if (record) {
            record->head =
                (struct wire_head){.type = WIRE_THREAD_EXIT, .words = WORDS, .cpu = agent_cpu(), .value = self->tid};
            record->time = agent_time();
            agent_commit(self, WORDS);
        }
        record_rare_work(self, began);
        record_rare_account(self);
        ring_close(self);
        stack_forget(self);
    }
    self->ended = true;
    self->inside -= AGENT_BUSY;
    errno = saved;
}

void thread_renamed(struct agent_thread *self, uint32_t tid, const char *name)
{
    enum { WORDS = sizeof(struct wire_thread_name) / 8 };
    if (!thread_ready(self, true))
        return;
    struct wire_thread_name *record = agent_reserve(self, WORDS, LOSS_RING_FULL, true);
    if (!record)
        return;
    record->head = (struct wire_head){
        .type = WIRE_THREAD_NAME, .words = WORDS, .cpu = agent_cpu(), .value = tid ? tid : self->tid};
    record->time = agent_time();
    memset(record->name, 0, sizeof record->name);
    memcpy(record->name, name, strnlen(name, sizeof record->name - 1));
    agent_commit(self, WORDS);
}
