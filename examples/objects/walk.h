/* walk.h - reads every item of an array, `passes` times: one load an item, whatever the compiler thinks of it. Aligned, so that
 * the copies in several files take the same time: a loop may take half as long again by its place alone. */
#ifndef NUMALENS_EXAMPLE_WALK_H
#define NUMALENS_EXAMPLE_WALK_H

#include <stddef.h>

static __attribute__((noinline, unused, aligned(64))) long walk(const volatile long *items, size_t count, long passes)
{
    long total = 0;
    for (long pass = 0; pass < passes; pass++) {
        for (size_t i = 0; i < count; i++)
            total += items[i];
    }
    return total;
}

#endif
