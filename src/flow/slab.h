/* flow/slab.h - memory for the many small things of a flow, in huge pages where the system has them.
 *
 * A report walks at random through records and tree nodes; with small pages, more time goes into translating a page's
 * address than into reading it. What a slab gave is given back only as a whole. */
#pragma once

#include <stddef.h>

struct slab_block;

struct slab { /* zeroed = empty and ready */
    struct slab_block *blocks;
    size_t used; /* of the first block */
};

/* `size` bytes, aligned to 64; uninitialised. */
void *slab_get(struct slab *slab, size_t size);
void slab_free(struct slab *slab);
