/* isa/x86_64/slots.c - memory of a thread's engine: code that runs, the same to write to, state, stack.
 *
 * Shared anonymous memory mapped twice, so that no page is ever writable and executable. Its children would share it, so
 * a fork leaves all of it out (MADV_DONTFORK).
 *
 * Mapping and touching it takes longer than all else at a thread's start, so some of what ended threads leave is kept for the
 * next ones. Not made at a thread's first tick instead: a handler that maps memory may get just the hole that the program has
 * made for a mapping of its own. */
#include "isa/x86_64/engine.h"
#include "base/sys.h"
#include "base/units.h"

#include <stdatomic.h>

enum {
    STATE_BYTES = (sizeof(struct engine) + PAGE_UNIT - 1) & ~(PAGE_UNIT - 1ul),
    ALL_BYTES = 2 * ENGINE_CODE + STATE_BYTES + ENGINE_STACK
};

static _Atomic(struct engine *) kept[ENGINES_KEPT];

static bool failed(long result)
{
    return result < 0 && result > -4096;
}

static bool map_parts(uint8_t *base)
{
    uint8_t *writable = base + ENGINE_CODE, *rest = writable + ENGINE_CODE;
    /* an old size of 0 maps the same shared pages once more */
    return !failed(sys_call(SYS_mmap, writable, (size_t)ENGINE_CODE, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0L)) &&
           !failed(sys_call(SYS_mremap, writable, 0L, (size_t)ENGINE_CODE, MREMAP_MAYMOVE | MREMAP_FIXED, base)) &&
           !failed(sys_call(SYS_mprotect, base, (size_t)ENGINE_CODE, PROT_READ | PROT_EXEC)) &&
           !failed(sys_call(SYS_mprotect, rest, STATE_BYTES + ENGINE_STACK, PROT_READ | PROT_WRITE)) &&
           !failed(sys_call(SYS_madvise, base, (size_t)ALL_BYTES, MADV_DONTFORK));
}

static struct engine *map(void)
{
    long at =
        sys_call(SYS_mmap, NULL, (size_t)ALL_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (failed(at))
        return NULL;
    uint8_t *base = (uint8_t *)at;
    if (!map_parts(base)) {
        sys_unmap(base, ALL_BYTES);
        return NULL;
    }
    struct engine *engine = (struct engine *)(base + 2 * ENGINE_CODE);
    engine->code = base;
    engine->writable = base + ENGINE_CODE;
    emit_entry(engine);
    return engine;
}

struct engine *engine_take(void)
{
    for (unsigned i = 0; i < ENGINES_KEPT; i++) {
        struct engine *engine = atomic_exchange_explicit(&kept[i], NULL, memory_order_acquire);
        if (engine)
            return engine;
    }
    return map();
}

void engine_give_back(struct engine *engine)
{
    for (unsigned i = 0; i < ENGINES_KEPT; i++) {
        struct engine *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&kept[i], &none, engine, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
    sys_unmap(engine->code, ALL_BYTES);
}

void engine_forget(void)
{
    for (unsigned i = 0; i < ENGINES_KEPT; i++)
        atomic_store_explicit(&kept[i], NULL, memory_order_relaxed);
}

uint8_t *engine_stack_top(struct engine *engine)
{
    return (uint8_t *)engine + STATE_BYTES + ENGINE_STACK;
}
