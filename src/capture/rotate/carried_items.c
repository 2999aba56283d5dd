#include "capture/rotate/carried_items.h"

#include "base/units.h"

enum { HOLES_LEAST = 1 << 13 };

static struct carried_item *find(const struct carried_items *items, uint64_t addr)
{
    const uint64_t *index = map64_find(&items->by_addr, addr);
    return index ? &items->list.items[*index] : NULL;
}

struct carried_item *carried_items_find(const struct carried_items *items, uint64_t addr)
{
    struct carried_item *item = find(items, addr);
    return item && !(item->marks & CARRIED_FREED) ? item : NULL;
}

uint64_t carried_items_ended(const struct carried_items *items, uint64_t addr)
{
    const struct carried_item *item = find(items, addr);
    return item && item->marks & CARRIED_FREED ? item->time : 0;
}

static void close_holes(struct carried_items *items)
{
    size_t kept = 0;
    map64_clear(&items->by_addr);
    for (size_t i = 0; i < items->list.count; i++) {
        const struct carried_item item = items->list.items[i];
        if (item.marks & CARRIED_FREED)
            continue;
        if (!(item.marks & CARRIED_ENDED))
            *map64_insert(&items->by_addr, item.addr, NULL) = kept;
        items->list.items[kept++] = item;
    }
    items->list.count = kept;
    items->holes = 0;
}

static void make_hole(struct carried_items *items, struct carried_item *item, uint64_t time)
{
    item->marks = CARRIED_FREED;
    item->time = time;
    items->holes++;
}

void carried_items_put(struct carried_items *items, const struct carried_item *item)
{
    bool is_new;
    if (items->holes >= HOLES_LEAST && items->holes * 2 >= items->list.count)
        close_holes(items);
    uint64_t *index = map64_insert(&items->by_addr, item->addr, &is_new);
    if (!is_new && !(items->list.items[*index].marks & CARRIED_FREED))
        make_hole(items, &items->list.items[*index], item->time);
    *index = items->list.count;
    array_push(&items->list, *item);
}

void carried_items_end(struct carried_items *items, struct carried_item *item, uint64_t time, bool keep)
{
    if (keep) {
        map64_remove(&items->by_addr, item->addr);
        item->marks |= CARRIED_ENDED;
    } else {
        make_hole(items, item, time);
    }
}

void carried_items_forget_pages(struct carried_items *items, uint64_t start, uint64_t end, uint64_t time)
{
    start &= ~(uint64_t)(PAGE_UNIT - 1);
    if ((end - start) / PAGE_UNIT > items->list.count) {
        for (size_t i = 0; i < items->list.count; i++) {
            struct carried_item *item = &items->list.items[i];
            if (!(item->marks & CARRIED_FREED) && item->addr >= start && item->addr < end && item->time <= time)
                carried_items_end(items, item, time, false);
        }
        return;
    }
    /* By distance: the last page of all ends at 2^64. */
    for (uint64_t done = 0; done < end - start; done += PAGE_UNIT) {
        struct carried_item *item = carried_items_find(items, start + done);
        if (item && item->time <= time)
            carried_items_end(items, item, time, false);
    }
}

void carried_items_drop(struct carried_items *items, uint8_t marks)
{
    for (size_t i = 0; i < items->list.count; i++) {
        struct carried_item *item = &items->list.items[i];
        if (item->marks & CARRIED_FREED || !(item->marks & marks))
            continue;
        make_hole(items, item, item->time);
    }
    close_holes(items);
}

void carried_items_free(struct carried_items *items)
{
    array_free(&items->list);
    map64_free(&items->by_addr);
    items->holes = 0;
}
