/* isa/x86_64/guard.h - reads of the program's memory that may fault: guard.S.
 *
 * A fault in one of them comes to step_fault(), which sends it to the end of the routine by guard_resume(). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* Copies up to `bytes` bytes; returns how many could be read. */
size_t guard_copy(void *to, const void *from, size_t bytes);

/* Touches `near`, which has the page of `addr` translated, then times a load of `addr` and the same without the load.
 * Returns the difference in ticks (0 when negative), or -1 when either cannot be read. */
int64_t guard_time(const void *near, const void *addr);

/* Reads and writes of eight bytes: 1, or 0 when it would fault. */
int guard_load(uint64_t from, uint64_t *to);
int guard_store(uint64_t to, uint64_t value);

/* 1 when the program's bytes are readable and the same as ours. */
int guard_equal(const void *program, const void *ours, size_t bytes);

/* Has the processor fetch instructions again. What was written through one mapping and runs through another needs that
 * by the makers' manuals; iret is the cheapest way that every one of them has. */
void guard_serialize(void);

/* Where to go on after a fault at `rip`, or 0 when that is none of ours. */
uint64_t guard_resume(uint64_t rip);

/* Calls work(argument) with the stack pointer kept in *sp meanwhile: 1, or 0 when guard_landing was jumped to with that
 * stack pointer. */
unsigned guard_call(uint64_t *sp, void (*work)(void *argument), void *argument);
/* Calls work(self, context) on the stack below `context` and returns from the signal whose frame that is. */
struct agent_thread;
_Noreturn void step_return(ucontext_t *context, struct agent_thread *self,
                           void (*work)(struct agent_thread *self, ucontext_t *context));
extern const char guard_landing[] __attribute__((visibility("hidden")));
