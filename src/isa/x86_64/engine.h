/* isa/x86_64/engine.h - the state of one thread's burst engine, shared by the files that make it up.
 *
 * A burst runs in the tick's handler: the thread's next instructions are copied, block by block, to executable memory
 * (slots) and run there with the program's registers; between blocks the engine has its own. A block is at most one
 * instruction that accesses memory, first, then those that only use registers, up to the next access or past the next
 * branch: so before each access all registers are known.
 *
 *   translate.c  finds or makes the block at an address
 *   emit.c       writes code
 *   branches.c   carries branches, calls and returns out
 *   vector.c     vector registers: the program's from the first block that uses them to the burst's end
 *   engine_run.c the loop over blocks, faults in slots
 *   slots.c      the memory of it all
 *
 * Used by the agent (agent/sampling/x86_64/burst.c), and on copies of another process's memory by src/executor. All of it, and whatever runs between blocks, is built to use
 * general registers only (burst_args in src/agent/meson.build): the vector registers are the program's. agent_calls_out()
 * (agent/agent.h) puts them into safety before calls to libc. */
#pragma once

#include "base/units.h"
#include "isa/x86_64/decode.h"
#include "isa/x86_64/outline.h"
#include "wire/event.h"

#include <ucontext.h>

enum {
    ENGINE_BLOCKS = 384, /* a small number is as good as a large one: what is rarely used has left the caches */
    ENGINE_TABLE = 1024, /* a power of two, at most half full */
    BLOCK_INSTRUCTIONS = 12,
    BLOCK_SOURCE = 64,
    BLOCK_CODE = 128,
    BLOCK_LONGEST =
        39, /* what one instruction may become: its register saved (7), set (10), itself (15), restored (7) */
    ENGINE_ENTRY = 640, /* bytes of code before the blocks: the ways in and out */
    ENGINE_CODE = (ENGINE_BLOCKS * BLOCK_CODE + ENGINE_ENTRY + PAGE_UNIT - 1) & ~(PAGE_UNIT - 1),
    ENGINE_STACK = 64 << 10,
    ENGINES_KEPT = 16, /* of ended threads, for the next ones */
};

enum {
    FLAG_CARRY = 1,
    FLAG_PARITY = 4,
    FLAG_ZERO = 0x40,
    FLAG_SIGN = 0x80,
    FLAG_TRAP = 0x100,
    FLAG_DIRECTION = 0x400,
    FLAG_OVERFLOW = 0x800,
    FLAG_RESUME = 0x10000,
    FLAG_ALIGNMENT = 0x40000,
    FLAGS_PROGRAM = 0x240cd5, /* those that instructions set and read: ID AC OF DF SF ZF AF PF CF */
};

struct block {
    uint64_t pc, next;
    struct outline last;  /* the branch it ends with, or the repeated instruction it is; OUTLINE_STOP: nothing runs */
    struct decoded first; /* whose accesses are noted */
    uint32_t code;        /* where its code is in the slots; 0: it has none */
    uint32_t place;       /* where it would be: blocks are in this order, backwards */
    uint8_t instructions;
    uint8_t copied; /* of them, in the slot */
    uint8_t source_bytes;
    bool vector, writes;
    uint8_t source[BLOCK_SOURCE];
    struct {
        uint8_t source, slot; /* where the instruction begins */
        uint8_t scratch;      /* the register that was saved for it, or DECODE_NONE */
    } map[BLOCK_INSTRUCTIONS];
};

struct engine {
    /* Addressed by the code in the slots. */
    struct decode_registers registers;
    uint64_t flags, own_sp, target, scratch;

    uint8_t *code, *writable; /* the same memory, mapped twice */
    uint64_t enter, leave, leave_restored;
    uint32_t code_used;
    uint32_t block_count;

    struct block *current;
    volatile bool running, faulted; /* faulted: set by the handler of a fault in a slot */
    bool vectors_live;
    uint8_t *image; /* the frame's vector state */
    uint64_t image_mask;
    struct decode_vectors vectors;
    void *user; /* whose burst it is */
    /* What an instruction is about to access; false: the burst ends before it. */
    bool (*accesses)(struct engine *engine, const struct block *block, const struct decode_access *accesses,
                     unsigned count);
    bool (*may_run)(struct engine *engine, uint64_t pc); /* false: the burst ends before this code */
    uint64_t steps;                                      /* instructions carried out */
    uint32_t stopped_at; /* outline_name() of the instruction that the burst ended before; 0: of none */

    uint16_t table[ENGINE_TABLE]; /* number of the block + 1 */
    struct block blocks[ENGINE_BLOCKS];
};

/* slots.c: memory for a thread's engine, with the stack that bursts run on; outside handlers. NULL: the system gives no
 * executable memory, or none at all. A child of fork does not have it, and forgets what was kept. */
struct engine *engine_take(void);

void engine_give_back(struct engine *engine);
void engine_forget(void);

/* Before each burst, in its handler: gives the engine that a child of fork has begun with memory. False: there is none. */
bool engine_ready(const struct engine *engine);
uint8_t *engine_stack_top(struct engine *engine);

/* The same in memory of the caller's choice, engine_bytes() of address space. */
size_t engine_bytes(void);
struct engine *engine_make(void *reserved);

/* emit.c */
void emit_entry(struct engine *engine);

/* translate.c: the block at registers.rip, as the program has it now, or NULL when nothing can be read there. */
struct block *block_at(struct engine *engine, uint64_t pc);
/* The instruction of `block` that is at an offset in the slots: its number. */
unsigned block_instruction(const struct block *block, uint32_t offset);
/* The block whose code is there. */
const struct block *block_holding(const struct engine *engine, uint32_t offset);

/* branches.c: registers.rip gets the address behind the block. False: it would fault, and nothing was changed. */
bool branch_take(struct engine *engine, const struct block *block);

/* vector.c */
bool vectors_fit(struct engine *engine, const ucontext_t *context); /* at the burst's start; false: no burst here */
void vectors_load(struct engine *engine);
void vectors_keep(struct engine *engine); /* at the burst's end, and before calls out; then they are no longer live */
void vectors_show(struct engine *engine); /* fills engine->vectors for gathers; they stay live */

/* engine_run.c: from registers, flags and vectors as they are set, up to `most` instructions, until accesses() or may_run() says no or
 * something that cannot be carried out comes. A fault at an instruction in the slots: the context goes back into the engine, which
 * ends the burst before it; false: it is none of the engine's. */
void engine_run(struct engine *engine, uint64_t most);
bool engine_fault(struct engine *engine, ucontext_t *context);
