/* capture/rotate/carried_replay.c - an image as events again, for the start of the next file. */
#include "base/order.h"
#include "capture/rotate/carried_image.h"

#include "trace/event_copy.h"

#include <stdlib.h>

struct replay {
    struct carried_image *image;
    void (*put)(void *context, const struct event *event);
    void *context;
    struct map64 named; /* threads that something names */
    uint32_t last_named;
};

static void put(struct replay *replay, const struct event *event)
{
    if (event->kind)
        replay->put(replay->context, event);
}

static void name_thread(struct replay *replay, uint32_t tid)
{
    if (tid == replay->last_named)
        return; /* mostly */
    map64_insert(&replay->named, tid, NULL);
    replay->last_named = tid;
}

static struct event event_of(const struct carried_image *image, const struct carried_item *item, uint8_t kind)
{
    struct event event = {.time = item->time, .pid = image->pid, .tid = item->tid, .kind = kind};
    switch (kind) {
    case EVENT_FREE:
        event.free = (struct event_free){item->addr, item->cpu, item->fn};
        break;
    case EVENT_TOUCH:
        event.touch = (struct event_touch){item->size, item->more, item->cpu, item->fn};
        break;
    case EVENT_HOME:
        event.home = (struct event_home){item->addr, item->size, (int32_t)item->more};
        break;
    case EVENT_FRAME:
        event.frame = (struct event_frame){item->addr, item->size};
        break;
    default:
        event.alloc = (struct event_alloc){item->addr, item->size, item->stack, item->cpu, item->fn, item->more};
        break;
    }
    return event;
}

static void replay_items(struct replay *replay, const struct carried_items *items, uint8_t kind)
{
    array_each (&items->list, const struct carried_item, item) {
        if (item->marks & CARRIED_FREED)
            continue;
        struct event event = event_of(replay->image, item, kind);
        name_thread(replay, item->tid);
        put(replay, &event);
    }
}

struct mapped_range {
    uint64_t start, end, time;
};

ORDER_BY(by_start, struct mapped_range, ORDER(a->start, b->start))

struct ranges {
    array_of(struct mapped_range) list;
};

/* The range that the address is in, by its start; they do not overlap, or hardly. */
static const struct mapped_range *range_of(const struct ranges *ranges, uint64_t addr)
{
    size_t low = 0, high = ranges->list.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges->list.items[middle].start <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    const struct mapped_range *range = low ? &ranges->list.items[low - 1] : NULL;
    return range && addr < range->end ? range : NULL;
}

/* Objects of pools end with the block or the map that they are in: those that are in an older one still are there. */
static void replay_pooled(struct replay *replay)
{
    struct carried_image *image = replay->image;
    struct ranges blocks = {0}, maps = {0};
    if (!carried_items_count(&image->pooled) && !image->pools.count)
        return;
    array_each (&image->blocks.list, struct carried_item, block)
        if (!(block->marks & (CARRIED_FREED | CARRIED_ENDED)))
            array_push(&blocks.list, (struct mapped_range){block->addr, block->addr + block->size, block->time});
    array_each (&image->layout, struct event, map)
        if (map->kind == EVENT_MAP)
            array_push(&maps.list, (struct mapped_range){map->map.addr, map->map.addr + map->map.size, map->time});
    array_sort(&blocks.list, by_start);
    array_sort(&maps.list, by_start);
    for (size_t i = 0; i < image->pooled.list.count; i++) {
        struct carried_item *item = &image->pooled.list.items[i];
        if (item->marks & CARRIED_FREED)
            continue;
        const uint64_t *pool = item->more ? map64_find(&image->pool_of, item->more) : NULL;
        const struct mapped_range *around = range_of(&blocks, item->addr);
        if (!around)
            around = range_of(&maps, item->addr);
        if (!around || around->time > item->time || (pool && image->pools.items[*pool].generation != item->generation))
            carried_items_end(&image->pooled, item, item->time, false);
    }
    array_each (&image->pools, struct carried_pool, pool)
        if (!pool->destroyed)
            put(replay, &pool->event);
    replay_items(replay, &image->pooled, EVENT_POOL_ALLOC);
    array_free(&blocks.list);
    array_free(&maps.list);
}

static void replay_threads(struct replay *replay, bool all)
{
    struct carried_image *image = replay->image;
    size_t kept = 0;
    map64_free(&image->thread_of);
    for (size_t i = 0; i < image->threads.count; i++) {
        struct carried_thread thread = image->threads.items[i];
        if (thread.exit.kind && !all && !map64_find(&replay->named, thread.tid)) {
            event_copy_free(&thread.start);
            event_copy_free(&thread.name);
            event_copy_free(&thread.exit);
            continue;
        }
        put(replay, &thread.start);
        put(replay, &thread.name);
        put(replay, &thread.exit);
        *map64_insert(&image->thread_of, thread.tid, NULL) = kept;
        image->threads.items[kept++] = thread;
    }
    image->threads.count = kept;
}

void carried_image_replay(struct carried_image *image, bool all_threads,
                          void (*put_event)(void *context, const struct event *event), void *context)
{
    struct replay replay = {.image = image, .put = put_event, .context = context, .last_named = UINT32_MAX};
    put(&replay, &image->start);
    carried_chains_replay(&image->chains, image->first_chain, put_event, context);
    array_each (&image->repeated, struct event, event)
        put(&replay, event);
    array_each (&image->layout, struct event, event) {
        name_thread(&replay, event->tid);
        put(&replay, event);
    }
    replay_items(&replay, &image->blocks, EVENT_ALLOC);
    replay_items(&replay, &image->frees, EVENT_FREE);
    replay_pooled(&replay);
    replay_items(&replay, &image->touches, EVENT_TOUCH);
    replay_items(&replay, &image->homes, EVENT_HOME);
    replay_items(&replay, &image->frames, EVENT_FRAME);
    replay_threads(&replay, all_threads);
    put(&replay, &image->exit);
    map64_free(&replay.named);
}
