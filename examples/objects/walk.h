/* walk.h - reads every item of an array, `passes` times: one load an item, whatever the compiler thinks of it. Each waits
 * for a multiplication of the one before: so a walk takes the same time wherever its code is, and shares of time are
 * shares of accesses. */
#ifndef NUMALENS_EXAMPLE_WALK_H
#define NUMALENS_EXAMPLE_WALK_H

#include <stddef.h>

static __attribute__((noinline, unused, aligned(64))) long walk(const volatile long *items, size_t count, long passes)
{
    long total = 0, one = 1;
    __asm__("" : "+r"(one)); /* the compiler does not know it */
    for (long pass = 0; pass < passes; pass++) {
        for (size_t i = 0; i < count; i++)
            total = (total + items[i]) * one;
    }
    return total;
}

#endif
