/* agent/unwind/stack.c - see agent/unwind/stack.h. Hot: runs in every allocation and in the sampler's handlers.
 *
 * Three tables per thread, all bounded (half a megabyte, of which only what is used takes memory). `memos` holds the last walks with all they depended on: when a new request has
 * the same start and the stack still holds the same words, its chain is the same, and no rule is looked at. `places`
 * helps to find the right memo among those that begin alike: it says at which words of the stack they were seen to
 * differ. `chains` knows the number of each chain that was sent. */
#include "agent/unwind/stack.h"
#include "agent/unwind/stack_chains.h"
#include "base/sys.h"
#include "base/units.h"
#include "agent/unwind/unwind_modules.h"
#include "agent/unwind/unwind_walk.h"

#include <stdalign.h>
#include <string.h>

enum {
    WAYS = 2,
    SETS_BITS = 8,
    PLACES_BITS = 8,
    PLACE_WORDS = 7,
    ROW = 4, /* notes compared at a time */
    LAST_NUMBER = INT32_MAX,
};

struct start { /* where a walk begins; a frame pointer or link register only counts for some */
    uint64_t pc, sp, high;
    uint64_t epoch; /* of the rules; and whether pc is a return address */
};

/* Both are laid out by cache lines: what is looked at first is in one. */
struct walk_place {
    alignas(CACHE_LINE) struct start start;
    uint32_t count;
    uint32_t offsets[PLACE_WORDS]; /* from sp, of words in which walks from here differ */
};

struct memo {
    alignas(CACHE_LINE) struct start start;
    uint32_t tag;    /* lower bits of its hash */
    uint32_t number; /* 0: nothing here */
    uint64_t fp, lr;
    struct unwind_notes notes;
};

struct stack_table {
    uint32_t last; /* number given */
    struct script_thread script;
    uint32_t replacements; /* counts replacements, to spread them */
    struct stack_chains chains;
    struct memo walked;
    struct walk_place places[1 << PLACES_BITS];
    struct memo memos[1 << SETS_BITS][WAYS];
};

/* All written once, by the thread that loads the interpreter. */
AGENT_HOT unsigned (*stack_script)(struct agent_thread *self, struct script_thread *thread, struct script_frame *frames,
                                   bool may_wait);
uint64_t (*stack_script_array)(struct agent_thread *self, struct script_thread *thread, uint64_t bytes, uint64_t sp,
                               uint64_t high, bool may_wait);
uint64_t stack_script_start, stack_script_end;
void (*stack_script_free)(struct script_thread *thread);

static const uint64_t golden = 0x9e3779b97f4a7c15u;

/* The tables stay, and what is in them is known by its number to be the parent's: a short-lived child has no use for new ones. */
void stack_forked(struct agent_thread *self)
{
    self->stack_base = self->stacks ? self->stacks->last : 0;
}

void stack_forget(struct agent_thread *self)
{
    struct stack_table *table = self->stacks;
    self->stacks = NULL;
    self->stack_base = 0;
    if (!table)
        return;
    stack_chains_free(&table->chains);
    if (table->script.names)
        stack_script_free(&table->script);
    sys_unmap(table, sizeof *table);
}

/* By value, so that it stays in registers: written and read back it would be stuck between the two for a while. */
static inline bool starts_alike(const struct start *there, struct start start)
{
    return there->pc == start.pc && there->sp == start.sp && there->high == start.high && there->epoch == start.epoch;
}

static inline uint64_t word_at(uint64_t sp, uint64_t offset)
{
    return *(const uint64_t *)(sp + offset);
}

static inline uint64_t start_hash(struct start start)
{
    return (start.pc ^ start.sp << 20) * golden;
}

static inline struct walk_place *place_of(struct stack_table *table, struct start start)
{
    return &table->places[start_hash(start) >> (64 - PLACES_BITS)];
}

/* Where a walk from `start` is, if it is: the set by the upper bits, the tag by the lower ones. */
static inline uint64_t memo_hash(struct stack_table *table, struct start start)
{
    const struct walk_place *place = place_of(table, start);
    uint64_t mixed = start_hash(start);
    if (__builtin_expect(starts_alike(&place->start, start) && start.high != 0, 1))
        for (uint32_t i = 0; i < place->count; i++)
            mixed ^= word_at(start.sp, place->offsets[i]) * (golden + 2 * i);
    mixed *= golden;
    return mixed ^ mixed >> 32;
}

static inline uint32_t memo_set(uint64_t hash)
{
    return (uint32_t)(hash >> (64 - SETS_BITS));
}

static inline uint64_t word_differs(uint64_t sp, const struct unwind_note *note)
{
    return word_at(sp, note->offset) ^ note->value;
}

/* All words are between sp, which is the current one, and high, so they can be read. */
static inline bool memo_holds(const struct memo *memo, struct start start, const struct unwind_regs *regs)
{
    if (!starts_alike(&memo->start, start) || memo->number == 0)
        return false;
    const struct unwind_notes *notes = &memo->notes;
    if ((notes->used_fp && memo->fp != regs->fp) || (notes->used_lr && memo->lr != regs->lr))
        return false;
    const struct unwind_note *note = notes->items, *end = note + notes->count;
    for (; note < end; note += ROW) { /* memo_keep() has filled up the last row */
        uint64_t differs = word_differs(start.sp, &note[0]) | word_differs(start.sp, &note[1]) |
                           word_differs(start.sp, &note[2]) | word_differs(start.sp, &note[3]);
        if (differs)
            return false;
    }
    return true;
}

/* Another walk from the same start is in the way: from now on, look at the first word in which they differ. */
static void place_learn(struct stack_table *table, const struct memo *walked, const struct memo *rival)
{
    struct walk_place *place = place_of(table, walked->start);
    if (!starts_alike(&place->start, walked->start)) {
        memset(place, 0, sizeof *place);
        place->start = walked->start;
    }
    if (rival->number == 0 || !starts_alike(&rival->start, walked->start) || place->count == PLACE_WORDS)
        return;
    for (uint32_t i = 0; i < walked->notes.count && i < rival->notes.count; i++) {
        const struct unwind_note *note = &walked->notes.items[i];
        if (note->offset == rival->notes.items[i].offset && note->value == rival->notes.items[i].value)
            continue;
        if (note->offset == rival->notes.items[i].offset && note->offset <= UINT32_MAX) {
            place->offsets[place->count++] = (uint32_t)note->offset;
        }
        return;
    }
}

static void memo_keep(struct stack_table *table, struct memo *walked)
{
    struct unwind_notes *notes = &walked->notes;
    if (notes->count > UNWIND_NOTES)
        return;
    uint32_t way = table->replacements++ % WAYS;
    place_learn(table, walked, &table->memos[memo_set(memo_hash(table, walked->start))][way]);
    uint64_t hash = memo_hash(table, walked->start);
    uint32_t set = memo_set(hash);
    for (unsigned i = WAYS; i-- > 0;)
        if (table->memos[set][i].number == 0 || table->memos[set][i].tag == (uint32_t)hash)
            way = i;
    for (uint32_t i = notes->count; i % ROW != 0; i++)
        notes->items[i] = notes->items[0];
    walked->tag = (uint32_t)hash;
    memcpy(&table->memos[set][way], walked,
           offsetof(struct memo, notes.items) + (notes->count + ROW - 1) / ROW * ROW * sizeof notes->items[0]);
}

static uint64_t chain_hash(const uint64_t *frames, unsigned depth, bool cut)
{
    uint64_t hash = depth * 2 + cut;
    for (unsigned i = 0; i < depth; i++) {
        hash = (hash ^ frames[i]) * golden;
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
    record->head = (struct wire_head){
        .type = WIRE_STACK, .words = (uint8_t)(1 + depth), .value = (number - self->stack_base) | (uint32_t)cut << 31};
    memcpy(record->frames, frames, depth * sizeof *frames);
    agent_commit(self, 1 + depth);
    return number;
}

static uint32_t chain_number(struct agent_thread *self, struct stack_table *table, const uint64_t *frames,
                             unsigned depth, bool cut, bool may_wait)
{
    uint64_t hash = chain_hash(frames, depth, cut);
    uint32_t number = stack_chains_find(&table->chains, hash);
    if (number > self->stack_base)
        return number;
    if (table->last == LAST_NUMBER) {
        atomic_fetch_add_explicit(&agent_region->shared.lost[LOSS_STACK_TABLE], 1, memory_order_relaxed);
        return 0;
    }
    number = chain_send(self, table, frames, depth, cut, may_wait);
    if (number)
        stack_chains_put(&table->chains, hash, number);
    return number;
}

static __attribute__((noinline)) uint32_t number_by_walk(struct agent_thread *self, const struct unwind_regs *regs,
                                                         uint64_t high, uint64_t epoch, bool may_wait)
{
    agent_calls_out(self); /* what follows asks libc what is loaded */
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
    unsigned depth = unwind_walk_noting(regs, high, epoch & 1, frames, max, &cut, &walked->notes);
    uint32_t number = chain_number(self, table, frames, depth, cut, may_wait);
    if (number) {
        walked->start = (struct start){regs->pc, regs->sp, high, epoch};
        walked->fp = regs->fp;
        walked->lr = regs->lr;
        walked->number = number;
        memo_keep(table, walked);
        number -= self->stack_base;
    }
    return number;
}

/* The end of the stack that sp is on, or 0 when that is not known. Hooks bring the modules up to date before they ask
 * for a chain. A handler cannot: where the C library does not report what is loaded either, it must not touch the
 * tables of code that may be unloaded. */
static inline uint64_t stack_end(const struct agent_thread *self, uint64_t sp, bool in_handler)
{
    if (in_handler && agent_switch.modules && !unwind_module_can_ask())
        return 0;
    return sp >= self->stack_low && sp < self->stack_high ? self->stack_high : 0;
}

/* The chain with the interpreter's frames in the place of each call of it; how deep it is. Where the native chain was not followed
 * to the end, what is left of them stands behind it. */
static unsigned merge(const uint64_t *native, unsigned depth, bool cut, bool pc_is_return,
                      const struct script_frame *script, unsigned count, uint64_t merged[static WIRE_MAX_FRAMES])
{
    unsigned used = 0, next = 0;
    for (unsigned i = 0; i < depth && used < WIRE_MAX_FRAMES; i++) {
        uint64_t pc = native[i] - (i > 0 || pc_is_return);
        if (next == count || pc - stack_script_start >= stack_script_end - stack_script_start) {
            merged[used++] = native[i];
            continue;
        }
        for (bool entry = false; next < count && !entry && used < WIRE_MAX_FRAMES; next++) {
            merged[used++] = script[next].addr;
            entry = script[next].entry;
        }
    }
    while (cut && next < count && used < WIRE_MAX_FRAMES)
        merged[used++] = script[next++].addr;
    return used;
}

/* Of a thread in which an interpreter may run: `native` is the number of the chain without it. */
static __attribute__((noinline)) uint32_t number_with_script(struct agent_thread *self, const struct unwind_regs *regs,
                                                             uint64_t high, bool pc_is_return, bool may_wait,
                                                             uint32_t native)
{
    struct script_frame script[STACK_SCRIPT_FRAMES];
    struct stack_table *table = self->stacks;
    unsigned count = stack_script(self, &table->script, script, may_wait);
    if (count == 0)
        return native;
    uint64_t array = self->block ? stack_script_array(self, &table->script, self->block, regs->sp, high, may_wait) : 0;
    uint64_t hash = array ^ chain_hash(&(uint64_t){native + (uint64_t)self->stack_base}, 1, true) ^ golden;
    for (unsigned i = 0; i < count; i++) {
        hash = (hash ^ (script[i].addr << 1 | script[i].entry)) * golden;
        hash ^= hash >> 32;
    }
    uint32_t number = stack_chains_find(&table->chains, hash);
    if (number > self->stack_base)
        return number - self->stack_base;
    if (table->last == LAST_NUMBER)
        return native;
    agent_calls_out(self);
    uint64_t frames[WIRE_MAX_FRAMES], merged[WIRE_MAX_FRAMES];
    uint32_t wanted = agent_region->config.max_frames;
    unsigned max = wanted > 0 && wanted < WIRE_MAX_FRAMES ? wanted : WIRE_MAX_FRAMES;
    bool cut;
    unsigned depth = unwind_walk(regs, high, pc_is_return, frames, max, &cut);
    depth = merge(frames, depth, cut, pc_is_return, script, count, merged);
    if (array) {
        depth -= depth == WIRE_MAX_FRAMES;
        memmove(merged + 1, merged, depth++ * sizeof *merged);
        merged[0] = array;
    }
    number = chain_send(self, table, merged, depth, cut, may_wait);
    if (number == 0)
        return native;
    stack_chains_put(&table->chains, hash, number);
    return number - self->stack_base;
}

static inline uint32_t native_number(struct agent_thread *self, const struct unwind_regs *regs, uint64_t high,
                                     bool pc_is_return, bool may_wait)
{
    uint64_t epoch = (uint64_t)atomic_load_explicit(&unwind_generation, memory_order_relaxed) << 1 | pc_is_return;
    if (__builtin_expect(self->stacks != NULL, 1)) {
        struct start start = {regs->pc, regs->sp, high, epoch};
        uint64_t hash = memo_hash(self->stacks, start);
        const struct memo *memo = self->stacks->memos[memo_set(hash)];
        if (__builtin_expect(memo->tag != (uint32_t)hash, 0)) {
            memo++;
            __asm__("" : "+r"(memo)); /* a branch: what follows need not wait for the tag */
        }
        if (memo_holds(memo, start, regs) && memo->number > self->stack_base)
            return memo->number - self->stack_base;
    }
    return number_by_walk(self, regs, high, epoch, may_wait);
}

uint32_t stack_number(struct agent_thread *self, const struct unwind_regs *regs, bool pc_is_return, bool may_wait)
{
    uint64_t high = stack_end(self, regs->sp, !may_wait);
    uint32_t number = native_number(self, regs, high, pc_is_return, may_wait);
    if (__builtin_expect(stack_script != NULL, 0) && number && self->stacks)
        return number_with_script(self, regs, high, pc_is_return, may_wait, number);
    return number;
}
