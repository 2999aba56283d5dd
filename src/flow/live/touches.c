#include "flow/live/touches.h"

#include "base/mem.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_PAGES = 64, BLOCK_SHIFT = 18, REGION_SHIFT = 21 };

struct block {
    uint32_t thread[BLOCK_PAGES]; /* plus one: 0 is not known */
    uint32_t tick[BLOCK_PAGES];
};

static struct block *block_find(const struct touches *touches, uint64_t number)
{
    uint64_t *place = map64_find(&touches->blocks, number);
    return place ? (struct block *)(uintptr_t)*place : NULL;
}

static unsigned page_in_block(uint64_t addr)
{
    return (unsigned)(addr >> PAGE_UNIT_SHIFT) & (BLOCK_PAGES - 1);
}

void touches_add(struct touches *touches, uint64_t addr, uint32_t thread, uint32_t tick)
{
    bool is_new;
    uint64_t *place = map64_insert(&touches->blocks, addr >> BLOCK_SHIFT, &is_new);
    if (is_new)
        *place = (uint64_t)(uintptr_t)mem_zalloc(sizeof(struct block));
    struct block *block = (struct block *)(uintptr_t)*place;
    block->thread[page_in_block(addr)] = thread + 1;
    block->tick[page_in_block(addr)] = tick;
    *map64_insert(&touches->regions, addr >> REGION_SHIFT, NULL) = (uint64_t)tick << 32 | thread;
}

/* Calls `visit` with the number and value of each entry of a map whose number is in [first, last]. */
static void each_between(const struct map64 *map, uint64_t first, uint64_t last,
                         void (*visit)(void *context, uint64_t number, uint64_t value), void *context)
{
    if (map->count == 0)
        return;
    if (last - first >= map->capacity) {
        for (size_t i = 0; i < map->capacity; i++) {
            if (map->keys[i] != MAP64_EMPTY && map->keys[i] >= first && map->keys[i] <= last)
                visit(context, map->keys[i], map->values[i]);
        }
        return;
    }
    for (uint64_t number = first; number <= last; number++) {
        uint64_t *value = map64_find(map, number);
        if (value)
            visit(context, number, *value);
    }
}

struct touch_query {
    uint64_t addr, end; /* of what is asked for */
    const struct touches *asked, *level;
    void (*visit)(void *context, uint32_t thread, uint32_t tick);
    void *context;
    uint64_t found;
    struct touches *cleared;
};

static uint64_t end_of(uint64_t addr, uint64_t size)
{
    return addr + size < addr ? UINT64_MAX : addr + size;
}

static void pages_of_block(const struct touch_query *range, uint64_t number, unsigned *from, unsigned *to)
{
    uint64_t base = number << BLOCK_SHIFT, last = range->end - 1;
    *from = range->addr > base ? page_in_block(range->addr) : 0;
    *to = last >> BLOCK_SHIFT == number ? page_in_block(last) : BLOCK_PAGES - 1;
}

static void forget_block(void *context, uint64_t number, uint64_t value)
{
    struct block *block = (struct block *)(uintptr_t)value;
    unsigned from, to;
    pages_of_block(context, number, &from, &to);
    memset(&block->thread[from], 0, (to - from + 1) * sizeof block->thread[0]);
}

static void forget_region(void *context, uint64_t number, uint64_t value)
{
    const struct touch_query *range = context;
    (void)value;
    uint64_t *place = map64_find(&range->cleared->regions, number);
    if (range->addr <= number << REGION_SHIFT && range->end >= (number + 1) << REGION_SHIFT && place)
        *place = UINT64_MAX; /* nobody */
}

void touches_forget(struct touches *touches, uint64_t addr, uint64_t size)
{
    struct touch_query range = {.addr = addr, .end = end_of(addr, size), .cleared = touches};
    if (size == 0)
        return;
    each_between(&touches->blocks, addr >> BLOCK_SHIFT, (range.end - 1) >> BLOCK_SHIFT, forget_block, &range);
    each_between(&touches->regions, addr >> REGION_SHIFT, (range.end - 1) >> REGION_SHIFT, forget_region, &range);
}

static bool known_before(const struct touch_query *range, uint64_t number, unsigned page)
{
    for (const struct touches *at = range->asked; at != range->level; at = at->parent) {
        const struct block *block = block_find(at, number);
        if (block && block->thread[page])
            return true;
    }
    return false;
}

static void visit_block(void *context, uint64_t number, uint64_t value)
{
    struct touch_query *range = context;
    const struct block *block = (const struct block *)(uintptr_t)value;
    unsigned from, to;
    pages_of_block(range, number, &from, &to);
    for (unsigned page = from; page <= to; page++) {
        if (block->thread[page] && !known_before(range, number, page)) {
            range->visit(range->context, block->thread[page] - 1, block->tick[page]);
            range->found++;
        }
    }
}

static void visit_region(void *context, uint64_t number, uint64_t value)
{
    struct touch_query *range = context;
    (void)number;
    if (value == UINT64_MAX)
        return;
    range->visit(range->context, (uint32_t)value, (uint32_t)(value >> 32));
    range->found++;
}

void touches_each(const struct touches *touches, uint64_t addr, uint64_t size,
                  void (*visit)(void *context, uint32_t thread, uint32_t tick), void *context)
{
    struct touch_query range = {
        .addr = addr, .end = end_of(addr, size), .asked = touches, .visit = visit, .context = context};
    if (size == 0)
        return;
    for (range.level = touches; range.level; range.level = range.level->parent)
        each_between(&range.level->blocks, addr >> BLOCK_SHIFT, (range.end - 1) >> BLOCK_SHIFT, visit_block, &range);
    for (range.level = touches; range.level && range.found == 0; range.level = range.level->parent)
        each_between(&range.level->regions, addr >> REGION_SHIFT, (range.end - 1) >> REGION_SHIFT, visit_region,
                     &range);
}

void touches_free(struct touches *touches)
{
    map64_each (&touches->blocks, i)
        free((struct block *)(uintptr_t)touches->blocks.values[i]);
    map64_free(&touches->blocks);
    map64_free(&touches->regions);
}
