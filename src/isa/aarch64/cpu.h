/* isa/aarch64/cpu.h - one thread's registers, of a signal frame or of another process, and the instructions that can be carried
 * out on them. Shared by the files of this folder and by who runs bursts: agent/sampling/aarch64, executor/aarch64.
 *
 * Everything here may run in a signal handler. */
#pragma once

#include "wire/event.h"

#include <asm/hwcap.h>
#include <asm/sigcontext.h>
#include <ucontext.h>

/* What became of one instruction. Whatever is not OUTCOME_NEXT or OUTCOME_JUMPED leaves every register and all memory
 * as they were, so that the program can run the instruction by itself. */
enum outcome {
    OUTCOME_NEXT,    /* done: the next one follows */
    OUTCOME_JUMPED,  /* done: pc is set */
    OUTCOME_UNKNOWN, /* not understood */
    OUTCOME_FAULT,   /* its access would fault */
    OUTCOME_ENOUGH,  /* the burst is over */
};

struct cpu;

/* An access is about to happen: OUTCOME_NEXT, or another outcome when it is not to. */
typedef enum outcome cpu_accessor(struct cpu *cpu, uint64_t addr, unsigned size, unsigned flags);

struct cpu {
    cpu_accessor *access; /* of who runs the instructions; never NULL */
    void *user;           /* its own */
    bool
        foreign; /* another process's: its pointers are signed with its own keys, and nobody else uses its memory here */
    ucontext_t *context; /* NULL: foreign */
    uint64_t *x;         /* x0 to x30 */
    uint64_t *sp, *pc, *pstate;
    struct fpsimd_context *vectors; /* NULL: none in the frame, then vector instructions are unknown */
    uint8_t *scalable;              /* live SVE registers in the frame, or NULL */
    uint32_t scalable_bytes;        /* of one of them */
};

enum { PSTATE_BTYPE = 3u << 10 };
#define FLAG_N (1u << 31)
#define FLAG_Z (1u << 30)
#define FLAG_C (1u << 29)
#define FLAG_V (1u << 28)

/* AT_HWCAP, set by step_start: what is done here by other instructions must be one that this processor has. */
extern unsigned long cpu_features;

/* The view of a frame, with whom to ask before accesses; false when the frame holds state that this code must not step over. */
bool cpu_view(struct cpu *cpu, cpu_accessor *access, void *user, ucontext_t *context);

/* Carries out the instruction `word`, which is at *cpu->pc; pc is changed only with OUTCOME_JUMPED. */
enum outcome cpu_execute(struct cpu *cpu, uint32_t word);

/* Carries out the one at *cpu->pc, and moves pc on. */
enum outcome cpu_step(struct cpu *cpu);

/* The groups of instructions, by the architecture's top-level table. */
enum outcome integer_immediate(struct cpu *cpu, uint32_t word);
enum outcome integer_register(struct cpu *cpu, uint32_t word);
enum outcome branch_or_system(struct cpu *cpu, uint32_t word);
enum outcome memory_access(struct cpu *cpu, uint32_t word);
enum outcome memory_ordered(struct cpu *cpu, uint32_t word);   /* acquire, release, compare and swap */
enum outcome memory_atomic(struct cpu *cpu, uint32_t word);    /* read-modify-write */
enum outcome memory_structure(struct cpu *cpu, uint32_t word); /* LD1 to LD4, ST1 to ST4 and kin */
enum outcome vector_process(struct cpu *cpu, uint32_t word);

/* Whether branch condition `condition` (0 to 15) holds. */
bool cpu_condition(const struct cpu *cpu, unsigned condition);

/* Writing a V register makes the rest of the SVE register zero; the frame's image must say so. */
void cpu_vector_written(struct cpu *cpu, unsigned number);

static inline uint32_t bits(uint32_t word, unsigned low, unsigned count)
{
    return word >> low & ((1u << count) - 1);
}

static inline int64_t sign_extend(uint64_t value, unsigned width)
{
    return (int64_t)(value << (64 - width)) >> (64 - width);
}

/* Register 31 is the zero register here and the stack pointer there. */
static inline uint64_t read_zero(const struct cpu *cpu, unsigned number)
{
    return number == 31 ? 0 : cpu->x[number];
}

static inline uint64_t read_sp(const struct cpu *cpu, unsigned number)
{
    return number == 31 ? *cpu->sp : cpu->x[number];
}

static inline void write_zero(struct cpu *cpu, unsigned number, uint64_t value, bool wide)
{
    if (number != 31)
        cpu->x[number] = wide ? value : (uint32_t)value;
}

static inline void write_sp(struct cpu *cpu, unsigned number, uint64_t value, bool wide)
{
    *(number == 31 ? cpu->sp : &cpu->x[number]) = wide ? value : (uint32_t)value;
}

/* Hints that do nothing that a program can see: NOP, YIELD, BTI. */
static inline bool hint_is_nothing(unsigned number)
{
    return number <= 1 || number == 32 || number == 34 || number == 36 || number == 38;
}
