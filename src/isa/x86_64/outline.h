/* isa/x86_64/outline.h - how an instruction that the decoder understands is carried out away from its place.
 *
 * Pure, like the decoder. Most instructions do the same anywhere once an operand relative to rip has got a register in
 * its place. Branches are carried out by hand. The rest ends the burst before it: what would show where it runs
 * (fnstenv), what changes the state that the engine itself relies on (xrstor, wrpkru), what may start a transaction. */
#pragma once

#include "isa/x86_64/decode.h"

enum outline_kind {
    OUTLINE_COPY,   /* its bytes run elsewhere; a rip-relative operand gets the register `scratch` */
    OUTLINE_LEA,    /* lea of a rip-relative address: register `scratch` gets `target` */
    OUTLINE_REPEAT, /* a string instruction with a counter: once without it, as often as that says */
    OUTLINE_BRANCH, /* carried out by hand */
    OUTLINE_STOP,   /* the burst ends before it */
};

enum outline_branch {
    BRANCH_NONE,
    BRANCH_CONDITION,
    BRANCH_JUMP,
    BRANCH_JUMP_REGISTER,
    BRANCH_JUMP_MEMORY,
    BRANCH_CALL,
    BRANCH_CALL_REGISTER,
    BRANCH_CALL_MEMORY,
    BRANCH_RETURN,
    BRANCH_LOOP,
    BRANCH_LOOP_EQUAL,
    BRANCH_LOOP_UNEQUAL,
    BRANCH_COUNTER_ZERO, /* jrcxz */
};

struct outline {
    uint8_t kind;
    uint8_t branch;
    uint8_t condition; /* as in the opcode: 0-15 */
    uint8_t reg;       /* that holds a branch's target */
    uint8_t scratch;   /* a register that the instruction does not use, 0-7; DECODE_NONE: none is needed */
    bool until_equal;  /* OUTLINE_REPEAT: goes on while ZF is 0 (repne) ... */
    bool while_equal;  /* ... or while it is 1 (repe); neither: by the counter alone */
    uint16_t pop;      /* bytes that ret takes beyond its address */
    uint64_t target;   /* of a direct branch; what a rip-relative operand stands for */
};

/* What is at `bytes`, in up to three bytes that say which instruction it is, as wire_stop_count() wants it. */
uint32_t outline_name(const uint8_t *bytes, size_t available);

/* How `decoded`, which is at `pc`, is carried out. */
void outline_of(const struct decoded *decoded, uint64_t pc, struct outline *outline);
