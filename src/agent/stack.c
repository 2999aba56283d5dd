/* agent/stack.c - see agent/stack.h. Hot: runs in every allocation and in the sampler's handlers.
 *
 * Three tables per thread, all bounded. `memos` holds the last walks with all they depended on: when a new request has
 * the same start and the stack still holds the same words, its chain is the same, and no rule is looked at. `places`
 * helps to find the right memo among those that begin alike: it says at which words of the stack they were seen to
 * differ. `chains` knows the number of each chain that was sent, by a 64-bit hash (one wrong match is to be expected in
 * 2^64 / 16384 chains). A chain that had to make room is sent again under a new number when it comes back. */
#include "agent/stack.h"
#include "agent/sys.h"
#include "agent/unwind_modules.h"
#include "agent/unwind_walk.h"

#include <string.h>

enum {
    BUCKET = 8,
    BUCKETS = 2048,
    WAYS = 2,
    SETS_BITS = 7,
    PLACES_BITS = 8,
    PLACE_WORDS = 7,
    LAST_NUMBER = INT32_MAX,
};

struct start { /* where a walk begins; a frame pointer or link register only counts for some */
    uint64_t pc, sp, high;
    uint32_t generation;
    bool pc_is_return;
};

struct place {
    struct start start;
    uint32_t count;
    uint32_t offsets[PLACE_WORDS]; /* from sp, of words in which walks from here differ */
};

struct memo {
    struct start start;
    uint32_t number; /* 0: nothing here */
    uint64_t fp, lr;
    struct unwind_notes notes;
};

struct chain {
    uint64_t hash;
    uint32_t number; /* 0: nothing here */
};

struct stack_table {
    uint32_t last; /* number given */
    uint32_t turn; /* counts replacements, to spread them */
    struct memo walked;
    struct place places[1 << PLACES_BITS];
    struct memo memos[1 << SETS_BITS][WAYS];
    struct chain chains[BUCKETS][BUCKET];
};

static const uint64_t golden = 0x9e3779b97f4a7c15u;

void stack_forget(struct agent_thread *self)
{
    struct stack_table *table = self->stacks;
    self->stacks = NULL;
    if (table)
        sys_unmap(table, sizeof *table);
}

static inline bool starts_alike(const struct start *a, const struct start *b)
{
    return a->pc == b->pc && a->sp == b->sp && a->high == b->high && a->generation == b->generation &&
           a->pc_is_return == b->pc_is_return;
}

static inline uint64_t word_at(const struct start *start, uint64_t offset)
{
    return *(const uint64_t *)(start->sp + offset);
}

static inline uint64_t start_hash(const struct start *start)
{
    return (start->pc ^ start->sp << 20) * golden;
}

static inline struct place *place_of(struct stack_table *table, const struct start *start)
{
    return &table->places[start_hash(start) >> (64 - PLACES_BITS)];
}

/* The memos that a walk from `start` may be found in. */
static inline struct memo *memo_set(struct stack_table *table, const struct start *start)
{
    const struct place *place = place_of(table, start);
    uint64_t mixed = start_hash(start);
    if (__builtin_expect(starts_alike(&place->start, start), 1))
        for (uint32_t i = 0; i < place->count; i++)
            mixed ^= word_at(start, place->offsets[i]) * (golden + 2 * i);
    return table->memos[mixed * golden >> (64 - SETS_BITS)];
}

static inline uint64_t word_differs(const struct start *start, const struct unwind_note *note)
{
    return word_at(start, note->offset) ^ note->value;
}

/* All words lie between sp, which is the current one, and high, so they can be read. */
static inline bool memo_holds(const struct memo *memo, const struct start *start, const struct unwind_regs *regs)
{
    if (!starts_alike(&memo->start, start) || memo->number == 0)
        return false;
    const struct unwind_notes *notes = &memo->notes;
    if ((notes->used_fp && memo->fp != regs->fp) || (notes->used_lr && memo->lr != regs->lr))
        return false;
    /* Four at a time: memo_keep() has filled up the last four. */
    const struct unwind_note *note = notes->items, *end = note + notes->count;
    for (; note < end; note += 4)
        if ((word_differs(start, &note[0]) | word_differs(start, &note[1]) | word_differs(start, &note[2]) |
             word_differs(start, &note[3])) != 0)
            return false;
    return true;
}

/* Another walk from the same start is in the way: from now on, look at the first word in which they differ. */
static void place_learn(struct stack_table *table, const struct memo *walked, const struct memo *rival)
{
    struct place *place = place_of(table, &walked->start);
    if (!starts_alike(&place->start, &walked->start)) {
        place->start = walked->start;
        place->count = 0;
    }
    if (rival->number == 0 || !starts_alike(&rival->start, &walked->start) || place->count == PLACE_WORDS)
        return;
    for (uint32_t i = 0; i < walked->notes.count && i < rival->notes.count; i++) {
        const struct unwind_note *note = &walked->notes.items[i];
        if (note->offset == rival->notes.items[i].offset && note->value == rival->notes.items[i].value)
            continue;
        if (note->offset == rival->notes.items[i].offset && note->offset <= UINT32_MAX)
            place->offsets[place->count++] = (uint32_t)note->offset;
        return;
    }
}

static void memo_keep(struct stack_table *table, struct memo *walked)
{
    struct unwind_notes *notes = &walked->notes;
    if (notes->count > UNWIND_NOTES)
        return;
    struct memo *set = memo_set(table, &walked->start);
    place_learn(table, walked, &set[table->turn++ % WAYS]);
    set = memo_set(table, &walked->start);
    struct memo *memo = set[0].number == 0 ? &set[0] : &set[table->turn % WAYS];
    for (uint32_t i = notes->count; i % 4 != 0; i++)
        notes->items[i] = notes->items[0];
    memcpy(memo, walked, offsetof(struct memo, notes.items) + (notes->count + 3) / 4 * 4 * sizeof notes->items[0]);
}

static uint64_t chain_hash(const uint64_t *frames, unsigned depth, bool cut)
{
    uint64_t hash = depth * 2 + cut;
    for (unsigned i = 0; i < depth; i++) {
        hash = (hash ^ frames[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash;
}

/* Sends the chain under a new number; 0 when there is no room. */
static uint32_t chain_send(struct agent_thread *self, struct stack_table *table, const uint64_t *frames, unsigned depth,
                           bool cut, bool may_wait)
{
    struct wire_stack *record = agent_reserve(self, 1 + depth, LOSS_STACK_TABLE, may_wait);
    if (!record)
        return 0;
    uint32_t number = ++table->last;
    record->head =
        (struct wire_head){.type = WIRE_STACK, .words = (uint8_t)(1 + depth), .value = number | (uint32_t)cut << 31};
    memcpy(record->frames, frames, depth * sizeof *frames);
    agent_commit(self, 1 + depth);
    return number;
}

static uint32_t chain_number(struct agent_thread *self, struct stack_table *table, const uint64_t *frames,
                             unsigned depth, bool cut, bool may_wait)
{
    uint64_t hash = chain_hash(frames, depth, cut);
    struct chain *bucket = table->chains[hash >> 40 & (BUCKETS - 1)], *place = NULL;
    for (unsigned i = 0; i < BUCKET; i++) {
        if (bucket[i].hash == hash && bucket[i].number)
            return bucket[i].number;
        if (!place && bucket[i].number == 0)
            place = &bucket[i];
    }
    if (table->last == LAST_NUMBER) {
        atomic_fetch_add_explicit(&agent_region->shared.lost[LOSS_STACK_TABLE], 1, memory_order_relaxed);
        return 0;
    }
    uint32_t number = chain_send(self, table, frames, depth, cut, may_wait);
    if (number) {
        if (!place)
            place = &bucket[table->turn++ % BUCKET];
        *place = (struct chain){.hash = hash, .number = number};
    }
    return number;
}

static __attribute__((noinline)) uint32_t number_by_walk(struct agent_thread *self, const struct start *start,
                                                         const struct unwind_regs *regs, bool may_wait)
{
    if (!self->stacks)
        self->stacks = sys_pages(sizeof *self->stacks);
    struct stack_table *table = self->stacks;
    if (!table)
        return 0;
    uint64_t frames[WIRE_MAX_FRAMES];
    uint32_t wanted = agent_region->config.max_frames;
    unsigned max = wanted > 0 && wanted < WIRE_MAX_FRAMES ? wanted : WIRE_MAX_FRAMES;
    struct memo *walked = &table->walked;
    bool cut;
    unsigned depth = unwind_walk_noting(regs, start->high, start->pc_is_return, frames, max, &cut, &walked->notes);
    uint32_t number = chain_number(self, table, frames, depth, cut, may_wait);
    if (number) {
        walked->start = *start;
        walked->fp = regs->fp;
        walked->lr = regs->lr;
        walked->number = number;
        memo_keep(table, walked);
    }
    return number;
}

/* The end of the stack that sp is on, or 0 when that is not known. Hooks bring the modules up to date before they ask
 * for a chain; a handler cannot, and must not go by rules of code that may have been replaced. */
static inline uint64_t stack_end(const struct agent_thread *self, uint64_t sp, bool in_handler)
{
    if (in_handler && agent_switch.modules)
        return 0;
    return sp >= self->stack_low && sp < self->stack_high ? self->stack_high : 0;
}

uint32_t stack_number(struct agent_thread *self, const struct unwind_regs *regs, bool pc_is_return, bool may_wait)
{
    const struct start start = {.pc = regs->pc,
                                .sp = regs->sp,
                                .high = stack_end(self, regs->sp, !may_wait),
                                .generation = atomic_load_explicit(&unwind_generation, memory_order_relaxed),
                                .pc_is_return = pc_is_return};
    if (__builtin_expect(self->stacks != NULL, 1)) {
        const struct memo *set = memo_set(self->stacks, &start);
        for (unsigned way = 0; way < WAYS; way++)
            if (memo_holds(&set[way], &start, regs))
                return set[way].number;
    }
    return number_by_walk(self, &start, regs, may_wait);
}
