/* agent/arch/x86_64/slots.c - memory of a thread's engine: code that runs, the same to write to, state, stack.
 *
 * Shared anonymous memory mapped twice, so that no page is ever writable and executable. Its children would share it, so
 * a fork leaves all of it out (MADV_DONTFORK). */
#include "agent/arch/x86_64/engine.h"
#include "agent/sys.h"

enum {
    STATE_BYTES = (sizeof(struct engine) + 4095) & ~4095ul,
    ALL_BYTES = 2 * ENGINE_CODE + STATE_BYTES + ENGINE_STACK
};

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

struct engine *engine_map(void)
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

void engine_unmap(struct engine *engine)
{
    sys_unmap(engine->code, ALL_BYTES);
}

uint8_t *engine_stack_top(struct engine *engine)
{
    return (uint8_t *)engine + STATE_BYTES + ENGINE_STACK;
}
