/* isa/aarch64/linked.h - long bursts on aarch64: see isa/linked.h.
 *
 * Stores need a base register, so translated code has the state's address in x18, whatever the program has there: a block that uses
 * x18 does so by another register, `z`. Besides, a block needs two registers for the log and takes any that none of its
 * instructions uses; it ends where too few are left. Flags are not changed. Vector registers and predicates are the program's from the
 * way in to the way out. An exclusive load and its store are in one block, with nothing of ours that accesses memory between them.
 *
 *   linked_decode.c  what an instruction uses and accesses
 *   linked_sve.c     ... of those of SVE
 *   linked_block.c   translation
 *   linked_run.c     registers from and to frames, faults
 *   linked_enter.S   the way in and out */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    LINKED_ENTRY = 256,
    LINKED_BLOCK_MOST = 16384, /* bytes that a block may become, unrolled */
    LINKED_ALIGNMENT = 4,      /* of instructions */
    LINKED_STATE_REGISTER = 18,
};

/* linked_enter.S and linked_block.c have its offsets; pairs are stored up to offset 504 of struct linked. */
struct linked_state {
    uint64_t x[31], sp;              /* x[18]: the program's, always */
    uint64_t save_x, save_y, save_z; /* of the block's registers */
    uint64_t nzcv, own_sp;
    struct fpsimd_context *vectors; /* of the signal frame */
    uint8_t *scalable;              /* SVE registers there, then predicates; NULL: none are live */
    uint64_t leave;                 /* linked_leave */
    uint64_t indirect;              /* the table of indirect branches */
    unsigned scalable_bytes;        /* of one register, or 0 */
};

struct linked_own {
    uint32_t stop_name; /* the instruction */
    uint8_t z;          /* in the place of x18, or LINKED_NO_REGISTER */
};

/* linked_enter.S. Calls translated code, at its entry for indirect branches; it comes back by linked_leave, or after a fault, with
 * general registers already in the state, by linked_leave_vectors. */
void linked_enter(struct linked_state *state, uint64_t code);
extern const char linked_leave[], linked_leave_vectors[];

enum linked_op {
    LINKED_COPY,
    LINKED_STOP,
    LINKED_SKIP,      /* a hint that nothing follows */
    LINKED_CONSTANT,  /* ADR, ADRP: rd = target */
    LINKED_LITERAL,   /* loads from target */
    LINKED_JUMP,      /* B; the rest of these end a block */
    LINKED_CALL,      /* BL */
    LINKED_CONDITION, /* B.cond, CBZ, TBZ and kin */
    LINKED_REGISTER,  /* BR, RET: to rn */
    LINKED_REGISTER_CALL,
    LINKED_RETURN_SIGNED,  /* RETAA, RETAB */
    LINKED_EXCLUSIVE_LOAD, /* the access is of the pair */
    LINKED_EXCLUSIVE_STORE,
    LINKED_OUT, /* a condition between the two */
};

/* Where an access is, from its registers. */
enum linked_mode_of { LINKED_BY_OFFSET, LINKED_BY_REGISTER, LINKED_BY_TARGET, LINKED_BY_BLOCK /* DC ZVA */ };

struct linked_instruction {
    uint32_t word;
    uint8_t op;
    uint8_t fields; /* of the word, those that are general registers: bits 0, 1, 2, 3 for rd, rn, ra, rm */
    uint32_t used;  /* general registers, a bit each */
    uint64_t target;
    uint16_t size; /* of its access; 0: it has none */
    uint8_t flags, mode, base, extend, shift, index;
    uint8_t predicate; /* that must have an element for the access to happen + 1; 0: none */
    int32_t offset;
};

/* linked_decode.c: the instruction at an address; `scalable` is the length of SVE registers, 0 where none are live. */
void linked_decode(uint32_t word, uint64_t pc, unsigned scalable, struct linked_instruction *instruction);

/* linked_sve.c: whether it is of SVE; and that instruction, where registers have so many bytes. False: it ends the burst. */
bool linked_is_scalable(uint32_t word);
bool linked_decode_scalable(uint32_t word, unsigned bytes, struct linked_instruction *instruction);

/* Makes room for SVE registers in a frame of a thread that has none live: their upper parts are zero then. False: there is none. */
struct cpu;
bool linked_open_scalable(struct cpu *cpu);
