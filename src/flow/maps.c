/* flow/maps.c - the life of mmap'd ranges: holes, overlaps, growth of the break. */
#include "flow/state.h"

#include <string.h>

static void range_put(struct flow *flow, struct process *process, uint64_t start, uint64_t end, uint32_t record)
{
    uint32_t range = pool_add(&flow->ranges, &flow->slab);
    *pool_at(&flow->ranges, range) = (struct map_range){.end = end, .record = record};
    addrtree_put(&process->maps, ADDRTREE_NOWHERE, start, range, 0, NULL, NULL);
}

static void range_gone(struct flow *flow, struct process *process, uint32_t record, uint64_t bytes, uint64_t time)
{
    if (pool_at(&flow->records, record)->process != process->index) {
        live_record_die(flow, process, record, time);
        return;
    }
    uint64_t *left = map64_find(&flow->map_left, record);
    if (!left)
        return;
    *left = *left > bytes ? *left - bytes : 0;
    if (*left == 0)
        live_record_die(flow, process, record, time);
}

/* Takes [start, end) out of every range. What is left of one on either side stays the same object. */
static void punch(struct flow *flow, struct process *process, uint64_t start, uint64_t end, uint64_t time)
{
    uint64_t key;
    uint32_t value;
    while (addrtree_floor(&process->maps, end - 1, &key, &value)) {
        struct map_range range = *pool_at(&flow->ranges, value);
        if (range.end <= start)
            break;
        addrtree_remove(&process->maps, ADDRTREE_NOWHERE, key, &value);
        uint64_t low = key > start ? key : start, high = range.end < end ? range.end : end;
        if (range.end > end)
            range_put(flow, process, end, range.end, range.record);
        if (key < start)
            range_put(flow, process, key, start, range.record);
        range_gone(flow, process, range.record, high - low, time);
    }
    if (process->pooled.count)
        live_pooled_end_within(flow, process, start, end, time);
    pages_forget(&process->pages, start, end - start);
    touches_forget(&process->touches, start, end - start);
}

static enum object_kind kind_of(const struct event_map *map, const char *path)
{
    if (map->map_kind == MAP_KIND_FILE)
        return OBJECT_FILE;
    /* What the program maps for a coroutine or a thread of its own is a map like any other, until a thread runs on it. */
    if (map->map_kind == MAP_KIND_STACK)
        return map->stack ? OBJECT_MAP : OBJECT_STACK;
    /* Shared memory without a file to name is memory like any other. */
    if (map->map_kind == MAP_KIND_SHARED && path[0] == '/' && strncmp(path, "/dev/zero", 9) != 0)
        return OBJECT_FILE;
    return OBJECT_MAP;
}

static const char *name_of(const struct event_map *map, const char *path)
{
    if (map->map_kind == MAP_KIND_BRK)
        return "[heap]";
    if (map->map_kind == MAP_KIND_STACK && !map->stack)
        return "stack";
    if (path[0])
        return path;
    return map->stack ? "" : "[anonymous]";
}

static void grow_break(struct flow *flow, struct process *process, uint64_t addr, uint64_t end, uint64_t time)
{
    if (process->brk == FLOW_NONE) {
        process->brk = live_record_new(flow, process, OBJECT_MAP, addr, 0, time);
        pool_at(&flow->records, process->brk)->flags |= RECORD_LEFTOVER;
        live_record_name(flow, process->brk, &(struct named){.name = "[heap]", .file = "", .module = ""});
    }
    process->brk = live_record_in(flow, process, process->brk);
    struct record *record = pool_at(&flow->records, process->brk);
    uint64_t low = record->size && record->addr < addr ? record->addr : addr;
    uint64_t high = record->addr + record->size > end ? record->addr + record->size : end;
    record->addr = low;
    record->size = high - low;
    range_put(flow, process, addr, end, process->brk);
}

void live_maps_map(struct flow *flow, struct process *process, const struct event *event)
{
    const struct event_map *map = &event->map;
    const char *path = map->path ? map->path : "";
    uint64_t end = map->addr + map->size;
    if (map->size == 0 || end <= map->addr)
        return;
    if (map->map_kind == MAP_KIND_THREAD_LOCAL) {
        live_locals_map(flow, process, event);
        return;
    }
    punch(flow, process, map->addr, end, event->time);
    if (map->stack) /* else it was there already */
        pages_forget(&process->pages, map->addr, map->size);
    if (map->map_kind == MAP_KIND_BRK) {
        grow_break(flow, process, map->addr, end, event->time);
        return;
    }
    enum object_kind kind = kind_of(map, path);
    uint32_t index = live_record_new(flow, process, kind, map->addr, map->size, event->time);
    struct record *record = pool_at(&flow->records, index);
    record->thread = live_thread_of(flow, process, event->tid, event->time);
    record->fn = ALLOC_FNS; /* mmap */
    uint32_t stack = live_stack_of(process, map->stack);
    if (stack == FLOW_NONE)
        record->flags |= RECORD_LEFTOVER;
    else
        record->trail = live_stack_trail(flow, process, stack, ALLOC_FNS, kind, event->time);
    const char *name = name_of(map, path);
    if (*name)
        live_record_name(flow, index,
                         &(struct named){.name = strtab_intern(flow->texts, name),
                                         .file = "",
                                         .module = "",
                                         .offset = kind == OBJECT_FILE ? map->offset : 0});
    *map64_insert(&flow->map_left, index, NULL) = map->size;
    range_put(flow, process, map->addr, end, index);
    if (record->trail != FLOW_NONE)
        live_record_count(flow, index);
}

void live_maps_unmap(struct flow *flow, struct process *process, const struct event *event)
{
    uint64_t end = event->map.addr + event->map.size;
    if (event->map.size == 0 || end <= event->map.addr)
        return;
    punch(flow, process, event->map.addr, end, event->time);
    pages_forget(&process->pages, event->map.addr, event->map.size);
}

void live_maps_end(struct flow *flow, struct process *process, uint32_t record)
{
    if (pool_at(&flow->records, record)->process == process->index) {
        uint64_t *left = map64_find(&flow->map_left, record);
        if (!left || *left == 0)
            return;
        *left = 0;
    }
    live_record_die(flow, process, record, UINT64_MAX);
}
