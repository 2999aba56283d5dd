#include "capture/perf/touched_pages.h"

#include "base/mem.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum {
    REGION_SHIFT = 21,
    PID_SHIFT = 36,                     /* addresses have at most 57 bits, process numbers 22 */
    BYTES_PER_REGION = 64 + 2 * 16 * 2, /* a bitmap, and slots of a map that is half full and may be growing */
};

void touched_init(struct touched *set, size_t memory)
{
    *set = (struct touched){.most = memory / BYTES_PER_REGION};
}

void touched_free(struct touched *set)
{
    map64_free(&set->regions);
    free(set->bitmaps);
    *set = (struct touched){0};
}

static uint64_t key_of(uint32_t pid, uint64_t region)
{
    return (uint64_t)pid << PID_SHIFT | (region & (((uint64_t)1 << PID_SHIFT) - 1));
}

bool touched_add(struct touched *set, uint32_t pid, uint64_t addr)
{
    if (set->regions.count >= set->most)
        map64_free(&set->regions);
    bool is_new;
    size_t next = set->regions.count;
    uint64_t *number = map64_insert(&set->regions, key_of(pid, addr >> REGION_SHIFT), &is_new);
    if (is_new) {
        *number = next;
        if (next >= set->capacity) {
            set->capacity = set->capacity ? set->capacity * 2 : 64;
            set->bitmaps = mem_resize(set->bitmaps, set->capacity * sizeof *set->bitmaps);
        }
        memset(set->bitmaps[next], 0, sizeof set->bitmaps[next]);
    }
    unsigned page = addr >> PAGE_UNIT_SHIFT & 511;
    uint64_t *word = &set->bitmaps[*number][page / 64], bit = (uint64_t)1 << page % 64;
    bool first = !(*word & bit);
    *word |= bit;
    return first;
}

static void forget_pages(struct touched *set, uint64_t number, uint64_t region, uint64_t first, uint64_t last)
{
    uint64_t start = region << (REGION_SHIFT - PAGE_UNIT_SHIFT), end = start + 511;
    first = first < start ? start : first;
    last = last > end ? end : last;
    for (uint64_t page = first; page <= last; page++)
        set->bitmaps[number][(page & 511) / 64] &= ~((uint64_t)1 << page % 64);
}

void touched_forget(struct touched *set, uint32_t pid, uint64_t addr, uint64_t size)
{
    if (size == 0 || set->regions.count == 0 || addr + size < addr)
        return;
    uint64_t first = addr >> PAGE_UNIT_SHIFT, last = (addr + size - 1) >> PAGE_UNIT_SHIFT;
    uint64_t low = addr >> REGION_SHIFT, high = (addr + size - 1) >> REGION_SHIFT;
    if (high - low < set->regions.capacity) {
        for (uint64_t region = low; region <= high; region++) {
            uint64_t *number = map64_find(&set->regions, key_of(pid, region));
            if (number)
                forget_pages(set, *number, region, first, last);
        }
        return;
    }
    /* More than there can be in the set: walk the set instead. */
    for (size_t i = 0; i < set->regions.capacity; i++) {
        uint64_t key = set->regions.keys[i], region = key & (((uint64_t)1 << PID_SHIFT) - 1);
        if (key != MAP64_EMPTY && key >> PID_SHIFT == pid && region >= low && region <= high)
            forget_pages(set, set->regions.values[i], region, first, last);
    }
}

void touched_forget_process(struct touched *set, uint32_t pid)
{
    /* The entries stay, with nothing in them: numbers must stay dense. */
    for (size_t i = 0; i < set->regions.capacity; i++)
        if (set->regions.keys[i] != MAP64_EMPTY && set->regions.keys[i] >> PID_SHIFT == pid)
            memset(set->bitmaps[set->regions.values[i]], 0, sizeof *set->bitmaps);
}
