/* The C allocation family. Each hook calls the next function of its name and says what it did. */
#include "agent/arena.h"
#include "agent/hooks/heap.h"
#include "agent/real.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define CALLER ((uint64_t)__builtin_extract_return_addr(__builtin_return_address(0)))

/* Ends a hook: reports `block` unless the call failed, and returns it. */
#define RETURN_RECORDED(block, size, fn)                                                                               \
    do {                                                                                                               \
        void *allocated_ = (block);                                                                                    \
        if (allocated_ && attach_heap()) {                                                                             \
            struct unwind_regs regs_ = UNWIND_CALLER_REGS();                                                           \
            heap_allocated(allocated_, size, fn, &regs_);                                                              \
        }                                                                                                              \
        return allocated_;                                                                                             \
    } while (0)

AGENT_EXPORT void *malloc(size_t size)
{
    RETURN_RECORDED(real.malloc(size), size, ALLOC_MALLOC);
}

AGENT_EXPORT void *calloc(size_t count, size_t size)
{
    RETURN_RECORDED(real.calloc(count, size), count * size, ALLOC_CALLOC);
}

AGENT_EXPORT void *aligned_alloc(size_t align, size_t size)
{
    RETURN_RECORDED(real.aligned_alloc(align, size), size, ALLOC_ALIGNED_ALLOC);
}

AGENT_EXPORT void *memalign(size_t align, size_t size)
{
    RETURN_RECORDED(real.memalign(align, size), size, ALLOC_MEMALIGN);
}

AGENT_EXPORT void *valloc(size_t size)
{
    RETURN_RECORDED(real.valloc(size), size, ALLOC_VALLOC);
}

AGENT_EXPORT void *pvalloc(size_t size)
{
    RETURN_RECORDED(real.pvalloc(size), size, ALLOC_PVALLOC);
}

AGENT_EXPORT int posix_memalign(void **block, size_t align, size_t size)
{
    int result = real.posix_memalign(block, align, size);
    if (result == 0 && *block && attach_heap()) {
        struct unwind_regs regs = UNWIND_CALLER_REGS();
        heap_allocated(*block, size, ALLOC_POSIX_MEMALIGN, &regs);
    }
    return result;
}

AGENT_EXPORT void free(void *block)
{
    if (!block || arena_owns(block))
        return;
    if (attach_heap())
        heap_freed(block, ALLOC_FREE, CALLER);
    real.free(block);
}

static void *leave_arena(void *block, size_t size)
{
    size_t old = arena_size(block);
    void *copy = real.malloc(size);
    if (copy)
        memcpy(copy, block, old < size ? old : size);
    return copy;
}

/* The old life ends before, the new one begins after; when nothing came of it, the old block is reported again. */
static inline void *change_size(void *block, size_t size, enum alloc_fn fn, const struct unwind_regs *caller)
{
    bool arena = block && arena_owns(block);
    if (!attach_heap())
        return arena ? leave_arena(block, size) : real.realloc(block, size);
    if (block && !arena)
        heap_freed(block, fn, caller->pc);
    void *changed = arena ? leave_arena(block, size) : real.realloc(block, size);
    if (changed)
        heap_allocated(changed, size, fn, caller);
    else if (block && !arena && size)
        heap_allocated(block, real.malloc_usable_size(block), fn, caller);
    return changed;
}

AGENT_EXPORT void *realloc(void *block, size_t size)
{
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    return change_size(block, size, ALLOC_REALLOC, &regs);
}

/* Not passed on: libc's calls realloc, which is a hook again. */
AGENT_EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return change_size(block, bytes, ALLOC_REALLOCARRAY, &regs);
}

AGENT_EXPORT size_t malloc_usable_size(void *block)
{
    return arena_owns(block) ? arena_size(block) : real.malloc_usable_size(block);
}
