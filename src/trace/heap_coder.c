/* trace/heap_coder.c - see trace/heap_coder.h. The recorder's hot path. */
#include "trace/heap_coder.h"

#include "base/mem.h"
#include "trace/heap_ways.h"
#include "trace/run_code.h"

#include <stdlib.h>
#include <string.h>

struct heap_coder *heap_coder_new(void)
{
    return mem_zalloc_aligned(_Alignof(struct heap_coder), sizeof(struct heap_coder));
}

/* As many sets as there are slots / 4: half full when every slot is used. */
static void make_sets(struct heap_coder *coder)
{
    uint32_t sets = 1;
    while (4 * sets < coder->model.slot_room)
        sets *= 2;
    if (!coder->sets || sets - 1 != coder->set_mask) {
        free(coder->sets);
        coder->sets = aligned_alloc(_Alignof(struct heap_entry_set), sets * sizeof *coder->sets);
        if (!coder->sets)
            mem_exhausted(sets * sizeof *coder->sets);
        coder->set_mask = sets - 1;
    }
    memset(coder->sets, 0, sets * sizeof *coder->sets);
}

void heap_coder_begin(struct heap_coder *coder)
{
    heap_model_begin(&coder->model);
    make_sets(coder);
}

void heap_coder_free(struct heap_coder *coder)
{
    if (!coder)
        return;
    free(coder->sets);
    free(coder->model.slots);
    free(coder);
}

size_t heap_coder_memory(const struct heap_coder *coder)
{
    return coder ? sizeof *coder + coder->model.slot_room * sizeof *coder->model.slots +
                       (coder->set_mask + 1) * sizeof *coder->sets
                 : 0;
}

/* Blocks that are neighbours are in the same set, or in the next: what is used together is in the cache together. */
static inline struct heap_entry_set *set_of(struct heap_coder *coder, uint64_t addr)
{
    return &coder->sets[(uint32_t)(addr >> 7 ^ addr >> 13 ^ addr >> 19) & coder->set_mask];
}

static inline uint32_t tag_of(uint64_t addr)
{
    return (uint32_t)((addr >> 4 ^ addr >> 20) << 16) | 1u << 31; /* never that of an empty way */
}

static inline void remember(struct heap_coder *coder, uint64_t addr, uint32_t slot)
{
    struct heap_entry_set *set = set_of(coder, addr);
    unsigned empty = ways_empty(set->ways);
    unsigned way = __builtin_expect(empty != 0, 1) ? (unsigned)__builtin_ctz(empty) : coder->replacements++ % HEAP_WAYS;
    set->ways[way] = tag_of(addr) | (slot + 1);
}

/* Takes the address out of the table: its slot, or HEAP_SLOTS. Of two with the same tag only one is found. */
static inline uint32_t recall(struct heap_coder *coder, uint64_t addr)
{
    struct heap_entry_set *set = set_of(coder, addr);
    unsigned tagged = ways_tagged(set->ways, tag_of(addr));
    if (tagged == 0)
        return HEAP_SLOTS;
    unsigned found = (unsigned)__builtin_ctz(tagged);
    uint32_t slot = (uint16_t)set->ways[found] - 1u;
    if (!coder->model.slots[slot].used || coder->model.slots[slot].addr != addr)
        return HEAP_SLOTS;
    set->ways[found] = 0;
    return slot;
}

/* The table grows with the slots; what was in it is found again by them. */
static __attribute__((noinline)) void remember_all(struct heap_coder *coder)
{
    make_sets(coder);
    for (uint32_t i = 0; i < coder->model.slot_count; i++)
        if (coder->model.slots[i].used)
            remember(coder, coder->model.slots[i].addr, i);
}

/* How long before the last one it was released; HEAP_RING or more when it was not. */
static inline unsigned depth_of(const struct heap_model *model, unsigned size_class, uint64_t addr)
{
    _Static_assert(HEAP_RING == 8 && HEAP_WAYS == 8, "as many as are searched at once");
    uint32_t equal = ways_equal(model->recent[size_class].addr, addr) * 0x01010101u;
    unsigned top = model->top[size_class] % HEAP_RING;
    /* The last one, which is before the top, comes to bit 31. */
    return equal ? (unsigned)__builtin_clz(equal << (HEAP_RING - top)) : HEAP_RING;
}

static inline unsigned put_place(struct trace_run *run, struct heap_model *model, const struct event_alloc *alloc,
                                 unsigned size_class)
{
    enum { UNKNOWN = HEAP_PLACES - HEAP_PLACE_UNKNOWN };
    unsigned depth = depth_of(model, size_class, alloc->addr);
    if (depth < HEAP_RECENT) {
        heap_recent_take(model, size_class, depth);
        return depth;
    }
    depth = depth_of(model, HEAP_UNKNOWN, alloc->addr);
    if (depth < UNKNOWN) {
        heap_recent_take(model, HEAP_UNKNOWN, depth);
        return HEAP_PLACE_UNKNOWN + depth;
    }
    uint64_t expected = model->end;
    model->end = alloc->addr + heap_chunk(alloc->size);
    if (alloc->addr == expected)
        return HEAP_PLACE_END;
    uint64_t addr = rotate_right(alloc->addr, 4);
    put(run, HEAP_COLUMN_FAR, zigzag(addr - model->far[0]));
    model->far[0] = addr;
    return HEAP_PLACE_FAR;
}

static inline void put_byte(struct trace_run *run, unsigned column, uint8_t byte)
{
    *run->columns[column].at++ = byte;
}

static inline unsigned put_shape(struct trace_run *run, struct heap_model *model, unsigned which, uint64_t shape)
{
    if (__builtin_expect(model->shape[which] == shape, 1))
        return 0;
    model->shape[which] = shape;
    put(run, HEAP_COLUMN_SHAPE, shape);
    return HEAP_SHAPE_CHANGED;
}

void heap_put_alloc(struct trace_run *run, const struct event_alloc *alloc)
{
    struct heap_coder *coder = run->heap;
    struct heap_model *model = &coder->model;
    unsigned size_class = heap_class(alloc->size);
    unsigned op = put_place(run, model, alloc, size_class);
    struct heap_guess *before = heap_guess_of(model, model->last_stack), *guess = heap_guess_of(model, alloc->stack);
    if (before->next_stack == alloc->stack)
        op |= HEAP_STACK_GUESSED;
    else
        put(run, HEAP_COLUMN_STACK, zigzag((uint64_t)alloc->stack - before->next_stack));
    before->next_stack = model->last_stack = alloc->stack;
    if (guess->size == alloc->size) {
        op |= HEAP_SIZE_GUESSED;
    } else {
        put_byte(run, HEAP_COLUMN_SIZE, (uint8_t)alloc->size);
        put(run, HEAP_COLUMN_SIZE_UPPER, alloc->size >> 8);
        guess->size = alloc->size;
    }
    op |= put_shape(run, model, 0, alloc->fn | (uint64_t)alloc->cpu << 8);
    put_byte(run, HEAP_COLUMN_OP, (uint8_t)op);

    uint32_t room = model->slot_room, slot = heap_slot_take(model, alloc->addr, size_class);
    if (__builtin_expect(model->slot_room != room, 0))
        remember_all(coder);
    else if (slot != HEAP_SLOTS)
        remember(coder, alloc->addr, slot);
}

static inline unsigned put_slot(struct trace_run *run, const struct heap_model *model, uint32_t slot)
{
    if (slot == model->newest)
        return HEAP_RELEASE_NEWEST;
    if (slot == model->released + 1)
        return HEAP_RELEASE_NEXT;
    if (slot + 1 == model->released)
        return HEAP_RELEASE_PREVIOUS;
    put_byte(run, HEAP_COLUMN_SLOT, (uint8_t)slot);
    put(run, HEAP_COLUMN_SLOT_UPPER, slot >> 8);
    return HEAP_RELEASE_SLOT;
}

void heap_put_free(struct trace_run *run, const struct event_free *release)
{
    struct heap_coder *coder = run->heap;
    struct heap_model *model = &coder->model;
    uint32_t slot = recall(coder, release->addr);
    unsigned op = HEAP_IS_FREE;
    if (slot != HEAP_SLOTS) {
        op |= put_slot(run, model, slot);
        heap_slot_release(model, slot);
    } else {
        uint64_t addr = rotate_right(release->addr, 4);
        op |= HEAP_RELEASE_FAR;
        put(run, HEAP_COLUMN_FAR, zigzag(addr - model->far[1]));
        model->far[1] = addr;
        heap_recent_push(model, HEAP_UNKNOWN, release->addr);
    }
    op |= put_shape(run, model, 1, release->fn | (uint64_t)release->cpu << 8);
    put_byte(run, HEAP_COLUMN_OP, (uint8_t)op);
}
