/* agent/arena.h - the little memory that is handed out before the real malloc is known. Never given back.
 *
 * Its blocks may live as long as the program: every hook that takes a pointer must ask arena_owns() first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARENA_BYTES = 1 << 18 };
extern char arena_bytes[ARENA_BYTES] __attribute__((visibility("hidden")));

static inline bool arena_owns(const void *block)
{
    return (uintptr_t)block - (uintptr_t)arena_bytes < ARENA_BYTES;
}

/* Zeroed memory, or NULL with errno ENOMEM. `align` is a power of two. */
void *arena_alloc(size_t size, size_t align);
size_t arena_size(const void *block);
