/* trace/heap_model.h - what a run of allocations and releases expects to come next. Private to src/trace.
 *
 * A run of this kind (TRACE_HEAP) holds one thread's allocations and releases in the order in which they happened, so
 * that each one says something about the next. Both ends keep the same model:
 * - A block that is allocated gets a slot: the one given back last, else a new one. Its release names the slot, which is
 *   a small number, and not the address.
 * - A block that is released is remembered with others of its size. Allocators hand the last one out first.
 * - A call chain allocates the size it allocated before, and is followed by the chain that followed it before.
 * What is not as expected is written out: a model that is wrong costs bytes, never an event. docs/format.md has the
 * rules; a change of them is a change of the format. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HEAP_CLASSES = 72,
    HEAP_RING = 8,      /* released blocks that a class remembers */
    HEAP_RECENT = 7,    /* those that an allocation may name: what glibc's threads keep for themselves */
    HEAP_UNKNOWN = 0,   /* the class of blocks whose size the run does not know */
    HEAP_GUESSES = 128, /* by call chain */
    HEAP_SLOTS = 65535, /* at most; blocks beyond have none */
    /* Nor do they when fewer than one slot in 8 was released: other threads release what this one allocates. */
    HEAP_SLOTS_FIRST = 1024,
    HEAP_SLOTS_PER_HIT = 8,
};

/* The first byte of an event. */
enum heap_op {
    HEAP_PLACE = 15,          /* allocation: one of enum heap_place; release: one of enum heap_release */
    HEAP_IS_FREE = 16,        /* a release */
    HEAP_SIZE_GUESSED = 32,   /* allocation: of the size that its call chain allocated before */
    HEAP_STACK_GUESSED = 64,  /* allocation: by the call chain that followed the last one before */
    HEAP_SHAPE_CHANGED = 128, /* another function or CPU than the last allocation's, or release's */
};

enum heap_place {
    HEAP_PLACE_END = HEAP_RECENT, /* below: the class's last released block, the one before it, ... */
    HEAP_PLACE_FAR,               /* written out */
    HEAP_PLACE_UNKNOWN,           /* the last released block of unknown size, the one before it, ... */
    HEAP_PLACES = HEAP_PLACE_UNKNOWN + 4
};

enum heap_release {
    HEAP_RELEASE_NEXT,     /* the slot behind the last released one */
    HEAP_RELEASE_PREVIOUS, /* the slot before it */
    HEAP_RELEASE_NEWEST,   /* the slot of the last allocation */
    HEAP_RELEASE_SLOT,     /* written out */
    HEAP_RELEASE_FAR,      /* of a block without a slot: its address is written out */
    HEAP_RELEASES
};

struct heap_slot {
    uint64_t addr;
    uint32_t next; /* of the free ones, number + 1 */
    uint16_t size_class;
    bool used;
};

struct heap_recent {
    _Alignas(64) uint64_t addr[HEAP_RING]; /* a ring; the last one is before `top` */
};

struct heap_guess {
    uint64_t size;
    uint32_t next_stack;
};

struct heap_model {
    struct heap_recent recent[HEAP_CLASSES];
    uint8_t top[HEAP_CLASSES];
    struct heap_guess guesses[HEAP_GUESSES];
    uint64_t end;    /* behind the last block whose address was written out, or the one that began there */
    uint64_t far[2]; /* address last written out, rotated: of an allocation, of a release */
    uint64_t shape[2];
    uint32_t last_stack, newest, released; /* slots */
    uint32_t free_slot;                    /* number + 1 of the one given back last, or 0 */
    uint32_t slot_count, slot_room;
    uint32_t slot_hits; /* releases of a slot */
    struct heap_slot *slots;
};

struct heap_model *heap_model_new(void);

/* Forgets everything but the memory it has. */
void heap_model_begin(struct heap_model *model);

/* Room for more slots; false when there are HEAP_SLOTS. */
bool heap_model_grow(struct heap_model *model);

/* As glibc does it: 16 bytes apart, 8 of them for itself. */
static inline uint64_t heap_chunk(uint64_t size)
{
    return size <= 24 ? 32 : (size + 23) & ~(uint64_t)15;
}

static inline unsigned heap_class(uint64_t size)
{
    if (size <= 1032)
        return (unsigned)(heap_chunk(size) >> 4); /* 2 to 65 */
    unsigned bits = 63 - (unsigned)__builtin_clzll(size);
    return bits < 15 ? 56 + bits : HEAP_CLASSES - 1;
}

static inline struct heap_guess *heap_guess_of(struct heap_model *model, uint32_t stack)
{
    return &model->guesses[stack % HEAP_GUESSES];
}

static inline void heap_recent_push(struct heap_model *model, unsigned size_class, uint64_t addr)
{
    model->recent[size_class].addr[model->top[size_class]++ % HEAP_RING] = addr;
}

/* Takes out the one that is `depth` (less than HEAP_RECENT) before the last; later ones move up. */
static inline uint64_t heap_recent_take(struct heap_model *model, unsigned size_class, unsigned depth)
{
    uint64_t *ring = model->recent[size_class].addr;
    unsigned last = --model->top[size_class] + HEAP_RING, at = last - depth;
    uint64_t addr = ring[at % HEAP_RING];
    for (; at < last; at++)
        ring[at % HEAP_RING] = ring[(at + 1) % HEAP_RING];
    return addr;
}

/* The new block's slot, or HEAP_SLOTS when it gets none. */
static inline uint32_t heap_slot_take(struct heap_model *model, uint64_t addr, unsigned size_class)
{
    uint32_t slot;
    if (model->free_slot) {
        slot = model->free_slot - 1;
        model->free_slot = model->slots[slot].next;
    } else {
        if (model->slot_count >= HEAP_SLOTS_FIRST + model->slot_hits * HEAP_SLOTS_PER_HIT ||
            model->slot_count == HEAP_SLOTS || (model->slot_count == model->slot_room && !heap_model_grow(model)))
            return HEAP_SLOTS;
        slot = model->slot_count++;
    }
    model->slots[slot] = (struct heap_slot){.addr = addr, .size_class = (uint16_t)size_class, .used = true};
    model->newest = slot;
    return slot;
}

/* The block in `slot` (a used one) is released. */
static inline uint64_t heap_slot_release(struct heap_model *model, uint32_t slot)
{
    struct heap_slot *old = &model->slots[slot];
    old->used = false;
    model->slot_hits++;
    old->next = model->free_slot;
    model->free_slot = slot + 1;
    model->released = slot;
    heap_recent_push(model, old->size_class, old->addr);
    return old->addr;
}
