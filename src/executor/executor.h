/* executor/executor.h - what a recorder and its executor say to each other.
 *
 * An executor is a process of its own, one for each process that is sampled from outside. It gets the registers of a stopped thread
 * and carries its next instructions out with the engine of bursts (processor.h), on copies of the pages that they use, at
 * the addresses that they have there. It reads the other process's memory by two descriptors and can do nothing else: see
 * executor.c. What it answers is what the sampled program made it answer: it may be wrong, and is checked by who reads it.
 *
 * Descriptors: EXECUTOR_TALK is a socket. At first the executor writes a byte; then it reads a struct executor_setup, prepares
 * itself, and writes a byte (0, or the step that was refused). From then on, each byte that it reads asks for the job in the shared
 * area. A byte comes back when it is done (EXECUTOR_DONE), or before when it needs a rule of code (EXECUTOR_ASKS): then the next byte says
 * that the rule is there. */
#pragma once

#include "base/python_frames.h"
#include "base/units.h"
#include "isa/unwind/unwind_rule.h"
#include "wire/event.h"

enum { EXECUTOR_TALK = 0, EXECUTOR_MEM = 3, EXECUTOR_PAGEMAP = 4, EXECUTOR_AREA = 5 };

/* All that the executor has itself is in this window, where programs have nothing; an access to it ends a burst. */
#define EXECUTOR_WINDOW       0x3a5a00000000u
#define EXECUTOR_WINDOW_BYTES (64ul << 20)

enum {
    EXECUTOR_ACCESSES = 2048, /* a burst's most, with those that pass first */
    EXECUTOR_COPIES = 4,      /* pages that come with a job: of the stack */
    EXECUTOR_STATE = 4096,    /* bytes of vector state */
    EXECUTOR_HOLES = 8,
    EXECUTOR_DEVICES = 16,
    EXECUTOR_CHAINS = 32,  /* a burst's most, native ones and of Python: accesses of later ones have none */
    EXECUTOR_CALLERS = 63, /* of an access */
#if defined(__x86_64__)
    EXECUTOR_GENERAL = 16,
    EXECUTOR_SP = 4, /* by its number */
#elif defined(__aarch64__)
    EXECUTOR_GENERAL = 32,
    EXECUTOR_SP = 31,
#else
#error "executor: this architecture is not supported"
#endif
};

struct executor_range {
    uint64_t low, high;
};

struct executor_setup {
    struct executor_range own[EXECUTOR_HOLES]; /* of its mappings outside the window, which it gives up */
    uint64_t page_bytes;                       /* of the kernel's pages */
    struct executor_range own_time, its_time;  /* [vvar]: cannot be read from outside; the executor's own is the same */
};

enum executor_end {
    EXECUTOR_ENOUGH,
    EXECUTOR_INSTRUCTION, /* one that must run by itself; a system call */
    EXECUTOR_UNREADABLE,  /* a page that is not in memory, or cannot be read */
    EXECUTOR_CODE,        /* likewise, where the next instruction would be */
    EXECUTOR_FAULT,
    EXECUTOR_STEPS, /* too many instructions without an access */
    EXECUTOR_REFUSED
};

struct executor_access {
    uint64_t pc, addr;
    uint16_t size;
    uint8_t flags; /* enum sample_flag */
};

struct executor_frame { /* of Python: base/python_frames.h */
    uint64_t code, instruction, entry;
};

struct executor_chain {
    uint32_t depth;
    struct executor_frame frames[PYTHON_FRAMES];
};

struct executor_chains {
    uint32_t count;
    uint8_t of[EXECUTOR_ACCESSES]; /* by access, from 1; 0: none */
    struct executor_chain items[EXECUTOR_CHAINS];
};

struct executor_callers {
    uint32_t depth, cut;
    uint64_t frames[EXECUTOR_CALLERS]; /* return addresses, innermost first */
};

struct executor_native {
    uint32_t count;
    uint8_t of[EXECUTOR_ACCESSES]; /* by access, from 1; 0: none */
    struct executor_callers items[EXECUTOR_CHAINS];
};

enum executor_byte { EXECUTOR_DONE, EXECUTOR_ASKS };

enum { EXECUTOR_NO_CODE = 64 }; /* beside enum unwind_kind */

struct executor_job {
    /* Asked. General registers by their number in encodings; on aarch64 the last one is sp. */
    uint64_t general[EXECUTOR_GENERAL], pc, flags;
    uint64_t bases[2];    /* of fs and gs; on aarch64 TPIDR_EL0 */
    uint32_t state_bytes; /* of vector state as ptrace gives it */
    uint32_t skip, want;  /* accesses that pass first, and those to note; together at most EXECUTOR_ACCESSES */
    uint64_t copy_of[EXECUTOR_COPIES];               /* addresses of the pages that come along; 0: none */
    struct executor_range devices[EXECUTOR_DEVICES]; /* memory of devices, which reading may change: it is not read */
    /* Where Python keeps the thread's state, which has this number in it; 0: no chains of Python are wanted. Answered as 0 where it has not. */
    uint64_t python_state, python_tid;
    struct python_layout python;
    uint32_t asks;        /* rules of code that may be asked for; 0: no callers are wanted */
    uint32_t code_number; /* another one: rules that were answered before may be wrong */
    /* On the way. */
    uint64_t asked;          /* an address in an instruction */
    struct unwind_rule rule; /* the recorder's answer */
    /* Answered. */
    uint32_t end, count;
    uint32_t pages; /* that were read */
    uint64_t steps;
    struct executor_access accesses[EXECUTOR_ACCESSES];
    struct executor_chains chains;
    struct executor_native native;

    uint8_t state[EXECUTOR_STATE] __attribute__((aligned(64)));
    uint8_t copies[EXECUTOR_COPIES][PAGE_UNIT] __attribute__((aligned(PAGE_UNIT)));
};
