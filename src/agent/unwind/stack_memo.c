/* agent/unwind/stack_memo.c - see agent/unwind/stack_memo.h. Runs in handlers. */
#include "agent/unwind/stack_memo.h"

#include <stddef.h>
#include <string.h>

_Static_assert(offsetof(struct memo, notes.items) % sizeof(struct unwind_note) == 0 &&
                   CACHE_LINE % sizeof(struct unwind_note) == 0,
               "behind a memo's first line its notes' offsets are where others have their marks");

void stack_memo_begin(struct stack_memos *memos, uint64_t high, uint32_t epoch)
{
    if (memos->epoch == epoch && memos->high == high)
        return;
    memset(memos->places, 0, sizeof memos->places);
    memset(memos->refs, 0, sizeof memos->refs);
    memos->epoch = epoch;
    memos->high = high;
}

static unsigned either(struct stack_memos *memos)
{
    memos->random = memos->random * 1664525 + 1013904223; /* Numerical Recipes, 7.1 */
    return memos->random >> 31;
}

static bool is_place_of(const struct memo_place *place, struct memo_start start)
{
    return place->start.pc == start.pc && place->start.sp == start.sp;
}

/* The place of this beginning, made when there is none. */
static struct memo_place *place_of(struct stack_memos *memos, struct memo_start start, uint64_t hash)
{
    struct memo_place *ways = &memos->places[memo_place_index(hash)], *place = ways;
    for (unsigned i = 0; i < MEMO_PLACE_WAYS; i++)
        if (is_place_of(&ways[i], start))
            return &ways[i];
    if (ways[0].start.sp)
        place = ways[1].start.sp ? &ways[either(memos)] : &ways[1];
    *place = (struct memo_place){.start = start};
    return place;
}

/* Another walk from the same beginning has the same hash: from now on, look at the first word in which they differ. False when there is
 * none, or no room. */
static bool learn(struct memo_place *place, const struct memo *walked, const struct memo *rival)
{
    if (!memo_begins(rival, place->start) || place->count == MEMO_PLACE_WORDS)
        return false;
    for (uint32_t i = 0; i < walked->notes.count && i < rival->notes.count; i++) {
        const struct unwind_note *note = &walked->notes.items[i], *other = &rival->notes.items[i];
        if (note->offset == other->offset && note->value == other->value)
            continue;
        if (note->offset != other->offset || note->offset > UINT32_MAX)
            return false;
        place->offsets[place->count++] = (uint32_t)note->offset;
        return true;
    }
    return false;
}

/* The one of the same tag, or one that was never used, or either. */
static struct memo_ref *ref_for(struct stack_memos *memos, uint64_t hash)
{
    struct memo_ref *ways[MEMO_REF_WAYS], *unused = NULL;
    for (unsigned i = 0; i < MEMO_REF_WAYS; i++) {
        ways[i] = &memos->refs[memo_ref_index(hash, i)];
        if (ways[i]->tag == memo_tag(hash))
            return ways[i];
        if (!unused && ways[i]->tag == 0)
            unused = ways[i];
    }
    return unused ? unused : ways[either(memos)];
}

/* The line that `walked` is copied to. */
static uint32_t put(struct stack_memos *memos)
{
    struct unwind_notes *notes = &memos->walked.notes;
    for (uint32_t i = notes->count; i % MEMO_ROW != 0; i++)
        notes->items[i] = notes->items[0];
    uint32_t rows = (notes->count + MEMO_ROW - 1) / MEMO_ROW;
    size_t bytes = offsetof(struct memo, notes.items) + rows * MEMO_ROW * sizeof notes->items[0];
    uint32_t lines = (uint32_t)((bytes + CACHE_LINE - 1) / CACHE_LINE), line = memos->next;
    if (line + lines > MEMO_LINES)
        line = 0;
    memos->next = line + lines;
    memcpy(&memos->lines[line], &memos->walked, bytes);
    return line;
}

void stack_memo_keep(struct stack_memos *memos, struct memo_start start)
{
    struct memo *walked = &memos->walked;
    if (walked->notes.count > UNWIND_NOTES)
        return;
    walked->mark = ~start.pc;
    walked->sp = start.sp;
    uint64_t hash = memo_start_hash(start);
    struct memo_place *place = place_of(memos, start, hash);
    if (place->count == 0 && !learn(place, walked, memo_at(memos, place->line))) {
        place->line = put(memos);
        return;
    }
    uint64_t all = memo_hash(place, start, hash);
    struct memo_ref *ref = ref_for(memos, all);
    if (ref->tag == memo_tag(all) && learn(place, walked, memo_at(memos, ref->line))) {
        all = memo_hash(place, start, hash);
        ref = ref_for(memos, all);
    }
    *ref = (struct memo_ref){.tag = memo_tag(all), .line = put(memos)};
}
