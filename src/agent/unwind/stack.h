/* agent/unwind/stack.h - numbers for call chains: each chain is sent once per thread, then named by its number. */
#pragma once

#include "agent/agent.h"
#include "agent/unwind/unwind.h"

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
struct script_frame {
    uint64_t addr;
    bool entry; /* the outermost of one call of the function that interprets */
};
enum { STACK_SCRIPT_FRAMES = 32 };
extern unsigned (*stack_script)(struct agent_thread *self, struct script_thread *thread, struct script_frame *frames,
                                bool may_wait);
/* The array that a block of `bytes` is being allocated for by what is on the stack between `sp` and `high`, as an address that has a name; 0: none. */
extern uint64_t (*stack_script_array)(struct agent_thread *self, struct script_thread *thread, uint64_t bytes,
                                      uint64_t sp, uint64_t high, bool may_wait);
extern uint64_t stack_script_start, stack_script_end;
extern void (*stack_script_free)(struct script_thread *thread);

/* Forgets what this thread has sent. stack_forked: in the child of a fork, whose ring is new. */
void stack_forget(struct agent_thread *self);
void stack_forked(struct agent_thread *self);
