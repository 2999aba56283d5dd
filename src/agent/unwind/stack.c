/* agent/unwind/stack.c - see agent/unwind/stack.h. Hot: runs in every allocation and in the sampler's handlers.
 *
 * Two tables per thread, both bounded: `memos` holds the last walks (stack_memo.h), `chains` the number of each chain that was sent. */
#include "agent/unwind/stack.h"
#include "agent/unwind/stack_chains.h"
#include "agent/unwind/stack_memo.h"
#include "base/sys.h"
#include "agent/unwind/unwind_modules.h"
#include "agent/unwind/unwind_walk.h"

#include <stddef.h>
#include <string.h>

enum { LAST_NUMBER = INT32_MAX, YOUNG = 3 };

/* All written once, by the thread that loads the interpreter. */
AGENT_HOT unsigned (*stack_script)(struct agent_thread *self, struct script_thread *thread, struct script_frame *frames,
                                   bool may_wait);
uint64_t (*stack_script_array)(struct agent_thread *self, struct script_thread *thread, uint64_t bytes, uint64_t sp,
                               uint64_t high, bool may_wait);
uint64_t stack_script_start, stack_script_end;
void (*stack_script_free)(struct script_thread *thread);

/* The tables stay, and what is in them is known by its number to be the parent's: a short-lived child has no use for new ones. Most
 * children end or become another program after a few allocations: to keep those chains would copy four pages of the parent's. */
void stack_forked(struct agent_thread *self)
{
    self->stack_young = YOUNG;
    self->stack_base = self->stacks ? self->stacks->last : 0;
}

void stack_forget(struct agent_thread *self)
{
    struct stack_table *table = self->stacks;
    self->stacks = NULL;
    self->stack_base = self->stack_young = 0;
    if (!table)
        return;
    stack_chains_free(&table->chains);
    if (table->script.names)
        stack_script_free(&table->script);
    sys_unmap(table, sizeof *table);
}

static uint64_t chain_hash(const uint64_t *frames, unsigned depth, bool cut)
{
    uint64_t hash = depth * 2 + cut;
    for (unsigned i = 0; i < depth; i++) {
        hash = (hash ^ frames[i]) * memo_factor;
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
    if (number && !self->stack_young)
        stack_chains_put(&table->chains, hash, number);
    return number;
}

static __attribute__((noinline)) uint32_t number_by_walk(struct agent_thread *self, const struct unwind_regs *regs,
                                                         uint64_t high, bool pc_is_return, bool may_wait)
{
    uint32_t epoch = atomic_load_explicit(&unwind_generation, memory_order_relaxed);
    agent_calls_out(self); /* what follows asks libc what is loaded */
    if (!self->stacks)
        self->stacks = sys_pages(sizeof *self->stacks);
    struct stack_table *table = self->stacks;
    if (!table)
        return 0;
    uint64_t frames[WIRE_MAX_FRAMES];
    uint32_t wanted = agent_region->config.max_frames;
    unsigned max = wanted > 0 && wanted < WIRE_MAX_FRAMES ? wanted : WIRE_MAX_FRAMES;
    struct memo *walked = &table->memos.walked;
    bool cut;
    unsigned depth = unwind_walk_noting(regs, high, pc_is_return, frames, max, &cut, &walked->notes);
    uint32_t number = chain_number(self, table, frames, depth, cut, may_wait);
    if (number == 0)
        return 0;
    if (self->stack_young) {
        self->stack_young--;
    } else if (high && !(regs->sp & 7)) {
        walked->fp = regs->fp;
        walked->lr = regs->lr;
        walked->number = number;
        stack_memo_begin(&table->memos, high, epoch);
        stack_memo_keep(&table->memos, memo_start(regs, pc_is_return));
    }
    return number - self->stack_base;
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

/* Of a thread in which an interpreter may run: `native` is the number of the chain without it. */
static __attribute__((noinline)) uint32_t number_with_script(struct agent_thread *self, const struct unwind_regs *regs,
                                                             uint64_t high, bool pc_is_return, bool may_wait,
                                                             uint32_t native)
{
    struct script_frame script[PYTHON_FRAMES];
    struct stack_table *table = self->stacks;
    unsigned count = stack_script(self, &table->script, script, may_wait);
    if (count == 0)
        return native;
    uint64_t array = self->block ? stack_script_array(self, &table->script, self->block, regs->sp, high, may_wait) : 0;
    uint64_t hash = array ^ chain_hash(&(uint64_t){native + (uint64_t)self->stack_base}, 1, true) ^ memo_factor;
    for (unsigned i = 0; i < count; i++) {
        hash = (hash ^ (script[i].addr << 1 | script[i].entry)) * memo_factor;
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
    depth = python_merge(stack_script_start, stack_script_end, frames, depth, cut, pc_is_return, script, count, merged,
                         WIRE_MAX_FRAMES);
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

uint32_t stack_number(struct agent_thread *self, const struct unwind_regs *regs, bool pc_is_return, bool may_wait)
{
    uint64_t high = stack_end(self, regs->sp, !may_wait);
    uint32_t number = high ? stack_known(self, *regs, pc_is_return) : 0;
    if (number == 0)
        number = number_by_walk(self, regs, high, pc_is_return, may_wait);
    if (__builtin_expect(stack_script != NULL, 0) && number && self->stacks)
        return number_with_script(self, regs, high, pc_is_return, may_wait, number);
    return number;
}
