/* The hot path of every hook of the heap. No system call, no lock; see thread_ring.c for the exceptions. */
#include "agent/hooks/heap.h"

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

void heap_allocated(void *block, size_t size, enum alloc_fn fn, const struct unwind_regs *caller)
{
    struct agent_thread *self = self_need();
    int saved;
    if (is_nested(caller->pc, true) || !record_begin(self, &saved))
        return;
    look_at_modules(self, caller->pc);
    if (__builtin_expect(size >= HEAP_ARRAY_LEAST, 0))
        self->block = size;
    uint32_t stack = stack_number(self, caller, true, true);
    self->block = 0;
    record_alloc(self, (uint64_t)block, size, fn, stack);
    record_end(self, saved);
}

void heap_freed(void *block, enum alloc_fn fn, uint64_t pc)
{
    struct agent_thread *self = self_need();
    int saved;
    if (is_nested(pc, false) || !record_begin(self, &saved))
        return;
    look_at_modules(self, pc);
    record_free(self, (uint64_t)block, fn);
    record_end(self, saved);
}
