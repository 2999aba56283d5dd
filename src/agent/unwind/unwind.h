/* agent/unwind/unwind.h - call chains of code built with -O2 and no frame pointers, in some tens of nanoseconds.
 *
 * Rules for each return address are read from .eh_frame once and cached process-wide without locks; a walk is then one
 * look-up and two loads a frame. It reads only between `sp` and `stack_high`, so it never faults, and it may run in a
 * signal handler. Where no rule is known (JIT code, hand-written assembler) it tries the frame pointer and otherwise
 * stops: a chain is cut, never invented. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct unwind_regs {
    uint64_t pc, sp, fp;
    uint64_t lr; /* aarch64: the link register, good for the innermost frame only; else 0 */
};

/* Fills frames[0] = regs->pc, then return addresses; returns how many (at least 1). `*cut` is set when the chain goes
 * on but was not followed. `pc_is_return` says whether regs->pc is a return address (hooks) or a precise one
 * (signal contexts). */
unsigned unwind_walk(const struct unwind_regs *regs, uint64_t stack_high, bool pc_is_return, uint64_t *frames,
                     unsigned max, bool *cut);

/* A library was loaded or unloaded: rules must be asked for again. Called outside handlers. -EAGAIN while a fork is under way. */
int unwind_modules_changed(void);

/* For agent/custom/custom_calls.c: an address that stands in the place of return addresses, and who knows the true one of the frame
 * that leaves the stack pointer at `cfa` (0: nobody). Set once, before it is put anywhere. */
extern uint64_t unwind_hook_return;
extern uint64_t (*unwind_hook_find)(uint64_t cfa);

/* The registers of the caller of the function this is expanded in (the agent is built with frame pointers). */
#define UNWIND_CALLER_REGS()                                                                                           \
    ((struct unwind_regs){.pc = (uint64_t)__builtin_extract_return_addr(__builtin_return_address(0)),                  \
                          .sp = (uint64_t)__builtin_dwarf_cfa(),                                                       \
                          .fp = *(uint64_t *)__builtin_frame_address(0)})
