#include "capture/outside/glibc_heap.h"

#include "base/array.h"
#include "base/bisect.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/units.h"
#include "capture/outside/remote_memory.h"
#include "capture/process/proc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* As in glibc's malloc.c and arena.c, for 64-bit processors; the same since 2.26. */
enum {
    PREV_IN_USE = 1,
    IS_MAPPED = 2,
    OTHER_ARENA = 4,
    SIZE_BITS = 7,
    HEADER = 16,
    SMALLEST = 32,
    FENCE = 16,                /* the size of what an arena's full heap ends with */
    ARENA_FIRST_LEAST = 0x800, /* where an arena's first chunk may be, behind struct malloc_state */
    ARENA_FIRST_MOST = 0xa00,
    HEAP_FIRST_LEAST = 0x20, /* likewise in its further heaps, behind struct heap_info */
    HEAP_FIRST_MOST = 0x40,
    BRK_FIRST_MOST =
        1 << 14, /* likewise in the program's break: in a static one, behind what the first thread has of its own */
    PROBES = 64, /* pages of a mapping that are tried for the beginning of a mapped chunk */
    SURE = 64,   /* chunks one behind the other: words that are none do not look like so many */
};
#define ARENA_HEAP (64ull << 20) /* what an arena's heaps are aligned to */

struct chunk {
    uint64_t addr, size;
};

typedef array_of(struct chunk) chunk_list;

struct glibc_heap {
    uint32_t pid;
    size_t most;
    chunk_list known, found;
    array_of(uint64_t) starts; /* of neighbouring mappings without a name, which end at */
    uint64_t end;
    uint64_t dropped, said; /* chunks above `most`: at this look, and so many were reported as lost */
    struct remote_memory memory;
};

struct glibc_heap *glibc_heap_new(uint32_t pid, size_t most)
{
    struct glibc_heap *heap = mem_zalloc(sizeof *heap);
    heap->pid = pid;
    heap->most = most;
    return heap;
}

void glibc_heap_free(struct glibc_heap *heap)
{
    if (!heap)
        return;
    array_free(&heap->known);
    array_free(&heap->found);
    array_free(&heap->starts);
    free(heap);
}

static void add(struct glibc_heap *heap, uint64_t addr, uint64_t size)
{
    if (heap->found.count < heap->most)
        array_push(&heap->found, ((struct chunk){addr, size}));
    else
        heap->dropped++;
}

/* Chunks from `at` one behind the other. Whether one is in use is said in the next one's size. Where they do not lead to `end`, none of
 * them is kept. True: they do, or break after so many that any other start would come to the same place. */
static bool walk(struct glibc_heap *heap, uint64_t at, uint64_t end, uint64_t arena)
{
    size_t before = heap->found.count;
    uint64_t dropped = heap->dropped;
    unsigned passed = 0;
    struct chunk last = {0};
    for (; at + HEADER <= end; passed += passed < SURE) {
        uint64_t word;
        if (!remote_word(&heap->memory, at + 8, &word))
            break;
        uint64_t size = word & ~(uint64_t)SIZE_BITS;
        if (last.size && word & PREV_IN_USE)
            add(heap, last.addr + HEADER, last.size - 8);
        if (arena && size <= FENCE && end - at <= 2 * SMALLEST)
            return true;
        /* In an arena the flag is not set in chunks that are free. */
        if (size < SMALLEST || size % HEADER || size > end - at || word & (IS_MAPPED | (OTHER_ARENA & ~arena)))
            break;
        if (at + size == end) /* the rest, that malloc has not given yet */
            return true;
        last = (struct chunk){at, size};
        at += size;
    }
    heap->found.count = before;
    heap->dropped = dropped;
    return passed == SURE;
}

static void walk_from(struct glibc_heap *heap, uint64_t base, uint64_t first, uint64_t last, uint64_t end,
                      uint64_t arena)
{
    for (uint64_t offset = first; offset <= last; offset += HEADER)
        if (walk(heap, base + offset, end, arena))
            return;
}

/* struct heap_info at its beginning: the arena, the heap before, the size. */
static bool walk_arena(struct glibc_heap *heap, const struct proc_map *map)
{
    uint64_t arena, size;
    if (map->start % ARENA_HEAP || !remote_word(&heap->memory, map->start, &arena) ||
        !remote_word(&heap->memory, map->start + 16, &size) || size > ARENA_HEAP || size % PAGE_UNIT ||
        size > map->end - map->start || arena % 8 || arena % ARENA_HEAP > HEAP_FIRST_MOST)
        return false;
    bool first = arena - map->start < HEAP_FIRST_MOST;
    walk_from(heap, map->start, first ? ARENA_FIRST_LEAST : HEAP_FIRST_LEAST,
              first ? ARENA_FIRST_MOST : HEAP_FIRST_MOST, map->start + size, OTHER_ARENA);
    return true;
}

/* Large objects have mappings of their own. The kernel makes one mapping of neighbours, and several of one object where the program advises
 * about a part of it, as numpy does: so a chunk may begin within a mapping, and reach into the next ones. */
static void walk_mapped(struct glibc_heap *heap)
{
    uint64_t at = 0;
    if (heap->starts.count)
        remote_within(&heap->memory, heap->starts.items[0], heap->end);
    for (size_t i = 0; i < heap->starts.count; i++) {
        uint64_t next = i + 1 < heap->starts.count ? heap->starts.items[i + 1] : heap->end;
        at = at > heap->starts.items[i] ? at : heap->starts.items[i];
        for (unsigned probes = 0; at < next && probes < PROBES;) {
            uint64_t before, word, size;
            bool there = remote_word(&heap->memory, at, &before) && remote_word(&heap->memory, at + 8, &word);
            size = there ? word & ~(uint64_t)SIZE_BITS : 0;
            if (!there || before != 0 || (word & SIZE_BITS) != IS_MAPPED || size == 0 || size % PAGE_UNIT ||
                size > heap->end - at) {
                probes++;
                at += PAGE_UNIT;
                continue;
            }
            add(heap, at + HEADER, size - HEADER);
            at += size;
        }
    }
    heap->starts.count = 0;
}

static void look_at(struct glibc_heap *heap, const struct proc_map *map)
{
    bool ours = map->prot == (PROT_READ | PROT_WRITE) && map->flags == MAP_PRIVATE, unnamed = ours && !*map->path;
    if (unnamed)
        remote_within(&heap->memory, map->start, map->end);
    unnamed = unnamed && !walk_arena(heap, map);
    if (!unnamed || map->start != heap->end)
        walk_mapped(heap);
    if (unnamed) {
        array_push(&heap->starts, map->start);
        heap->end = map->end;
    }
    if (ours && strcmp(map->path, "[heap]") == 0) {
        remote_within(&heap->memory, map->start, map->end);
        walk_from(heap, map->start, 0, BRK_FIRST_MOST, map->end, 0);
    }
}

ORDER_BY(by_address, struct chunk, ORDER(a->addr, b->addr))

static void report(const struct glibc_heap *heap, struct sink *sink, uint64_t time, const struct chunk *chunk,
                   bool is_new)
{
    struct event event = {.time = time, .pid = heap->pid, .tid = heap->pid, .kind = is_new ? EVENT_ALLOC : EVENT_FREE};
    if (is_new)
        event.alloc =
            (struct event_alloc){.addr = chunk->addr, .size = chunk->size, .cpu = UINT16_MAX, .fn = ALLOC_MALLOC};
    else
        event.free = (struct event_free){.addr = chunk->addr, .cpu = UINT16_MAX, .fn = ALLOC_FREE};
    sink_put(sink, &event);
}

/* What was freed first: its place may be another's now. */
static bool report_changes(struct glibc_heap *heap, struct sink *sink, uint64_t time)
{
    bool any = false;
    for (int is_new = 0; is_new <= 1; is_new++) {
        const chunk_list *list = is_new ? &heap->found : &heap->known, *other = is_new ? &heap->known : &heap->found;
        size_t j = 0;
        for (size_t i = 0; i < list->count; i++) {
            const struct chunk *chunk = &list->items[i];
            while (j < other->count && other->items[j].addr < chunk->addr)
                j++;
            if (j == other->count || other->items[j].addr != chunk->addr || other->items[j].size != chunk->size) {
                report(heap, sink, time, chunk, is_new);
                any |= is_new;
            }
        }
    }
    return any;
}

bool glibc_heap_knows(const struct glibc_heap *heap, uint64_t addr)
{
    size_t behind = bisect(heap->known.count, i, heap->known.items[i].addr <= addr);
    return behind > 0 && addr - heap->known.items[behind - 1].addr < heap->known.items[behind - 1].size;
}

bool glibc_heap_look(struct glibc_heap *heap, struct sink *sink, uint64_t time)
{
    struct proc_map map;
    if (!remote_open(&heap->memory, heap->pid))
        return false;
    heap->found.count = heap->dropped = 0;
    for (struct proc_maps maps = proc_maps_of(heap->pid); proc_maps_next(&maps, &map);)
        look_at(heap, &map);
    walk_mapped(heap);
    remote_close(&heap->memory);
    if (heap->found.count > 1)
        qsort(heap->found.items, heap->found.count, sizeof *heap->found.items, by_address);
    bool any = report_changes(heap, sink, time);
    if (heap->dropped > heap->said) {
        sink_loss(sink, time, heap->pid, heap->pid, LOSS_MEMORY, heap->dropped - heap->said);
        heap->said = heap->dropped;
    }
    chunk_list spare = heap->known;
    heap->known = heap->found;
    heap->found = spare;
    return any;
}
