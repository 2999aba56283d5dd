/* The hot path of every hook of the heap. No system call, no lock; see thread_ring.c for the exceptions. */
#include "agent/hooks/heap.h"

/* Without a frame: what is not short is jumped to. */
#if defined(__GNUC__) && !defined(__clang__)
#define WITHOUT_FRAME __attribute__((optimize("omit-frame-pointer")))
#else
#define WITHOUT_FRAME
#endif

struct heap_operator heap_operators[HEAP_OPERATORS];
AGENT_HOT uint64_t heap_operators_start, heap_operators_span;

static __attribute__((noinline)) bool is_operator(uint64_t pc, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        if (pc - heap_operators[i].start < heap_operators[i].size)
            return true;
    }
    return false;
}

/* Called by an operator, or by its hook when the operator ended in a jump. An operator new may well release (a caught
 * exception), and that is the program's. */
static inline bool is_nested(uint64_t pc, bool allocates)
{
    if (modules_is_agent(pc))
        return true;
    return __builtin_expect(pc - heap_operators_start < heap_operators_span, 0) &&
           is_operator(pc, allocates ? 0 : HEAP_NEWS, allocates ? HEAP_NEWS : HEAP_OPERATORS);
}

/* Something may have been loaded: see modules.h. */
static inline void look_at_modules(struct agent_thread *self, uint64_t pc)
{
    if (__builtin_expect(modules_is_linker(pc), 0))
        agent_switch.modules = 1;
    else if (__builtin_expect(agent_switch.modules, 0))
        modules_refresh(self);
}

/* The thread, when there is nothing to do for a call but to write its record: the caller is the program's, and nothing new is loaded. */
static inline struct agent_thread *self_if_plain(uint64_t pc, bool allocates)
{
    if (__builtin_expect(agent_switch.all != AGENT_SWITCH_ON, 0))
        return NULL;
    struct agent_thread *self =
        *(struct agent_thread **)((char *)__builtin_thread_pointer() + agent_slot); /* it is known by now */
    bool plain = self && self->inside == 0 && !is_nested(pc, allocates) && !modules_is_linker(pc);
    return __builtin_expect(plain, 1) ? self : NULL;
}

static inline bool is_timed(const struct agent_thread *self)
{
    return __builtin_expect(self->hook_left == 0, 0) && self->quick;
}

/* Room in the ring where no look at anything is needed. */
static inline bool has_room(const struct agent_thread *self, uint32_t words)
{
    return __builtin_expect(self->producer.head + words * 8 <= self->quick, 1);
}

static inline void *room_of(const struct agent_thread *self)
{
    return self->producer.data + ((uint32_t)self->producer.head & (self->producer.bytes - 1));
}

#define BEGIN(self) ((self)->inside = AGENT_BUSY, ({ __asm__ volatile("" ::: "memory"); }))
#define END(self)   (({ __asm__ volatile("" ::: "memory"); }), (self)->inside = 0)

/* False when it has done nothing: the chain or the ring needs a look. Calls nothing, so that errno is what it was. */
static inline __attribute__((always_inline)) bool allocated_quickly(struct agent_thread *self, void *block, size_t size,
                                                                    enum alloc_fn fn, struct unwind_regs caller)
{
    BEGIN(self);
    uint32_t stack = has_room(self, RECORD_ALLOC_WORDS) && !stack_script ? stack_known(self, caller, true) : 0;
    if (__builtin_expect(stack != 0, 1)) {
        record_fill_alloc(room_of(self), ring_cpu_quick(), wire_counter(), (uint64_t)block, size, fn, stack);
        wire_ring_commit(&self->producer, RECORD_ALLOC_WORDS);
    }
    END(self);
    return stack != 0;
}

static inline __attribute__((always_inline)) bool freed_quickly(struct agent_thread *self, void *block,
                                                                enum alloc_fn fn)
{
    BEGIN(self);
    bool room = has_room(self, RECORD_FREE_WORDS);
    if (room) {
        record_fill_free(room_of(self), ring_cpu_quick(), wire_counter(), (uint64_t)block, fn);
        wire_ring_commit(&self->producer, RECORD_FREE_WORDS);
    }
    END(self);
    return room;
}

static __attribute__((noinline)) void *allocated_slowly(void *block, size_t size, enum alloc_fn fn, uint64_t pc,
                                                        uint64_t sp, uint64_t fp)
{
    struct unwind_regs caller = {.pc = pc, .sp = sp, .fp = fp};
    struct agent_thread *self = attach_heap() ? self_need() : NULL;
    int saved;
    if (!attach_heap() || is_nested(pc, true) || !record_begin(self, &saved))
        return block;
    look_at_modules(self, pc);
    if (size >= HEAP_ARRAY_LEAST)
        self->block = size;
    uint32_t stack = stack_number(self, &caller, true, true);
    self->block = 0;
    record_alloc(self, (uint64_t)block, size, fn, stack);
    record_end(self, saved);
    return block;
}

static __attribute__((noinline)) void freed_slowly(void *block, enum alloc_fn fn, uint64_t pc)
{
    struct agent_thread *self = attach_heap() ? self_need() : NULL;
    int saved;
    if (!attach_heap() || is_nested(pc, false) || !record_begin(self, &saved))
        return;
    look_at_modules(self, pc);
    record_free(self, (uint64_t)block, fn);
    record_end(self, saved);
}

/* What is timed takes the way that all take, through the same code: a copy that runs now and then would find cold caches. */
static __attribute__((noinline)) void *allocated_timed(void *block, size_t size, enum alloc_fn fn, uint64_t pc,
                                                       uint64_t sp, uint64_t fp)
{
    struct agent_thread *self = thread_self();
    uint64_t began = record_hook_due(self);
    heap_allocated(block, size, fn, pc, sp, fp);
    record_hook_took(self, began, ring_time());
    return block;
}

static __attribute__((noinline)) void freed_timed(void *block, enum alloc_fn fn, uint64_t pc)
{
    struct agent_thread *self = thread_self();
    uint64_t began = record_hook_due(self);
    heap_freed(block, fn, pc);
    record_hook_took(self, began, ring_time());
}

WITHOUT_FRAME void *heap_allocated(void *block, size_t size, enum alloc_fn fn, uint64_t pc, uint64_t sp, uint64_t fp)
{
    struct unwind_regs caller = {.pc = pc, .sp = sp, .fp = fp};
    struct agent_thread *self = self_if_plain(pc, true);
    if (__builtin_expect(!self, 0))
        return allocated_slowly(block, size, fn, pc, sp, fp);
    if (is_timed(self))
        return allocated_timed(block, size, fn, pc, sp, fp);
    if (__builtin_expect(!allocated_quickly(self, block, size, fn, caller), 0))
        return allocated_slowly(block, size, fn, pc, sp, fp);
    self->hook_left--;
    return block;
}

WITHOUT_FRAME void heap_freed(void *block, enum alloc_fn fn, uint64_t pc)
{
    struct agent_thread *self = self_if_plain(pc, false);
    if (__builtin_expect(!self, 0))
        freed_slowly(block, fn, pc);
    else if (is_timed(self))
        freed_timed(block, fn, pc);
    else if (__builtin_expect(freed_quickly(self, block, fn), 1))
        self->hook_left--;
    else
        freed_slowly(block, fn, pc);
}
