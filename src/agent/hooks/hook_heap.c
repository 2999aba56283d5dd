/* The C allocation family. Each hook calls the next function of its name and says what it did. */
#include "agent/arena.h"
#include "agent/hooks/heap.h"
#include "agent/place/place_hooks.h"
#include "agent/real.h"

#include "base/units.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* What most calls do in a program that is only placed is short and needs no frame; the rest is jumped to, and has the same caller. Where
 * the compiler makes no jumps of calls, it is part of the hook. */
#ifdef __OPTIMIZE__
#define JUMPED_TO static __attribute__((noinline))
#else
#define JUMPED_TO static inline __attribute__((always_inline))
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define SHORT_HOOK AGENT_EXPORT __attribute__((optimize("omit-frame-pointer")))
#else
#define SHORT_HOOK AGENT_EXPORT
#endif

#define CALLER ((uint64_t)__builtin_extract_return_addr(__builtin_return_address(0)))

/* Ends a hook: takes `placed` or else `block`, reports it unless the call failed, and returns it. */
#define RETURN_RECORDED(placed, block, size, fn)                                                                       \
    do {                                                                                                               \
        void *allocated_ = (placed);                                                                                   \
        if (__builtin_expect(!allocated_, 1))                                                                          \
            allocated_ = (block);                                                                                      \
        return allocated_ ? HEAP_ALLOCATED(allocated_, size, fn) : NULL;                                               \
    } while (0)

JUMPED_TO void *malloc_recorded(size_t size)
{
    RETURN_RECORDED(PLACED(size, 16, false), real.malloc(size), size, ALLOC_MALLOC);
}

SHORT_HOOK void *malloc(size_t size)
{
    return place_passes(CALLER) ? real.malloc(size) : malloc_recorded(size);
}

JUMPED_TO void *calloc_recorded(size_t count, size_t size)
{
    size_t bytes;
    bool fits = !__builtin_mul_overflow(count, size, &bytes);
    RETURN_RECORDED(fits ? PLACED(bytes, 16, true) : NULL, real.calloc(count, size), bytes, ALLOC_CALLOC);
}

SHORT_HOOK void *calloc(size_t count, size_t size)
{
    return place_passes(CALLER) ? real.calloc(count, size) : calloc_recorded(count, size);
}

AGENT_EXPORT void *aligned_alloc(size_t align, size_t size)
{
    RETURN_RECORDED(PLACED(size, align, false), real.aligned_alloc(align, size), size, ALLOC_ALIGNED_ALLOC);
}

AGENT_EXPORT void *memalign(size_t align, size_t size)
{
    RETURN_RECORDED(PLACED(size, align, false), real.memalign(align, size), size, ALLOC_MEMALIGN);
}

AGENT_EXPORT void *valloc(size_t size)
{
    RETURN_RECORDED(PLACED(size, PAGE_LARGEST, false), real.valloc(size), size, ALLOC_VALLOC);
}

AGENT_EXPORT void *pvalloc(size_t size)
{
    RETURN_RECORDED(PLACED(size, PAGE_LARGEST, false), real.pvalloc(size), size, ALLOC_PVALLOC);
}

AGENT_EXPORT int posix_memalign(void **block, size_t align, size_t size)
{
    void *placed = align >= sizeof(void *) && !(align & (align - 1)) ? PLACED(size, align, false) : NULL;
    int result = placed ? 0 : real.posix_memalign(block, align, size);
    if (placed)
        *block = placed;
    if (result == 0 && *block)
        HEAP_ALLOCATED(*block, size, ALLOC_POSIX_MEMALIGN);
    return result;
}

JUMPED_TO void free_recorded(void *block)
{
    if (!block || arena_owns(block))
        return;
    heap_freed(block, ALLOC_FREE, CALLER);
    if (place_owns(block))
        place_free(block);
    else
        real.free(block);
}

SHORT_HOOK void free(void *block)
{
    if (attach_is_off && !arena_owns(block) && !place_owns(block))
        real.free(block);
    else
        free_recorded(block);
}

static void *leave_arena(void *block, size_t size)
{
    size_t old = arena_size(block);
    void *copy = real.malloc(size);
    if (copy)
        memcpy(copy, block, old < size ? old : size);
    return copy;
}

/* From or to a placed block: as realloc would, by a copy. `*whole`: nothing else is to be done. */
static void *change_placed(void *block, size_t size, const struct unwind_regs *caller, bool *whole)
{
    *whole = false;
    if (!place_wants.sites || (block && arena_owns(block)))
        return NULL;
    bool owned = place_owns(block);
    if (owned && size == 0) { /* as libc does */
        place_free(block);
        *whole = true;
        return NULL;
    }
    if (owned && size <= place_size(block) && size > place_size(block) / 2) {
        *whole = true;
        return block;
    }
    void *placed = size ? place_alloc(size, 16, false, caller) : NULL;
    if (!owned && !placed)
        return NULL;
    *whole = true;
    void *changed = placed ? placed : real.malloc(size);
    if (changed && block) {
        size_t old = owned ? place_size(block) : real.malloc_usable_size(block);
        memcpy(changed, block, old < size ? old : size);
        if (owned)
            place_free(block);
        else
            real.free(block);
    }
    return changed;
}

static inline void *resize(void *block, bool arena, size_t size, const struct unwind_regs *caller)
{
    bool whole;
    void *changed =
        __builtin_expect(place_wants.sites, 0) ? change_placed(block, size, caller, &whole) : (whole = false, NULL);
    if (whole)
        return changed;
    return arena ? leave_arena(block, size) : real.realloc(block, size);
}

/* The old life ends before, the new one begins after; when nothing came of it, the old block is reported again. */
static inline void *change_size(void *block, size_t size, enum alloc_fn fn, const struct unwind_regs *caller)
{
    bool arena = block && arena_owns(block);
    if (!attach_heap())
        return resize(block, arena, size, caller);
    if (block && !arena)
        heap_freed(block, fn, caller->pc);
    void *changed = resize(block, arena, size, caller);
    if (changed)
        heap_allocated(changed, size, fn, caller->pc, caller->sp, caller->fp);
    else if (block && !arena && size)
        heap_allocated(block, malloc_usable_size(block), fn, caller->pc, caller->sp, caller->fp);
    return changed;
}

AGENT_EXPORT void *realloc(void *block, size_t size)
{
    if (place_passes(CALLER) && block && !arena_owns(block) && !place_owns(block))
        return real.realloc(block, size);
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
    return arena_owns(block)   ? arena_size(block)
           : place_owns(block) ? place_size(block)
                               : real.malloc_usable_size(block);
}
