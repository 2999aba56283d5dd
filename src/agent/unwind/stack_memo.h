/* agent/unwind/stack_memo.h - chains that were walked before, found again by what their walks depended on. Hot: each allocation asks.
 *
 * A memo keeps the words of the stack that its walk read. While the stack holds them, a walk that begins alike has the same chain. Memos
 * stand one behind the other in lines that are used again in a circle, so that few pages and cache lines hold what is in use. `places`
 * knows where walks began, and at which words of the stack those that begin there were seen to differ; where they never did, it has the
 * memo. Else `refs` has it, by a hash of the beginning and those words. What they lead to may be overwritten or another's: only
 * comparing decides. Owned by one thread; handlers may call it. */
#pragma once

#include "agent/unwind/unwind_walk.h"
#include "base/units.h"

#include <stdalign.h>

enum {
    MEMO_PLACE_WAYS = 2,
    MEMO_PLACES = 256,
    MEMO_REF_WAYS = 2, /* in any two rows of the table */
    MEMO_REFS = 1024,
    MEMO_LINES = 4096,
    MEMO_PLACE_WORDS = 10,
    MEMO_ROW = 4, /* notes compared at a time */
};

/* Where a walk begins. A frame pointer or link register only counts for some. */
struct memo_start {
    uint64_t pc; /* highest bit: it is no return address */
    uint64_t sp;
};

struct memo_place {
    alignas(CACHE_LINE) struct memo_start start;
    uint32_t count, line;               /* line: of the memo, while count is 0 */
    uint32_t offsets[MEMO_PLACE_WORDS]; /* from sp, of words in which walks from here differ */
};

struct memo_ref {
    uint32_t tag, line;
};

struct memo {
    alignas(CACHE_LINE) uint64_t mark; /* ~pc of its start, which is larger than any offset of a note */
    uint64_t sp;
    uint32_t number;
    uint64_t fp, lr;
    struct unwind_notes notes;
};

struct stack_memos {    /* zeroed = empty and ready */
    uint64_t high;      /* where the stack ends that they are of; */
    uint32_t epoch;     /* and unwind_generation that they were walked by */
    uint32_t next;      /* line */
    uint32_t random;    /* by which replacements are spread: taking turns could put one in the other's place for ever */
    struct memo walked; /* for who walks: becomes a memo by stack_memo_keep() */
    struct memo_place places[MEMO_PLACES];
    struct memo_ref refs[MEMO_REFS];
    struct {
        alignas(CACHE_LINE) uint8_t bytes[CACHE_LINE];
    } lines[MEMO_LINES];
};

static const uint64_t memo_factor = 0x9e3779b97f4a7c15u;

static inline struct memo_start memo_start(const struct unwind_regs *regs, bool pc_is_return)
{
    return (struct memo_start){regs->pc | (pc_is_return ? 0 : (uint64_t)1 << 63), regs->sp};
}

static inline uint64_t memo_start_hash(struct memo_start start)
{
    return (start.pc ^ start.sp << 20) * memo_factor;
}

static inline uint32_t memo_place_index(uint64_t hash)
{
    return (uint32_t)(hash >> 32) / (UINT32_MAX / (MEMO_PLACES / MEMO_PLACE_WAYS) + 1) * MEMO_PLACE_WAYS;
}

static inline uint32_t memo_ref_index(uint64_t hash, unsigned way)
{
    return (uint32_t)(hash >> (way == 0 ? 54 : 44)) % MEMO_REFS;
}

static inline uint32_t memo_tag(uint64_t hash)
{
    return (uint32_t)(hash >> 16);
}

static inline uint64_t memo_word(struct memo_start start, uint64_t offset)
{
    return *(const uint64_t *)(start.sp + offset);
}

/* All words are between sp, which is the current one, and the stack's end, so they can be read. */
static inline uint64_t memo_hash(const struct memo_place *place, struct memo_start start, uint64_t hash)
{
    for (uint32_t i = 0; i < place->count; i++)
        hash = (hash ^ memo_word(start, place->offsets[i])) * memo_factor;
    return hash;
}

static inline bool memo_begins(const struct memo *memo, struct memo_start start)
{
    return memo->mark == ~start.pc && memo->sp == start.sp;
}

static inline uint64_t memo_differs(struct memo_start start, const struct unwind_note *note)
{
    return memo_word(start, note->offset) ^ note->value;
}

/* stack_memo_keep() has filled up the last row. */
static inline bool memo_holds(const struct memo *memo, struct memo_start start, uint64_t fp, uint64_t lr)
{
    const struct unwind_notes *notes = &memo->notes;
    if (__builtin_expect(!memo_begins(memo, start), 0))
        return false;
    if (notes->used &&
        ((notes->used & UNWIND_USED_FP && memo->fp != fp) || (notes->used & UNWIND_USED_LR && memo->lr != lr)))
        return false;
    const struct unwind_note *note = notes->items, *end = note + notes->count;
    for (; note < end; note += MEMO_ROW) {
        if (memo_differs(start, &note[0]) | memo_differs(start, &note[1]) | memo_differs(start, &note[2]) |
            memo_differs(start, &note[3]))
            return false;
    }
    return true;
}

static inline const struct memo *memo_at(const struct stack_memos *memos, uint32_t line)
{
    return (const struct memo *)&memos->lines[line];
}

/* The number of the chain that begins at `start`, where rules and stack are those of the memos; 0: it has to be walked. */
static inline __attribute__((always_inline)) uint32_t stack_memo_find(const struct stack_memos *memos,
                                                                      struct memo_start start, uint64_t fp, uint64_t lr)
{
    uint64_t hash = memo_start_hash(start);
    const struct memo_place *place = &memos->places[memo_place_index(hash)];
    if (__builtin_expect(place->start.pc != start.pc || place->start.sp != start.sp, 0)) {
        place++;
        __asm__("" : "+r"(place)); /* one pointer, not two */
        if (place->start.pc != start.pc || place->start.sp != start.sp)
            return 0;
    }
    uint32_t line = place->line;
    if (place->count > 0) {
        hash = memo_hash(place, start, hash);
        const struct memo_ref *ref = &memos->refs[memo_ref_index(hash, 0)];
        if (ref->tag != memo_tag(hash))
            ref = &memos->refs[memo_ref_index(hash, 1)];
        line = ref->line;
    }
    const struct memo *memo = memo_at(memos, line);
    return memo_holds(memo, start, fp, lr) ? memo->number : 0;
}

/* For a walk that is to be kept: forgets all memos where these have changed. */
void stack_memo_begin(struct stack_memos *memos, uint64_t high, uint32_t epoch);

/* Keeps `walked` as what a walk from `start` came to. */
void stack_memo_keep(struct stack_memos *memos, struct memo_start start);
