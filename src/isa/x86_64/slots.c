/* isa/x86_64/slots.c - memory of a thread's engine: code that runs, the same to write to, state, stack.
 *
 * Shared anonymous memory, its first part mapped twice, so that no page is ever writable and executable. Its children would share
 * it, so a fork leaves it out (MADV_DONTFORK); but for the engine that was mapped first: its addresses are still taken in the child,
 * whose first burst puts memory of the child's own there (engine_ready). Most children of servers and shells end, or become another
 * program, before their first tick, and mapping and touching all this would take longer than their fork.
 *
 * For the same reason some of what ended threads leave is kept for the next ones. Other threads' engines are not made at their first
 * tick instead: a handler that maps memory may get just the hole that the program has made for a mapping of its own. */
#include "isa/x86_64/engine.h"
#include "isa/code_map.h"
#include "base/units.h"

#include <stdatomic.h>

enum {
    STATE_BYTES = (sizeof(struct engine) + PAGE_UNIT - 1) & ~(PAGE_UNIT - 1ul),
    ALL_BYTES = 2 * ENGINE_CODE + STATE_BYTES + ENGINE_STACK
};

/* Where the agent has what the child of a fork writes (agent/agent.h). */
#define FORKED __attribute__((section(".agent_hot")))

FORKED static _Atomic(struct engine *) kept[ENGINES_KEPT];
FORKED static _Atomic(struct engine *) first; /* that children have the addresses of, or NULL */
FORKED static bool first_is_parents; /* its memory; written at a fork, then by the thread that has the engine */

static uint8_t *base_of(const struct engine *engine)
{
    return (uint8_t *)engine - 2 * (size_t)ENGINE_CODE;
}

static bool fill(uint8_t *base)
{
    if (!code_map(base, ENGINE_CODE, STATE_BYTES + ENGINE_STACK))
        return false;
    struct engine *engine = (struct engine *)(base + 2 * (size_t)ENGINE_CODE);
    engine->code = base;
    engine->writable = base + ENGINE_CODE;
    emit_entry(engine);
    return true;
}

static struct engine *map(void)
{
    long at =
        sys_call(SYS_mmap, NULL, (size_t)ALL_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (sys_failed(at))
        return NULL;
    uint8_t *base = (uint8_t *)at;
    struct engine *engine = (struct engine *)(base + 2 * ENGINE_CODE), *none = NULL;
    if (fill(base) && (atomic_compare_exchange_strong(&first, &none, engine) ||
                       !sys_failed(sys_call(SYS_madvise, base, (size_t)ALL_BYTES, MADV_DONTFORK))))
        return engine;
    sys_unmap(base, ALL_BYTES);
    return NULL;
}

size_t engine_bytes(void)
{
    return ALL_BYTES;
}

struct engine *engine_make(void *reserved)
{
    return fill(reserved) ? (struct engine *)((uint8_t *)reserved + 2 * (size_t)ENGINE_CODE) : NULL;
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
    struct engine *was_first = engine;
    atomic_compare_exchange_strong(&first, &was_first, NULL);
    sys_unmap(base_of(engine), ALL_BYTES);
}

void engine_forget(void)
{
    for (unsigned i = 1; i < ENGINES_KEPT; i++)
        atomic_store_explicit(&kept[i], NULL, memory_order_relaxed);
    struct engine *inherited = atomic_load(&first);
    first_is_parents = inherited != NULL;
    atomic_store_explicit(&kept[0], inherited, memory_order_relaxed);
}

bool engine_ready(const struct engine *engine)
{
    if (__builtin_expect(!first_is_parents, 1) || engine != atomic_load_explicit(&first, memory_order_relaxed))
        return true;
    if (!fill(base_of(engine)))
        return false;
    first_is_parents = false;
    return true;
}

uint8_t *engine_stack_top(struct engine *engine)
{
    return (uint8_t *)engine + STATE_BYTES + ENGINE_STACK;
}
