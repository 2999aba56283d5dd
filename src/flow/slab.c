#include "flow/slab.h"

#include "base/mem.h"
#include "base/units.h"

#include <stdlib.h>
#include <sys/mman.h>

struct slab_block {
    struct slab_block *next;
};

static void block_add(struct slab *slab)
{
    struct slab_block *block = aligned_alloc(HUGE_PAGE, HUGE_PAGE);
    if (!block)
        mem_exhausted(HUGE_PAGE);
    madvise(block, HUGE_PAGE, MADV_HUGEPAGE); /* only a hint */
    block->next = slab->blocks;
    slab->blocks = block;
    slab->used = CACHE_LINE;
}

void *slab_get(struct slab *slab, size_t size)
{
    size = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    if (size > HUGE_PAGE - CACHE_LINE)
        abort();
    if (!slab->blocks || slab->used + size > HUGE_PAGE)
        block_add(slab);
    void *memory = (char *)slab->blocks + slab->used;
    slab->used += size;
    return memory;
}

void slab_free(struct slab *slab)
{
    while (slab->blocks) {
        struct slab_block *next = slab->blocks->next;
        free(slab->blocks);
        slab->blocks = next;
    }
}
