/* agent/unwind/stack.h - numbers for call chains: each chain is sent once per thread, then named by its number. */
#pragma once

#include "agent/agent.h"
#include "agent/unwind/stack_chains.h"
#include "agent/unwind/stack_memo.h"
#include "agent/unwind/unwind_modules.h"
#include "base/python_frames.h"

/* The number of the chain that begins at `regs` (0 when none can be kept), sent as WIRE_STACK when it is new. Call with
 * inside > 0. A chain that equals the thread's last one costs one comparison a frame. */
uint32_t stack_number(struct agent_thread *self, const struct unwind_regs *regs, bool pc_is_return, bool may_wait);

/* What an interpreter adds to chains: its own frames in the place of the function that interprets, which is between
 * stack_script_start and stack_script_end. stack_script is NULL while there is no interpreter; set once. */
struct script_name;
struct script_thread { /* zeroed = ready; its owner is a thread's table of chains */
    struct script_name *names;
    uint64_t state, tid;
    uint32_t skip, wait;
    uint32_t arrays; /* whose names were sent */
    bool guarded;    /* a fault of this thread comes to the agent */
};
struct stack_table {
    uint32_t last; /* number given */
    struct script_thread script;
    struct stack_chains chains;
    struct stack_memos memos; /* begins on the page of the others: a new process has few */
};

/* stack_number() of a chain that was met before, and 0 of any other: nothing is walked or sent. Without the frames of an interpreter. */
static inline __attribute__((always_inline)) uint32_t stack_known(const struct agent_thread *self,
                                                                  struct unwind_regs regs, bool pc_is_return)
{
    const struct stack_memos *memos = &self->stacks->memos;
    uint32_t epoch = atomic_load_explicit(&unwind_generation, memory_order_relaxed);
    if (__builtin_expect(!self->stacks || memos->epoch != epoch || memos->high != self->stack_high, 0))
        return 0;
    uint32_t number = stack_memo_find(memos, memo_start(&regs, pc_is_return), regs.fp, regs.lr);
    return __builtin_expect(number > self->stack_base, 1) ? number - self->stack_base : 0;
}

/* Fills up to PYTHON_FRAMES. */
extern AGENT_OWN unsigned (*stack_script)(struct agent_thread *self, struct script_thread *thread,
                                          struct script_frame *frames, bool may_wait);
/* The array that a block of `bytes` is being allocated for by what is on the stack between `sp` and `high`, as an address that has a name; 0: none. */
extern uint64_t (*stack_script_array)(struct agent_thread *self, struct script_thread *thread, uint64_t bytes,
                                      uint64_t sp, uint64_t high, bool may_wait);
extern uint64_t stack_script_start, stack_script_end;
extern void (*stack_script_free)(struct script_thread *thread);

/* Forgets what this thread has sent. stack_forked: in the child of a fork, whose ring is new. */
void stack_forget(struct agent_thread *self);
void stack_forked(struct agent_thread *self);
