/* agent/unwind/unwind_walk.h - a walk that also notes what it depended on, for agent/unwind/stack.c.
 *
 * A walk is a function of its starting registers, the rules in force (unwind_generation), the stack's bounds and the
 * words it read from the stack. When all of these are as they were, so is the chain: that is checked much faster than
 * walked. A stored frame pointer only counts when a later frame was found by it. */
#pragma once

#include "agent/unwind/unwind.h"

enum { UNWIND_NOTES = 48, UNWIND_USED_FP = 1, UNWIND_USED_LR = 2 };

struct unwind_notes {
    uint32_t count; /* UNWIND_NOTES + 1 when there were more */
    uint32_t used;  /* starting registers that mattered: UNWIND_USED_FP, UNWIND_USED_LR */
    struct unwind_note {
        uint64_t offset; /* from the starting stack pointer */
        uint64_t value;
    } items[UNWIND_NOTES];
};

/* unwind_walk() that fills `notes`. */
unsigned unwind_walk_noting(const struct unwind_regs *regs, uint64_t stack_high, bool pc_is_return, uint64_t *frames,
                            unsigned max, bool *cut, struct unwind_notes *notes);
