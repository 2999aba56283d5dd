/* isa/copy.h - copies memory that may not be there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__aarch64__)
#include "isa/aarch64/access.h"
#elif defined(__x86_64__)
#include "isa/x86_64/guard.h"
#else
#error "this architecture is not supported"
#endif

/* `bytes` is a multiple of 16, as are both addresses. False: a fault, whose handler has corrected it (slots_fault(), guard_resume()). */
static inline bool copy_guarded(void *to, const void *from, size_t bytes)
{
#if defined(__x86_64__)
    return guard_copy(to, from, bytes) == bytes;
#else
    for (size_t at = 0; at < bytes; at += 16) {
        uint64_t words[2];
        if (access_load16((uint64_t)from + at, words) != 0 || access_store16((uint64_t)to + at, words) != 0)
            return false;
    }
    return true;
#endif
}
