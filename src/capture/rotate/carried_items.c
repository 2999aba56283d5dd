#include "capture/rotate/carried_items.h"

enum { HOLES_LEAST = 4096, PAGE_BYTES = 4096 };

struct carried_item *carried_items_find(const struct carried_items *items, uint64_t addr)
{
    const uint64_t *index = map64_find(&items->by_addr, addr);
    return index ? &items->list.items[*index] : NULL;
}

static void close_holes(struct carried_items *items)
{
    size_t kept = 0;
    for (size_t i = 0; i < items->list.count; i++) {
        const struct carried_item item = items->list.items[i];
        if (item.marks & CARRIED_GONE)
            continue;
        uint64_t *index = map64_find(&items->by_addr, item.addr);
        if (index && *index == i)
            *index = kept;
        items->list.items[kept++] = item;
    }
    items->list.count = kept;
    items->holes = 0;
}

static void make_hole(struct carried_items *items, struct carried_item *item)
{
    item->marks = CARRIED_GONE;
    items->holes++;
}

void carried_items_put(struct carried_items *items, const struct carried_item *item)
{
    bool is_new;
    if (items->holes >= HOLES_LEAST && items->holes * 2 >= items->list.count)
        close_holes(items);
    uint64_t *index = map64_insert(&items->by_addr, item->addr, &is_new);
    if (!is_new)
        make_hole(items, &items->list.items[*index]);
    *index = items->list.count;
    array_push(&items->list, *item);
}

void carried_items_end(struct carried_items *items, struct carried_item *item, bool keep)
{
    map64_remove(&items->by_addr, item->addr);
    if (keep)
        item->marks |= CARRIED_ENDED;
    else
        make_hole(items, item);
}

void carried_items_forget_pages(struct carried_items *items, uint64_t start, uint64_t end, uint64_t time)
{
    start &= ~(uint64_t)(PAGE_BYTES - 1);
    if ((end - start) / PAGE_BYTES > items->list.count) {
        for (size_t i = 0; i < items->list.count; i++) {
            struct carried_item *item = &items->list.items[i];
            if (!(item->marks & CARRIED_GONE) && item->addr >= start && item->addr < end && item->time <= time)
                carried_items_end(items, item, false);
        }
        return;
    }
    for (uint64_t page = start; page < end; page += PAGE_BYTES) {
        struct carried_item *item = carried_items_find(items, page);
        if (item && item->time <= time)
            carried_items_end(items, item, false);
    }
}

void carried_items_drop(struct carried_items *items, uint8_t marks)
{
    for (size_t i = 0; i < items->list.count; i++) {
        struct carried_item *item = &items->list.items[i];
        if (item->marks & CARRIED_GONE || !(item->marks & marks))
            continue;
        if (carried_items_find(items, item->addr) == item)
            map64_remove(&items->by_addr, item->addr);
        make_hole(items, item);
    }
    close_holes(items);
}

void carried_items_free(struct carried_items *items)
{
    array_free(&items->list);
    map64_free(&items->by_addr);
    items->holes = 0;
}
