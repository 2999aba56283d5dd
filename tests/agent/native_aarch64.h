/* tests/agent/native_aarch64.h - runs one instruction on the processor itself, from any register state.
 *
 * A signal handler swaps in the wanted registers, the instruction runs, and the trap behind it (or the fault it raised)
 * swaps them out again. So every register can have any value, the stack pointer too. */
#ifndef NUMALENS_TESTS_NATIVE_AARCH64_H
#define NUMALENS_TESTS_NATIVE_AARCH64_H

#include <asm/sigcontext.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* A frame good enough for cpu_view() and for the kernel. */
struct machine {
    uint64_t x[31], sp, pc, pstate;
    __uint128_t v[32];
    uint32_t fpsr, fpcr;
};

/* Installs handlers on an alternate stack. Faults at places that step_fault() knows are corrected first. To
 * be called in each test: cmocka sets handlers of its own before it. */
void native_start(void);

/* Where the instruction is put; brk before and behind it. */
uint64_t native_code(void);

/* Puts so many there, with brk behind them. */
uint64_t native_put(const uint32_t *words, unsigned count);

/* Runs `word` at native_code(), or what is at machine->pc when `word` is 0, until a trap or fault; the signal that
 * ended it is returned: SIGTRAP when all went well. */
int native_run(struct machine *machine, uint32_t word);

/* Between frames and machines. */
void machine_to_context(const struct machine *machine, ucontext_t *context);
void machine_from_context(struct machine *machine, const ucontext_t *context);

bool machines_equal(const struct machine *a, const struct machine *b);
void print_difference(const struct machine *before, const struct machine *native, const struct machine *stepped);

/* Memory for random instructions, and what it holds at first. */
enum { ARENA_BYTES = 65536 };
extern uint8_t *arena, pristine[ARENA_BYTES];
bool arena_start(void);

uint64_t random64(void);
void random_machine(struct machine *machine,
                    bool addresses); /* addresses: half of its registers point into the arena */

/* Long bursts. QEMU's user emulation cannot map the same memory twice: there one mapping is written and run. A fault while
 * native_running is set goes to linked_fault() first. */
struct linked *native_linked(void);
extern struct linked *volatile native_running;

/* The thread under test; each test has its own. */
struct agent_thread;
extern __thread struct agent_thread agent_self;

#endif
