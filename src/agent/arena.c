#include "agent/arena.h"

#include "base/units.h"

#include <errno.h>
#include <stdatomic.h>

/* Taken from by any thread, before and while real.c resolves. */
char arena_bytes[ARENA_BYTES] __attribute__((aligned(PAGE_UNIT)));
static _Atomic size_t used;

void *arena_alloc(size_t size, size_t align)
{
    /* The word before a block keeps its size. */
    if (align < 16)
        align = 16;
    size_t before = atomic_load(&used), at;
    do {
        at = (before + sizeof(size_t) + align - 1) & ~(align - 1);
        if (size > ARENA_BYTES || align > ARENA_BYTES || at + size > ARENA_BYTES) {
            errno = ENOMEM;
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&used, &before, at + size));
    *(size_t *)(arena_bytes + at - sizeof(size_t)) = size;
    return arena_bytes + at;
}

size_t arena_size(const void *block)
{
    return *(const size_t *)((const char *)block - sizeof(size_t));
}
