/* flow/live/live_maps.c - the life of mmap'd ranges: holes, overlaps, growth of the break. */
#include "flow/state.h"

#include <string.h>

static void range_put(struct flow *flow, struct process *process, uint64_t start, uint64_t end, uint32_t record)
{
    uint32_t range = pool_add(&flow->ranges, &flow->slab);
    *pool_at(&flow->ranges, range) = (struct map_range){.end = end, .record = record};
    addrtree_put(&process->maps, ADDRTREE_NOWHERE, start, range, 0, NULL, NULL);
}

static void range_unmapped(struct flow *flow, struct process *process, uint32_t record, uint64_t bytes, uint64_t time)
{
    if (pool_at(&flow->records, record)->process != process->index) {
        live_record_end(flow, process, record, time);
        return;
    }
    uint64_t *mapped = map64_find(&flow->mapped_bytes, record);
    if (!mapped)
        return;
    *mapped = *mapped > bytes ? *mapped - bytes : 0;
    if (*mapped == 0)
        live_record_end(flow, process, record, time);
}

/* Takes [start, end) out of every range. What is left of one on either side stays the same object. The memory itself may
 * stay as it is: that a map was reported late, or again, says nothing of its pages. */
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
        range_unmapped(flow, process, range.record, high - low, time);
    }
}

/* Whatever was in [start, end) ends: the range, the objects in it, the home nodes of its pages. */
static void clear(struct flow *flow, struct process *process, uint64_t start, uint64_t end, uint64_t time)
{
    punch(flow, process, start, end, time);
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

/* Puts a range where nothing is that the program asked for; returns how many bytes of it. What was left over before
 * gives way. */
static uint64_t fill_gaps(struct flow *flow, struct process *process, uint64_t start, uint64_t end, uint32_t record,
                          uint64_t time)
{
    uint64_t key, filled = 0,
                  from = start; /* [from, at) is one range: in pieces it would have more of them with each map */
    uint32_t value;
    for (uint64_t at = start, until; at < end; at = until) {
        until = end;
        if (addrtree_ceiling(&process->maps, at + 1, &key, &value) && key < end)
            until = key;
        if (addrtree_floor(&process->maps, at, &key, &value)) {
            const struct map_range *range = pool_at(&flow->ranges, value);
            if (range->end > at && !(pool_at(&flow->records, range->record)->flags & RECORD_LEFTOVER)) {
                until = range->end < end ? range->end : end;
                if (from < at)
                    range_put(flow, process, from, at, record);
                from = until;
                continue;
            }
            if (range->end > at)
                punch(flow, process, at, until, time);
        }
        filled += until - at;
    }
    if (from < end)
        range_put(flow, process, from, end, record);
    return filled;
}

static void grow_break(struct flow *flow, struct process *process, const struct event_map *map, uint64_t time)
{
    uint64_t addr = map->addr, end = map->addr + map->size;
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
    fill_gaps(flow, process, addr, end, process->brk, time);
}

static void name_map(struct flow *flow, uint32_t record, const char *name, uint64_t offset)
{
    if (*name)
        live_record_name(
            flow, record,
            &(struct named){.name = strtab_intern(flow->texts, name), .file = "", .module = "", .offset = offset});
}

static bool has_blocks(const struct process *process, uint64_t start, uint64_t end)
{
    uint64_t key;
    uint32_t value;
    if (addrtree_ceiling(&process->heap, start, &key, &value) && key < end)
        return true;
    for (unsigned i = 0; i < RECENT_FREES; i++) {
        if (process->recent[i].addr >= start && process->recent[i].addr < end)
            return true;
    }
    return false;
}

/* A map that nobody in sight asked for: the linker's, libc's or the kernel's, or one whose call chain is not known. */
static void leave_over(struct flow *flow, struct process *process, const struct event *event, const char *path)
{
    const struct event_map *map = &event->map;
    enum object_kind kind = kind_of(map, path);
    uint64_t key, end = map->addr + map->size;
    uint32_t value;
    const char *name = name_of(map, path);
    if (map->map_kind == MAP_KIND_ANONYMOUS && has_blocks(process, map->addr, end))
        name = "[arena]"; /* where malloc's blocks are, the rest is what malloc keeps for itself */
    if (addrtree_floor(&process->maps, map->addr, &key, &value) && key == map->addr) {
        uint32_t old = pool_at(&flow->ranges, value)->record;
        struct record *record = pool_at(&flow->records, old);
        uint64_t *mapped = map64_find(&flow->mapped_bytes, old);
        if (mapped && record->addr == key && record->flags & RECORD_LEFTOVER && record->process == process->index &&
            record->size < map->size && (record->flags & RECORD_KIND) == kind && kind == OBJECT_MAP) {
            /* It has grown. */
            uint64_t from = key + record->size;
            record->size = map->size;
            uint64_t more = fill_gaps(flow, process, from, end, old, event->time);
            *map64_find(&flow->mapped_bytes, old) += more;
            return;
        }
    }
    uint32_t index = live_record_new(flow, process, kind, map->addr, map->size, event->time);
    struct record *record = pool_at(&flow->records, index);
    record->thread = live_thread_of(flow, process, event->tid, event->time);
    record->fn = ALLOC_FNS; /* mmap */
    record->flags |= RECORD_LEFTOVER;
    name_map(flow, index, name, kind == OBJECT_FILE ? map->offset : 0);
    uint64_t filled = fill_gaps(flow, process, map->addr, end, index, event->time);
    *map64_insert(&flow->mapped_bytes, index, NULL) = filled;
}

void live_maps_map(struct flow *flow, struct process *process, const struct event *event)
{
    const struct event_map *map = &event->map;
    const char *path = map->path ? map->path : "";
    uint64_t end = map->addr + map->size;
    uint32_t stack = live_stack_at(flow, process, map->stack, event->time);
    if (map->size == 0 || end <= map->addr)
        return;
    if (map->stack) /* else it was there already */
        pages_forget(&process->pages, map->addr, map->size);
    if (map->map_kind == MAP_KIND_THREAD_LOCAL) {
        live_locals_map(flow, process, event);
        return;
    }
    if (map->map_kind == MAP_KIND_BRK) {
        grow_break(flow, process, map, event->time);
        return;
    }
    if (stack == FLOW_NONE) {
        leave_over(flow, process, event, path);
        return;
    }
    clear(flow, process, map->addr, end, event->time);
    enum object_kind kind = kind_of(map, path);
    uint32_t index = live_record_new(flow, process, kind, map->addr, map->size, event->time);
    struct record *record = pool_at(&flow->records, index);
    record->thread = live_thread_of(flow, process, event->tid, event->time);
    record->fn = ALLOC_FNS; /* mmap */
    record->trail = live_stack_trail(flow, process, stack, ALLOC_FNS, kind, event->time, 0);
    name_map(flow, index, name_of(map, path), kind == OBJECT_FILE ? map->offset : 0);
    *map64_insert(&flow->mapped_bytes, index, NULL) = map->size;
    range_put(flow, process, map->addr, end, index);
    live_record_count(flow, index);
}

void live_maps_unmap(struct flow *flow, struct process *process, const struct event *event)
{
    uint64_t end = event->map.addr + event->map.size;
    if (event->map.size == 0 || end <= event->map.addr)
        return;
    clear(flow, process, event->map.addr, end, event->time);
}

void live_maps_end(struct flow *flow, struct process *process, uint32_t record)
{
    if (pool_at(&flow->records, record)->process == process->index) {
        uint64_t *mapped = map64_find(&flow->mapped_bytes, record);
        if (!mapped || *mapped == 0)
            return;
        *mapped = 0;
    }
    live_record_end(flow, process, record, UINT64_MAX);
}
