/* flow/pool.h - numbered records that never move: chunks out of a slab, no doubling, so memory follows what is used. */
#pragma once

#include "base/array.h"
#include "flow/slab.h"

#include <stdint.h>

enum { POOL_SHIFT = 10, POOL_CHUNK = 1 << POOL_SHIFT };

#define pool_of(type)                                                                                                  \
    struct {                                                                                                           \
        array_of(type *) chunks;                                                                                       \
        uint32_t count;                                                                                                \
    }

#define pool_at(pool, index) (&(pool)->chunks.items[(uint32_t)(index) >> POOL_SHIFT][(index) & (POOL_CHUNK - 1)])

/* The number of a new record, which is not cleared. */
#define pool_add(pool, slab)                                                                                           \
    ({                                                                                                                 \
        if (((pool)->count & (POOL_CHUNK - 1)) == 0)                                                                   \
            array_push(&(pool)->chunks, slab_get(slab, POOL_CHUNK * sizeof **(pool)->chunks.items));                   \
        (pool)->count++;                                                                                               \
    })

/* The records themselves go with the slab. */
#define pool_free(pool) array_free(&(pool)->chunks)
