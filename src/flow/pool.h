/* flow/pool.h - numbered records that never move: chunks of 4096, no doubling, so memory follows what is used. */
#ifndef NUMALENS_FLOW_POOL_H
#define NUMALENS_FLOW_POOL_H

#include "base/array.h"

#include <stdint.h>

enum { POOL_SHIFT = 12, POOL_CHUNK = 1 << POOL_SHIFT };

#define pool_of(type)                                                                                                  \
    struct {                                                                                                           \
        array_of(type *) chunks;                                                                                       \
        uint32_t count;                                                                                                \
    }

#define pool_at(pool, index) (&(pool)->chunks.items[(uint32_t)(index) >> POOL_SHIFT][(index) & (POOL_CHUNK - 1)])

/* The number of a new record, which is not cleared. */
#define pool_add(pool)                                                                                                 \
    ({                                                                                                                 \
        if (((pool)->count & (POOL_CHUNK - 1)) == 0)                                                                   \
            array_push(&(pool)->chunks, mem_alloc(POOL_CHUNK * sizeof **(pool)->chunks.items));                        \
        (pool)->count++;                                                                                               \
    })

#define pool_free(pool)                                                                                                \
    do {                                                                                                               \
        for (size_t pool_i_ = 0; pool_i_ < (pool)->chunks.count; pool_i_++)                                            \
            free((pool)->chunks.items[pool_i_]);                                                                       \
        array_free(&(pool)->chunks);                                                                                   \
        (pool)->count = 0;                                                                                             \
    } while (0)

#endif
