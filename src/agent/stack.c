/* agent/stack.c - see agent/stack.h. Hot: runs in every allocation and in the sampler's handlers.
 *
 * Two tables per thread, both bounded. `memos` holds the last walks with all they depended on: when a new request has
 * the same start and the stack still holds the same words, its chain is the same, and no rule is looked at. `chains`
 * knows the number of each chain that was sent, by a 64-bit hash (one wrong match is to be expected in 2^64 / 16384
 * chains). A chain that had to make room is sent again under a new number when it comes back. */
#include "agent/stack.h"
#include "agent/sys.h"
#include "agent/unwind_modules.h"
#include "agent/unwind_walk.h"

#include <string.h>

enum {
    BUCKET = 8,
    BUCKETS = 2048,
    WAYS = 4,
    SETS_BITS = 5,
    SETS = 1 << SETS_BITS,
    LAST_NUMBER = INT32_MAX,
};

struct memo {
    uint64_t pc, sp, fp, lr, high;
    uint32_t generation;
    uint32_t number; /* 0: nothing here */
    bool pc_is_return;
    struct unwind_notes notes;
};

struct chain {
    uint64_t hash;
    uint32_t number; /* 0: nothing here */
};

struct stack_table {
    uint32_t last; /* number given */
    uint32_t turn; /* counts replacements, to spread them */
    struct memo memos[SETS][WAYS];
    struct chain chains[BUCKETS][BUCKET];
};

void stack_forget(struct agent_thread *self)
{
    struct stack_table *table = self->stacks;
    self->stacks = NULL;
    if (table)
        sys_unmap(table, sizeof *table);
}

static struct memo *memo_set(struct stack_table *table, const struct unwind_regs *regs)
{
    uint64_t mixed = (regs->pc ^ regs->sp << 20) * 0x9e3779b97f4a7c15u;
    return table->memos[mixed >> (64 - SETS_BITS)];
}

static inline uint64_t slot_differs(uint64_t sp, const struct unwind_note *note)
{
    return *(const uint64_t *)(sp + note->offset) ^ note->value;
}

/* All slots lie between sp, which is the current one, and high, so they can be read. */
static inline bool memo_holds(const struct memo *memo, const struct unwind_regs *regs, uint64_t high, bool pc_is_return,
                              uint32_t generation)
{
    if (memo->pc != regs->pc || memo->sp != regs->sp || memo->high != high || memo->pc_is_return != pc_is_return ||
        memo->generation != generation || memo->number == 0)
        return false;
    const struct unwind_notes *notes = &memo->notes;
    if ((notes->used_fp && memo->fp != regs->fp) || (notes->used_lr && memo->lr != regs->lr))
        return false;
    /* Four at a time: memo_keep() has filled up the last four. */
    const struct unwind_note *note = notes->items, *end = note + notes->count;
    for (; note < end; note += 4)
        if ((slot_differs(regs->sp, &note[0]) | slot_differs(regs->sp, &note[1]) | slot_differs(regs->sp, &note[2]) |
             slot_differs(regs->sp, &note[3])) != 0)
            return false;
    return true;
}

static void memo_keep(struct memo *memo, const struct unwind_regs *regs, uint64_t high, bool pc_is_return,
                      uint32_t generation, uint32_t number)
{
    struct unwind_notes *notes = &memo->notes;
    if (notes->count > UNWIND_NOTES)
        return;
    for (uint32_t i = notes->count; i % 4 != 0; i++)
        notes->items[i] = notes->items[0];
    memo->pc = regs->pc;
    memo->sp = regs->sp;
    memo->fp = regs->fp;
    memo->lr = regs->lr;
    memo->high = high;
    memo->generation = generation;
    memo->pc_is_return = pc_is_return;
    memo->number = number;
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

static __attribute__((noinline)) uint32_t number_by_walk(struct agent_thread *self, const struct unwind_regs *regs,
                                                         uint64_t high, bool pc_is_return, bool may_wait)
{
    if (!self->stacks)
        self->stacks = sys_pages(sizeof *self->stacks);
    struct stack_table *table = self->stacks;
    if (!table)
        return 0;
    struct memo *memo = memo_set(table, regs) + table->turn++ % WAYS;
    uint64_t frames[WIRE_MAX_FRAMES];
    uint32_t wanted = agent_region->config.max_frames;
    unsigned max = wanted > 0 && wanted < WIRE_MAX_FRAMES ? wanted : WIRE_MAX_FRAMES;
    uint32_t generation = atomic_load_explicit(&unwind_generation, memory_order_relaxed);
    bool cut;
    memo->number = 0;
    unsigned depth = unwind_walk_noting(regs, high, pc_is_return, frames, max, &cut, &memo->notes);
    uint32_t number = chain_number(self, table, frames, depth, cut, may_wait);
    memo_keep(memo, regs, high, pc_is_return, generation, number);
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
    uint64_t high = stack_end(self, regs->sp, !may_wait);
    if (__builtin_expect(self->stacks != NULL, 1)) {
        uint32_t generation = atomic_load_explicit(&unwind_generation, memory_order_relaxed);
        const struct memo *set = memo_set(self->stacks, regs);
        for (unsigned way = 0; way < WAYS; way++)
            if (memo_holds(&set[way], regs, high, pc_is_return, generation))
                return set[way].number;
    }
    return number_by_walk(self, regs, high, pc_is_return, may_wait);
}
