/* agent/place/place_heap.c - blocks for placed sites: a heap for each entry, in one range of addresses.
 *
 * No lock and no list outside the range: a fork's child and a thread that is killed leave nothing half done. Free blocks of one size
 * are a stack whose top has a counter beside it, so that a top that came back is not taken for the old one. A unit of the range is
 * either cut into blocks of one size, or the start of a run for a large block; memory of a heap stays that heap's. */
#include "agent/place/place_work.h"

#include "agent/agent.h"
#include "base/sys.h"

#include <sys/resource.h>

enum {
    UNIT_SHIFT = 16,
    UNIT = 1 << UNIT_SHIFT,
    AREA_SHIFT = 38, /* of the range, at most */
    AREA_LEAST = 26,
    AREA_SHARE =
        16, /* of a limited address space (ulimit -v) at most one part of so many: the program wants the rest */
    BLOCK_SHIFT = 4, /* blocks are multiples of 16 */
    INDEX_BITS = AREA_SHIFT - BLOCK_SHIFT,
    SMALL_MOST = UNIT / 2,
    CLASSES = 48,       /* of blocks: 16 to 128 in steps of 16, then four to each doubling */
    RUN_CLASSES = 96,   /* of runs, in units: likewise */
    EXTENT_UNITS = 16,  /* taken at once for a heap's small blocks */
    KEPT_MOST = 4 << 20 /* a run that is freed keeps its pages up to this size */
};

enum unit_kind { UNIT_UNUSED, UNIT_SMALL, UNIT_RUN, UNIT_RUN_USED /* has had a user: not zero */ };

struct unit {
    uint8_t kind, class;
    uint16_t heap;
    uint32_t next;   /* of a free run: the next one, or 0 */
    uint32_t placed; /* of a run: pages of it that are placed */
};

struct heap {
    _Atomic uint64_t blocks[CLASSES];   /* tops: counter << INDEX_BITS | address in 16 bytes; 0: empty */
    _Atomic uint64_t runs[RUN_CLASSES]; /* counter << 32 | unit; 0: empty */
    _Atomic uint64_t extent;            /* next unit << 32 | end */
};

AGENT_HOT uint64_t place_area_start, place_area_size;
static struct unit *units;
static struct heap *heaps;              /* entries, then one of each node for each entry whose policy is local */
static _Atomic uint64_t next_unit;      /* of the range; the first is never used, so that 0 is none */
static uint16_t node_place[PLACE_CPUS]; /* by CPU: its node's place in the table */

/* Entries, one of whose blocks was not placed for a reason that stays: no further one is tried. */
static _Atomic bool given_up[PLACE_ENTRIES];

/* 0 to 7 for 1 to 8, then four to each doubling. */
static unsigned class_of(uint64_t count)
{
    if (count <= 8)
        return (unsigned)count - 1;
    unsigned top = 63 - (unsigned)__builtin_clzll(count - 1); /* 3 for 9 to 16 */
    return 8 + (top - 3) * 4 + (unsigned)((count - 1) >> (top - 2) & 3);
}

static uint64_t class_count(unsigned class)
{
    if (class < 8)
        return class + 1;
    unsigned top = 3 + (class - 8) / 4;
    return ((uint64_t)1 << top) + ((uint64_t)((class - 8) % 4 + 1) << (top - 2));
}

bool place_heap_begin(void)
{
    uint64_t count = (uint64_t)place_table->entry_count * (1 + place_table->node_count);
    struct place_cpus *cpus = place_cpu_list(place_table);
    for (uint32_t node = 0; node < place_table->node_count; node++)
        for (uint32_t cpu = 0; cpu < PLACE_CPUS; cpu++)
            if (cpus[node].words[cpu / 64] >> cpu % 64 & 1)
                node_place[cpu] = (uint16_t)node;
    heaps = count < UINT16_MAX ? sys_pages(count * sizeof *heaps) : NULL;
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    sys_call(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit);
    for (unsigned shift = AREA_SHIFT; heaps && shift >= AREA_LEAST; shift--) {
        uint64_t size = (uint64_t)1 << shift, bytes = size / UNIT * sizeof *units;
        if (size > limit.rlim_cur / AREA_SHARE)
            continue;
        long area = sys_call(SYS_mmap, NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
        if (area < 0 && area > -4096)
            continue;
        long table = sys_call(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
        if (table < 0 && table > -4096) {
            sys_unmap((void *)area, size);
            continue;
        }
        units = (struct unit *)table;
        place_area_start = ((uint64_t)area + UNIT - 1) & ~(uint64_t)(UNIT - 1);
        place_area_size = size - UNIT;
        atomic_store(&next_unit, 1);
        return true;
    }
    for (uint32_t i = 0; i < place_table->entry_count; i++)
        if (place_entries(place_table)[i].kind == PLACE_SITE)
            place_failed(&place_entries(place_table)[i], PLACE_NO_ROOM_REASON, 0);
    return false;
}

static inline uint64_t address_of(uint64_t unit)
{
    return place_area_start + (unit << UNIT_SHIFT);
}

static inline struct unit *unit_of(const void *block)
{
    return &units[((uint64_t)block - place_area_start) >> UNIT_SHIFT];
}

/* The first bytes of units that can be written. */
static bool place_units(struct place_entry *entry, uint64_t unit, uint64_t bytes, int node, bool *by_touch)
{
    long cause;
    enum place_reason reason =
        place_pages(entry, address_of(unit), bytes, false, PLACE_WRITTEN, node, by_touch, &cause);
    if (reason == PLACE_NONE_REASON)
        return true;
    place_failed(entry, reason, cause);
    if (reason != PLACE_TOO_LARGE_REASON)
        atomic_store_explicit(&given_up[entry - place_entries(place_table)], true, memory_order_relaxed);
    return false;
}

/* So many units for an entry, with its policy; 0 when there are none left or it cannot be placed. */
static uint64_t take_units(struct place_entry *entry, uint64_t count, uint64_t bytes, int node, bool *by_touch)
{
    uint64_t most = place_area_size >> UNIT_SHIFT, first = atomic_load(&next_unit), size = count << UNIT_SHIFT;
    if (atomic_load_explicit(&given_up[entry - place_entries(place_table)], memory_order_relaxed)) {
        atomic_fetch_add_explicit(&entry->failed, 1, memory_order_relaxed);
        return 0;
    }
    do {
        if (count > most || first > most - count) {
            place_failed(entry, PLACE_NO_ROOM_REASON, 0);
            return 0;
        }
    } while (!atomic_compare_exchange_weak(&next_unit, &first, first + count));
    uint64_t addr = address_of(first);
    long cause = sys_call(SYS_mprotect, addr, size, PROT_READ | PROT_WRITE);
    if (cause < 0)
        place_failed(entry, sys_restricted ? PLACE_RESTRICTED_REASON : PLACE_FAILED_REASON, cause);
    else if (place_units(entry, first, bytes, node, by_touch))
        return first;
    /* For others, untouched, unless somebody has taken the next ones meanwhile. */
    sys_call(SYS_madvise, addr, size, MADV_DONTNEED);
    uint64_t end = first + count;
    atomic_compare_exchange_strong(&next_unit, &end, first);
    return 0;
}

static void push_chain(_Atomic uint64_t *top, uint64_t first, uint64_t *last)
{
    uint64_t mask = ((uint64_t)1 << INDEX_BITS) - 1, old = atomic_load_explicit(top, memory_order_relaxed), new;
    do {
        __atomic_store_n(last, old & mask, __ATOMIC_RELAXED);
        new = (old & ~mask) + ((uint64_t)1 << INDEX_BITS) + first;
    } while (!atomic_compare_exchange_weak_explicit(top, &old, new, memory_order_release, memory_order_relaxed));
}

static uint64_t *block_at(uint64_t index)
{
    return (uint64_t *)(place_area_start + (index << BLOCK_SHIFT));
}

static void *pop_block(_Atomic uint64_t *top)
{
    uint64_t mask = ((uint64_t)1 << INDEX_BITS) - 1, old = atomic_load_explicit(top, memory_order_acquire), new;
    do {
        if (!(old & mask))
            return NULL;
        /* Another thread may have it already and write to it: then the counter has changed too. */
        uint64_t next = __atomic_load_n(block_at(old & mask), __ATOMIC_RELAXED) & mask;
        new = (old & ~mask) + ((uint64_t)1 << INDEX_BITS) + next;
    } while (!atomic_compare_exchange_weak_explicit(top, &old, new, memory_order_acquire, memory_order_acquire));
    return block_at(old & mask);
}

/* The next unit of the heap's extent; a new extent when that is used up. */
static uint64_t next_of_extent(struct place_entry *entry, struct heap *heap, int node)
{
    uint64_t old = atomic_load(&heap->extent);
    for (;;) {
        uint64_t next = old >> 32, end = old & UINT32_MAX;
        if (next < end) {
            if (atomic_compare_exchange_weak(&heap->extent, &old, (next + 1) << 32 | end))
                return next;
            continue;
        }
        bool by_touch;
        uint64_t first = take_units(entry, EXTENT_UNITS, (uint64_t)EXTENT_UNITS << UNIT_SHIFT, node, &by_touch);
        if (first == 0)
            return 0;
        /* Two threads may come together: then one extent is lost but for the unit that is given out here. */
        atomic_store(&heap->extent, (first + 1) << 32 | (first + EXTENT_UNITS));
        return first;
    }
}

static void *cut_unit(struct place_entry *entry, struct heap *heap, unsigned class, int node)
{
    uint64_t unit = next_of_extent(entry, heap, node);
    if (unit == 0)
        return NULL;
    uint64_t step = class_count(class), count = (UNIT >> BLOCK_SHIFT) / step;
    units[unit] = (struct unit){.kind = UNIT_SMALL, .class = (uint8_t) class, .heap = (uint16_t)(heap - heaps)};
    uint64_t first = unit << (UNIT_SHIFT - BLOCK_SHIFT), last = first + (count - 1) * step;
    for (uint64_t index = first + step; index < last; index += step)
        *block_at(index) = index + step;
    if (count > 1)
        push_chain(&heap->blocks[class], first + step, block_at(last));
    return block_at(first);
}

static uint64_t pop_run(_Atomic uint64_t *top)
{
    uint64_t old = atomic_load_explicit(top, memory_order_acquire), new;
    do {
        if (!(old & UINT32_MAX))
            return 0;
        uint64_t next = __atomic_load_n(&units[old & UINT32_MAX].next, __ATOMIC_RELAXED);
        new = ((old >> 32) + 1) << 32 | next;
    } while (!atomic_compare_exchange_weak_explicit(top, &old, new, memory_order_acquire, memory_order_acquire));
    return old & UINT32_MAX;
}

static void push_run(_Atomic uint64_t *top, uint64_t unit)
{
    uint64_t old = atomic_load_explicit(top, memory_order_relaxed), new;
    do {
        __atomic_store_n(&units[unit].next, (uint32_t)old, __ATOMIC_RELAXED);
        new = ((old >> 32) + 1) << 32 | unit;
    } while (!atomic_compare_exchange_weak_explicit(top, &old, new, memory_order_release, memory_order_relaxed));
}

/* Its pages suit one size only. */
static bool is_by_size(const struct place_entry *entry)
{
    return entry->policy == PLACE_SPLIT || entry->policy == PLACE_WEIGHTED;
}

static void *take_run(struct place_entry *entry, struct heap *heap, uint64_t size, int node, bool *by_touch, bool *zero)
{
    unsigned class = class_of((size + UNIT - 1) >> UNIT_SHIFT);
    if (class >= RUN_CLASSES)
        return NULL;
    uint64_t unit = pop_run(&heap->runs[class]), count = class_count(class);
    uint64_t bytes = (size + place_page - 1) & ~(place_page - 1);
    /* All of it, so that it suits each size of its class, and is one mapping with its neighbours. But parts depend on the size, and to
     * touch pages is to take them. */
    if (!is_by_size(entry) && !place_touches)
        bytes = count << UNIT_SHIFT;
    uint32_t pages = (uint32_t)(bytes / place_page);
    *zero = !unit || units[unit].kind == UNIT_RUN;
    if (unit == 0) {
        unit = take_units(entry, count, bytes, node, by_touch);
    } else if (units[unit].placed < pages && !place_units(entry, unit, bytes, node, by_touch)) {
        push_run(&heap->runs[class], unit);
        unit = 0;
    } else if (units[unit].placed > pages) {
        pages = units[unit].placed;
    }
    if (unit == 0)
        return NULL;
    units[unit] = (struct unit){
        .kind = UNIT_RUN_USED, .class = (uint8_t) class, .heap = (uint16_t)(heap - heaps), .placed = pages};
    return (void *)address_of(unit);
}

void *place_alloc(size_t size, size_t align, bool zeroed, const struct unwind_regs *caller)
{
    struct place_entry *entry = place_entry_of(caller);
    if (__builtin_expect(!entry, 1) || size > place_area_size || align > UNIT)
        return NULL;
    uint32_t index = (uint32_t)(entry - place_entries(place_table));
    int node = -1;
    if (entry->policy == PLACE_LOCAL) {
        uint32_t place = node_place[agent_cpu() % PLACE_CPUS];
        node = (int)place_cpu_list(place_table)[place].node;
        index = place_table->entry_count * (1 + place) + index;
    }
    struct heap *heap = &heaps[index];
    size_t wanted = size ? size : 1;
    if (align > 16) { /* powers of two are aligned to themselves */
        wanted = wanted > align ? wanted : align;
        wanted = wanted <= SMALL_MOST ? (size_t)1 << (64 - __builtin_clzll(wanted - 1)) : wanted;
    }
    bool by_touch = place_touches, zero = false;
    void *block;
    if (wanted <= SMALL_MOST) {
        unsigned class = class_of((wanted + 15) >> BLOCK_SHIFT);
        block = pop_block(&heap->blocks[class]);
        if (!block)
            block = cut_unit(entry, heap, class, node);
    } else {
        block = take_run(entry, heap, wanted, node, &by_touch, &zero);
    }
    if (!block)
        return NULL;
    if (zeroed && !zero)
        memset(block, 0, size);
    place_done(entry, size, by_touch);
    return block;
}

size_t place_size(const void *block)
{
    const struct unit *unit = unit_of(block);
    return class_count(unit->class) << (unit->kind == UNIT_SMALL ? BLOCK_SHIFT : UNIT_SHIFT);
}

void place_free(void *block)
{
    struct unit *unit = unit_of(block);
    struct heap *heap = &heaps[unit->heap];
    if (unit->kind == UNIT_SMALL) {
        uint64_t index = ((uint64_t)block - place_area_start) >> BLOCK_SHIFT;
        push_chain(&heap->blocks[unit->class], index, block);
        return;
    }
    if (unit->kind != UNIT_RUN_USED || (uint64_t)block & (UNIT - 1))
        return; /* freed twice, or no block of ours */
    size_t size = place_size(block);
    if (place_wants.huge && size > KEPT_MOST)
        place_huge_going(block, size);
    bool by_size = is_by_size(&place_entries(place_table)[unit->heap % place_table->entry_count]);
    if ((size > KEPT_MOST || by_size) && sys_call(SYS_madvise, block, size, MADV_DONTNEED) == 0)
        unit->kind = UNIT_RUN;
    if (by_size || (place_touches && unit->kind == UNIT_RUN))
        unit->placed = 0;
    push_run(&heap->runs[unit->class], (uint64_t)(unit - units));
}
