#include "flow/live/page_homes.h"

#include "base/mem.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum { MOVED = 0x8000 }; /* beside the node */

struct block { /* nodes are kept plus one: 0 is not known */
    uint16_t latest, latest_page;
    bool one_by_one; /* neighbouring pages had a fault each */
    uint16_t nodes[PAGES_PER_BLOCK];
};

static struct block *block_find(const struct pages *pages, uint64_t addr)
{
    uint64_t *place = map64_find(&pages->blocks, addr >> PAGES_BLOCK_SHIFT);
    return place ? (struct block *)(uintptr_t)*place : NULL;
}

static struct block *block_make(struct pages *pages, uint64_t addr)
{
    bool is_new;
    uint64_t *place = map64_insert(&pages->blocks, addr >> PAGES_BLOCK_SHIFT, &is_new);
    if (is_new)
        *place = (uint64_t)(uintptr_t)mem_zalloc(sizeof(struct block));
    return (struct block *)(uintptr_t)*place;
}

static unsigned page_of(uint64_t addr)
{
    return (unsigned)(addr >> PAGE_UNIT_SHIFT) & (PAGES_PER_BLOCK - 1);
}

static bool comes_one_by_one(const struct pages *pages, uint64_t addr)
{
    for (int beside = -1; beside <= 1; beside++) {
        const struct block *block = block_find(pages, addr + ((uint64_t)beside << PAGES_BLOCK_SHIFT));
        if (block && block->one_by_one)
            return true;
    }
    return false;
}

int pages_home(const struct pages *pages, uint64_t addr)
{
    for (; pages; pages = pages->parent) {
        const struct block *block = block_find(pages, addr);
        if (block && block->nodes[page_of(addr)])
            return (block->nodes[page_of(addr)] & ~MOVED) - 1;
    }
    return -1;
}

struct pages_latest pages_latest(const struct pages *pages, uint64_t addr)
{
    for (; pages; pages = pages->parent) {
        const struct block *block = block_find(pages, addr);
        if (block && block->latest)
            return (struct pages_latest){.node = block->latest - 1,
                                         .page = (addr >> PAGES_BLOCK_SHIFT << PAGES_BLOCK_SHIFT) +
                                                 ((uint64_t)block->latest_page << PAGE_UNIT_SHIFT),
                                         .one_by_one = comes_one_by_one(pages, addr)};
    }
    return (struct pages_latest){.node = -1};
}

bool pages_moves(struct pages *pages, uint64_t addr, int node)
{
    struct block *block = block_find(pages, addr);
    if (!block)
        return false;
    uint16_t *known = &block->nodes[page_of(addr)];
    if (*known == 0 || *known & MOVED || *known == node + 1)
        return false;
    *known |= MOVED;
    return true;
}

void pages_set(struct pages *pages, uint64_t addr, uint64_t size, int node)
{
    uint64_t first = addr >> PAGE_UNIT_SHIFT, last = (addr + (size ? size - 1 : 0)) >> PAGE_UNIT_SHIFT;
    for (uint64_t page = first; page <= last;) {
        struct block *block = block_make(pages, page << PAGE_UNIT_SHIFT);
        do
            block->nodes[page & (PAGES_PER_BLOCK - 1)] =
                (uint16_t)((block->nodes[page & (PAGES_PER_BLOCK - 1)] & MOVED) | (node + 1));
        while (++page <= last && (page & (PAGES_PER_BLOCK - 1)));
    }
}

void pages_touch(struct pages *pages, uint64_t addr, int node)
{
    struct block *block = block_make(pages, addr);
    unsigned page = page_of(addr);
    if ((page > 0 && block->nodes[page - 1]) || (page + 1 < PAGES_PER_BLOCK && block->nodes[page + 1]))
        block->one_by_one = true;
    block->nodes[page] = (uint16_t)(node + 1);
    block->latest = (uint16_t)(node + 1);
    block->latest_page = (uint16_t)page;
}

static void forget_in_block(struct block *block, uint64_t base, uint64_t addr, uint64_t end)
{
    uint64_t block_end = base + (1ul << PAGES_BLOCK_SHIFT);
    if (addr <= base && end >= block_end) {
        memset(block, 0, sizeof *block);
        return;
    }
    for (uint64_t page = addr > base ? addr : base; page < end && page < block_end; page += 1ul << PAGE_UNIT_SHIFT)
        block->nodes[page_of(page)] = 0;
}

void pages_forget(struct pages *pages, uint64_t addr, uint64_t size)
{
    uint64_t end = addr + size < addr ? UINT64_MAX : addr + size;
    uint64_t first = addr >> PAGES_BLOCK_SHIFT, last = (end - 1) >> PAGES_BLOCK_SHIFT;
    if (size == 0 || pages->blocks.count == 0)
        return;
    if (last - first < pages->blocks.capacity) {
        for (uint64_t number = first; number <= last; number++) {
            struct block *block = block_find(pages, number << PAGES_BLOCK_SHIFT);
            if (block)
                forget_in_block(block, number << PAGES_BLOCK_SHIFT, addr, end);
        }
        return;
    }
    for (size_t i = 0; i < pages->blocks.capacity; i++) {
        uint64_t number = pages->blocks.keys[i];
        if (number != MAP64_EMPTY && number >= first && number <= last)
            forget_in_block((struct block *)(uintptr_t)pages->blocks.values[i], number << PAGES_BLOCK_SHIFT, addr, end);
    }
}

void pages_free(struct pages *pages)
{
    map64_each (&pages->blocks, i)
        free((struct block *)(uintptr_t)pages->blocks.values[i]);
    map64_free(&pages->blocks);
}
