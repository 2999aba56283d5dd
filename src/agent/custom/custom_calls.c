/* agent/custom/custom_calls.c - what happens when a hooked function is called and when it returns. Hot: no system call, no lock.
 *
 * Called from custom.S with every register saved; anything may be on the stack above. A function whose result matters
 * takes an entry of its thread. An entry may be left behind: longjmp and exceptions do not come back through
 * custom_return. It is used again only when the thread is seen further out on the same stack, since until then nobody
 * can be sure that it is not still needed. */
#include "agent/custom/custom_calls.h"

#include "agent/region/attach.h"
#include "agent/custom/custom_arch.h"
#include "agent/process/modules.h"
#include "agent/region/hook_record.h"
#include "agent/self.h"
#include "agent/unwind/stack.h"
#include "agent/unwind/unwind.h"

#include <string.h>

enum { ENTRIES = 16, CLEANUP_PHASE = 2, CONTINUE_UNWIND = 8 };

struct custom_thread {
    uint32_t used; /* a bit for each entry; only this thread and its handlers write it, and handlers put it back */
    uint32_t walk; /* counts */
    struct custom_entry entries[ENTRIES];
};

_Static_assert(sizeof(struct custom_thread) <= AGENT_CUSTOM_WORDS * sizeof(uint64_t), "its room in a thread's block");

static struct custom_thread *custom_of(struct agent_thread *self)
{
    return (struct custom_thread *)self->custom;
}

static uint64_t return_address(void)
{
    return (uint64_t)custom_return;
}

/* For the unwinder: the true return address of the function whose caller's stack pointer will be `cfa`. */
static uint64_t find_return(uint64_t cfa)
{
    struct agent_thread *self = thread_self();
    uint64_t ra = 0;
    if (!self)
        return 0;
    struct custom_thread *thread = custom_of(self);
    for (uint32_t remaining = thread->used; remaining; remaining &= remaining - 1) {
        struct custom_entry *entry = &thread->entries[__builtin_ctz(remaining)];
        if (entry->cfa != cfa)
            continue;
        entry->walk = thread->walk;
        if (entry->ra != return_address()) /* a hooked function may end in a jump to another */
            ra = entry->ra;
    }
    return ra;
}

bool custom_start(void)
{
    if (custom_arch_shadow_stack())
        return false;
    custom_arch_prepare();
    unwind_hook_find = find_return;
    unwind_hook_return = return_address();
    return true;
}

static void release(struct custom_entry *entry)
{
    entry->owner->used &= ~(1u << (entry - entry->owner->entries));
}

static bool on_stack(const struct agent_thread *self, uint64_t address)
{
    return address - self->stack_low <= self->stack_high - self->stack_low && self->stack_high;
}

/* Frees entries whose frames were left without a return: the frame of this call is further out. */
static void free_abandoned(const struct agent_thread *self, struct custom_thread *thread,
                           const struct custom_call *call)
{
    if (!on_stack(self, call->cfa))
        return;
    for (uint32_t remaining = thread->used; remaining; remaining &= remaining - 1) {
        struct custom_entry *entry = &thread->entries[__builtin_ctz(remaining)];
        bool inside = entry->cfa < call->cfa || (entry->cfa == call->cfa && call->ra != return_address());
        if (inside && on_stack(self, entry->cfa))
            release(entry);
    }
}

/* Whether the call comes from the function that `entry` is of, directly or not. A chain that cannot be followed to its
 * end counts as a yes. */
static bool called_from(const struct agent_thread *self, struct custom_thread *thread, struct custom_entry *entry,
                        const struct custom_call *call)
{
    if (entry->doubtful)
        return false;
    if (entry->cfa == call->cfa || !on_stack(self, call->cfa))
        return true;
    struct unwind_regs regs = {.pc = call->ra, .sp = call->cfa, .fp = call->fp};
    uint64_t frames[WIRE_MAX_FRAMES];
    bool cut;
    thread->walk++;
    unwind_walk(&regs, self->stack_high, true, frames, WIRE_MAX_FRAMES, &cut);
    entry->doubtful = !cut && entry->walk != thread->walk;
    return !entry->doubtful;
}

/* A function that allocates by calling another one: the outer one reports. */
static bool is_nested(const struct agent_thread *self, struct custom_thread *thread, const struct custom_hook *hook,
                      const struct custom_call *call)
{
    for (uint32_t remaining = thread->used; remaining; remaining &= remaining - 1) {
        struct custom_entry *entry = &thread->entries[__builtin_ctz(remaining)];
        if (entry->hook->role == hook->role && called_from(self, thread, entry, call))
            return true;
    }
    return false;
}

static uint64_t argument(const struct custom_call *call, uint8_t number)
{
    return number ? call->arguments[number - 1] : 0;
}

static struct custom_entry *enter(struct agent_thread *self, const struct custom_hook *hook,
                                  const struct custom_call *call)
{
    struct custom_thread *thread = custom_of(self);
    if (__builtin_expect(thread->used, 0)) {
        free_abandoned(self, thread, call);
        if (thread->used && is_nested(self, thread, hook, call))
            return NULL;
        if (thread->used == (1u << ENTRIES) - 1) {
            ring_lose(self, LOSS_FN_NESTED, 1);
            return NULL;
        }
    }
    uint32_t number = (uint32_t)__builtin_ctz(~thread->used);
    struct custom_entry *entry = &thread->entries[number];
    thread->used |= 1u << number;
    *entry = (struct custom_entry){.ra = call->ra,
                                   .cfa = call->cfa,
                                   .hook = hook,
                                   .owner = thread,
                                   .pool = argument(call, hook->role == CUSTOM_ALLOC ? hook->pool : hook->parent),
                                   .place = argument(call, hook->out)};
    if (hook->size)
        entry->size = argument(call, hook->size) * (hook->count ? argument(call, hook->count) : 1);
    return entry;
}

static void report(struct agent_thread *self, const struct custom_hook *hook, enum pool_change change, uint64_t handle,
                   uint64_t parent)
{
    enum { WORDS = sizeof(struct wire_pool) / 8 };
    int saved;
    if (handle == 0 || !record_begin(self, &saved))
        return;
    struct wire_pool *record = ring_reserve(self, WORDS, LOSS_RING_FULL, true);
    if (record) {
        uint32_t value = change | (uint32_t)(ALLOC_CUSTOM_FIRST + hook->number) << 8;
        record->head = (struct wire_head){.type = WIRE_POOL, .words = WORDS, .cpu = ring_cpu(), .value = value};
        record->time = ring_time();
        record->handle = handle;
        record->parent = parent;
        ring_commit(self, WORDS);
    }
    record_end(self, saved);
}

struct custom_entry *custom_enter(const struct custom_hook *hook, struct custom_call *call)
{
    if (!attach_heap())
        return NULL;
    struct agent_thread *self = self_need();
    if (!self || self->inside)
        return NULL;
    custom_arch_arguments(call);
    switch (hook->role) {
    case CUSTOM_FREE:
        report(self, hook, POOL_FREED, argument(call, hook->pointer), 0);
        return NULL;
    case CUSTOM_POOL_CLEAR:
        report(self, hook, POOL_CLEARED, argument(call, hook->pool), 0);
        return NULL;
    case CUSTOM_POOL_DESTROY:
        report(self, hook, POOL_DESTROYED, argument(call, hook->pool), 0);
        return NULL;
    default:
        if (hook->pointer)
            report(self, hook, POOL_FREED, argument(call, hook->pointer), 0);
        return enter(self, hook, call);
    }
}

/* The address that the function gave, or 0. Its value is an int when the address comes another way. */
static uint64_t given(const struct custom_entry *entry, uint64_t result)
{
    const struct custom_hook *hook = entry->hook;
    if (!hook->out)
        return result;
    bool is_zero = (uint32_t)result == 0;
    if ((hook->when == CUSTOM_WHEN_ZERO && !is_zero) || (hook->when == CUSTOM_WHEN_NOT_ZERO && is_zero))
        return 0;
    return entry->place ? *(const uint64_t *)entry->place : 0;
}

static void report_object(struct agent_thread *self, const struct custom_entry *entry, uint64_t addr, uint64_t fp)
{
    enum { WORDS = sizeof(struct wire_pool_alloc) / 8 };
    int saved;
    if (!record_begin(self, &saved))
        return;
    if (__builtin_expect(agent_switch.modules, 0))
        modules_refresh(self);
    struct unwind_regs regs = {.pc = entry->ra, .sp = entry->cfa, .fp = fp};
    uint32_t stack = stack_number(self, &regs, true, true);
    uint64_t size = entry->hook->is_text ? strlen((const char *)addr) + 1 : entry->size;
    struct wire_pool_alloc *record = ring_reserve(self, WORDS, LOSS_RING_FULL, true);
    if (record) {
        record->head = (struct wire_head){.type = WIRE_POOL_ALLOC, .words = WORDS, .cpu = ring_cpu(), .value = stack};
        record->time = ring_time();
        record->addr = addr;
        record->size_fn = (size & (((uint64_t)1 << WIRE_FN_SHIFT) - 1)) |
                          (uint64_t)(ALLOC_CUSTOM_FIRST + entry->hook->number) << WIRE_FN_SHIFT;
        record->pool = entry->pool;
        ring_commit(self, WORDS);
    }
    record_end(self, saved);
}

void custom_leave(struct custom_entry *entry, uint64_t result, uint64_t fp)
{
    struct agent_thread *self = thread_self();
    struct custom_entry copy = *entry;
    release(entry);
    uint64_t addr = given(&copy, result);
    if (addr == 0 || !self || self->inside || !attach_heap())
        return;
    if (copy.hook->role == CUSTOM_ALLOC)
        report_object(self, &copy, addr, fp);
    else
        report(self, copy.hook, POOL_CREATED, addr, copy.pool);
}

/* An exception, or the end of a thread, passes custom_return's frame: the innermost entry is that of the function it
 * comes from, or one that was left earlier. The unwinder still reads it after this. */
int custom_personality(int version, int actions, uint64_t class, void *exception, void *context);
__attribute__((used)) int custom_personality(int version, int actions, uint64_t class, void *exception, void *context)
{
    (void)version, (void)class, (void)exception, (void)context;
    struct agent_thread *self = thread_self();
    struct custom_entry *innermost = NULL;
    if (!self)
        return CONTINUE_UNWIND;
    struct custom_thread *thread = custom_of(self);
    for (uint32_t remaining = thread->used; remaining && (actions & CLEANUP_PHASE); remaining &= remaining - 1) {
        struct custom_entry *entry = &thread->entries[__builtin_ctz(remaining)];
        if (!entry->doubtful && (!innermost || entry->cfa < innermost->cfa))
            innermost = entry;
    }
    if (innermost)
        innermost->doubtful = true;
    return CONTINUE_UNWIND;
}
