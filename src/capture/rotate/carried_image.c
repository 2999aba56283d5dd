#include "capture/rotate/carried_image.h"

#include "base/units.h"
#include "trace/event_copy.h"
#include "trace/event_rows.h"

#include <stdlib.h>
#include <string.h>

enum { EARLY_MOST = 1 << 16, EARLY_NS = 1000000000 };

/* Whether a forked child has what came at `time`. */
static bool inherited(const struct carried_image *image, uint64_t time)
{
    return image->children && time <= image->last_fork;
}

/* It ended, or another is in its place. */
static void end_block(struct carried_image *image, struct carried_items *items, struct carried_item *item,
                      uint64_t time, bool keep)
{
    if (keep && items == &image->blocks)
        map64_insert(&image->freed, item->addr, NULL);
    carried_items_end(items, item, time, keep);
}

/* Whether a forked image began with a block at that address, or may have. */
static bool began_with(const struct carried_image *image, uint64_t addr)
{
    for (const struct carried_image *from = image->parent; from; image = from, from = from->parent) {
        const struct carried_item *item = carried_items_find(&from->blocks, addr);
        if ((item && item->time <= image->start.time) || map64_find(&from->freed, addr))
            return true;
    }
    return false;
}

/* Whether the release of a block that came at `time` came before it did. */
static bool ended_early(const struct carried_image *image, uint64_t addr, uint64_t time)
{
    const struct carried_item *early = carried_items_find(&image->frees, addr);
    return (early && early->time > time) || carried_items_ended(&image->blocks, addr) > time;
}

static void see_alloc(struct carried_image *image, struct carried_items *items, const struct event *event)
{
    const struct event_alloc *alloc = &event->alloc;
    struct carried_item *old = carried_items_find(items, alloc->addr);
    if (old && old->time > event->time)
        return; /* another thread's later block at the same address came first */
    if (items == &image->blocks && !old && ended_early(image, alloc->addr, event->time))
        return;
    struct carried_item item = {.time = event->time,
                                .addr = alloc->addr,
                                .size = alloc->size,
                                .more = event->kind == EVENT_POOL_ALLOC ? alloc->pool : 0,
                                .tid = event->tid,
                                .stack = alloc->stack,
                                .cpu = alloc->cpu,
                                .fn = alloc->fn,
                                .marks = old ? CARRIED_REPLACED : 0};
    const uint64_t *pool = item.more ? map64_find(&image->pool_of, item.more) : NULL;
    item.generation = pool ? image->pools.items[*pool].generation : 0;
    if (old && inherited(image, old->time))
        end_block(image, items, old, event->time, true);
    carried_items_put(items, &item);
}

static void keep_free(struct carried_image *image, const struct event *event)
{
    const struct carried_item *known = carried_items_find(&image->frees, event->free.addr);
    if (known && known->time > event->time)
        return;
    carried_items_put(&image->frees, &(struct carried_item){.time = event->time,
                                                            .addr = event->free.addr,
                                                            .tid = event->tid,
                                                            .cpu = event->free.cpu,
                                                            .fn = event->free.fn});
    /* What waits for its beginning gets it at once or never; ends of inherited blocks stay. */
    if (carried_items_count(&image->frees) < image->frees_most + EARLY_MOST)
        return;
    for (size_t i = 0; i < image->frees.list.count; i++) {
        struct carried_item *item = &image->frees.list.items[i];
        if (!(item->marks & CARRIED_FREED) && item->time + EARLY_NS < event->time && !began_with(image, item->addr) &&
            !map64_find(&image->freed, item->addr))
            item->marks |= CARRIED_ENDED;
    }
    carried_items_drop(&image->frees, CARRIED_ENDED);
    image->frees_most = 2 * carried_items_count(&image->frees);
}

static void see_free(struct carried_image *image, const struct event *event)
{
    struct carried_item *item = carried_items_find(&image->blocks, event->free.addr);
    if (!item) {
        keep_free(image, event);
        return;
    }
    /* realloc in place, both halves with one time stamp: the new block came first, and this is the old one's end. */
    if (item->time > event->time || (item->marks & CARRIED_REPLACED && item->time == event->time))
        return;
    bool keep = inherited(image, item->time);
    end_block(image, &image->blocks, item, event->time, keep);
    /* Else what was at this address before, and is carried, would be there again. */
    if (map64_find(&image->freed, event->free.addr) || began_with(image, event->free.addr))
        keep_free(image, event);
}

static void drop_layout(struct carried_image *image, size_t index)
{
    event_copy_free(&image->layout.items[index]);
    memmove(&image->layout.items[index], &image->layout.items[index + 1],
            (--image->layout.count - index) * sizeof *image->layout.items);
}

static void forget_pages(struct carried_image *image, uint64_t start, uint64_t end, uint64_t time)
{
    carried_items_forget_pages(&image->touches, start, end, time);
    carried_items_forget_pages(&image->homes, start, end, time);
    carried_items_forget_pages(&image->frames, start, end, time);
}

/* Drops what [start, end) covers. True when a map remains there that reaches beyond, or that a child has. */
static bool clear_maps(struct carried_image *image, uint64_t start, uint64_t end, uint64_t time)
{
    bool remains = false;
    for (size_t i = image->layout.count; i-- > 0;) {
        const struct event *old = &image->layout.items[i];
        if ((old->kind != EVENT_MAP && old->kind != EVENT_UNMAP) || old->time > time)
            continue;
        uint64_t low = old->map.addr, high = low + old->map.size;
        if (high <= start || low >= end)
            continue;
        if (low >= start && high <= end && !inherited(image, old->time))
            drop_layout(image, i);
        else
            remains |= old->kind == EVENT_MAP;
    }
    return remains;
}

static bool same_map(const struct event *old, const struct event_map *map)
{
    return old->kind == EVENT_MAP && old->map.addr == map->addr && old->map.map_kind == map->map_kind &&
           old->map.stack == map->stack && strcmp(old->map.path, map->path ? map->path : "") == 0;
}

/* A map that nobody in sight asked for comes again and again, as it grows. */
static bool map_known(struct carried_image *image, const struct event_map *map)
{
    array_each (&image->layout, struct event, old) {
        bool brk = old->kind == EVENT_MAP && map->map_kind == MAP_KIND_BRK && old->map.map_kind == MAP_KIND_BRK &&
                   old->map.addr + old->map.size == map->addr;
        if (brk)
            old->map.size += map->size;
        else if (same_map(old, map))
            old->map.size = map->size > old->map.size ? map->size : old->map.size;
        else
            continue;
        return true;
    }
    return false;
}

static void see_map(struct carried_image *image, const struct event *event)
{
    const struct event_map *map = &event->map;
    uint64_t end = map->addr + map->size;
    if (map->size == 0 || end <= map->addr)
        return;
    if (event->kind == EVENT_UNMAP) {
        forget_pages(image, map->addr, end, event->time);
        if (clear_maps(image, map->addr, end, event->time) || image->parent) /* it may be of an inherited one */
            array_push(&image->layout, event_copy(event));
        return;
    }
    if (map->stack) {
        forget_pages(image, map->addr, end, event->time);
        if (map->map_kind != MAP_KIND_THREAD_LOCAL && map->map_kind != MAP_KIND_BRK)
            clear_maps(image, map->addr, end, event->time);
    } else if (map_known(image, map)) {
        return;
    }
    array_push(&image->layout, event_copy(event));
}

static void see_module(struct carried_image *image, const struct event *event)
{
    for (size_t i = 0; i < image->layout.count; i++) {
        const struct event *old = &image->layout.items[i];
        if (old->kind != EVENT_MODULE_LOAD || old->module.start != event->module.start || inherited(image, old->time) ||
            strcmp(old->module.path, event->module.path ? event->module.path : "") != 0)
            continue;
        drop_layout(image, i);
        if (event->kind == EVENT_MODULE_UNLOAD)
            return;
        break;
    }
    array_push(&image->layout, event_copy(event));
}

static void replace(struct event *place, const struct event *event)
{
    event_copy_free(place);
    *place = event_copy(event);
}

static void see_thread(struct carried_image *image, const struct event *event)
{
    bool is_new;
    uint64_t *index = map64_insert(&image->thread_of, event->tid, &is_new);
    bool again = !is_new && event->kind == EVENT_THREAD_START && image->threads.items[*index].exit.kind;
    if (is_new || again) {
        *index = image->threads.count;
        array_push(&image->threads, (struct carried_thread){.tid = event->tid});
    }
    struct carried_thread *thread = &image->threads.items[*index];
    replace(event->kind == EVENT_THREAD_START  ? &thread->start
            : event->kind == EVENT_THREAD_NAME ? &thread->name
                                               : &thread->exit,
            event);
}

static void end_pool(struct carried_image *image, uint64_t handle, bool itself)
{
    const uint64_t *index = map64_find(&image->pool_of, handle);
    if (!index)
        return;
    struct carried_pool *pool = &image->pools.items[*index];
    pool->generation++;
    pool->destroyed = itself;
    for (size_t i = 0; i < image->pools.count; i++) {
        const struct carried_pool *child = &image->pools.items[i];
        if (child->event.kind && child->event.pool.parent == handle && child->handle != handle && !child->destroyed)
            end_pool(image, child->handle, true);
    }
}

static struct carried_pool *pool_of(struct carried_image *image, uint64_t handle)
{
    bool is_new;
    uint64_t *index = map64_insert(&image->pool_of, handle, &is_new);
    if (is_new) {
        *index = image->pools.count;
        array_push(&image->pools, (struct carried_pool){.handle = handle});
    }
    return &image->pools.items[*index];
}

static void see_pool(struct carried_image *image, const struct event *event)
{
    uint64_t handle = event->pool.handle;
    if (handle == MAP64_EMPTY)
        return;
    if (event->pool.change == POOL_FREED) {
        struct carried_item *item = carried_items_find(&image->pooled, handle);
        if (item && item->time <= event->time)
            carried_items_end(&image->pooled, item, event->time, false);
    } else if (event->pool.change == POOL_CREATED) {
        end_pool(image, handle, true); /* another one was there, and its end was not seen */
        struct carried_pool *pool = pool_of(image, handle);
        pool->event = *event;
        pool->destroyed = false;
    } else {
        end_pool(image, handle, event->pool.change == POOL_DESTROYED);
    }
}

static void see_page(struct carried_image *image, const struct event *event)
{
    struct carried_item item = {.time = event->time, .tid = event->tid};
    struct carried_items *items = &image->homes;
    if (event->kind == EVENT_TOUCH) {
        items = &image->touches;
        item.addr = event->touch.addr & ~(uint64_t)(PAGE_UNIT - 1);
        item.size = event->touch.addr;
        item.more = event->touch.ip;
        item.cpu = event->touch.cpu;
        item.fn = event->touch.write;
    } else if (event->kind == EVENT_FRAME) {
        items = &image->frames;
        item.addr = event->frame.page;
        item.size = event->frame.physical;
    } else {
        item.addr = event->home.page;
        item.size = event->home.size;
        item.more = (uint64_t)(int64_t)event->home.node;
    }
    const struct carried_item *old = carried_items_find(items, item.addr);
    if (!old || old->time <= item.time)
        carried_items_put(items, &item);
}

static void see_chain(struct carried_image *image, const struct event *event)
{
    struct event *first = &image->first_chain;
    if (!first->kind)
        *first = *event;
    if (first->time == event->time && first->tid == event->tid)
        carried_chains_put(&image->chains, &event->stack);
    else
        array_push(&image->repeated, event_copy(event));
}

void carried_image_see(struct carried_image *image, const struct event *event)
{
    switch (event->kind) {
    case EVENT_ALLOC:
        if (event->alloc.addr != MAP64_EMPTY)
            see_alloc(image, &image->blocks, event);
        break;
    case EVENT_FREE:
        if (event->free.addr != MAP64_EMPTY)
            see_free(image, event);
        break;
    case EVENT_POOL_ALLOC:
        if (event->alloc.addr == MAP64_EMPTY)
            break;
        if (event->alloc.pool && event->alloc.pool != MAP64_EMPTY)
            pool_of(image, event->alloc.pool);
        see_alloc(image, &image->pooled, event);
        break;
    case EVENT_POOL:
        see_pool(image, event);
        break;
    case EVENT_TOUCH:
    case EVENT_HOME:
    case EVENT_FRAME:
        see_page(image, event);
        break;
    case EVENT_MAP:
    case EVENT_UNMAP:
        see_map(image, event);
        break;
    case EVENT_MODULE_LOAD:
    case EVENT_MODULE_UNLOAD:
        see_module(image, event);
        break;
    case EVENT_THREAD_START:
    case EVENT_THREAD_NAME:
    case EVENT_THREAD_EXIT:
        see_thread(image, event);
        break;
    case EVENT_STACK:
        see_chain(image, event);
        break;
    default:
        if (event_rows[event->kind].carry == CARRY_ALL)
            array_push(&image->repeated, event_copy(event));
        break;
    }
}

void carried_image_alone(struct carried_image *image)
{
    carried_items_drop(&image->blocks, CARRIED_ENDED);
    map64_free(&image->freed);
}

static void free_thread(struct carried_thread *thread)
{
    event_copy_free(&thread->start);
    event_copy_free(&thread->name);
    event_copy_free(&thread->exit);
}

void carried_image_free(struct carried_image *image)
{
    struct carried_items *const items[] = {&image->blocks,  &image->frees, &image->pooled,
                                           &image->touches, &image->homes, &image->frames};
    for (unsigned i = 0; i < sizeof items / sizeof *items; i++)
        carried_items_free(items[i]);
    carried_chains_free(&image->chains);
    array_each (&image->repeated, struct event, event)
        event_copy_free(event);
    array_each (&image->layout, struct event, event)
        event_copy_free(event);
    array_each (&image->threads, struct carried_thread, thread)
        free_thread(thread);
    array_free(&image->repeated);
    array_free(&image->layout);
    array_free(&image->threads);
    array_free(&image->pools);
    map64_free(&image->freed);
    map64_free(&image->thread_of);
    map64_free(&image->pool_of);
    event_copy_free(&image->start);
    free(image);
}
